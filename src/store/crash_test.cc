// kill -9 at random moments: every acknowledged write is there afterwards, in order, and what was seen once stays.
//
// The child is this program itself, told by the environment where to write. It notes each acknowledged write on a pipe,
// after the engine answered, with one write call a line. HOMEOSTAT_CRASH_RUNS sets how often it is killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <sstream>

#include "store/engine.h"
#include "store/internal/testing.h"

extern char** environ;

namespace homeostat::store {
namespace {

using internal::Await;
using internal::Put;
using internal::Remove;

constexpr const char* kDirectoryVariable = "HOMEOSTAT_CRASH_DIRECTORY";
constexpr int kPipe = 3;  // in the child
constexpr int kWriters = 12;
constexpr int kKeys = 30;

std::string KeyOf(uint64_t number) { return "/registry/things/default/" + std::to_string(number % kKeys); }

// A value says what it is and how long: "TAG SIZE xxxx…".
std::string MakeValue(const std::string& tag, size_t size) {
  return tag + " " + std::to_string(size) + " " + std::string(size, 'x');
}
std::string TagOf(std::string_view value) {
  std::istringstream text{std::string(value)};
  std::string tag, filling;
  size_t size = 0;
  text >> tag >> size >> filling;
  return filling == std::string(size, 'x') ? tag : "broken";
}

// ------------------------------------------------------------------------------------------------ the child

void Note(const std::string& line) {
  if (::write(kPipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
}

Task<void> WriteForEver(Engine* engine, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<std::string, uint64_t> known;
  for (uint64_t count = 0;; ++count) {
    const std::string key = KeyOf(random());
    const std::string tag = std::to_string(seed) + "-" + std::to_string(count);
    const bool remove = random() % 5 == 0;
    Write write =
        remove ? Remove(key) : Put(key, MakeValue(tag, random() % 20 == 0 ? random() % 200'000 : random() % 3000));
    if (known[key] != 0 && random() % 2) write.expectation = Expectation::At(known[key]);
    auto committing = engine->Commit(std::move(write));
    auto outcome = co_await committing;
    if (!outcome) _exit(2);
    known[key] = outcome->committed ? outcome->revision : outcome->current ? outcome->current->revision() : 0;
    if (outcome->committed) Note(std::to_string(outcome->revision) + " " + key + " " + (remove ? "-" : tag) + "\n");
    if (random() % 300 == 0 && engine->revision() > 500) {
      // Never as far as the newest, which may not have been noted yet: the parent could not know of them.
      auto compacting = engine->Compact(engine->revision() - 2 * kWriters - random() % 400);
      auto compacted = co_await compacting;
      if (!compacted) _exit(3);
    }
  }
}

Task<void> OpenAndWrite(Runtime* runtime, Engine* engine, TaskGroup* writers) {
  auto opening = engine->Open();
  auto opened = co_await opening;
  if (!opened) {
    Note("error " + opened.error().message() + "\n");
    _exit(4);
  }
  for (int writer = 0; writer < kWriters; ++writer) writers->Spawn(WriteForEver(engine, runtime->Random()));
}

// Not a test: what the killed process runs.
TEST(CrashWriter, DISABLED_Run) {
  const char* directory = std::getenv(kDirectoryVariable);
  ASSERT_NE(directory, nullptr);
  auto runtime = RealRuntime::Make();
  auto engine = MakeRocksDbEngine(*runtime, {.directory = directory});
  TaskGroup writers(*runtime);
  writers.Spawn(OpenAndWrite(runtime.get(), engine.get(), &writers));
  runtime->Run();
}

// ------------------------------------------------------------------------------------------------ the parent

class Child {
 public:
  explicit Child(const std::string& directory) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) abort();
    read_end_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], kPipe);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    std::string variable = kDirectoryVariable;
    variable += "=" + directory;
    std::vector<char*> environment;
    for (char** entry = environ; *entry; ++entry) environment.push_back(*entry);
    environment.push_back(variable.data());
    environment.push_back(nullptr);
    std::string arguments[] = {"crash_writer", "--gtest_filter=CrashWriter.DISABLED_Run",
                               "--gtest_also_run_disabled_tests"};
    char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
    if (posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv, environment.data()) != 0) abort();
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
  }
  ~Child() { ::close(read_end_); }

  // Takes what it says until that many lines came or that many milliseconds passed without any.
  void Listen(size_t lines, int patience) {
    while (static_cast<size_t>(std::count(text_.begin(), text_.end(), '\n')) < lines) {
      pollfd readable{.fd = read_end_, .events = POLLIN};
      if (::poll(&readable, 1, patience) <= 0 || !TakeSome()) return;
    }
  }
  void Wait(int milliseconds) { ::poll(nullptr, 0, milliseconds); }
  // Kills it; everything it said.
  std::string Kill() {
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself with " << WEXITSTATUS(status);
    while (TakeSome()) {
    }
    return text_;
  }

 private:
  bool TakeSome() {
    char buffer[65536];
    const ssize_t size = ::read(read_end_, buffer, sizeof buffer);
    if (size > 0) text_.append(buffer, static_cast<size_t>(size));
    return size > 0;
  }
  pid_t pid_ = 0;
  int read_end_ = -1;
  std::string text_;
};

struct Known {
  std::string key, tag;  // "-": a deletion
  bool operator==(const Known&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Known& write) { return out << write.key << "=" << write.tag; }
// By revision.
using Writes = std::map<uint64_t, Known>;

class CrashTest : public testing::Test {
 protected:
  // Lines of the child, which may be cut at the end.
  void TakeAcknowledged(const std::string& text) {
    std::istringstream lines(text.substr(0, text.rfind('\n') + 1));
    std::string first;
    Known write;
    while (lines >> first) {
      ASSERT_NE(first, "error") << text;
      lines >> write.key >> write.tag;
      const uint64_t revision = std::stoull(first);
      ASSERT_GT(revision, newest_) << "a revision was used twice";
      ASSERT_TRUE(acknowledged_.emplace(revision, write).second) << "a revision was given twice";
    }
  }

  void Verify() {
    auto runtime = SimulatedRuntime::Make(1);
    auto engine = MakeRocksDbEngine(*runtime, {.directory = folder_.data()});
    auto opened = Await(*runtime, engine->Open());
    ASSERT_TRUE(opened) << opened.error().message();
    const uint64_t compacted = engine->compacted_revision();
    ASSERT_GE(engine->revision(), acknowledged_.empty() ? newest_ : acknowledged_.rbegin()->first);
    ASSERT_GE(engine->revision(), newest_);
    newest_ = engine->revision();
    TakeLog(Await(*runtime, engine->EventsSince("", compacted)).value(), compacted);
    CompareStates(Await(*runtime, engine->Range("", "", 0, 0)).value());
  }

  // The log has no holes, holds all that was acknowledged, and all that was seen before.
  void TakeLog(const std::vector<Event>& events, uint64_t compacted) {
    uint64_t expected = compacted;
    for (const Event& event : events) {
      ASSERT_EQ(event.revision, ++expected);
      const Known write{std::string(event.record.key()), event.deleted ? "-" : TagOf(event.record.value())};
      auto [seen, fresh] = seen_.emplace(event.revision, write);
      ASSERT_EQ(seen->second, write) << event.revision;
      auto acknowledged = acknowledged_.find(event.revision);
      ASSERT_TRUE(acknowledged == acknowledged_.end() || acknowledged->second == write)
          << event.revision << " " << write;
    }
    ASSERT_EQ(expected, newest_);
    for (const auto& [revision, write] : acknowledged_) {
      ASSERT_TRUE(seen_.emplace(revision, write).first->second == write) << revision << " " << write;
    }
  }

  // What stands is the newest write of each key that is known.
  void CompareStates(const RangeResult& range) {
    std::map<std::string, std::pair<uint64_t, std::string>> newest;
    for (const auto& [revision, write] : seen_) newest[write.key] = {revision, write.tag};
    size_t standing = 0;
    for (const auto& [key, write] : newest) standing += write.second != "-";
    ASSERT_EQ(range.records.size(), standing);
    for (const Record& record : range.records) {
      const std::string key(record.key());
      ASSERT_EQ(record.revision(), newest[key].first) << key;
      ASSERT_EQ(TagOf(record.value()), newest[key].second) << key;
    }
  }

  internal::TemporaryFolder folder_;
  Writes acknowledged_, seen_;
  uint64_t newest_ = 1;
};

TEST_F(CrashTest, NoAcknowledgedWriteIsLost) {
  const char* variable = std::getenv("HOMEOSTAT_CRASH_RUNS");
  const int runs = variable ? std::atoi(variable) : 25;
  const uint64_t seed = RealRuntime::Make()->Random();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int run = 0; run < runs && !HasFailure(); ++run) {
    Child child(folder_.data());
    if (random() % 4 == 0) {
      child.Wait(static_cast<int>(random() % 60));  // at its start
    } else {
      child.Listen(random() % 1500, 10'000);
    }
    TakeAcknowledged(child.Kill());
    if (!HasFailure()) Verify();
  }
  EXPECT_FALSE(acknowledged_.empty());
  RecordProperty("acknowledged", std::to_string(acknowledged_.size()));
}

}  // namespace
}  // namespace homeostat::store
