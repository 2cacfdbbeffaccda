// EventCorrelator: what becomes of an event, given those before it. A pure core; the numbers are client-go's.
//
//   the source has said too much about the object          → dropped
//   the same was said before                               → that event's count rises
//   more than ten that differ in their message alone       → one event says that they are similar, and its count rises
//   otherwise                                              → a new event
#pragma once

#include <list>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "homeostat/base/runtime.h"

namespace homeostat::sdk {

// A map that forgets what was not used for longest.
template <class T>
class RecentMap {
 public:
  explicit RecentMap(size_t limit) : limit_(limit) {}
  // The entry, made if there is none; `added` tells. Valid until the next call.
  T& Use(const std::string& key, bool& added) {
    auto found = places_.find(key);
    added = found == places_.end();
    if (!added) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->second;
    }
    entries_.emplace_front(key, T());
    places_.emplace(key, entries_.begin());
    if (entries_.size() > limit_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }
  void Erase(const std::string& key) {
    auto found = places_.find(key);
    if (found == places_.end()) return;
    entries_.erase(found->second);
    places_.erase(found);
  }

 private:
  using Entries = std::list<std::pair<std::string, T>>;
  size_t limit_;
  Entries entries_;
  std::unordered_map<std::string, typename Entries::iterator> places_;
};

class EventCorrelator {
 public:
  struct Input {
    std::string source;    // who says it
    std::string object;    // about what: kind, version, namespace, name, uid
    std::string part;      // field path
    std::string type, reason, message;
  };
  // What to write. count > 1: the event `name` is there already.
  struct Output {
    std::string key;             // for Forget
    std::string name, message;
    std::string first_timestamp; // of the first of them
    int32_t count = 1;
  };

  // `name` is for a new event; `timestamp` is now, as events hold it. nullopt: say nothing.
  std::optional<Output> Correlate(const Input& input, const std::string& name, const std::string& timestamp, MonotonicTime now);
  // The event could not be written: the next one like it is a new one.
  void Forget(const std::string& key) { observed_.Erase(key); }

 private:
  static constexpr size_t kRemembered = 4096;
  struct Bucket {
    double tokens = 0;
    MonotonicTime at;
  };
  struct Similar {
    std::set<std::string> messages;
    MonotonicTime last;
  };
  struct Observed {
    std::string name, first_timestamp;
    int32_t count = 0;
  };

  bool TakeToken(const Input& input, MonotonicTime now);
  // The key that the event counts under, and its message.
  std::pair<std::string, std::string> Aggregate(const Input& input, MonotonicTime now);

  RecentMap<Bucket> buckets_{kRemembered};
  RecentMap<Similar> similar_{kRemembered};
  RecentMap<Observed> observed_{kRemembered};
};

}  // namespace homeostat::sdk
