// What both runtimes' loops are made of: timers in order of their deadline, and callbacks as wake-ups.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "homeostat/base/runtime.h"

namespace homeostat {

// The runtimes' way to the bookkeeping inside a wake-up.
struct Runtime::WakeupAccess {
  static uint64_t& place(Wakeup& wakeup) { return wakeup.place_; }
  static bool timed(const Wakeup& wakeup) { return wakeup.timed_; }
  static void Enter(Wakeup& wakeup, Runtime* runtime, bool timed) {
    wakeup.runtime_ = runtime;
    wakeup.timed_ = timed;
  }
  static void Leave(Wakeup& wakeup) { wakeup.runtime_ = nullptr; }
  // The wake-up's turn. It must have left the queue; it may be gone afterwards.
  static void Run(Wakeup& wakeup) {
    if (wakeup.function_ != nullptr) {
      wakeup.function_(wakeup);
    } else {
      wakeup.handle.resume();
    }
  }
};

namespace base_internal {

// A binary heap by (deadline, order of arrival). A wake-up's place is its index here.
class TimerHeap {
 public:
  void Add(Wakeup& wakeup, MonotonicTime deadline);
  void Remove(Wakeup& wakeup);
  bool empty() const { return heap_.empty(); }
  MonotonicTime earliest() const { return heap_.front().deadline; }
  // Arrival numbers below this one were given out before now.
  uint64_t next_sequence() const { return next_sequence_; }
  // The earliest wake-up that is due at `now` and arrived before `sequence`; null when there is none. Takes it out.
  Wakeup* TakeDue(MonotonicTime now, uint64_t sequence);
  // Takes out any one; null when empty.
  Wakeup* TakeAny();

 private:
  struct Entry {
    MonotonicTime deadline;
    uint64_t sequence;
    Wakeup* wakeup;
    bool Before(const Entry& other) const {
      return deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence;
    }
  };
  void Put(size_t index, const Entry& entry);
  void SiftUp(size_t index, const Entry& entry);
  void SiftDown(size_t index, const Entry& entry);
  void RemoveAt(size_t index);

  std::vector<Entry> heap_;
  uint64_t next_sequence_ = 0;
};

// Wake-ups in order of arrival. A wake-up's place counts those that ever came before it.
class ReadyQueue {
 public:
  void Add(Wakeup& wakeup) {
    Runtime::WakeupAccess::place(wakeup) = taken_ + queue_.size();
    queue_.push_back(&wakeup);
  }
  void Remove(Wakeup& wakeup) { queue_[Runtime::WakeupAccess::place(wakeup) - taken_] = nullptr; }
  bool empty() const { return queue_.empty(); }
  size_t size() const { return queue_.size(); }
  // The first; null where one was removed.
  Wakeup* Take() {
    Wakeup* wakeup = queue_.front();
    queue_.pop_front();
    ++taken_;
    return wakeup;
  }

 private:
  std::deque<Wakeup*> queue_;
  uint64_t taken_ = 0;
};

// Callbacks as wake-ups, in slots that are used again.
class CallbackSlots {
 public:
  // A wake-up that calls the callback in its turn.
  Wakeup& Add(Callback callback);
  // Names the callback added last.
  TimerId IdOf(const Wakeup& wakeup) const;
  // Takes the callback out and destroys it, if it has not run.
  void Cancel(TimerId id);
  // Destroys all that have not run. The queue must be alive.
  void Clear();

 private:
  struct Slot : Wakeup {
    Slot() : Wakeup(&CallbackSlots::Run) {}
    CallbackSlots* owner = nullptr;
    Callback callback;
    uint32_t index = 0;
    uint32_t generation = 1;
    Slot* next_free = nullptr;
  };
  static void Run(Wakeup& wakeup);
  void Release(Slot& slot);

  std::vector<std::unique_ptr<Slot>> slots_;
  Slot* free_ = nullptr;
};

}  // namespace base_internal
}  // namespace homeostat
