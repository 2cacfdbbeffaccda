// Cache: every live object and the recent past, in memory, fed by the store's events in order.
//
// It holds the stored bytes; trees and other encodings are made on first demand, once per revision, and shared by all
// readers. With the embedded engines the cache is never behind a commit that was answered, so reads are linearizable.
//
// Invariants: an Entry never changes; entries of one snapshot are all of its revision; a Watcher hears every event after
// the revision it began at, once, in order, or is closed as overrun.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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

// Turns stored bytes into a tree (the kind's type in its storage version). Given per resource prefix.
using Decoder = std::function<Result<object::DocumentPtr>(const Bytes& stored, uint64_t revision)>;

// One object at one revision.
class Entry {
 public:
  const std::string& key() const { return record_.key; }
  uint64_t revision() const { return record_.revision; }
  uint64_t create_revision() const { return record_.create_revision; }
  const Bytes& stored() const { return record_.value; }

  // The tree, with metadata.resourceVersion set; decoded on first demand and kept while someone holds it or it is recent.
  Result<object::DocumentPtr> document() const;
  // An encoding by a name the caller chooses (media type, version, transformation): made on first demand by `make`, kept.
  Result<Bytes> Encoding(std::string_view name, const std::function<Result<Bytes>(const object::Value&)>& make) const;

  Entry(store::Record record, const Decoder* decoder);
  // Hands over a tree that is already there (the one just written).
  void SeedDocument(object::DocumentPtr document) const;

 private:
  store::Record record_;
  const Decoder* decoder_;
  mutable object::DocumentPtr document_;
  mutable std::vector<std::pair<std::string, Bytes>> encodings_;
};
using EntryPtr = std::shared_ptr<const Entry>;

struct Snapshot {
  uint64_t revision = 0;
  std::vector<EntryPtr> entries;  // by key
};

// One write as watchers see it, before selectors.
struct WatchEvent {
  uint64_t revision = 0;
  EntryPtr current;   // null for a deletion
  EntryPtr previous;  // null for a creation; for a deletion the last state, to be shown with the deletion's revision
  EntryPtr deleted;   // for a deletion: the last state carrying the deletion's revision
};

class Watcher {
 public:
  virtual ~Watcher() = default;  // unsubscribes
  // The events that have come since, at least one unless `limit` passed first (then none). ExpiredError when it was too
  // slow and events were lost.
  virtual Task<Result<std::vector<std::shared_ptr<const WatchEvent>>>> Next(Duration limit) = 0;
  // Revision up to which every event of the prefix has been handed out by Next: what a bookmark may say.
  virtual uint64_t progress() const = 0;
};

struct Options {
  size_t history_events = 200'000;       // the window for watches and exact lists, whichever ends first
  Duration history_age = std::chrono::minutes(5);
  size_t watcher_backlog = 20'000;       // events a watcher may lag behind
};

// Loop only.
class Cache {
 public:
  Cache(Runtime& runtime, store::Engine& engine, Options options = {});
  ~Cache();

  // Says how objects under a prefix ("/registry/pods/") are decoded; may be called again when kinds change.
  void SetDecoder(std::string prefix, Decoder decoder);

  // Subscribes to the engine, opens it and loads every record. The window then begins at the current revision.
  Task<Result<void>> Start();

  uint64_t revision() const;
  EntryPtr Get(std::string_view key) const;                 // null if there is none
  Snapshot List(std::string_view prefix) const;             // now
  // At an older revision: from the window, else from the engine's history; ExpiredError when it is gone.
  Task<Result<Snapshot>> ListAt(std::string prefix, uint64_t revision) const;
  size_t Count(std::string_view prefix) const;

  // Completes when revision() >= the one given; TimeoutError "Too large resource version" after the limit (3 s upstream).
  Task<Result<void>> WaitFor(uint64_t revision, Duration limit) const;

  // Events after that revision; ExpiredError ("too old resource version: A (B)") when the window no longer has them.
  Result<std::unique_ptr<Watcher>> Watch(std::string prefix, uint64_t after_revision);

  // Commits through the engine and, on success, returns the new entry (null after a deletion). `document` is what the
  // bytes decode to, so that it need not be decoded again.
  Task<Result<store::CommitOutcome>> Commit(store::Write write, object::DocumentPtr document);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace homeostat::cache
