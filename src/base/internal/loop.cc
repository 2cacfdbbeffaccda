#include "base/internal/loop.h"

#include <utility>

namespace homeostat::base_internal {

using Access = Runtime::WakeupAccess;

void TimerHeap::Put(size_t index, const Entry& entry) {
  heap_[index] = entry;
  Access::place(*entry.wakeup) = index;
}

void TimerHeap::SiftUp(size_t index, const Entry& entry) {
  while (index > 0) {
    size_t parent = (index - 1) / 2;
    if (!entry.Before(heap_[parent])) break;
    Put(index, heap_[parent]);
    index = parent;
  }
  Put(index, entry);
}

void TimerHeap::SiftDown(size_t index, const Entry& entry) {
  while (true) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].Before(heap_[child])) ++child;
    if (!heap_[child].Before(entry)) break;
    Put(index, heap_[child]);
    index = child;
  }
  Put(index, entry);
}

void TimerHeap::Add(Wakeup& wakeup, MonotonicTime deadline) {
  Entry entry{deadline, next_sequence_++, &wakeup};
  heap_.push_back(entry);
  SiftUp(heap_.size() - 1, entry);
}

void TimerHeap::RemoveAt(size_t index) {
  Entry last = heap_.back();
  heap_.pop_back();
  if (index == heap_.size()) return;
  if (index > 0 && last.Before(heap_[(index - 1) / 2])) {
    SiftUp(index, last);
  } else {
    SiftDown(index, last);
  }
}

void TimerHeap::Remove(Wakeup& wakeup) { RemoveAt(Access::place(wakeup)); }

Wakeup* TimerHeap::TakeDue(MonotonicTime now, uint64_t sequence) {
  if (heap_.empty() || heap_.front().deadline > now || heap_.front().sequence >= sequence) return nullptr;
  return TakeAny();
}

Wakeup* TimerHeap::TakeAny() {
  if (heap_.empty()) return nullptr;
  Wakeup* wakeup = heap_.front().wakeup;
  RemoveAt(0);
  return wakeup;
}

Wakeup& CallbackSlots::Add(Callback callback) {
  if (free_ == nullptr) {
    slots_.push_back(std::make_unique<Slot>());
    free_ = slots_.back().get();
    free_->owner = this;
    free_->index = static_cast<uint32_t>(slots_.size() - 1);
  }
  Slot& slot = *free_;
  free_ = std::exchange(slot.next_free, nullptr);
  slot.callback = std::move(callback);
  return slot;
}

TimerId CallbackSlots::IdOf(const Wakeup& wakeup) const {
  const auto& slot = static_cast<const Slot&>(wakeup);
  return TimerId{uint64_t{slot.generation} << 32 | slot.index};
}

void CallbackSlots::Release(Slot& slot) {
  ++slot.generation;
  slot.next_free = std::exchange(free_, &slot);
}

void CallbackSlots::Cancel(TimerId id) {
  auto number = static_cast<uint64_t>(id);
  auto index = static_cast<uint32_t>(number);
  if (index >= slots_.size() || slots_[index]->generation != number >> 32) return;
  Slot& slot = *slots_[index];
  slot.Wakeup::Cancel();
  Callback dropped = std::move(slot.callback);
  slot.callback = nullptr;
  Release(slot);
}

void CallbackSlots::Run(Wakeup& wakeup) {
  auto& slot = static_cast<Slot&>(wakeup);
  Callback callback = std::move(slot.callback);
  slot.callback = nullptr;
  slot.owner->Release(slot);
  callback();
}

void CallbackSlots::Clear() {
  // Destroying a callback may add or cancel others.
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = *slots_[i];
    slot.Wakeup::Cancel();
    Callback dropped = std::move(slot.callback);
    slot.callback = nullptr;
  }
}

}  // namespace homeostat::base_internal
