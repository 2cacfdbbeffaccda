#include "cache/internal/window.h"

#include <algorithm>

namespace homeostat::cache::internal {
namespace {

// What the window alone keeps of an event: the superseded state, and the event itself.
size_t CostOf(const Window::Item& item) {
  size_t cost = sizeof(Window::Item);
  if (item.previous) cost += item.previous->memory();
  if (item.deleted) cost += item.entry->memory();  // its texts are the previous state's
  return cost;
}

}  // namespace

WatchEventPtr Window::Item::Event() const {
  auto event = std::make_shared<WatchEvent>();
  event->revision = entry->revision();
  event->previous = previous;
  (deleted ? event->deleted : event->current) = entry;
  return event;
}

void Window::Begin(uint64_t revision) {
  items_.clear();
  bytes_ = 0;
  start_ = revision;
}

void Window::Trim(MonotonicTime now, size_t live_bytes) {
  const size_t most_bytes = std::max(options_.history_bytes, live_bytes);
  const int64_t oldest_time = (now - options_.history_age).time_since_epoch().count();
  while (!items_.empty()) {
    const Item& oldest = items_.front();
    if (items_.size() <= options_.history_events && bytes_ <= most_bytes && oldest.time >= oldest_time) return;
    start_ = oldest.revision();
    bytes_ -= CostOf(oldest);
    items_.pop_front();
  }
}

void Window::Append(const WatchEvent& event, MonotonicTime now) {
  Item item{event.current ? event.current : event.deleted, event.previous, now.time_since_epoch().count(), !event.current};
  bytes_ += CostOf(item);
  items_.push_back(std::move(item));
}

size_t Window::FirstAfter(uint64_t revision) const {
  auto first = std::upper_bound(items_.begin(), items_.end(), revision,
                                [](uint64_t bound, const Item& item) { return bound < item.revision(); });
  return static_cast<size_t>(first - items_.begin());
}

const Window::Item* Window::Find(uint64_t revision) const {
  if (revision == 0) return nullptr;
  const size_t index = FirstAfter(revision - 1);
  if (index == items_.size() || items_[index].revision() != revision) return nullptr;
  return &items_[index];
}

}  // namespace homeostat::cache::internal
