// Engine: the revisioned key-value store under everything. The smallest interface that RocksDB, etcd and plain memory
// all serve well. One test suite (engine_test.cc) runs against every engine.
//
// Invariants
//  - Revisions are given by commit order, over the whole store, and never reused, not even after a crash. An empty
//  store
//    is at revision 1, as etcd's is; the first write gets 2.
//  - A Commit answers only after its write is durable (memory: after it is ordered).
//  - The observer hears every write exactly once, in revision order, before the Commit that made it answers.
//
// Every call belongs to the loop, and the engine must outlive the tasks it returned. A Commit that has begun goes
// through even when the task that waits for it is dropped.
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
#include "store/record.h"

namespace homeostat::store {

// Who made a revision; kept beside it for history and blame, never inside the object.
struct WriteInfo {
  std::string user, field_manager, verb, subresource, audit_id;
  WallTime time{};  // unset: filled in when the write is handed over
};

// What must hold of the key for a write to happen.
struct Expectation {
  enum class Kind : uint8_t { kAnything, kAbsent, kRevision } kind = Kind::kAnything;
  uint64_t revision = 0;  // the key's current modification revision
  static Expectation Absent() { return {Kind::kAbsent, 0}; }
  static Expectation At(uint64_t revision) { return {Kind::kRevision, revision}; }
};

struct Write {
  std::string key;             // e.g. /registry/deployments/default/web
  std::optional<Bytes> value;  // nullopt deletes; deleting what is not there commits nothing
  Expectation expectation;
  WriteInfo info;
  uint64_t ticket = 0;  // comes back with the event
};

struct Event {
  uint64_t revision = 0;
  bool deleted = false;
  Record record;  // after the write; for a deletion the key and its last value, with the deletion's revision
  std::optional<Record> previous;  // the state before, if there was one and it is still kept
  WriteInfo info;
  uint64_t ticket = 0;  // of the write, for the observer; 0 for events that are read later
};

struct CommitOutcome {
  bool committed = false;         // false: the expectation did not hold, or there was nothing to delete
  uint64_t revision = 0;          // of the write; when not committed, the store's current one
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

  // Orders, makes durable, tells the observer, answers. Many may be under way; they are committed in groups with one
  // fsync. An error means that the store could not read what it holds, or is closed; nothing was written then. A failed
  // expectation is not an error. A write or fsync that fails ends the process: what is on the disk is unknown then.
  virtual Task<Result<CommitOutcome>> Commit(Write write) = 0;

  // Records with start <= key < end (an empty end: to the last key) at that revision (0: now), at most limit (0: all).
  // A revision before the last compaction is ExpiredError; one in the future is FutureRevisionError.
  virtual Task<Result<RangeResult>> Range(std::string start, std::string end, uint64_t revision, size_t limit) = 0;

  // Revisions of a key that are still kept, oldest first.
  virtual Task<Result<std::vector<Event>>> History(std::string key) = 0;
  // Events after that revision up to now, oldest first, over all keys with that prefix; ExpiredError if some are gone.
  virtual Task<Result<std::vector<Event>>> EventsSince(std::string prefix, uint64_t revision) = 0;

  // Forgets superseded revisions up to and including this one; states at it and later can still be read. Works in small
  // steps between the groups of commits, each a compaction of its own. A revision already compacted is nothing to do.
  virtual Task<Result<void>> Compact(uint64_t revision) = 0;

  virtual uint64_t revision() const = 0;            // newest that was published
  virtual uint64_t compacted_revision() const = 0;  // 1 if nothing was compacted yet

  // Set before Open. Called on the loop with the events of a group, in order; not called during Open.
  virtual void SetObserver(std::function<void(const std::vector<Event>&)> observer) = 0;
};

// 504 Timeout "Too large resource version: …", with the cause by which clients know it.
Status FutureRevisionError(uint64_t wanted, uint64_t current);

struct RocksDbOptions {
  std::string directory;  // created with mode 0700; one process at a time
  bool sync = true;       // fsync each group. Without, a power loss takes the last writes; kill -9 does not
};
std::unique_ptr<Engine> MakeMemoryEngine(Runtime& runtime);
std::unique_ptr<Engine> MakeRocksDbEngine(Runtime& runtime, RocksDbOptions options);

}  // namespace homeostat::store
