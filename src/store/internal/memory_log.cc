#include "store/internal/memory_log.h"

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <string>

#include "store/internal/log_codec.h"

namespace homeostat::store::internal {
namespace {

struct ByKey {
  using is_transparent = void;
  static std::string_view KeyOf(std::string_view key) { return key; }
  static std::string_view KeyOf(const Record& record) { return record.key(); }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return KeyOf(a) < KeyOf(b);
  }
};

// Records are kept as they come, with their notes. The index has each key's newest.
struct Contents {
  absl::btree_map<uint64_t, Record> log;
  absl::btree_set<Record, ByKey> index;
  uint64_t compacted_revision = kFirstRevision;
};

IndexEntry EntryOf(const Record& record) { return {record.revision(), IsDeletion(record.note())}; }

// Reads the contents as they are: everything happens on the loop, so that nothing changes during one reading.
class MemoryView : public LogView {
 public:
  explicit MemoryView(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

  Result<std::optional<IndexEntry>> Find(std::string_view key) override {
    auto found = contents_->index.find(key);
    if (found == contents_->index.end()) return std::nullopt;
    return EntryOf(*found);
  }
  Result<std::optional<LogRecord>> Load(uint64_t revision, Parts parts) override {
    auto found = contents_->log.find(revision);
    if (found == contents_->log.end()) return std::nullopt;
    TRY_ASSIGN(LogRecord record, DecodeNote(found->second, parts));
    return record;
  }
  Result<void> ScanIndex(std::string_view start, std::string_view end, const IndexVisitor& visitor) override {
    for (auto it = contents_->index.lower_bound(start); it != contents_->index.end(); ++it) {
      if (!end.empty() && it->key() >= end) break;
      TRY_ASSIGN(const bool more, visitor(it->key(), EntryOf(*it)));
      if (!more) break;
    }
    return {};
  }
  Result<void> ScanLog(uint64_t first, uint64_t last, const LogVisitor& visitor) override {
    for (auto it = contents_->log.lower_bound(first); it != contents_->log.end() && it->first <= last; ++it) {
      TRY_ASSIGN(const LogRecord record, DecodeNote(it->second, Parts::kAll));
      TRY_ASSIGN(const bool more, visitor(record));
      if (!more) break;
    }
    return {};
  }
  Result<uint64_t> CompactedRevision() override { return contents_->compacted_revision; }

 private:
  std::shared_ptr<const Contents> contents_;
};

class MemoryLog : public LogStore {
 public:
  bool blocking() const override { return false; }
  bool keeps_records() const override { return true; }
  Result<LogPosition> Open(uint64_t) override { return LogPosition(); }
  std::unique_ptr<LogView> View() override { return std::make_unique<MemoryView>(contents_); }
  void Apply(const LogBatch& batch) override {
    for (const LogRecord& added : batch.records) {
      const Record& record = added.record;
      auto [known, fresh] = contents_->index.insert(record);
      if (!fresh) const_cast<Record&>(*known) = record;  // of the same key: the order stands
      contents_->log.emplace_hint(contents_->log.end(), record.revision(), record);
    }
    for (const std::string& key : batch.forgotten) contents_->index.erase(key);
    for (uint64_t revision : batch.dropped) contents_->log.erase(revision);
    if (batch.compacted_revision != 0) contents_->compacted_revision = batch.compacted_revision;
  }

 private:
  std::shared_ptr<Contents> contents_ = std::make_shared<Contents>();
};

}  // namespace

std::unique_ptr<LogStore> MakeMemoryLog() { return std::make_unique<MemoryLog>(); }

}  // namespace homeostat::store::internal
