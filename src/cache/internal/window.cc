#include "cache/internal/window.h"

#include <algorithm>

namespace homeostat::cache::internal {
namespace {

// What the window alone keeps of an event: the superseded state, and the event itself.
size_t CostOf(const WatchEvent& event) {
  size_t cost = sizeof(WatchEvent) + 64;
  if (event.previous) cost += sizeof(Entry) + event.previous->key().size() + event.previous->stored().size();
  if (event.deleted) cost += sizeof(Entry) + event.deleted->key().size();  // shares its value with the previous state
  return cost;
}

}  // namespace

void Window::Begin(uint64_t revision) {
  events_.clear();
  bytes_ = 0;
  start_ = revision;
}

void Window::Trim(MonotonicTime now) {
  while (!events_.empty()) {
    const Item& oldest = events_.front();
    const bool keep = events_.size() <= options_.history_events && bytes_ <= options_.history_bytes &&
                      now - oldest.time <= options_.history_age;
    if (keep) return;
    start_ = oldest.event->revision;
    bytes_ -= oldest.bytes;
    events_.pop_front();
  }
}

void Window::Append(WatchEventPtr event, MonotonicTime now) {
  const size_t bytes = CostOf(*event);
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
