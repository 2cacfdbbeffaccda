// Lists and watch fan-out of the cache.
#include <benchmark/benchmark.h>

#include "cache/cache.h"
#include "homeostat/base/runtime.h"

namespace homeostat::cache {
namespace {

constexpr const char* kPrefix = "/registry/pods/";

std::string KeyOf(int number) {
  return "/registry/pods/ns-" + std::to_string(number % 50) + "/web-" + std::to_string(number);
}

// A cache over memory, under virtual time, filled.
class Filled {
 public:
  explicit Filled(int count) {
    Run(cache.Start());
    const Bytes value(std::string(2000, 'x'));
    for (int i = 0; i < count; ++i) Write(KeyOf(i), value);
  }
  void Write(std::string key, Bytes value) { Run(cache.Commit({.key = std::move(key), .value = std::move(value)})); }

  template <class T>
  static Task<void> Keep(Task<Result<T>> task, bool* done) {
    auto result = co_await task;
    if (!result) abort();
    *done = true;
  }
  template <class T>
  void Run(Task<Result<T>> task) {
    bool done = false;
    TaskGroup group(*runtime);
    group.Spawn(Keep(std::move(task), &done));
    runtime->RunUntil([&] { return done; }, std::chrono::hours(1));
  }

  std::unique_ptr<SimulatedRuntime> runtime = SimulatedRuntime::Make(1);
  std::unique_ptr<store::Engine> engine = store::MakeMemoryEngine(*runtime);
  Cache cache{*runtime, *engine};
};

void List(benchmark::State& state) {
  Filled filled(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(filled.cache.List(kPrefix));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(List)->Arg(100)->Arg(10'000);

// The same as it was 1,000 writes ago.
void ListAt(benchmark::State& state) {
  Filled filled(static_cast<int>(state.range(0)));
  const uint64_t revision = filled.cache.revision();
  for (int i = 0; i < 1000; ++i) filled.Write(KeyOf(i), Bytes(std::string(2000, 'y')));
  for (auto _ : state) filled.Run(filled.cache.ListAt(kPrefix, revision));
}
BENCHMARK(ListAt)->Arg(10'000);

// One write, with so many watchers of its resource and as many of others.
void FanOut(benchmark::State& state) {
  Filled filled(100);
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < state.range(0); ++i) {
    watchers.push_back(std::move(*filled.cache.Watch(kPrefix, filled.cache.revision())));
    watchers.push_back(
        std::move(*filled.cache.Watch("/registry/other-" + std::to_string(i) + "/", filled.cache.revision())));
  }
  const Bytes value(std::string(2000, 'x'));
  for (auto _ : state) {
    filled.Write(KeyOf(1), value);
    for (auto& watcher : watchers) filled.Run(watcher->Next(Duration::zero()));
  }
}
BENCHMARK(FanOut)->Arg(1)->Arg(1000);

}  // namespace
}  // namespace homeostat::cache
