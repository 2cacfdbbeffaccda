// What the store's tests share: a runtime to await on, folders to write to, and writes in one line.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/await_for_tests.h"
#include "store/engine.h"

namespace homeostat::store::internal {

using homeostat::Await;
using homeostat::KeepDone;
using homeostat::KeepResult;

// A folder that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "store-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) abort();
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  std::string path() const { return path_.string(); }
  // A data directory in it that is not there yet.
  std::string data() const { return (path_ / "data").string(); }

 private:
  std::filesystem::path path_;
};

inline Write Put(std::string key, std::string value, Expectation expectation = {}) {
  return {.key = std::move(key), .value = Bytes(std::move(value)), .expectation = expectation};
}
inline Write Remove(std::string key, Expectation expectation = {}) {
  return {.key = std::move(key), .value = std::nullopt, .expectation = expectation};
}

enum class EngineKind { kMemory, kRocksDb };

// A test of every engine, under virtual time.
class EngineFixture : public testing::TestWithParam<EngineKind> {
 protected:
  EngineFixture() : runtime_(SimulatedRuntime::Make(7)) { Start(); }
  ~EngineFixture() override { engine_.reset(); }

  void Start() {
    engine_ = GetParam() == EngineKind::kMemory ? MakeMemoryEngine(*runtime_)
                                                : MakeRocksDbEngine(*runtime_, {.directory = folder_.data()});
    engine_->SetObserver(
        [this](const std::vector<Event>& events) { heard_.insert(heard_.end(), events.begin(), events.end()); });
    auto opened = Await(*runtime_, engine_->Open());
    ASSERT_TRUE(opened) << opened.error().message();
  }
  bool durable() const { return GetParam() != EngineKind::kMemory; }
  void Restart() {
    Await(*runtime_, engine_->Close());
    engine_.reset();
    Start();
  }

  CommitOutcome Commit(Write write) {
    auto outcome = Await(*runtime_, engine_->Commit(std::move(write)));
    EXPECT_TRUE(outcome) << outcome.error().message();
    return outcome.value_or(CommitOutcome());
  }
  Result<RangeResult> Range(std::string start, std::string end, uint64_t revision = 0, size_t limit = 0) {
    return Await(*runtime_, engine_->Range(std::move(start), std::move(end), revision, limit));
  }
  // "key=value@revision/created …", or the error's reason.
  std::string Show(const Result<RangeResult>& range) {
    if (!range) return range.error().reason();
    std::string text;
    for (const Record& record : range->records) text += (text.empty() ? "" : " ") + Show(record);
    return text + (range->more ? " …" : "");
  }
  static std::string Show(const Record& record) {
    return std::string(record.key()) + "=" + std::string(record.text()) + "@" + std::to_string(record.revision()) + "/" +
           std::to_string(record.create_revision());
  }
  static std::string Show(const Event& event) {
    return std::to_string(event.revision) + (event.deleted ? "-" : "+") + Show(event.record) +
           (event.previous ? "<" + Show(*event.previous) : "");
  }
  static std::vector<std::string> Show(const std::vector<Event>& events) {
    std::vector<std::string> texts;
    for (const Event& event : events) texts.push_back(Show(event));
    return texts;
  }
  std::vector<std::string> History(std::string key) {
    return Show(Await(*runtime_, engine_->History(std::move(key))).value());
  }

  TemporaryFolder folder_;
  std::unique_ptr<SimulatedRuntime> runtime_;
  std::unique_ptr<Engine> engine_;
  std::vector<Event> heard_;
};

inline auto EveryEngine() { return testing::Values(EngineKind::kMemory, EngineKind::kRocksDb); }
inline std::string EngineName(const testing::TestParamInfo<EngineKind>& engine) {
  return engine.param == EngineKind::kMemory ? "Memory" : "RocksDb";
}

}  // namespace homeostat::store::internal
