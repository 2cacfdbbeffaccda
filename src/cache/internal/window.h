// The recent past: the events that watches and exact lists can still go back to. Pure; time is given.
//
// Invariant: it holds every event with start() < revision <= the newest, by revision.
#pragma once

#include <deque>

#include "cache/cache.h"

namespace homeostat::cache::internal {

// Memory of one entry, about: itself, its key and value, and what the allocator and the reference counts add.
size_t CostOf(const Entry& entry);

class Window {
 public:
  explicit Window(const Options& options) : options_(options) {}

  // Forgets everything; the past begins at this revision.
  void Begin(uint64_t revision);
  // Drops what is too much or too old. Called before a group of events is appended, so that the group itself stays.
  // `live_bytes`: what the live objects take.
  void Trim(MonotonicTime now, size_t live_bytes);
  // Revisions rise.
  void Append(WatchEventPtr event, MonotonicTime now);

  uint64_t start() const { return start_; }
  size_t size() const { return events_.size(); }
  size_t bytes() const { return bytes_; }
  const WatchEventPtr& at(size_t index) const { return events_[index].event; }
  // Index of the first event above the revision; size() if there is none.
  size_t FirstAfter(uint64_t revision) const;
  // The event of that revision; null if the window has none.
  WatchEventPtr Find(uint64_t revision) const;

 private:
  struct Item {
    WatchEventPtr event;
    MonotonicTime time;
    size_t bytes;
  };
  const Options options_;
  std::deque<Item> events_;
  uint64_t start_ = 0;
  size_t bytes_ = 0;
};

}  // namespace homeostat::cache::internal
