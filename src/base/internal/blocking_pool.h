// A small pool of threads for calls that block. Threads start when there is work for them.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "homeostat/base/runtime.h"

namespace homeostat::base_internal {

class BlockingPool {
 public:
  explicit BlockingPool(int threads) : limit_(threads < 1 ? 1 : threads) {}
  // Waits for the work that has begun; drops what has not.
  ~BlockingPool();
  // May be called from any thread. `done` is handed to runtime.Post after `work`.
  void Run(Runtime& runtime, Callback work, Callback done);

 private:
  struct Job {
    Runtime* runtime;
    Callback work;
    Callback done;
  };
  struct Worker {
    std::thread thread;
    std::condition_variable wake;
    bool called = false;  // by a job, or to stop
  };
  void Work(Worker& self);
  void Start();

  const int limit_;
  std::mutex mutex_;
  std::deque<Job> jobs_;
  std::deque<Worker> workers_;
  // Who has rested last is called first: the caches still hold what it works with.
  std::vector<Worker*> resting_;
  bool stopping_ = false;
};

}  // namespace homeostat::base_internal
