#include "cli/serving.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "cli/resting_memory.h"

namespace homeostat::cli {
namespace {

// How often it is looked whether the parent lives. Not PR_SET_PDEATHSIG: that tells of the thread that started us, and Go ends
// threads while their process goes on.
constexpr Duration kParentCheck = std::chrono::milliseconds(200);

// By then controllers have read what there is and made what was missing.
constexpr Duration kSettled = std::chrono::seconds(2);

Task<void> Begin(RealRuntime& runtime, Serving& serving, int& code) {
  auto start = serving.Start();
  auto started = co_await std::move(start);
  if (started) {
    GiveBackMemory();
    auto pause = Sleep(runtime, kSettled);
    co_await std::move(pause);
    GiveBackMemory();
    auto resting = GiveBackMemoryAtRest(runtime);
    co_await std::move(resting);
    co_return;
  }
  fmt::print(stderr, "homeostat: {}\n", started.error().message());
  code = 1;
  auto stop = serving.Stop();
  co_await std::move(stop);
  runtime.Stop();
}

Task<void> End(RealRuntime& runtime, Serving& serving) {
  auto stop = serving.Stop();
  co_await std::move(stop);
  runtime.Stop();
}

Task<void> EndWithParent(RealRuntime& runtime, Serving& serving) {
  const pid_t parent = getppid();
  while (getppid() == parent) {
    auto pause = Sleep(runtime, kParentCheck);
    co_await std::move(pause);
  }
  auto end = End(runtime, serving);
  co_await std::move(end);
}

}  // namespace

int Serve(RealRuntime& runtime, Serving& serving, bool with_parent) {
  int code = 0;
  TaskGroup group(runtime);
  bool stopping = false;
  auto stop = [&] {
    if (std::exchange(stopping, true)) _exit(130);
    group.Spawn(End(runtime, serving));
  };
  runtime.OnSignal(SIGTERM, stop);
  runtime.OnSignal(SIGINT, stop);
  group.Spawn(Begin(runtime, serving, code));
  if (with_parent) group.Spawn(EndWithParent(runtime, serving));
  runtime.Run();
  return code;
}

}  // namespace homeostat::cli
