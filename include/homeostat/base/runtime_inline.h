// The template part of runtime.h.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "homeostat/base/runtime.h"

namespace homeostat {

namespace runtime_internal {

// Shared between the awaiting frame and the call on its way, so that either may end first.
template <class T>
struct OffLoopState {
  std::move_only_function<T()> work;
  std::optional<T> result;
  std::coroutine_handle<> waiting;  // null once the awaiting frame is gone
};

template <class T>
class OffLoopAwaiter {
 public:
  OffLoopAwaiter(Runtime& runtime, std::move_only_function<T()> work)
      : runtime_(runtime), state_(std::make_shared<OffLoopState<T>>()) {
    state_->work = std::move(work);
  }
  OffLoopAwaiter(const OffLoopAwaiter&) = delete;
  ~OffLoopAwaiter() {
    if (state_) state_->waiting = {};
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    state_->waiting = handle;
    runtime_.RunBlocking([state = state_] { state->result.emplace(state->work()); },
                         [state = state_] {
                           if (auto waiting = std::exchange(state->waiting, {})) waiting.resume();
                         });
  }
  T await_resume() { return std::move(*state_->result); }

 private:
  Runtime& runtime_;
  std::shared_ptr<OffLoopState<T>> state_;
};

// A task and a timer beside it; whichever comes first ends the other.
template <class T>
class WithinAwaiter {
 public:
  WithinAwaiter(Runtime& runtime, Duration limit, Task<T> task) : runtime_(runtime), limit_(limit), task_(std::move(task)) {
    timer_.owner = this;
  }
  WithinAwaiter(const WithinAwaiter&) = delete;
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> handle) {
    timer_.waiting = handle;
    timer_.After(runtime_, limit_);
    auto inner = task_.operator co_await();
    return inner.await_suspend(handle);
  }
  auto await_resume() {
    timer_.Cancel();
    if constexpr (std::is_void_v<T>) {
      if (!task_.valid()) return false;
      task_.operator co_await().await_resume();
      return true;
    } else {
      if (!task_.valid()) return std::optional<T>();
      return std::optional<T>(task_.operator co_await().await_resume());
    }
  }

 private:
  struct Timer : Wakeup {
    Timer() : Wakeup(&WithinAwaiter::OnTimer) {}
    WithinAwaiter* owner = nullptr;
    std::coroutine_handle<> waiting;
  };
  static void OnTimer(Wakeup& wakeup) {
    auto& timer = static_cast<Timer&>(wakeup);
    timer.owner->task_ = Task<T>();
    timer.waiting.resume();
  }

  Runtime& runtime_;
  Duration limit_;
  Task<T> task_;
  Timer timer_;
};

}  // namespace runtime_internal

template <class T>
Task<std::optional<T>> Within(Runtime& runtime, Duration limit, Task<T> task) {
  runtime_internal::WithinAwaiter<T> awaiter(runtime, limit, std::move(task));
  co_return co_await awaiter;
}

inline Task<bool> Within(Runtime& runtime, Duration limit, Task<void> task) {
  runtime_internal::WithinAwaiter<void> awaiter(runtime, limit, std::move(task));
  co_return co_await awaiter;
}

template <class T>
Task<T> RunOffLoop(Runtime& runtime, std::move_only_function<T()> work) {
  runtime_internal::OffLoopAwaiter<T> awaiter(runtime, std::move(work));
  co_return co_await awaiter;
}

}  // namespace homeostat
