// Task<T>: a coroutine that is awaited by exactly one owner. TaskGroup: the owner of those that run by themselves.
//
// A Task does nothing until it is awaited or spawned. Dropping a Task, or a group, destroys its suspended frame and,
// through the objects in it, everything it waits for: that is how work is cancelled, and how the simulator crashes a
// component at any await point. Every awaitable therefore deregisters itself in its destructor.
//
// g++ 12 rules: name the operand before co_await; lambdas that are coroutines capture nothing (pass arguments);
// parameters of coroutines are values, or references to things that outlive the task.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace homeostat {

class Runtime;

template <class T>
class [[nodiscard]] Task;

namespace task_internal {

struct PromiseBase {
  std::coroutine_handle<> continuation;
  std::exception_ptr exception;

  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
      auto next = handle.promise().continuation;
      return next ? next : std::coroutine_handle<>(std::noop_coroutine());
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() { exception = std::current_exception(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <class U = T>
  void return_value(U&& result) { value.emplace(std::forward<U>(result)); }
  T Take() {
    if (exception) std::rethrow_exception(exception);
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void Take() {
    if (exception) std::rethrow_exception(exception);
  }
};

}  // namespace task_internal

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = task_internal::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool valid() const { return static_cast<bool>(handle_); }
  bool done() const { return handle_ && handle_.done(); }

  auto operator co_await() && noexcept {
    struct Awaiter {
      Handle handle;
      bool await_ready() const noexcept { return handle.done(); }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
        handle.promise().continuation = caller;
        return handle;
      }
      T await_resume() { return handle.promise().Take(); }
    };
    return Awaiter{handle_};
  }
  auto operator co_await() & noexcept { return std::move(*this).operator co_await(); }

 private:
  Handle handle_;
};

namespace task_internal {
template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}
}  // namespace task_internal

// Tasks that run by themselves until they end or the group is cancelled or destroyed. Belongs to the runtime's loop:
// every call is made there. Destroying the group destroys what still runs; from inside one of its own tasks use
// Cancel(), which does so in a later turn of the loop.
class TaskGroup {
 public:
  explicit TaskGroup(Runtime& runtime);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts the task in a later turn of the loop. An exception that leaves it ends the process: errors are values here.
  void Spawn(Task<void> task);
  void Cancel();
  // Completes when no task is left (without cancelling any).
  Task<void> Join();
  size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace homeostat
