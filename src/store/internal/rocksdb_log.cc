#include "store/internal/rocksdb_log.h"

#include <mutex>

#include "store/internal/acknowledged_mark.h"
#include "store/internal/fatal.h"
#include "store/internal/log_codec.h"
#include "store/internal/rocksdb_database.h"

namespace homeostat::store::internal {
namespace {

// Settings kept in Family::kMeta.
constexpr std::string_view kStoreKey = "store";          // version (1 byte), store id
constexpr std::string_view kCompactedKey = "compacted";  // revision, its chain
constexpr std::string_view kIndexKey = "index";          // there when the index is whole
constexpr char kStoreVersion = 1;
// What a write takes in the log and the index besides its key and value, about.
constexpr size_t kRecordOverhead = 256;
// Records per write while the index is made anew.
constexpr size_t kRebuildStep = 10'000;

// A revision and the chain up to it. The chain of an empty store is its id, so that no other store's records follow it.
struct ChainPosition {
  uint64_t revision = kFirstRevision;
  uint64_t chain = 0;
};

Status Damaged(const std::string& directory, const std::string& what) {
  return SystemError("the store in " + directory + " is damaged: " + what);
}

class RocksDbView : public LogView {
 public:
  // Without a database, after the store was closed, every call is an error.
  explicit RocksDbView(std::shared_ptr<Database> database, Database::Reading::Of of = Database::Reading::Of::kState) {
    if (database) reading_.emplace(std::move(database), of);
  }

  Result<std::optional<IndexEntry>> Find(std::string_view key) override {
    TRY(CheckOpen());
    TRY_ASSIGN(auto value, reading_->Get(Family::kIndex, key));
    if (!value) return std::nullopt;
    return DecodeIndexEntry(key, *value);
  }

  Result<std::optional<LogRecord>> Load(uint64_t revision, Parts parts) override {
    TRY(CheckOpen());
    TRY_ASSIGN(auto value, reading_->Get(Family::kLog, EncodeUint64(revision)));
    if (!value) return std::nullopt;
    return DecodeRecord(revision, *value, parts);
  }

  Result<void> ScanIndex(std::string_view start, std::string_view end, const IndexVisitor& visitor) override {
    TRY(CheckOpen());
    return reading_->Scan(Family::kIndex, start, end,
                          [&](std::string_view key, std::string_view value) -> Result<bool> {
                            TRY_ASSIGN(const IndexEntry entry, DecodeIndexEntry(key, value));
                            return visitor(key, entry);
                          });
  }

  Result<void> ScanLog(uint64_t first, uint64_t last, const LogVisitor& visitor) override {
    return ScanEncoded(first, last, [&](uint64_t revision, std::string_view value) -> Result<bool> {
      TRY_ASSIGN(const LogRecord record, DecodeRecord(revision, value));
      return visitor(record);
    });
  }

  Result<uint64_t> CompactedRevision() override {
    TRY_ASSIGN(const ChainPosition compacted, Compacted());
    return compacted.revision;
  }

  // Records as they are stored.
  Result<void> ScanEncoded(uint64_t first, uint64_t last,
                           const std::function<Result<bool>(uint64_t revision, std::string_view value)>& visitor) {
    TRY(CheckOpen());
    if (first > last) return {};
    return reading_->Scan(Family::kLog, EncodeUint64(first), last == UINT64_MAX ? "" : EncodeUint64(last + 1),
                          [&](std::string_view key, std::string_view value) -> Result<bool> {
                            auto revision = DecodeUint64(key);
                            if (!revision) return Fail(SystemError("the store is damaged: a log key cannot be read"));
                            return visitor(*revision, value);
                          });
  }

  Result<std::optional<std::string>> Setting(std::string_view key) {
    TRY(CheckOpen());
    return reading_->Get(Family::kMeta, key);
  }

  Result<ChainPosition> Compacted() {
    TRY_ASSIGN(auto value, Setting(kCompactedKey));
    if (!value || value->size() != 16) {
      return Fail(SystemError("the store is damaged: its compacted revision cannot be read"));
    }
    return ChainPosition{*DecodeUint64(std::string_view(*value).substr(0, 8)),
                         *DecodeUint64(std::string_view(*value).substr(8))};
  }

 private:
  Result<void> CheckOpen() const {
    if (!reading_) return Fail(SystemError("the store is closed"));
    return {};
  }
  std::optional<Database::Reading> reading_;
};

class RocksDbLog : public LogStore {
 public:
  explicit RocksDbLog(RocksDbOptions options)
      : options_(std::move(options)), mark_(options_.directory + "/acknowledged") {}

  bool blocking() const override { return true; }
  bool keeps_records() const override { return false; }

  Result<LogPosition> Open(uint64_t store_id) override {
    TRY_ASSIGN(auto database, Database::Open(options_.directory));
    database_ = std::move(database);
    TRY_ASSIGN(auto found, mark_.Open());
    RocksDbView view(database_);
    TRY_ASSIGN(auto store, view.Setting(kStoreKey));
    if (!store) return MakeStore(view, found, store_id);
    TRY(ReadStoreId(*store));
    TRY_ASSIGN(const ChainPosition compacted, view.Compacted());
    TRY(Verify(view, compacted, found));
    TRY(RebuildIndexIfNeeded(view));
    if (found.found == AcknowledgedMark::Found::kEmpty) {
      TRY(mark_.Create({store_id_, last_.revision, last_.chain}));
    }
    open_ = true;
    return LogPosition{.revision = last_.revision, .compacted_revision = compacted.revision};
  }

  std::unique_ptr<LogView> View() override {
    std::lock_guard lock(mutex_);
    return std::make_unique<RocksDbView>(database_);
  }
  std::unique_ptr<LogView> Newest() override {
    std::lock_guard lock(mutex_);
    return std::make_unique<RocksDbView>(database_, Database::Reading::Of::kNewest);
  }

  void Apply(const LogBatch& batch) override {
    size_t bytes = 0;
    for (const LogRecord& record : batch.records) {
      bytes += record.record.text().size() + 2 * record.record.key().size() + kRecordOverhead;
    }
    WriteBatch writes(*database_, bytes);
    ChainPosition last = last_;
    for (const LogRecord& record : batch.records) {
      EncodedRecord encoded = EncodeRecord(record, last.chain);
      last = {record.record.revision(), encoded.chain};
      writes.Put(Family::kLog, EncodeUint64(last.revision), encoded.value);
      writes.Put(Family::kIndex, record.record.key(), EncodeIndexEntry({last.revision, record.deleted}));
    }
    if (batch.compacted_revision != 0) AddCompaction(batch, writes);
    if (auto written = database_->Write(writes, options_.sync); !written) Fatal(written.error().message());
    last_ = last;
    // Without fsync the log may lose its end at a power loss, and the mark must never lead it.
    if (options_.sync && !batch.records.empty()) mark_.Write({store_id_, last_.revision, last_.chain});
  }

  void Settle() override {
    std::lock_guard lock(settling_);
    if (open_) mark_.Sync();
  }

  void Rest() override {
    std::lock_guard lock(settling_);
    if (open_) database_->Rest();
  }

  void Close() override {
    std::lock_guard settling(settling_);
    std::lock_guard lock(mutex_);
    if (!std::exchange(open_, false)) return;
    if (!options_.sync) {
      // An empty batch with sync brings everything before it to the disk.
      WriteBatch nothing(*database_);
      nothing.Put(Family::kMeta, kIndexKey, "");
      if (auto written = database_->Write(nothing, true); !written) Fatal(written.error().message());
      mark_.Write({store_id_, last_.revision, last_.chain});
    }
    mark_.Sync();
    database_.reset();  // closes once the last view is gone
  }

 private:
  // A store that was never written to, or whose making was cut short.
  Result<LogPosition> MakeStore(RocksDbView& view, const AcknowledgedMark::Reading& found, uint64_t store_id) {
    if (found.found == AcknowledgedMark::Found::kMark && found.mark.revision > kFirstRevision) {
      return Fail(Damaged(options_.directory, "revision " + std::to_string(found.mark.revision) +
                                                  " was acknowledged, but the log is empty"));
    }
    TRY(view.ScanEncoded(0, UINT64_MAX, [&](uint64_t revision, std::string_view) -> Result<bool> {
      return Fail(Damaged(options_.directory,
                          "revision " + std::to_string(revision) + " is there, the store's settings are not"));
    }));
    store_id_ = store_id;
    last_ = {kFirstRevision, store_id};
    TRY(mark_.Create({store_id_, last_.revision, last_.chain}));
    WriteBatch writes(*database_);
    writes.Put(Family::kMeta, kStoreKey, std::string(1, kStoreVersion) + EncodeUint64(store_id));
    writes.Put(Family::kMeta, kCompactedKey, EncodeUint64(last_.revision) + EncodeUint64(last_.chain));
    writes.Put(Family::kMeta, kIndexKey, "");
    TRY(database_->Write(writes, true));
    open_ = true;
    return LogPosition();
  }

  Result<void> ReadStoreId(std::string_view store) {
    if (store.empty() || store[0] != kStoreVersion) {
      return Fail(
          SystemError("the store in " + options_.directory + " has an unknown format: written by a newer version?"));
    }
    auto id = DecodeUint64(store.substr(1));
    if (!id) return Fail(Damaged(options_.directory, "its id cannot be read"));
    store_id_ = *id;
    return {};
  }

  // Walks the log and compares it with the mark; sets last_.
  Result<void> Verify(RocksDbView& view, ChainPosition compacted, const AcknowledgedMark::Reading& found) {
    TRY(CheckMarkBelongs(found));
    last_ = compacted;
    TRY(view.ScanEncoded(compacted.revision + 1, UINT64_MAX,
                         [&](uint64_t revision, std::string_view value) -> Result<bool> {
                           TRY(VerifyRecord(revision, value));
                           if (found.mark.revision == revision) TRY(CompareWithMark(found.mark));
                           return true;
                         }));
    if (found.mark.revision == compacted.revision) return CompareChains(compacted, found.mark);
    if (found.mark.revision > last_.revision) {
      return Fail(Damaged(options_.directory, "revision " + std::to_string(found.mark.revision) +
                                                  " was acknowledged, but the log ends at " +
                                                  std::to_string(last_.revision)));
    }
    return {};
  }

  Result<void> CheckMarkBelongs(const AcknowledgedMark::Reading& found) {
    if (found.found == AcknowledgedMark::Found::kMissing) {
      return Fail(
          Damaged(options_.directory,
                  "the note of acknowledged revisions (the file \"acknowledged\") is missing; to take the log as "
                  "it stands, make an empty one"));
    }
    if (found.found == AcknowledgedMark::Found::kMark && found.mark.store_id != store_id_) {
      return Fail(Damaged(options_.directory,
                          "the note of acknowledged revisions (the file \"acknowledged\") belongs to another store"));
    }
    return {};
  }

  Result<void> VerifyRecord(uint64_t revision, std::string_view value) {
    if (revision != last_.revision + 1) {
      return Fail(
          Damaged(options_.directory, "revision " + std::to_string(last_.revision + 1) + " is missing from the log"));
    }
    TRY_ASSIGN(const RecordChain chain, ReadChain(revision, value, last_.chain));
    if (chain.expected != chain.stored) {
      return Fail(Damaged(options_.directory,
                          "revision " + std::to_string(revision) + " does not match the checksum of the log"));
    }
    last_ = {revision, chain.stored};
    return {};
  }

  Result<void> CompareWithMark(const Mark& mark) { return CompareChains(last_, mark); }
  Result<void> CompareChains(ChainPosition position, const Mark& mark) {
    if (position.chain == mark.chain) return {};
    return Fail(Damaged(options_.directory,
                        "revision " + std::to_string(position.revision) + " is not the one that was acknowledged"));
  }

  // The index is derived: if it was dropped, or its making was cut short, the log gives it again.
  Result<void> RebuildIndexIfNeeded(RocksDbView& view) {
    TRY_ASSIGN(auto whole, view.Setting(kIndexKey));
    if (whole && !database_->made(Family::kIndex)) return {};
    auto writes = std::make_unique<WriteBatch>(*database_);
    writes->Delete(Family::kMeta, kIndexKey);
    writes->DeleteAll(Family::kIndex);
    size_t count = 0;
    TRY(view.ScanLog(0, UINT64_MAX, [&](const LogRecord& record) -> Result<bool> {
      writes->Put(Family::kIndex, record.record.key(),
                  EncodeIndexEntry({record.record.revision(), record.deleted}));
      if (++count % kRebuildStep == 0) {
        TRY(database_->Write(*writes, true));
        writes = std::make_unique<WriteBatch>(*database_);
      }
      return true;
    }));
    writes->Put(Family::kMeta, kIndexKey, "");
    return database_->Write(*writes, true);
  }

  void AddCompaction(const LogBatch& batch, WriteBatch& writes) {
    for (uint64_t revision : batch.dropped) writes.Delete(Family::kLog, EncodeUint64(revision));
    for (const std::string& key : batch.forgotten) writes.Delete(Family::kIndex, key);
    writes.Put(Family::kMeta, kCompactedKey,
               EncodeUint64(batch.compacted_revision) + EncodeUint64(ChainAt(batch.compacted_revision)));
  }

  // Of a revision above the one compacted so far; read before the batch drops it.
  uint64_t ChainAt(uint64_t revision) {
    if (revision == last_.revision) return last_.chain;
    uint64_t chain = 0;
    RocksDbView view(database_);
    auto scanned = view.ScanEncoded(revision, revision, [&](uint64_t, std::string_view value) -> Result<bool> {
      TRY_ASSIGN(const RecordChain found, ReadChain(revision, value, 0));
      chain = found.stored;
      return false;
    });
    if (!scanned) Fatal(scanned.error().message());
    return chain;
  }

  const RocksDbOptions options_;
  std::mutex settling_;  // keeps Settle and Rest apart from Close; not the other's lock, as readers would wait for the disk then
  std::mutex mutex_;     // guards database_ against Close
  std::shared_ptr<Database> database_;
  bool open_ = false;
  AcknowledgedMark mark_;
  uint64_t store_id_ = 0;
  ChainPosition last_;
};

}  // namespace

std::unique_ptr<LogStore> MakeRocksDbLog(RocksDbOptions options) {
  return std::make_unique<RocksDbLog>(std::move(options));
}

}  // namespace homeostat::store::internal
