// Time limits: a timer that moves cheaply, and a bound on how long a task may take. Loop only.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "homeostat/base/runtime.h"
#include "homeostat/base/task.h"

namespace homeostat::http::internal {

// Calls back once when a time has passed, unless it is moved or cleared before. Moving it later, which every request
// does, costs a store: the timer that is set finds the new time when it fires.
class Deadline {
 public:
  Deadline(Runtime& runtime, Callback expired) : runtime_(runtime), expired_(std::move(expired)) {
    timer_.owner = this;
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  void Set(Duration from_now) {
    at_ = runtime_.Now() + from_now;
    if (!timer_.due() || *at_ < armed_for_) Arm();
  }
  void Clear() { at_.reset(); }
  bool set() const { return at_.has_value(); }

 private:
  struct Timer : Wakeup {
    using Wakeup::Wakeup;
    Deadline* owner = nullptr;
  };
  static void OnTimer(Wakeup& wakeup) { static_cast<Timer&>(wakeup).owner->Fire(); }

  void Arm() {
    armed_for_ = *at_;
    timer_.After(runtime_, *at_ - runtime_.Now());
  }
  void Fire() {
    if (!at_) return;
    if (runtime_.Now() < *at_) return Arm();
    at_.reset();
    expired_();
  }

  Runtime& runtime_;
  Callback expired_;
  std::optional<MonotonicTime> at_;
  MonotonicTime armed_for_{};
  Timer timer_{&Deadline::OnTimer};
};

// Awaits the task for at most `limit`; then it is destroyed and `what` becomes a 504 that says so. A limit of zero is
// none.
template <class T>
Task<Result<T>> WithTimeLimit(Runtime& runtime, Task<Result<T>> task, Duration limit, std::string what) {
  if (limit <= Duration::zero()) {
    Result<T> result = co_await task;
    co_return std::move(result);
  }
  auto within = Within(runtime, limit, std::move(task));
  std::optional<Result<T>> result = co_await within;
  if (!result) co_return Fail(Status(504, "Timeout", what));
  co_return *std::move(result);
}

}  // namespace homeostat::http::internal
