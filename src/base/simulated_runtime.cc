// The runtime in virtual time. Nothing happens by itself: a step is one turn, and between the turns nothing can change.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/internal/loop.h"
#include "base/internal/simulated_network.h"
#include "homeostat/base/runtime.h"

namespace homeostat {
namespace {

using base_internal::CallbackSlots;
using base_internal::SimulatedNetwork;
using base_internal::TimerHeap;

// 2025-01-01T00:00:00Z: any fixed moment would do; this one is after every certificate and date that tests name.
constexpr WallTime kEpoch{std::chrono::seconds(1735689600)};

// A program that never waits would hang the test: so many turns at one moment are a fault of it.
constexpr uint64_t kMostTurnsAtOneMoment = 50'000'000;

class SeededRuntime final : public SimulatedRuntime {
 public:
  explicit SeededRuntime(uint64_t seed) : seed_(seed), order_(seed), random_(~seed), network_(*this) {}
  ~SeededRuntime() override {
    callbacks_.Clear();
    for (Wakeup* wakeup : ready_) WakeupAccess::Leave(*wakeup);
    ready_.clear();
    while (Wakeup* wakeup = timers_.TakeAny()) WakeupAccess::Leave(*wakeup);
  }

  MonotonicTime Now() override { return now_; }
  WallTime WallNow() override { return kEpoch + now_.time_since_epoch(); }
  // Apart from the order of turns, so that one more random number does not change it.
  uint64_t Random() override { return random_(); }

  void Post(Callback callback) override { callbacks_.Add(std::move(callback)).Later(*this); }
  TimerId After(Duration delay, Callback callback) override {
    Wakeup& wakeup = callbacks_.Add(std::move(callback));
    wakeup.After(*this, delay);
    return callbacks_.IdOf(wakeup);
  }
  void CancelTimer(TimerId timer) override { callbacks_.Cancel(timer); }
  void RunBlocking(Callback work, Callback done) override {
    Post([this, work = std::move(work), done = std::move(done)]() mutable {
      work();
      work = nullptr;
      Post(std::move(done));
    });
  }
  Network& network() override { return network_; }

  uint64_t seed() const override { return seed_; }
  void SetNetworkLatency(Duration shortest, Duration longest) override { network_.SetLatency(shortest, longest); }
  bool RunFor(Duration duration) override {
    MonotonicTime end = now_ + duration;
    while (StepUntil(end)) {
    }
    now_ = end;
    return !timers_.empty();
  }
  bool RunUntil(const std::function<bool()>& condition, Duration limit) override {
    MonotonicTime end = now_ + limit;
    while (!condition()) {
      if (!StepUntil(end)) {
        now_ = end;
        return condition();
      }
    }
    return true;
  }
  bool Step() override { return StepUntil(MonotonicTime::max()); }

 protected:
  void Enqueue(Wakeup& wakeup) override {
    AddReady(wakeup);
    WakeupAccess::Enter(wakeup, this, false);
  }
  void EnqueueAfter(Wakeup& wakeup, Duration delay) override {
    delay = std::max(delay, Duration::zero());
    timers_.Add(wakeup, delay > MonotonicTime::max() - now_ ? MonotonicTime::max() : now_ + delay);
    WakeupAccess::Enter(wakeup, this, true);
  }
  void Dequeue(Wakeup& wakeup) override {
    if (WakeupAccess::timed(wakeup)) {
      timers_.Remove(wakeup);
    } else {
      RemoveReady(WakeupAccess::place(wakeup));
    }
    WakeupAccess::Leave(wakeup);
  }

 private:
  void AddReady(Wakeup& wakeup) {
    WakeupAccess::place(wakeup) = ready_.size();
    ready_.push_back(&wakeup);
  }
  Wakeup* RemoveReady(size_t place) {
    Wakeup* wakeup = ready_[place];
    ready_[place] = ready_.back();
    WakeupAccess::place(*ready_[place]) = place;
    ready_.pop_back();
    return wakeup;
  }
  // Timers that are due join what is ready: between them the seed decides.
  void MoveDue() {
    while (Wakeup* wakeup = timers_.TakeDue(now_, UINT64_MAX)) {
      AddReady(*wakeup);
      WakeupAccess::Enter(*wakeup, this, false);
    }
  }
  // One turn; false when there is none until `end`.
  bool StepUntil(MonotonicTime end) {
    MoveDue();
    if (ready_.empty()) {
      if (timers_.empty() || timers_.earliest() > end) return false;
      now_ = timers_.earliest();
      turns_at_this_moment_ = 0;
      MoveDue();
    }
    if (++turns_at_this_moment_ > kMostTurnsAtOneMoment) {
      std::fprintf(stderr, "fatal: simulation with seed %llu: time stands still, something never waits\n",
                   static_cast<unsigned long long>(seed_));
      std::abort();
    }
    Wakeup* wakeup = RemoveReady(ready_.size() == 1 ? 0 : order_() % ready_.size());
    WakeupAccess::Leave(*wakeup);
    WakeupAccess::Run(*wakeup);
    return true;
  }

  const uint64_t seed_;
  std::mt19937_64 order_;   // which of the ready turns comes next
  std::mt19937_64 random_;  // what the program asks for
  MonotonicTime now_{};
  uint64_t turns_at_this_moment_ = 0;
  std::vector<Wakeup*> ready_;
  TimerHeap timers_;
  CallbackSlots callbacks_;
  SimulatedNetwork network_;
};

}  // namespace

std::unique_ptr<SimulatedRuntime> SimulatedRuntime::Make(uint64_t seed) { return std::make_unique<SeededRuntime>(seed); }

}  // namespace homeostat
