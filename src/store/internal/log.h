// The log that every engine stands on: revision → record, and an index of keys derived from it.
//
// LogView is what reading needs, LogStore what an engine's storage must do. Everything between (ordering, old
// revisions, compaction) is written once over these two.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/engine.h"

namespace homeostat::store::internal {

// The revision of a store that was never written to, as etcd's.
inline constexpr uint64_t kFirstRevision = 1;

// One write as the log keeps it.
struct LogRecord {
  Record record;                   // with an empty value for a deletion: the last one is at previous_revision
  uint64_t previous_revision = 0;  // the key's write before this one, a deletion included; 0: none
  bool deleted = false;
  WriteInfo info;
};

// What of a record is read.
enum class Parts : uint8_t { kAll, kState };  // kState: all but the info

// Where a key's newest write is.
struct IndexEntry {
  uint64_t revision = 0;
  bool deleted = false;
};

// A consistent reading of log and index. Belongs to one thread at a time.
class LogView {
 public:
  // Says whether to go on.
  using IndexVisitor = std::function<Result<bool>(std::string_view key, IndexEntry entry)>;
  using LogVisitor = std::function<Result<bool>(const LogRecord& record)>;

  virtual ~LogView() = default;
  virtual Result<std::optional<IndexEntry>> Find(std::string_view key) = 0;
  virtual Result<std::optional<LogRecord>> Load(uint64_t revision, Parts parts) = 0;
  // Keys in order, deleted ones included; an empty end is no bound.
  virtual Result<void> ScanIndex(std::string_view start, std::string_view end, const IndexVisitor& visitor) = 0;
  // Records with first <= revision <= last, in order.
  virtual Result<void> ScanLog(uint64_t first, uint64_t last, const LogVisitor& visitor) = 0;
  virtual Result<uint64_t> CompactedRevision() = 0;
};

// What is written at once: all of it or nothing.
struct LogBatch {
  std::vector<LogRecord> records;      // new ones, by revision; each moves its key's index entry
  std::vector<uint64_t> dropped;       // revisions that are forgotten
  std::vector<std::string> forgotten;  // keys that leave the index
  uint64_t compacted_revision = 0;     // 0: as it was
};

struct LogPosition {
  uint64_t revision = kFirstRevision;
  uint64_t compacted_revision = kFirstRevision;
};

class LogStore {
 public:
  virtual ~LogStore() = default;
  // Whether calls may wait for the disk, and so must be made off the loop.
  virtual bool blocking() const = 0;
  // Whether it keeps the records that Apply gets, as they are: they must carry notes then, as log_codec.h has them.
  virtual bool keeps_records() const = 0;
  // `store_id` names the store if it is made now. Refuses what is damaged.
  virtual Result<LogPosition> Open(uint64_t store_id) = 0;
  // Any thread, also while Apply runs.
  virtual std::unique_ptr<LogView> View() = 0;
  // Of what is newest whenever it is asked, and cheaper: for the one who calls Apply, between two calls.
  virtual std::unique_ptr<LogView> Newest() { return View(); }
  // Durable when it returns; ends the process if it cannot be made so. One call at a time.
  virtual void Apply(const LogBatch& batch) = 0;
  // Makes durable what Apply notes beside the log. Called now and then; any thread.
  virtual void Settle() {}
  // Gives back memory that only writing needs. Called when little has been written for a while; any thread.
  virtual void Rest() {}
  virtual void Close() {}
};

// A revision that must be there is not: the log is damaged.
Status MissingRevisionError(uint64_t revision);

}  // namespace homeostat::store::internal
