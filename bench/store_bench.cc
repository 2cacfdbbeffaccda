// Writes per second through the sequencer and group commit, opening, and reading of the store's engines.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>

#include "homeostat/base/runtime.h"
#include "store/engine.h"

namespace homeostat::store {
namespace {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "store-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) abort();
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string data() const { return (path_ / "data").string(); }

 private:
  std::filesystem::path path_;
};

enum EngineKind { kMemory, kRocksDb };

std::unique_ptr<Engine> MakeEngine(EngineKind kind, Runtime& runtime, const Folder& folder) {
  if (kind == kMemory) return MakeMemoryEngine(runtime);
  return MakeRocksDbEngine(runtime, {.directory = folder.data()});
}

std::string KeyOf(size_t number) { return "/registry/pods/default/web-" + std::to_string(number); }

Task<void> MustOpen(Engine* engine) {
  auto opening = engine->Open();
  auto opened = co_await opening;
  if (!opened) {
    fprintf(stderr, "%s\n", opened.error().message().c_str());
    abort();
  }
}

Task<void> WriteInTurn(Engine* engine, size_t writer, int count, const Bytes* value) {
  for (int i = 0; i < count; ++i) {
    auto committing = engine->Commit({.key = KeyOf(writer), .value = *value});
    auto outcome = co_await committing;
    benchmark::DoNotOptimize(outcome);
  }
}

Task<void> WriteTogether(benchmark::State* state, RealRuntime* runtime, Engine* engine) {
  constexpr int kWritesEach = 50;
  const auto writers = static_cast<size_t>(state->range(0));
  const Bytes value(std::string(2000, 'x'));
  auto opening = MustOpen(engine);
  co_await opening;
  while (state->KeepRunningBatch(static_cast<int64_t>(writers) * kWritesEach)) {
    TaskGroup group(*runtime);
    for (size_t writer = 0; writer < writers; ++writer) group.Spawn(WriteInTurn(engine, writer, kWritesEach, &value));
    auto join = group.Join();
    co_await join;
  }
  auto closing = engine->Close();
  co_await closing;
  runtime->Stop();
}

// Each of so many writers commits 2000 bytes, waits for the answer, and commits again.
void Commit(benchmark::State& state, EngineKind kind) {
  Folder folder;
  auto runtime = RealRuntime::Make();
  auto engine = MakeEngine(kind, *runtime, folder);
  TaskGroup group(*runtime);
  group.Spawn(WriteTogether(&state, runtime.get(), engine.get()));
  runtime->Run();
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK_CAPTURE(Commit, Memory, kMemory)->Arg(1)->Arg(100)->UseRealTime();
BENCHMARK_CAPTURE(Commit, RocksDb, kRocksDb)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->UseRealTime();

Task<void> FillAndClose(RealRuntime* runtime, Engine* engine, size_t count) {
  auto opening = MustOpen(engine);
  co_await opening;
  const Bytes value(std::string(2000, 'x'));
  for (size_t i = 0; i < count;) {
    TaskGroup group(*runtime);
    for (size_t end = std::min(count, i + 500); i < end; ++i) group.Spawn(WriteInTurn(engine, i, 1, &value));
    auto join = group.Join();
    co_await join;
  }
  auto closing = engine->Close();
  co_await closing;
  runtime->Stop();
}
Task<void> OpenAndStop(RealRuntime* runtime, Engine* engine) {
  auto opening = MustOpen(engine);
  co_await opening;
  runtime->Stop();
}

// Opening a store of so many writes that were not compacted; 0: making a new one.
void Open(benchmark::State& state) {
  Folder filled;
  const auto count = static_cast<size_t>(state.range(0));
  if (count != 0) {
    auto runtime = RealRuntime::Make();
    auto engine = MakeEngine(kRocksDb, *runtime, filled);
    TaskGroup group(*runtime);
    group.Spawn(FillAndClose(runtime.get(), engine.get(), count));
    runtime->Run();
  }
  for (auto _ : state) {
    state.PauseTiming();
    Folder fresh;
    auto runtime = RealRuntime::Make();
    auto engine = MakeEngine(kRocksDb, *runtime, count == 0 ? fresh : filled);
    TaskGroup group(*runtime);
    group.Spawn(OpenAndStop(runtime.get(), engine.get()));
    state.ResumeTiming();
    runtime->Run();
    state.PauseTiming();
    engine.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(Open)->Arg(0)->Arg(10'000)->Arg(100'000)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace homeostat::store
