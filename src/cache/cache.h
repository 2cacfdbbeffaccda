// Cache: every live object and the recent past, in memory, fed by the store's events in order.
//
// It holds the stored bytes; trees and other encodings are made on first demand, once per revision, and shared by all
// readers. With the embedded engines the cache is never behind a commit that was answered, so reads are linearizable.
//
// Invariants: an Entry never changes; entries of one snapshot are all of its revision; a Watcher hears every event
// after the revision it began at, once, in order, or is closed as overrun.
//
// Prefixes: one that ends in '/' ("/registry/pods/", "/registry/pods/default/") or is empty means everything below; any
// other means that one key.
#pragma once

#include <atomic>
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
#include "homeostat/object/value.h"
#include "store/engine.h"

namespace homeostat::cache {

// Turns stored bytes into a tree (the kind's type in its storage version) with metadata.resourceVersion set to the
// revision. Given per resource prefix; called on any thread that reads an Entry.
using Decoder = std::function<Result<object::DocumentPtr>(const Bytes& stored, uint64_t revision)>;

namespace internal {
class EntryContext;
struct RecentSlot;

// Keeps what the entries of a cache share; one word, as there are many entries.
class ContextPtr {
 public:
  explicit ContextPtr(EntryContext* context);
  ContextPtr(const ContextPtr& other) : ContextPtr(other.context_) {}
  ContextPtr& operator=(const ContextPtr&) = delete;
  ~ContextPtr();
  EntryContext* operator->() const { return context_; }

 private:
  EntryContext* const context_;
};
}  // namespace internal

// One object at one revision. May be read and dropped on any thread. Four words: what is known of it beyond its stored bytes
// lies beside it, as long as it is recent.
class Entry {
 public:
  Entry(store::Record record, const internal::ContextPtr& context);
  ~Entry();
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  std::string_view key() const { return record_.key(); }
  uint64_t revision() const { return record_.revision(); }
  uint64_t create_revision() const { return record_.create_revision(); }
  Bytes stored() const { return record_.value(); }
  size_t stored_size() const { return record_.text().size(); }
  // Bytes of memory that it takes, about, without trees and encodings.
  size_t memory() const;

  // The tree, with metadata.resourceVersion set: decoded on first demand, kept while someone holds it or it is recent.
  // InternalError if no decoder was set for the key.
  Result<object::DocumentPtr> document() const;
  // An encoding by a name the caller chooses (media type, version, transformation): made on first demand by `make` from
  // the tree's root, kept while it is recent. The result must not point into the tree.
  Result<Bytes> Encoding(std::string_view name, const std::function<Result<Bytes>(const object::Value&)>& make) const;
  // The same state of the object with another tree, such as one in another version: key, revision and stored bytes are this
  // one's. It keeps the tree as long as it lives.
  std::shared_ptr<const Entry> Showing(object::DocumentPtr document) const;

 private:
  friend class internal::EntryContext;
  const store::Record record_;
  const internal::ContextPtr context_;
  // Written with the context's lock held.
  mutable std::atomic<internal::RecentSlot*> slot_ = nullptr;
};
using EntryPtr = std::shared_ptr<const Entry>;

struct Snapshot {
  uint64_t revision = 0;
  std::vector<EntryPtr> entries;  // by key
  size_t remaining = 0;           // how many follow after the last one, when a limit cut the list short
};

// Which part of a list is wanted.
struct Page {
  std::string start;  // keys before this one are left out
  size_t limit = 0;   // 0: all
};

// One write as watchers see it, before selectors.
struct WatchEvent {
  uint64_t revision = 0;
  EntryPtr current;   // null for a deletion
  EntryPtr previous;  // null for a creation; for a deletion the last state
  EntryPtr deleted;   // for a deletion: the last state carrying the deletion's revision
  std::string_view key() const { return current ? current->key() : deleted->key(); }
};
using WatchEventPtr = std::shared_ptr<const WatchEvent>;

// Loop only. May outlive the cache: then nothing more comes.
class Watcher {
 public:
  virtual ~Watcher() = default;  // unsubscribes
  // The events that have come since, at least one unless `limit` passed first or the prefix got another decoder (then
  // none). ExpiredError when it was too slow and events were lost. One call at a time.
  virtual Task<Result<std::vector<WatchEventPtr>>> Next(Duration limit) = 0;
  // Revision up to which every event of the prefix has been handed out by Next: what a bookmark may say once those have
  // been written.
  virtual uint64_t progress() const = 0;
};

struct Options {
  // The window for watches and exact lists ends at whichever comes first.
  size_t history_events = 200'000;
  // Of superseded states that only the window keeps; or as much as the live objects take, if that is more, so that the
  // past of a large cluster is not shorter than its writes need.
  size_t history_bytes = 32 << 20;
  Duration history_age = std::chrono::minutes(5);
  size_t watcher_backlog = 20'000;  // events a watcher may lag behind
  size_t recent_bytes = 16 << 20;   // trees and encodings kept for the next reader, about
  Duration recent_age = std::chrono::seconds(10);  // and how long, about, when nobody reads them
};

// What a Commit did: the engine's answer, and the entry that goes with it.
struct CommitResult : store::CommitOutcome {
  // Committed: the new state; after a deletion the last state carrying the deletion's revision. Not committed: what
  // stands at the key, null if nothing does.
  EntryPtr entry;
};

// Gives the tree of the bytes just written with the revision they were given, so that nobody needs to decode them.
using DocumentMaker = std::function<object::DocumentPtr(uint64_t revision)>;

// Loop only. The engine must outlive it, and it the tasks it returned.
class Cache {
 public:
  Cache(Runtime& runtime, store::Engine& engine, Options options = {});
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // Says how objects under a prefix ("/registry/pods/") are decoded; may be called again when kinds change: what was
  // decoded before is forgotten then, and watchers below the prefix wake. Of several prefixes that fit a key the longest
  // counts.
  void SetDecoder(std::string prefix, Decoder decoder);

  // Has each later event under a prefix told on the loop as it comes, before anybody hears of it by a watch and before the
  // commit that made it is answered: for what must change in the same moment, and for indexes that must never be behind.
  // The observer may call SetDecoder, Get and List, nothing that waits or writes. For as long as the cache lives.
  void Observe(std::string prefix, std::function<void(const WatchEvent&)> observer);

  // Subscribes to the engine, opens it and loads every record. The window then begins at the current revision.
  Task<Result<void>> Start();

  uint64_t revision() const;
  // The window's begin: Watch works from this revision on.
  uint64_t oldest_revision() const;
  EntryPtr Get(std::string_view key) const;                             // null if there is none
  Snapshot List(std::string_view prefix, const Page& page = {}) const;  // now
  // At a revision (0: now): from the window, else from the engine's history. ExpiredError when it is gone,
  // store::FutureRevisionError when it has not come yet.
  Task<Result<Snapshot>> ListAt(std::string prefix, uint64_t revision, Page page = {}) const;
  size_t Count(std::string_view prefix) const;

  // Completes when revision() >= the one given; after the limit (3 s upstream) store::FutureRevisionError.
  Task<Result<void>> WaitFor(uint64_t revision, Duration limit) const;

  // Events after that revision, which may lie in the future; ExpiredError ("too old resource version: A (B)") when the
  // window no longer has them.
  Result<std::unique_ptr<Watcher>> Watch(std::string prefix, uint64_t after_revision);

  // Commits through the engine. `document`, if given, is called during the commit, on the loop.
  Task<Result<CommitResult>> Commit(store::Write write, DocumentMaker document = nullptr);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace homeostat::cache
