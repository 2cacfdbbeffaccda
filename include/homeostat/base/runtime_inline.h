// The template part of runtime.h.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
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

}  // namespace runtime_internal

template <class T>
Task<T> RunOffLoop(Runtime& runtime, std::move_only_function<T()> work) {
  runtime_internal::OffLoopAwaiter<T> awaiter(runtime, std::move(work));
  co_return co_await awaiter;
}

}  // namespace homeostat
