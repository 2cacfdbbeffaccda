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
    for (Worker* worker : resting_) worker->called = true;
    for (Worker* worker : resting_) worker->wake.notify_one();
  }
  for (Worker& worker : workers_) worker.thread.join();
}

void BlockingPool::Start() {
  // Signals are the loop thread's business.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Worker& worker = workers_.emplace_back();
  worker.thread = std::thread([this, &worker] { Work(worker); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void BlockingPool::Run(Runtime& runtime, Callback work, Callback done) {
  Worker* next = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    jobs_.push_back({&runtime, std::move(work), std::move(done)});
    if (!resting_.empty()) {
      next = resting_.back();
      resting_.pop_back();
      next->called = true;
    } else if (static_cast<int>(workers_.size()) < limit_) {
      Start();
    }
  }
  // Not under the lock, which the thread that wakes takes first. Workers end after this object's last call only.
  if (next != nullptr) next->wake.notify_one();
}

void BlockingPool::Work(Worker& self) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (jobs_.empty()) {
      self.called = false;
      resting_.push_back(&self);
      self.wake.wait(lock, [&] { return self.called; });
      continue;
    }
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job.work();
    job.work = nullptr;
    job.runtime->Post(std::move(job.done));
    job.done = nullptr;
    lock.lock();
  }
}

}  // namespace homeostat::base_internal
