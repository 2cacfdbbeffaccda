// The recent past: the events that watches and exact lists can still go back to. Pure; time is given.
//
// Invariant: it holds every event with start() < revision <= the newest, by revision.
#pragma once

#include <deque>

#include "cache/cache.h"

namespace homeostat::cache::internal {

class Window {
 public:
  // An event in few words, as there are many: what watchers are told of it is made when somebody goes back so far.
  struct Item {
    EntryPtr entry;     // the new state; of a deletion, the last state with the deletion's revision
    EntryPtr previous;  // null for a creation
    int64_t time : 63;  // ns, monotonic
    uint64_t deleted : 1;

    uint64_t revision() const { return entry->revision(); }
    WatchEventPtr Event() const;
  };

  explicit Window(const Options& options) : options_(options) {}

  // Forgets everything; the past begins at this revision.
  void Begin(uint64_t revision);
  // Drops what is too much or too old. Called before a group of events is appended, so that the group itself stays.
  // `live_bytes`: what the live objects take.
  void Trim(MonotonicTime now, size_t live_bytes);
  // Revisions rise.
  void Append(const WatchEvent& event, MonotonicTime now);

  uint64_t start() const { return start_; }
  size_t size() const { return items_.size(); }
  size_t bytes() const { return bytes_; }
  const Item& at(size_t index) const { return items_[index]; }
  // Index of the first event above the revision; size() if there is none.
  size_t FirstAfter(uint64_t revision) const;
  // The event of that revision; null if the window has none.
  const Item* Find(uint64_t revision) const;

 private:
  const Options options_;
  std::deque<Item> items_;
  uint64_t start_ = 0;
  size_t bytes_ = 0;
};

}  // namespace homeostat::cache::internal
