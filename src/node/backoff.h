// Backoff: how long to wait before something that failed is tried again. Pure: asked with the time.
//
// Source of the rules: the pod lifecycle documentation ("10 s, 20 s, 40 s, … capped at 5 minutes", reset after ten
// minutes without trouble).
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "homeostat/base/runtime.h"

namespace homeostat::node {

struct BackoffLimits {
  Duration first = std::chrono::seconds(10);
  Duration most = std::chrono::minutes(5);
};

// For one thing (a container's restarts, the pulls of an image). Times are the caller's; they need not be of one clock
// as long as they are of the same one each time.
template <class TimePoint>
class Backoff {
 public:
  explicit Backoff(BackoffLimits limits = {}) : limits_(limits) {}

  // How long after `failed_at` it must still not be tried again; nullopt if it may be.
  std::optional<TimePoint> BlockedUntil(TimePoint failed_at, TimePoint now) const {
    if (!delay_ || Expired(failed_at)) return std::nullopt;
    TimePoint until = failed_at + *delay_;
    if (now >= until) return std::nullopt;
    return until;
  }

  // It is being tried again after the failure at `failed_at`: the next wait is twice as long.
  void Retry(TimePoint failed_at, TimePoint now) {
    if (!delay_ || Expired(failed_at)) {
      delay_ = limits_.first;
    } else {
      delay_ = std::min(*delay_ * 2, limits_.most);
    }
    last_ = now;
  }

  Duration delay() const { return delay_.value_or(Duration(0)); }
  void Reset() { delay_.reset(); }

 private:
  // Twice the longest wait without a failure forgets all of them.
  bool Expired(TimePoint failed_at) const { return failed_at - last_ > limits_.most * 2; }

  BackoffLimits limits_;
  std::optional<Duration> delay_;
  TimePoint last_{};
};

}  // namespace homeostat::node
