#include "homeostat/base/task.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "homeostat/base/runtime.h"

namespace homeostat {
namespace {

// Ends the process with the exception's text: an error that is not a value is a bug, and hiding it would leave
// a component dead while the rest goes on.
[[noreturn]] void DieOf(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fatal: an exception left a task: %s\n", error.what());
  } catch (...) {
    std::fprintf(stderr, "fatal: an exception left a task\n");
  }
  std::abort();
}

// A ring of runners; the head is a link as well, so that leaving needs no knowledge of the list.
struct Link {
  Link* previous = this;
  Link* next = this;
  Link() = default;
  Link(const Link&) = delete;
  bool empty() const { return next == this; }
  void InsertBefore(Link& position) {
    previous = position.previous;
    next = &position;
    previous->next = this;
    position.previous = this;
  }
  void Leave() {
    previous->next = next;
    next->previous = previous;
    previous = next = this;
  }
};

}  // namespace

struct TaskGroup::State {
  explicit State(Runtime& runtime) : runtime(runtime), ended(runtime), cancel(&State::DestroyCancelled) {
    cancel.state = this;
  }

  struct Runner;
  struct CancelWakeup : Wakeup {
    using Wakeup::Wakeup;
    State* state = nullptr;
  };

  static void DestroyCancelled(Wakeup& wakeup) { DestroyAll(static_cast<CancelWakeup&>(wakeup).state->cancelled); }
  static void DestroyAll(Link& list);

  Runtime& runtime;
  Signal ended;        // notified when the last task ends
  size_t size = 0;
  Link running;
  Link cancelled;      // to be destroyed in a later turn
  CancelWakeup cancel;
};

// The coroutine that owns a spawned task: one frame, linked into the group, gone when the task ends.
struct TaskGroup::State::Runner {
  struct promise_type : Link {
    State* state;
    Wakeup start;

    promise_type(State& state, Task<void>&) : state(&state) {
      InsertBefore(state.running);
      ++state.size;
      start.handle = std::coroutine_handle<promise_type>::from_promise(*this);
      start.Later(state.runtime);
    }
    ~promise_type() {
      Leave();
      if (--state->size == 0) state->ended.Notify();
    }
    Runner get_return_object() { return {}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { DieOf(std::current_exception()); }
  };

  static Runner Run(State&, Task<void> task) { co_await task; }
};

void TaskGroup::State::DestroyAll(Link& list) {
  while (!list.empty()) {
    auto& promise = static_cast<Runner::promise_type&>(*list.next);
    std::coroutine_handle<Runner::promise_type>::from_promise(promise).destroy();
  }
}

TaskGroup::TaskGroup(Runtime& runtime) : state_(std::make_shared<State>(runtime)) {}

TaskGroup::~TaskGroup() {
  // The frames' own destructors may still reach the group through the state.
  State::DestroyAll(state_->cancelled);
  State::DestroyAll(state_->running);
}

void TaskGroup::Spawn(Task<void> task) {
  if (task.valid()) State::Runner::Run(*state_, std::move(task));
}

void TaskGroup::Cancel() {
  while (!state_->running.empty()) {
    Link& runner = *state_->running.next;
    runner.Leave();
    runner.InsertBefore(state_->cancelled);
  }
  if (!state_->cancelled.empty()) state_->cancel.Later(state_->runtime);
}

namespace {
template <class State>
Task<void> WaitUntilEmpty(std::shared_ptr<State> state) {
  while (state->size > 0) {
    auto wait = state->ended.Wait();
    co_await wait;
  }
}
}  // namespace

Task<void> TaskGroup::Join() { return WaitUntilEmpty(state_); }

size_t TaskGroup::size() const { return state_->size; }

// ------------------------------------------------------------------------------------------------ waiting

void Wakeup::Later(Runtime& runtime) {
  if (runtime_ == nullptr) runtime.Enqueue(*this);
}

void Wakeup::After(Runtime& runtime, std::chrono::nanoseconds delay) {
  Cancel();
  runtime.EnqueueAfter(*this, delay);
}

void Wakeup::Cancel() {
  if (runtime_ != nullptr) runtime_->Dequeue(*this);
}

namespace {

struct SleepAwaiter {
  Runtime& runtime;
  Duration delay;
  Wakeup wakeup;
  SleepAwaiter(Runtime& runtime, Duration delay) : runtime(runtime), delay(delay) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    wakeup.handle = handle;
    if (delay > Duration::zero()) {
      wakeup.After(runtime, delay);
    } else {
      wakeup.Later(runtime);
    }
  }
  void await_resume() const noexcept {}
};

}  // namespace

Task<void> Sleep(Runtime& runtime, Duration delay) {
  SleepAwaiter awaiter(runtime, delay);
  co_await awaiter;
}

Task<void> Yield(Runtime& runtime) { return Sleep(runtime, Duration::zero()); }

Signal::~Signal() {
  while (first_ != nullptr) {
    Awaiter* awaiter = first_;
    awaiter->Leave();
    awaiter->signal_ = nullptr;
  }
}

void Signal::Notify() {
  while (first_ != nullptr) {
    Awaiter* awaiter = first_;
    awaiter->Leave();
    awaiter->wakeup_.Later(runtime_);
  }
}

void Signal::Awaiter::await_suspend(std::coroutine_handle<> handle) {
  wakeup_.handle = handle;
  if (signal_ == nullptr) return;  // the signal is gone: nobody will wake us
  previous_ = signal_->last_;
  next_ = nullptr;
  (previous_ != nullptr ? previous_->next_ : signal_->first_) = this;
  signal_->last_ = this;
  listed_ = true;
}

void Signal::Awaiter::Leave() {
  if (!listed_) return;
  (previous_ != nullptr ? previous_->next_ : signal_->first_) = next_;
  (next_ != nullptr ? next_->previous_ : signal_->last_) = previous_;
  listed_ = false;
}

Signal::Awaiter::~Awaiter() { Leave(); }

// A wait with a timer beside it; whichever comes first takes the other away.
struct Signal::TimedAwaiter {
  struct Timer : Wakeup {
    using Wakeup::Wakeup;
    TimedAwaiter* owner = nullptr;
  };

  Runtime& runtime;
  Duration limit;
  Awaiter awaiter;
  Timer timer{&TimedAwaiter::OnTimer};
  bool in_time = true;

  TimedAwaiter(Signal& signal, Duration limit) : runtime(signal.runtime_), limit(limit), awaiter(signal) {}

  static void OnTimer(Wakeup& wakeup) {
    TimedAwaiter& self = *static_cast<Timer&>(wakeup).owner;
    // A notification that is on its way counts: its turn comes by itself.
    if (self.awaiter.wakeup_.due()) return;
    self.in_time = false;
    self.awaiter.Leave();
    self.awaiter.wakeup_.handle.resume();
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    awaiter.await_suspend(handle);
    timer.owner = this;
    timer.After(runtime, limit);
  }
  bool await_resume() {
    timer.Cancel();
    return in_time;
  }
};

Task<bool> Signal::WaitFor(Duration limit) {
  TimedAwaiter awaiter(*this, limit);
  co_return co_await awaiter;
}

}  // namespace homeostat
