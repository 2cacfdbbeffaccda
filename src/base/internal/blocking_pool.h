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
  void Work();

  const int limit_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Job> jobs_;
  std::vector<std::thread> threads_;
  int idle_ = 0;
  bool stopping_ = false;
};

}  // namespace homeostat::base_internal
