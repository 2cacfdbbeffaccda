#include "homeostat/sdk/work_queue.h"

#include <algorithm>

namespace homeostat::sdk {

void WorkQueue::Add(std::string key) {
  if (running_.contains(key)) {
    dirty_.insert(std::move(key));
    return;
  }
  if (queued_.insert(key).second) queue_.push_back(std::move(key));
}

void WorkQueue::AddAt(std::string key, MonotonicTime due) {
  auto known = due_.find(key);
  if (known != due_.end()) {
    if (known->second <= due) return;
    delayed_.erase({known->second, key});
    known->second = due;
  } else {
    due_.emplace(key, due);
  }
  delayed_.emplace(due, std::move(key));
}

void WorkQueue::AddAfterFailure(std::string key, MonotonicTime now) {
  int failures = failures_[key]++;
  Duration delay = options_.limit;
  if (failures < 40 && options_.base < options_.limit / (int64_t{1} << failures)) delay = options_.base * (int64_t{1} << failures);
  AddAt(std::move(key), now + delay);
}

void WorkQueue::Forget(const std::string& key) { failures_.erase(key); }

int WorkQueue::Failures(const std::string& key) const {
  auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

std::optional<std::string> WorkQueue::Take(MonotonicTime now) {
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    std::string key = delayed_.begin()->second;
    delayed_.erase(delayed_.begin());
    due_.erase(key);
    Add(std::move(key));
  }
  if (queue_.empty()) return std::nullopt;
  std::string key = std::move(queue_.front());
  queue_.pop_front();
  queued_.erase(key);
  running_.insert(key);
  return key;
}

void WorkQueue::Finish(const std::string& key) {
  running_.erase(key);
  if (dirty_.erase(key) > 0) Add(key);
}

std::optional<MonotonicTime> WorkQueue::NextDue() const {
  if (delayed_.empty()) return std::nullopt;
  return delayed_.begin()->first;
}

}  // namespace homeostat::sdk
