#include "cache/internal/watch_hub.h"

#include <algorithm>

namespace homeostat::cache::internal {

bool UnderPrefix(std::string_view key, std::string_view prefix) {
  return prefix.empty() || prefix.back() == '/' ? key.starts_with(prefix) : key == prefix;
}

void WatchHub::Add(SubscriptionPtr subscription) {
  ++size_;
  by_prefix_[subscription->prefix].push_back(std::move(subscription));
}

void WatchHub::Remove(const SubscriptionPtr& subscription) {
  auto found = by_prefix_.find(subscription->prefix);
  if (found == by_prefix_.end()) return;
  size_ -= std::erase(found->second, subscription);
  if (found->second.empty()) by_prefix_.erase(found);
}

template <class Visit>
void WatchHub::EachPrefix(std::string_view key, Visit visit) {
  if (!visit(std::string_view())) return;
  for (size_t slash = key.find('/'); slash != std::string_view::npos; slash = key.find('/', slash + 1)) {
    if (!visit(key.substr(0, slash + 1))) return;
  }
  if (!key.ends_with('/')) visit(key);
}

bool WatchHub::Listens(std::string_view key) const {
  bool found = false;
  EachPrefix(key, [&](std::string_view prefix) { return !(found = by_prefix_.contains(prefix)); });
  return found;
}

void WatchHub::Dispatch(const WatchEvent& event) {
  WatchEventPtr shared;
  EachPrefix(event.key(), [&](std::string_view prefix) {
    DispatchTo(prefix, event, shared);
    return true;
  });
}

void WatchHub::DispatchTo(std::string_view prefix, const WatchEvent& event, WatchEventPtr& shared) {
  auto found = by_prefix_.find(prefix);
  if (found == by_prefix_.end()) return;
  for (const SubscriptionPtr& subscription : found->second) {
    if (subscription->overrun || event.revision <= subscription->after_revision) continue;
    if (subscription->queue.size() >= subscription->backlog) {
      subscription->overrun = true;
      subscription->queue.clear();
    } else {
      if (!shared) shared = std::make_shared<WatchEvent>(event);
      subscription->queue.push_back(shared);
    }
    if (!std::exchange(subscription->touched, true)) touched_.push_back(subscription);
  }
}

void WatchHub::Publish(uint64_t revision) {
  revision_ = revision;
  for (const SubscriptionPtr& subscription : std::exchange(touched_, {})) {
    subscription->touched = false;
    subscription->changed.Notify();
  }
}

void WatchHub::Wake(std::string_view prefix) {
  for (const auto& [listened, subscriptions] : by_prefix_) {
    if (!listened.starts_with(prefix)) continue;
    for (const SubscriptionPtr& subscription : subscriptions) subscription->changed.Notify();
  }
}

namespace {

// The subscription stays with the frame, as the watcher may go while someone waits.
Task<Result<std::vector<WatchEventPtr>>> TakeNext(SubscriptionPtr subscription, Duration limit) {
  if (subscription->queue.empty() && !subscription->overrun && limit > Duration::zero()) {
    auto waiting = subscription->changed.WaitFor(limit);
    co_await waiting;
  }
  if (subscription->overrun) {
    co_return Fail(ExpiredError("the watch was too slow and has lost events: list again"));
  }
  std::vector<WatchEventPtr> events(std::make_move_iterator(subscription->queue.begin()),
                                    std::make_move_iterator(subscription->queue.end()));
  subscription->queue.clear();
  co_return events;
}

class HubWatcher : public Watcher {
 public:
  HubWatcher(std::shared_ptr<WatchHub> hub, SubscriptionPtr subscription)
      : hub_(std::move(hub)), subscription_(std::move(subscription)) {}
  ~HubWatcher() override { hub_->Remove(subscription_); }

  Task<Result<std::vector<WatchEventPtr>>> Next(Duration limit) override { return TakeNext(subscription_, limit); }

  uint64_t progress() const override {
    if (subscription_->overrun) return subscription_->after_revision;
    const uint64_t reached =
        subscription_->queue.empty() ? hub_->revision() : subscription_->queue.front()->revision - 1;
    return std::max(reached, subscription_->after_revision);
  }

 private:
  std::shared_ptr<WatchHub> hub_;
  SubscriptionPtr subscription_;
};

}  // namespace

std::unique_ptr<Watcher> MakeWatcher(std::shared_ptr<WatchHub> hub, SubscriptionPtr subscription) {
  return std::make_unique<HubWatcher>(std::move(hub), std::move(subscription));
}

}  // namespace homeostat::cache::internal
