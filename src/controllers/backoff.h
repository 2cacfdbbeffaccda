// Pauses that grow with every turn, kept by name: for what is tried again and again. Pure; loop only.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>

#include "homeostat/base/runtime.h"

namespace homeostat::controllers {

// The first pause is `first`, each next one twice as long, `most` at most. A name that was left alone for twice `most` starts anew.
class Backoff {
 public:
  Backoff(Duration first, Duration most) : first_(first), most_(most) {}

  // How much of the pause is left; zero: now is the time.
  Duration Left(const std::string& name, MonotonicTime now) const {
    auto found = entries_.find(name);
    if (found == entries_.end() || IsOld(found->second, now)) return Duration(0);
    return std::max(Duration(0), found->second.since + found->second.pause - now);
  }
  // It is tried now: the next pause begins.
  void Next(const std::string& name, MonotonicTime now) {
    std::erase_if(entries_, [&](const auto& entry) { return IsOld(entry.second, now); });
    auto [entry, made] = entries_.try_emplace(name, Entry{first_, now});
    if (!made) entry->second = {std::min(most_, entry->second.pause * 2), now};
  }

 private:
  struct Entry {
    Duration pause;
    MonotonicTime since;
  };
  bool IsOld(const Entry& entry, MonotonicTime now) const { return now - entry.since > 2 * most_; }

  Duration first_, most_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace homeostat::controllers
