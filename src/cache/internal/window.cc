#include "cache/internal/window.h"

#include <algorithm>

namespace homeostat::cache::internal {
namespace {

// A reference count beside an object, and what the allocator rounds up.
constexpr size_t kBlockBytes = 32;

// What the window alone keeps of an event: the superseded state, and the event itself.
size_t CostOfEvent(const WatchEvent& event) {
  size_t cost = sizeof(WatchEvent) + kBlockBytes;
  if (event.previous) cost += CostOf(*event.previous);
  // Shares its value with the previous state.
  if (event.deleted) cost += CostOf(*event.deleted) - event.deleted->stored().size();
  return cost;
}

}  // namespace

size_t CostOf(const Entry& entry) {
  return sizeof(Entry) + entry.key().capacity() + entry.stored().size() + 3 * kBlockBytes;
}

void Window::Begin(uint64_t revision) {
  events_.clear();
  bytes_ = 0;
  start_ = revision;
}

void Window::Trim(MonotonicTime now, size_t live_bytes) {
  const size_t most_bytes = std::max(options_.history_bytes, live_bytes);
  while (!events_.empty()) {
    const Item& oldest = events_.front();
    const bool keep = events_.size() <= options_.history_events && bytes_ <= most_bytes &&
                      now - oldest.time <= options_.history_age;
    if (keep) return;
    start_ = oldest.event->revision;
    bytes_ -= oldest.bytes;
    events_.pop_front();
  }
}

void Window::Append(WatchEventPtr event, MonotonicTime now) {
  const size_t bytes = CostOfEvent(*event);
  bytes_ += bytes;
  events_.push_back({std::move(event), now, bytes});
}

size_t Window::FirstAfter(uint64_t revision) const {
  auto first = std::upper_bound(events_.begin(), events_.end(), revision,
                                [](uint64_t bound, const Item& item) { return bound < item.event->revision; });
  return static_cast<size_t>(first - events_.begin());
}

WatchEventPtr Window::Find(uint64_t revision) const {
  if (revision == 0) return nullptr;
  const size_t index = FirstAfter(revision - 1);
  if (index == events_.size() || events_[index].event->revision != revision) return nullptr;
  return events_[index].event;
}

}  // namespace homeostat::cache::internal
