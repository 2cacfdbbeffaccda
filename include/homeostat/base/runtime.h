// Runtime: the one door to time, randomness, threads and the network. Nothing outside src/base/ opens another.
//
// RealRuntime runs on Asio; SimulatedRuntime on virtual time and a seed, so that a test can run a year in a second
// and repeat any failure. All of a program's coroutines and callbacks run on one loop, one at a time: state that only
// the loop touches needs no lock.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "homeostat/base/result.h"
#include "homeostat/base/task.h"

namespace homeostat {

// Time since an arbitrary start, never going back. Its resolution is a nanosecond.
using Duration = std::chrono::nanoseconds;
struct MonotonicClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicClock, Duration>;
  static constexpr bool is_steady = true;
};
using MonotonicTime = MonotonicClock::time_point;
// Wall time: nanoseconds since the Unix epoch, UTC.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

using Callback = std::move_only_function<void()>;
enum class TimerId : uint64_t {};

class Network;
class Runtime;

// A place in the loop's queue that costs no allocation: what awaits something holds one as a member, and destroying it
// takes it out of the queue. At most one turn is due at a time. Loop only; the runtime may end first.
class Wakeup {
 public:
  using Function = void (*)(Wakeup& self);

  // Resumes `handle`.
  Wakeup() = default;
  // Calls the function instead.
  explicit Wakeup(Function function) : function_(function) {}
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;
  ~Wakeup() { Cancel(); }

  // Has its turn in a later turn of the loop; a turn that is due already stays as it is.
  void Later(Runtime& runtime);
  // Has its turn once the delay has passed, in place of one that is due.
  void After(Runtime& runtime, std::chrono::nanoseconds delay);
  void Cancel();
  bool due() const { return runtime_ != nullptr; }

  std::coroutine_handle<> handle;

 private:
  friend class Runtime;
  Function function_ = nullptr;
  Runtime* runtime_ = nullptr;  // set while a turn is due
  // The runtime's bookkeeping.
  bool timed_ = false;
  uint64_t place_ = 0;
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  // Stands still while the loop runs one callback.
  virtual MonotonicTime Now() = 0;
  virtual WallTime WallNow() = 0;
  // 64 random bits. Real: from the system's secure source. Simulated: from the seed.
  virtual uint64_t Random() = 0;

  // Runs the callback in a later turn of the loop. May be called from any thread (simulated: there is only one).
  virtual void Post(Callback callback) = 0;
  // Runs it once after the delay, on the loop; the real runtime may be a millisecond late. Cancelling a timer that has
  // fired is harmless. Loop only.
  virtual TimerId After(Duration delay, Callback callback) = 0;
  virtual void CancelTimer(TimerId timer) = 0;
  // Runs `work` on a thread of a small pool (simulated: in a later turn), then `done` on the loop. For disk and process calls.
  virtual void RunBlocking(Callback work, Callback done) = 0;

  // Sockets; see net.h.
  virtual Network& network() = 0;

  struct WakeupAccess;  // for implementations; see src/base/internal/loop.h

 protected:
  friend class Wakeup;
  virtual void Enqueue(Wakeup& wakeup) = 0;
  virtual void EnqueueAfter(Wakeup& wakeup, Duration delay) = 0;
  virtual void Dequeue(Wakeup& wakeup) = 0;
};

// The system's own clock, threads and sockets. Run() returns after Stop().
class RealRuntime : public Runtime {
 public:
  static std::unique_ptr<RealRuntime> Make(int blocking_threads = 4);
  // Runs the loop on the calling thread until Stop.
  virtual void Run() = 0;
  // May be called from any thread and from signal handlers' self-pipe callbacks.
  virtual void Stop() = 0;
  // Calls back on the loop for SIGTERM, SIGINT, SIGHUP …; the callback may fire many times. Replaces an earlier one.
  virtual void OnSignal(int signal, std::function<void()> callback) = 0;
};

// Virtual time: the loop takes the earliest timer when nothing else is ready; what is ready at once runs in an order
// drawn from the seed. The same seed and program give the same run.
class SimulatedRuntime : public Runtime {
 public:
  static std::unique_ptr<SimulatedRuntime> Make(uint64_t seed);
  // What its network does from now on: each piece of bytes takes a time drawn from this range (0 at first).
  virtual void SetNetworkLatency(Duration shortest, Duration longest) = 0;
  virtual uint64_t seed() const = 0;
  // Runs until nothing is ready and no timer is due before `until` has passed; true if work is left for later.
  virtual bool RunFor(Duration duration) = 0;
  // Runs until the condition holds (looked at after each step) or virtual time has passed; says whether it holds.
  virtual bool RunUntil(const std::function<bool()>& condition, Duration limit) = 0;
  // Runs one step; false when nothing is ready and no timer is set.
  virtual bool Step() = 0;
};

// Completes after the delay.
Task<void> Sleep(Runtime& runtime, Duration delay);
// Lets everything else that is ready run first.
Task<void> Yield(Runtime& runtime);

// Awaits the task for at most that long: nullopt, and the task destroyed, when time ran out first.
template <class T>
Task<std::optional<T>> Within(Runtime& runtime, Duration limit, Task<T> task);
// The same for a task without a value: false when time ran out.
Task<bool> Within(Runtime& runtime, Duration limit, Task<void> task);

// Runs a function off the loop and completes with what it returned. `work` must own what it uses: the awaiting task
// may be destroyed while it runs.
template <class T>
Task<T> RunOffLoop(Runtime& runtime, std::move_only_function<T()> work);

// A moment that many can wait for: Notify wakes all who wait now, each in a later turn. Who still waits when the signal
// is destroyed is not woken any more. Loop only.
class Signal {
 public:
  explicit Signal(Runtime& runtime) : runtime_(runtime) {}
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  void Notify();

  class Awaiter {
   public:
    explicit Awaiter(Signal& signal) : signal_(&signal) {}
    Awaiter(const Awaiter&) = delete;
    ~Awaiter();
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const noexcept {}

   private:
    friend class Signal;
    void Leave();

    Signal* signal_;
    Wakeup wakeup_;
    Awaiter* previous_ = nullptr;
    Awaiter* next_ = nullptr;
    bool listed_ = false;
  };
  // `auto wait = signal.Wait(); co_await wait;`
  Awaiter Wait() { return Awaiter(*this); }
  // Waits for Notify, at most that long; false when time ran out. The signal must outlive the wait.
  Task<bool> WaitFor(Duration limit);

 private:
  struct TimedAwaiter;

  Runtime& runtime_;
  Awaiter* first_ = nullptr;
  Awaiter* last_ = nullptr;
};

}  // namespace homeostat

#include "homeostat/base/runtime_inline.h"
