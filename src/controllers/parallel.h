// Awaiting several tasks at the same time.
#pragma once

#include <utility>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat::controllers {

namespace parallel_internal {
inline Task<void> Store(Result<void>* result, Task<Result<void>> task) { *result = co_await task; }
}  // namespace parallel_internal

// Runs all of them and completes with their results, in the same order. Destroying the awaiting task ends them.
inline Task<std::vector<Result<void>>> InParallel(Runtime& runtime, std::vector<Task<Result<void>>> tasks) {
  std::vector<Result<void>> results(tasks.size());
  TaskGroup group(runtime);
  for (size_t i = 0; i < tasks.size(); ++i) group.Spawn(parallel_internal::Store(&results[i], std::move(tasks[i])));
  auto join = group.Join();
  co_await join;
  co_return results;
}

// The first error, if there is one.
inline Result<void> FirstError(const std::vector<Result<void>>& results) {
  for (const Result<void>& result : results) {
    if (!result) return result;
  }
  return Done();
}

}  // namespace homeostat::controllers
