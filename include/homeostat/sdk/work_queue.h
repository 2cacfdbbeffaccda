// WorkQueue: keys to be looked at, each once however often it was added, never by two workers at the same time; with
// delays and per-key back-off. A pure core (no coroutines): the controller's shell waits for it. Loop only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <deque>

#include "homeostat/base/runtime.h"

namespace homeostat::sdk {

struct BackoffOptions {
  Duration base = std::chrono::milliseconds(5);
  Duration limit = std::chrono::seconds(1000);
};

// States of a key: absent, queued, running, running and queued again (dirty). Add moves absent → queued and
// running → dirty; Take moves queued → running; Finish moves running → absent and dirty → queued.
class WorkQueue {
 public:
  explicit WorkQueue(BackoffOptions options = {}) : options_(options) {}
  void Add(std::string key);
  // Adds it once `due` has come (see NextDue). An earlier due time wins.
  void AddAt(std::string key, MonotonicTime due);
  // Adds it after base·2^failures.
  void AddAfterFailure(std::string key, MonotonicTime now);
  void Forget(const std::string& key);          // forgets its failures
  int Failures(const std::string& key) const;
  // The next key to work on, or nullopt. Moves keys whose time has come first.
  std::optional<std::string> Take(MonotonicTime now);
  void Finish(const std::string& key);
  // When the next delayed key is due; nullopt if none is delayed.
  std::optional<MonotonicTime> NextDue() const;
  size_t depth() const { return queue_.size(); }

 private:
  BackoffOptions options_;
  std::deque<std::string> queue_;
  std::unordered_set<std::string> queued_, running_, dirty_;
  std::unordered_map<std::string, int> failures_;
  std::set<std::pair<MonotonicTime, std::string>> delayed_;
  std::unordered_map<std::string, MonotonicTime> due_;
};

}  // namespace homeostat::sdk
