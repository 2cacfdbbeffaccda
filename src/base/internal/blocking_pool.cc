#include "base/internal/blocking_pool.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace homeostat::base_internal {

BlockingPool::~BlockingPool() {
  std::deque<Job> dropped;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(jobs_);
  }
  ready_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BlockingPool::Run(Runtime& runtime, Callback work, Callback done) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    jobs_.push_back({&runtime, std::move(work), std::move(done)});
    if (static_cast<int>(jobs_.size()) > idle_ && static_cast<int>(threads_.size()) < limit_) {
      // Signals are the loop thread's business.
      sigset_t all, before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      threads_.emplace_back([this] { Work(); });
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      return;
    }
  }
  // Not under the lock, which the thread that wakes takes first.
  ready_.notify_one();
}

void BlockingPool::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    ready_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    --idle_;
    if (stopping_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job.work();
    job.work = nullptr;
    job.runtime->Post(std::move(job.done));
    lock.lock();
  }
}

}  // namespace homeostat::base_internal
