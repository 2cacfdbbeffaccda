// Engine: the revisioned key-value store under everything. The smallest interface that RocksDB, etcd and plain memory
// all serve well. One test suite (engine_test.cc) runs against every engine.
//
// Invariants
//  - Revisions are given by commit order, over the whole store, starting above 1, and never reused, not even after a crash.
//  - A Commit answers only after its write is durable (memory: after it is ordered).
//  - The observer hears every write exactly once, in revision order, before the Commit that made it answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/bytes.h"
#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat::store {

// Who made a revision; kept beside it for history and blame, never inside the object.
struct WriteInfo {
  std::string user, field_manager, verb, subresource, audit_id;
  WallTime time{};
};

// What must hold of the key for a write to happen.
struct Expectation {
  enum class Kind : uint8_t { kAnything, kAbsent, kRevision } kind = Kind::kAnything;
  uint64_t revision = 0;  // the key's current modification revision
  static Expectation Absent() { return {Kind::kAbsent, 0}; }
  static Expectation At(uint64_t revision) { return {Kind::kRevision, revision}; }
};

struct Write {
  std::string key;              // e.g. /registry/deployments/default/web
  std::optional<Bytes> value;   // nullopt deletes
  Expectation expectation;
  WriteInfo info;
};

struct Record {
  std::string key;
  Bytes value;
  uint64_t create_revision = 0;
  uint64_t revision = 0;
};

struct Event {
  uint64_t revision = 0;
  bool deleted = false;
  Record record;                // after the write; for a deletion the key and its last value, with the deletion's revision
  std::optional<Record> previous;
  WriteInfo info;
};

struct CommitOutcome {
  bool committed = false;       // false: the expectation did not hold
  uint64_t revision = 0;        // of the write; when not committed, the store's current one
  std::optional<Record> current;  // when not committed: what stands at the key
};

struct RangeResult {
  std::vector<Record> records;  // by key
  uint64_t revision = 0;        // at which this was true
  bool more = false;
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Loads what is stored; must complete before anything else. A damaged log is an error, never skipped.
  virtual Task<Result<void>> Open() = 0;
  // Flushes and closes; pending commits have answered.
  virtual Task<void> Close() = 0;

  // Orders, makes durable, tells the observer, answers. Many may be under way; they are committed in groups with one fsync.
  // An error means the store is broken (the process should end); a failed expectation is not an error.
  virtual Task<Result<CommitOutcome>> Commit(Write write) = 0;

  // Records with start <= key < end at that revision (0: now), at most limit (0: all). A revision before the last
  // compaction is ExpiredError; one in the future is an error.
  virtual Task<Result<RangeResult>> Range(std::string start, std::string end, uint64_t revision, size_t limit) = 0;

  // Revisions of a key that are still kept, oldest first.
  virtual Task<Result<std::vector<Event>>> History(std::string key) = 0;
  // Events after that revision up to now, oldest first, over all keys with that prefix; ExpiredError if some are gone.
  virtual Task<Result<std::vector<Event>>> EventsSince(std::string prefix, uint64_t revision) = 0;

  // Forgets superseded revisions up to and including this one.
  virtual Task<Result<void>> Compact(uint64_t revision) = 0;

  virtual uint64_t revision() const = 0;            // newest that was published
  virtual uint64_t compacted_revision() const = 0;

  // Set once, before Open. Called on the loop with events in order. During Open it is called with nothing.
  virtual void SetObserver(std::function<void(const std::vector<Event>&)> observer) = 0;
};

struct RocksDbOptions {
  std::string directory;                 // created with mode 0700; one process at a time
  bool sync = true;                      // fsync each group
};
std::unique_ptr<Engine> MakeMemoryEngine(Runtime& runtime);
std::unique_ptr<Engine> MakeRocksDbEngine(Runtime& runtime, RocksDbOptions options);

}  // namespace homeostat::store
