// Tasks awaited on simulated time, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "homeostat/base/runtime.h"

namespace homeostat {

// For a TaskGroup: keeps what the task completes with. `result` must outlive it.
template <class T>
Task<void> KeepResult(Task<T> task, std::optional<T>* result) {
  result->emplace(co_await task);
}
inline Task<void> KeepDone(Task<void> task, bool* done) {
  co_await task;
  *done = true;
}

namespace await_internal {

inline void RunUntil(SimulatedRuntime& runtime, const std::function<bool()>& done, Duration limit) {
  if (runtime.RunUntil(done, limit)) return;
  ADD_FAILURE() << "the task did not end";
  std::abort();
}

}  // namespace await_internal

// Runs the loop until the task ends. One that does not end within the limit ends the test program: there is no result to go on with.
template <class T>
T Await(SimulatedRuntime& runtime, Task<T> task, Duration limit = std::chrono::hours(1)) {
  std::optional<T> result;
  TaskGroup group(runtime);
  group.Spawn(KeepResult(std::move(task), &result));
  await_internal::RunUntil(runtime, [&] { return result.has_value(); }, limit);
  return *std::move(result);
}
inline void Await(SimulatedRuntime& runtime, Task<void> task, Duration limit = std::chrono::hours(1)) {
  bool done = false;
  TaskGroup group(runtime);
  group.Spawn(KeepDone(std::move(task), &done));
  await_internal::RunUntil(runtime, [&] { return done; }, limit);
}

}  // namespace homeostat
