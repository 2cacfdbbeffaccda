// Who hears which event. A subscription is filed under its prefix; an event looks up every prefix of its key that ends
// at a slash, and the key itself, so that its cost depends on the depth of keys and on who listens, not on how many
// prefixes there are.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cache/cache.h"

namespace homeostat::cache::internal {

// States: open → overrun, when more events wait than the backlog allows; an overrun one hears nothing more.
struct Subscription {
  Subscription(Runtime& runtime, std::string the_prefix, uint64_t after)
      : prefix(std::move(the_prefix)), after_revision(after), changed(runtime) {}

  const std::string prefix;
  const uint64_t after_revision;
  size_t backlog = 0;               // the most that may wait
  std::deque<WatchEventPtr> queue;  // not handed out yet
  bool overrun = false;
  bool touched = false;  // has something new that it was not told of
  Signal changed;
};
using SubscriptionPtr = std::shared_ptr<Subscription>;

class WatchHub {
 public:
  void Add(SubscriptionPtr subscription);
  void Remove(const SubscriptionPtr& subscription);
  // Whether anyone would hear of a change of that key.
  bool Listens(std::string_view key) const;
  // Queues the event with everyone it concerns.
  void Dispatch(const WatchEvent& event);
  // Wakes those that were given something since the last call, and says that every event up to here was dispatched.
  void Publish(uint64_t revision);
  // Wakes those who listen at or below a prefix, with nothing new.
  void Wake(std::string_view prefix);

  uint64_t revision() const { return revision_; }
  size_t size() const { return size_; }

 private:
  // `shared`: the event as subscriptions queue it, made for the first of them.
  void DispatchTo(std::string_view prefix, const WatchEvent& event, WatchEventPtr& shared);
  // Every prefix that a subscription which hears of the key may have, until the visitor says no.
  template <class Visit>
  static void EachPrefix(std::string_view key, Visit visit);

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::vector<SubscriptionPtr>, Hash, std::equal_to<>> by_prefix_;
  std::vector<SubscriptionPtr> touched_;
  uint64_t revision_ = 0;
  size_t size_ = 0;
};

// The watcher over a subscription; keeps the hub.
std::unique_ptr<Watcher> MakeWatcher(std::shared_ptr<WatchHub> hub, SubscriptionPtr subscription);

// Whether the key lies under the prefix, as cache.h means it.
bool UnderPrefix(std::string_view key, std::string_view prefix);

}  // namespace homeostat::cache::internal
