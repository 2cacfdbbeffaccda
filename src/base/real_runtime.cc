// The runtime on the system's clock, threads and sockets. Asio is its reactor; turns and timers are queued here, where
// they cost neither a lock nor an allocation.
#include <signal.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/internal/blocking_pool.h"
#include "base/internal/descriptor.h"
#include "base/internal/loop.h"
#include "base/internal/real_network.h"
#include "homeostat/base/net.h"
#include "homeostat/base/runtime.h"

namespace homeostat {
namespace {

namespace asio = boost::asio;
using base_internal::BlockingPool;
using base_internal::CallbackSlots;
using base_internal::ReadyQueue;
using base_internal::TimerHeap;

// The runtime whose loop this thread runs.
thread_local const Runtime* current_loop = nullptr;

Duration ReadClock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return std::chrono::seconds(now.tv_sec) + Duration(now.tv_nsec);
}

// The system's random bytes, fetched a page at a time.
uint64_t SecureRandom() {
  thread_local std::array<uint64_t, 64> words;
  thread_local size_t left = 0;
  if (left == 0) {
    auto* bytes = reinterpret_cast<char*>(words.data());
    for (size_t have = 0; have < sizeof words;) {
      ssize_t got = getrandom(bytes + have, sizeof words - have, 0);
      if (got > 0) {
        have += static_cast<size_t>(got);
      } else if (errno != EINTR) {
        std::perror("fatal: no random bytes from the system");
        std::abort();
      }
    }
    left = words.size();
  }
  return std::exchange(words[--left], 0);
}

class AsioRuntime final : public RealRuntime {
 public:
  explicit AsioRuntime(int blocking_threads)
      : io_(1), work_(asio::make_work_guard(io_)), network_(base_internal::MakeRealNetwork(*this)) {
    pool_.emplace(blocking_threads);
    // A write to a pipe or socket that nobody reads is an error of that write, not the end of the process.
    ::signal(SIGPIPE, SIG_IGN);
  }
  ~AsioRuntime() override {
    pool_.reset();
    {
      std::vector<Callback> dropped;
      std::lock_guard lock(remote_mutex_);
      dropped.swap(remote_);
    }
    callbacks_.Clear();
    while (!ready_.empty()) {
      if (Wakeup* wakeup = ready_.Take()) WakeupAccess::Leave(*wakeup);
    }
    while (Wakeup* wakeup = timers_.TakeAny()) WakeupAccess::Leave(*wakeup);
  }

  MonotonicTime Now() override {
    if (current_loop != this) return MonotonicTime(ReadClock(CLOCK_MONOTONIC));
    if (!now_known_) {
      now_ = MonotonicTime(ReadClock(CLOCK_MONOTONIC));
      now_known_ = true;
    }
    return now_;
  }
  WallTime WallNow() override { return WallTime(ReadClock(CLOCK_REALTIME)); }
  uint64_t Random() override { return SecureRandom(); }

  void Post(Callback callback) override {
    if (current_loop == this) {
      callbacks_.Add(std::move(callback)).Later(*this);
      return;
    }
    std::lock_guard lock(remote_mutex_);
    remote_.push_back(std::move(callback));
    if (!remote_waiting_.exchange(true)) asio::post(io_, [] {});
  }
  TimerId After(Duration delay, Callback callback) override {
    Wakeup& wakeup = callbacks_.Add(std::move(callback));
    wakeup.After(*this, delay);
    return callbacks_.IdOf(wakeup);
  }
  void CancelTimer(TimerId timer) override { callbacks_.Cancel(timer); }
  void RunBlocking(Callback work, Callback done) override { pool_->Run(*this, std::move(work), std::move(done)); }
  Network& network() override { return *network_; }

  void Run() override;
  void Stop() override {
    stop_ = true;
    asio::post(io_, [] {});
  }
  void OnSignal(int signal, std::function<void()> callback) override {
    auto& set = signals_[signal];
    set = std::make_unique<asio::signal_set>(io_);
    boost::system::error_code error;
    set->add(signal, error);
    WaitForSignal(*set, std::make_shared<std::function<void()>>(std::move(callback)));
  }

  asio::io_context& io() { return io_; }
  // A handler of the reactor begins: time may have passed.
  void BeginTurn() { now_known_ = false; }

 protected:
  void Enqueue(Wakeup& wakeup) override {
    ready_.Add(wakeup);
    WakeupAccess::Enter(wakeup, this, false);
  }
  void EnqueueAfter(Wakeup& wakeup, Duration delay) override {
    delay = std::max(delay, Duration::zero());
    timers_.Add(wakeup, delay > MonotonicTime::max() - Now() ? MonotonicTime::max() : Now() + delay);
    WakeupAccess::Enter(wakeup, this, true);
  }
  void Dequeue(Wakeup& wakeup) override {
    if (WakeupAccess::timed(wakeup)) {
      timers_.Remove(wakeup);
    } else {
      ready_.Remove(wakeup);
    }
    WakeupAccess::Leave(wakeup);
  }

 private:
  void WaitForSignal(asio::signal_set& set, std::shared_ptr<std::function<void()>> callback) {
    set.async_wait([this, &set, callback](const boost::system::error_code& error, int) {
      if (error) return;  // replaced or shut down: the set is gone
      WaitForSignal(set, callback);
      BeginTurn();
      (*callback)();
    });
  }
  void TakeRemote();
  void RunReady();
  void FireTimers();
  void RunTurn(Wakeup& wakeup) {
    WakeupAccess::Leave(wakeup);
    now_known_ = false;
    WakeupAccess::Run(wakeup);
  }

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::unique_ptr<Network> network_;
  std::map<int, std::unique_ptr<asio::signal_set>> signals_;
  std::atomic<bool> stop_ = false;

  ReadyQueue ready_;
  TimerHeap timers_;
  CallbackSlots callbacks_;
  MonotonicTime now_;
  bool now_known_ = false;

  std::atomic<bool> remote_waiting_ = false;
  std::mutex remote_mutex_;
  std::vector<Callback> remote_;

  std::optional<BlockingPool> pool_;  // posts here from its threads: ends first
};

void AsioRuntime::TakeRemote() {
  if (!remote_waiting_.load(std::memory_order_acquire)) return;
  std::vector<Callback> taken;
  {
    std::lock_guard lock(remote_mutex_);
    taken.swap(remote_);
    remote_waiting_ = false;
  }
  for (Callback& callback : taken) callbacks_.Add(std::move(callback)).Later(*this);
}

// What was ready at the start; what becomes ready meanwhile has its turn next time.
void AsioRuntime::RunReady() {
  for (size_t left = ready_.size(); left > 0 && !stop_.load(std::memory_order_relaxed); --left) {
    if (Wakeup* wakeup = ready_.Take()) RunTurn(*wakeup);
  }
}

void AsioRuntime::FireTimers() {
  if (timers_.empty()) return;
  now_known_ = false;
  MonotonicTime now = Now();
  uint64_t sequence = timers_.next_sequence();
  while (!stop_.load(std::memory_order_relaxed)) {
    Wakeup* wakeup = timers_.TakeDue(now, sequence);
    if (wakeup == nullptr) break;
    RunTurn(*wakeup);
  }
}

void AsioRuntime::Run() {
  // Chains of short turns need not ask the kernel for sockets after each link.
  constexpr int kRoundsBetweenPolls = 16;
  // Of the sockets that are ready at once so many have their turn before what they began goes on: what several requests wait
  // for, such as the disk, is then done for all of them together.
  constexpr int kHandlersAtOnce = 32;
  const Runtime* outer = std::exchange(current_loop, this);
  while (!stop_) {
    TakeRemote();
    for (int round = 0; round < kRoundsBetweenPolls && !ready_.empty(); ++round) RunReady();
    FireTimers();
    if (stop_) break;
    int handled = 0;
    if (!ready_.empty()) {
      handled = 1;
    } else if (!timers_.empty()) {
      handled = static_cast<int>(io_.run_one_until(std::chrono::steady_clock::time_point(timers_.earliest().time_since_epoch())));
    } else {
      handled = static_cast<int>(io_.run_one());
    }
    while (handled > 0 && handled < kHandlersAtOnce && !stop_.load(std::memory_order_relaxed) && io_.poll_one() > 0) ++handled;
  }
  stop_ = false;
  current_loop = outer;
}

// Memory for the one operation that waits on a side, so that waiting allocates nothing.
struct OperationMemory {
  alignas(std::max_align_t) std::array<std::byte, 256> bytes;
  bool used = false;
};

template <class T>
struct OperationAllocator {
  using value_type = T;
  OperationMemory* memory;
  explicit OperationAllocator(OperationMemory* memory) : memory(memory) {}
  template <class U>
  OperationAllocator(const OperationAllocator<U>& other) : memory(other.memory) {}
  T* allocate(size_t count) {
    if (!memory->used && count * sizeof(T) <= memory->bytes.size()) {
      memory->used = true;
      return reinterpret_cast<T*>(memory->bytes.data());
    }
    return static_cast<T*>(::operator new(count * sizeof(T)));
  }
  void deallocate(T* pointer, size_t) {
    if (static_cast<void*>(pointer) == memory->bytes.data()) {
      memory->used = false;
    } else {
      ::operator delete(pointer);
    }
  }
  template <class U>
  bool operator==(const OperationAllocator<U>& other) const { return memory == other.memory; }
};

}  // namespace

std::unique_ptr<RealRuntime> RealRuntime::Make(int blocking_threads) {
  return std::make_unique<AsioRuntime>(blocking_threads);
}

namespace base_internal {

struct Descriptor::Core : std::enable_shared_from_this<Descriptor::Core> {
  struct Waiter {
    std::coroutine_handle<> handle;
    bool armed = false;  // an operation is with the reactor
    OperationMemory memory;
  };

  explicit Core(AsioRuntime& runtime) : runtime(runtime), descriptor(runtime.io()) {}

  Waiter& waiter(Side side) { return waiters[side == Side::kRead ? 0 : 1]; }

  void Arm(Side side) {
    Waiter& waiter = this->waiter(side);
    if (waiter.armed) return;
    waiter.armed = true;
    auto kind = side == Side::kRead ? asio::posix::stream_descriptor::wait_read : asio::posix::stream_descriptor::wait_write;
    auto handler = [core = shared_from_this(), side](const boost::system::error_code&) { core->Fire(side); };
    descriptor.async_wait(kind, asio::bind_allocator(OperationAllocator<std::byte>(&waiter.memory), std::move(handler)));
  }
  void Fire(Side side) {
    Waiter& waiter = this->waiter(side);
    waiter.armed = false;
    runtime.BeginTurn();
    if (auto handle = std::exchange(waiter.handle, {})) handle.resume();
  }

  AsioRuntime& runtime;
  asio::posix::stream_descriptor descriptor;
  std::array<Waiter, 2> waiters;
};

Result<void> Descriptor::Supported(Runtime& runtime) {
  if (dynamic_cast<AsioRuntime*>(&runtime) != nullptr) return {};
  return Fail(SystemError("processes and descriptors do not exist in simulated time"));
}

Result<std::unique_ptr<Descriptor>> Descriptor::Watch(Runtime& runtime, int fd) {
  auto* real = dynamic_cast<AsioRuntime*>(&runtime);
  if (real == nullptr) {
    ::close(fd);
    return Fail(Supported(runtime).error());
  }
  auto core = std::make_shared<Core>(*real);
  boost::system::error_code error;
  core->descriptor.assign(fd, error);
  if (error) {
    ::close(fd);
    return Fail(SystemError("watch a descriptor", error.value()));
  }
  return std::unique_ptr<Descriptor>(new Descriptor(std::move(core)));
}

Descriptor::~Descriptor() {
  for (Core::Waiter& waiter : core_->waiters) waiter.handle = {};
  Close();
}

int Descriptor::fd() const { return core_->descriptor.is_open() ? core_->descriptor.native_handle() : -1; }

void Descriptor::Close() {
  boost::system::error_code ignored;  // nothing is left to be done about it
  core_->descriptor.close(ignored);
}

void Descriptor::Awaiter::await_suspend(std::coroutine_handle<> handle) {
  waiting_ = true;
  core_->waiter(side_).handle = handle;
  core_->Arm(side_);
}

Descriptor::Awaiter::~Awaiter() {
  if (waiting_) core_->waiter(side_).handle = {};
}

}  // namespace base_internal
}  // namespace homeostat
