#include "store/internal/rocksdb_database.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "store/internal/fatal.h"

namespace homeostat::store::internal {
namespace {

constexpr std::array<const char*, 3> kFamilyNames = {"default", "log", "index"};
constexpr size_t kFamilies = kFamilyNames.size();

constexpr size_t kBlockCacheBytes = 8 << 20;
constexpr size_t kLogMemtableBytes = 4 << 20;
constexpr size_t kIndexMemtableBytes = 2 << 20;
constexpr size_t kMetaMemtableBytes = 64 << 10;
constexpr int kOpenFiles = 256;
// What a database at rest may keep in memtables: a smaller file is not worth its making.
constexpr uint64_t kRestingMemtableBytes = 1 << 20;

rocksdb::Slice ToSlice(std::string_view text) { return {text.data(), text.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// RocksDB's own log says nothing that its statuses do not.
class SilentLogger : public rocksdb::Logger {
 public:
  SilentLogger() : rocksdb::Logger(rocksdb::InfoLogLevel::FATAL_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

class FatalListener : public rocksdb::EventListener {
 public:
  // Work that is cut short by closing is told as an error too; what it would have written is in the write-ahead log
  // still.
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    if (status->IsShutdownInProgress()) return;
    Fatal("RocksDB failed in the background: " + status->ToString());
  }
};

rocksdb::DBOptions MakeDatabaseOptions() {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  // Not the default, which opens at the first damaged record and forgets what follows without a word. This one refuses
  // damage with something after it, and allows a torn end, which an unanswered write leaves at a power loss; whether
  // that end was answered after all is what the mark of acknowledged revisions tells.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.paranoid_checks = true;
  options.atomic_flush = true;       // the families never drift apart
  options.recycle_log_file_num = 0;  // no stale records of older logs in newer ones
  options.manual_wal_flush = false;
  options.max_bgerror_resume_count = 0;  // a failure is never tried again
  options.avoid_flush_during_recovery = true;
  options.skip_stats_update_on_db_open = true;
  options.max_open_files = kOpenFiles;  // and so not all of them are opened at start
  options.max_file_opening_threads = 1;
  options.max_background_jobs = 2;
  options.max_subcompactions = 1;
  options.compaction_readahead_size = 128 << 10;  // not a call for every block
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.info_log = std::make_shared<SilentLogger>();
  options.info_log_level = rocksdb::InfoLogLevel::FATAL_LEVEL;
  options.listeners.push_back(std::make_shared<FatalListener>());
  return options;
}

rocksdb::ColumnFamilyOptions MakeFamilyOptions(size_t memtable_bytes, const std::shared_ptr<rocksdb::Cache>& cache,
                                               bool filter) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;
  if (filter) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = memtable_bytes;
  options.max_write_buffer_number = 3;
  options.arena_block_size = 32 << 10;
  options.target_file_size_base = 16 << 20;
  options.max_bytes_for_level_base = 64 << 20;
  // Most of what is written has been compacted away before it comes to the lower levels: only what stays is worth compressing.
  options.compression_per_level = {rocksdb::kNoCompression, rocksdb::kNoCompression, rocksdb::kLZ4Compression};
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> MakeFamilies(const std::shared_ptr<rocksdb::Cache>& cache) {
  return {{kFamilyNames[0], MakeFamilyOptions(kMetaMemtableBytes, cache, false)},
          {kFamilyNames[1], MakeFamilyOptions(kLogMemtableBytes, cache, false)},
          {kFamilyNames[2], MakeFamilyOptions(kIndexMemtableBytes, cache, true)}};
}

Result<void> MakeDirectory(const std::string& directory) {
  std::error_code error;
  std::filesystem::path path(directory);
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (!error && ::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    error = std::error_code(errno, std::generic_category());
  }
  if (!error && !std::filesystem::is_directory(path, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) return Fail(SystemError("cannot make the data directory " + directory + ": " + error.message()));
  return {};
}

Status OpenFailure(const std::string& directory, const rocksdb::Status& status) {
  const std::string text = status.ToString();
  if (status.IsIOError() && text.find("/LOCK") != std::string::npos && text.find("ock") != std::string::npos &&
      text.find("denied") == std::string::npos) {
    return SystemError("the data directory " + directory + " is in use by another process");
  }
  if (status.IsCorruption()) return SystemError("the store in " + directory + " is damaged: " + text);
  return SystemError("cannot open the store in " + directory + ": " + text);
}

Status ReadFailure(const rocksdb::Status& status) { return SystemError("cannot read the store: " + status.ToString()); }

}  // namespace

struct Database::Rep {
  std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(kBlockCacheBytes, /*num_shard_bits=*/2);
  std::unique_ptr<rocksdb::DB> database;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilies> families{};
  std::array<bool, kFamilies> made{};

  rocksdb::ColumnFamilyHandle* Handle(Family family) const { return families[static_cast<size_t>(family)]; }
  ~Rep() {
    if (!database) return;
    for (auto* handle : families) database->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    database->Close().PermitUncheckedError();  // every write was durable before
  }
};

struct WriteBatch::Rep {
  const Database::Rep& database;
  rocksdb::WriteBatch writes;
  rocksdb::Status status;  // the first that was not well

  void Take(const rocksdb::Status& done) {
    if (status.ok()) status = done;
  }
};

WriteBatch::WriteBatch(const Database& database, size_t bytes)
    : rep_(new Rep{.database = *database.rep_, .writes = rocksdb::WriteBatch(bytes), .status = {}}) {}
WriteBatch::~WriteBatch() { rep_->status.PermitUncheckedError(); }
void WriteBatch::Put(Family family, std::string_view key, std::string_view value) {
  rep_->Take(rep_->writes.Put(rep_->database.Handle(family), ToSlice(key), ToSlice(value)));
}
void WriteBatch::Delete(Family family, std::string_view key) {
  rep_->Take(rep_->writes.Delete(rep_->database.Handle(family), ToSlice(key)));
}
void WriteBatch::DeleteAll(Family family) {
  rep_->Take(rep_->writes.DeleteRange(rep_->database.Handle(family), "", std::string(64, '\xff')));
}

Database::Database(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
Database::~Database() = default;

Result<std::shared_ptr<Database>> Database::Open(const std::string& directory) {
  TRY(MakeDirectory(directory));
  const std::string path = directory + "/rocksdb";
  const rocksdb::DBOptions options = MakeDatabaseOptions();
  auto rep = std::make_unique<Rep>();

  // Fails when there is no database yet: then every family is new.
  std::vector<std::string> present;
  if (!rocksdb::DB::ListColumnFamilies(options, path, &present).ok()) present.clear();
  for (size_t i = 0; i < kFamilies; ++i) {
    rep->made[i] = std::find(present.begin(), present.end(), kFamilyNames[i]) == present.end();
  }

  rocksdb::DB* database = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const rocksdb::Status status = rocksdb::DB::Open(options, path, MakeFamilies(rep->cache), &handles, &database);
  if (!status.ok()) return Fail(OpenFailure(directory, status));
  rep->database.reset(database);
  std::copy(handles.begin(), handles.end(), rep->families.begin());
  return std::shared_ptr<Database>(new Database(std::move(rep)));
}

bool Database::made(Family family) const { return rep_->made[static_cast<size_t>(family)]; }

Result<void> Database::Write(WriteBatch& batch, bool sync) {
  if (!batch.rep_->status.ok()) return Fail(SystemError("cannot write the store: " + batch.rep_->status.ToString()));
  rocksdb::WriteOptions options;
  options.sync = sync;
  const rocksdb::Status status = rep_->database->Write(options, &batch.rep_->writes);
  if (!status.ok()) return Fail(SystemError("cannot write the store: " + status.ToString()));
  return {};
}

void Database::Rest() {
  uint64_t held = 0;
  for (auto* family : rep_->families) {
    uint64_t bytes = 0;
    if (rep_->database->GetIntProperty(family, rocksdb::DB::Properties::kCurSizeAllMemTables, &bytes)) held += bytes;
  }
  if (held >= kRestingMemtableBytes) {
    // Not done is no loss: the write-ahead log has it. A broken disk ends the process, see above.
    rep_->database->Flush({}, {rep_->families.begin(), rep_->families.end()}).PermitUncheckedError();
  }
  rep_->cache->EraseUnRefEntries();
}

// Giving a snapshot back makes RocksDB write every file of the last level again that has not been since, to take the order of
// writes out of it: what a group of writes reads goes without.
Database::Reading::Reading(std::shared_ptr<Database> database, Of of)
    : database_(std::move(database)), snapshot_(of == Of::kState ? database_->rep_->database->GetSnapshot() : nullptr) {}

Database::Reading::~Reading() {
  if (snapshot_ == nullptr) return;
  database_->rep_->database->ReleaseSnapshot(static_cast<const rocksdb::Snapshot*>(snapshot_));
}

Result<std::optional<std::string>> Database::Reading::Get(Family family, std::string_view key) {
  rocksdb::ReadOptions options;
  options.snapshot = static_cast<const rocksdb::Snapshot*>(snapshot_);
  std::string value;
  const rocksdb::Status status =
      database_->rep_->database->Get(options, database_->rep_->Handle(family), ToSlice(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) return Fail(ReadFailure(status));
  return value;
}

Result<void> Database::Reading::Scan(Family family, std::string_view start, std::string_view end,
                                     const Visitor& visitor) {
  const rocksdb::Slice bound = ToSlice(end);
  rocksdb::ReadOptions options;
  options.snapshot = static_cast<const rocksdb::Snapshot*>(snapshot_);
  options.fill_cache = false;
  if (!end.empty()) options.iterate_upper_bound = &bound;
  std::unique_ptr<rocksdb::Iterator> iterator(
      database_->rep_->database->NewIterator(options, database_->rep_->Handle(family)));
  for (iterator->Seek(ToSlice(start)); iterator->Valid(); iterator->Next()) {
    TRY_ASSIGN(const bool more, visitor(ToView(iterator->key()), ToView(iterator->value())));
    if (!more) break;
  }
  if (!iterator->status().ok()) return Fail(ReadFailure(iterator->status()));
  return {};
}

}  // namespace homeostat::store::internal
