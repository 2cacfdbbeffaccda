// Runtime: the one door to time, randomness, threads and the network. Nothing outside src/base/ opens another.
//
// RealRuntime runs on Asio; SimulatedRuntime on virtual time and a seed, so that a test can run a year in a second
// and repeat any failure. All of a program's coroutines and callbacks run on one loop, one at a time: state that only
// the loop touches needs no lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

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

class Runtime {
 public:
  virtual ~Runtime() = default;

  // Stands still while the loop runs one callback.
  virtual MonotonicTime Now() = 0;
  virtual WallTime WallNow() = 0;
  // 64 random bits. Real: from the system's secure source. Simulated: from the seed.
  virtual uint64_t Random() = 0;

  // Runs the callback in a later turn of the loop. May be called from any thread.
  virtual void Post(Callback callback) = 0;
  // Runs it once after the delay, on the loop. Cancelling a timer that has fired is harmless. Loop only.
  virtual TimerId After(Duration delay, Callback callback) = 0;
  virtual void CancelTimer(TimerId timer) = 0;
  // Runs `work` on a thread of a small pool (simulated: in a later turn), then `done` on the loop. For disk and process calls.
  virtual void RunBlocking(Callback work, Callback done) = 0;

  // Sockets; see net.h.
  virtual Network& network() = 0;
};

// The system's own clock, threads and sockets. Run() returns after Stop().
class RealRuntime : public Runtime {
 public:
  static std::unique_ptr<RealRuntime> Make(int blocking_threads = 4);
  // Runs the loop on the calling thread until Stop.
  virtual void Run() = 0;
  // May be called from any thread and from signal handlers' self-pipe callbacks.
  virtual void Stop() = 0;
  // Calls back on the loop for SIGTERM, SIGINT, SIGHUP …; the callback may fire many times.
  virtual void OnSignal(int signal, std::function<void()> callback) = 0;
};

// Virtual time: the loop takes the earliest timer when nothing else is ready; what is ready at once runs in an order
// drawn from the seed. The same seed and program give the same run.
class SimulatedRuntime : public Runtime {
 public:
  static std::unique_ptr<SimulatedRuntime> Make(uint64_t seed);
  virtual uint64_t seed() const = 0;
  // Runs until nothing is ready and no timer is due before `until` has passed; true if work is left for later.
  virtual void RunFor(Duration duration) = 0;
  // Runs until the condition holds (looked at after each step) or virtual time has passed; says whether it holds.
  virtual bool RunUntil(const std::function<bool()>& condition, Duration limit) = 0;
  // Runs one step; false when nothing is ready and no timer is set.
  virtual bool Step() = 0;
};

// Completes after the delay.
Task<void> Sleep(Runtime& runtime, Duration delay);
// Lets everything else that is ready run first.
Task<void> Yield(Runtime& runtime);

// Runs a function off the loop and completes with what it returned. `work` must own what it uses: the awaiting task
// may be destroyed while it runs.
template <class T>
Task<T> RunOffLoop(Runtime& runtime, std::move_only_function<T()> work);

// A moment that many can wait for: Notify wakes all who wait now. Loop only.
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
    Signal* signal_;
    std::coroutine_handle<> handle_;
    Awaiter* previous_ = nullptr;
    Awaiter* next_ = nullptr;
    std::shared_ptr<bool> cancelled_;
  };
  // `auto wait = signal.Wait(); co_await wait;`
  Awaiter Wait() { return Awaiter(*this); }
  // Waits for Notify, at most that long; false when time ran out.
  Task<bool> WaitFor(Duration limit);

 private:
  Runtime& runtime_;
  Awaiter* first_ = nullptr;
};

}  // namespace homeostat

#include "homeostat/base/runtime_inline.h"
