#include "homeostat/base/files.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "homeostat/base/subprocess.h"

namespace homeostat {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Directory {
 public:
  Directory() {
    std::string pattern = "/tmp/homeostat-test-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

mode_t ModeOf(const std::string& path) {
  struct stat about;
  return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
}

TEST(Files, WriteReadRemove) {
  Directory directory;
  std::string path = directory / "config";
  auto missing = ReadFile(path);
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().IsNotFound());
  EXPECT_EQ(missing.error().message(), "open " + path + ": no such file or directory");
  std::string text(100'000, 'x');
  ASSERT_TRUE(WriteFileAtomically(path, text));
  EXPECT_TRUE(ReadFile(path) == text);
  EXPECT_EQ(ModeOf(path), 0600u);
  ASSERT_TRUE(WriteFileAtomically(path, "", 0644));
  EXPECT_EQ(ReadFile(path), "");
  EXPECT_EQ(ModeOf(path), 0644u);
  auto refused = WriteFileAtomically(directory / "no/file", "x");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(RemoveFile(path));
  EXPECT_TRUE(RemoveFile(path));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "no temporary file is left";
  EXPECT_FALSE(ReadFile("/proc/self/status")->empty());
}

TEST(Files, MakesDirectoriesWithTheirMode) {
  Directory directory;
  mode_t before = ::umask(0077);
  EXPECT_TRUE(MakeDirectories(directory / "a/b//c/", 0755));
  ::umask(before);
  for (const char* name : {"a", "a/b", "a/b/c"}) EXPECT_EQ(ModeOf(directory / name), 0755u) << name;
  EXPECT_TRUE(MakeDirectories(directory / "a/b/c"));
  EXPECT_EQ(ModeOf(directory / "a/b/c"), 0755u) << "what is there stays as it is";
  ASSERT_TRUE(WriteFileAtomically(directory / "file", "x"));
  auto refused = MakeDirectories(directory / "file/x");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "mkdir " + directory.path() + "/file: not a directory");
}

TEST(Files, ADirectoryBelongsToOne) {
  Directory directory;
  {
    auto lock = DirectoryLock::Acquire(directory.path());
    ASSERT_TRUE(lock) << lock.error().message();
    DirectoryLock moved = std::move(*lock);
    auto second = DirectoryLock::Acquire(directory.path());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message(), "directory " + directory.path() + " is in use by another process (process " +
                                            std::to_string(::getpid()) + ")");
  }
  EXPECT_TRUE(DirectoryLock::Acquire(directory.path()));
}

Task<void> ThenStop(RealRuntime& runtime, Task<void> task) {
  co_await task;
  runtime.Stop();
}
void RunToEnd(RealRuntime& runtime, Task<void> task) {
  TaskGroup group(runtime);
  group.Spawn(ThenStop(runtime, std::move(task)));
  runtime.Run();
}

Task<void> WaitForCode(Subprocess& child, int& code) {
  auto wait = child.Wait();
  code = co_await wait;
}
Task<void> TerminateChild(Subprocess& child, Duration grace, int& code) {
  auto end = child.Terminate(grace);
  code = co_await end;
}

TEST(Subprocess, RunsWithItsOwnEnvironmentDirectoryAndLog) {
  Directory directory;
  auto runtime = RealRuntime::Make();
  SubprocessOptions options{.arguments = {"sh", "-c", "echo $GREETING in $(pwd); echo failed >&2; exit 3"},
                            .environment = {{"GREETING", "hello"}},
                            .working_directory = directory.path(),
                            .log_file = directory / "log"};
  auto child = Subprocess::Start(*runtime, options);
  ASSERT_TRUE(child) << child.error().message();
  int code = -1;
  RunToEnd(*runtime, WaitForCode(**child, code));
  EXPECT_EQ(code, 3);
  EXPECT_FALSE((*child)->running());
  EXPECT_EQ(ReadFile(directory / "log"), "hello in " + directory.path() + "\nfailed\n");
  EXPECT_EQ(ModeOf(directory / "log"), 0600u);
  RunToEnd(*runtime, WaitForCode(**child, code));  // also after the end
  (*child)->Kill(SIGKILL);
}

TEST(Subprocess, SaysWhyItCannotStart) {
  auto runtime = RealRuntime::Make();
  auto child = Subprocess::Start(*runtime, {.arguments = {"/nowhere/program"}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().message(), "start /nowhere/program: no such file or directory");
  auto simulated = SimulatedRuntime::Make(1);
  EXPECT_FALSE(Subprocess::Start(*simulated, {.arguments = {"true"}}));
}

TEST(Subprocess, EndsBySignalGraceOrDestruction) {
  auto runtime = RealRuntime::Make();
  int code = -1;
  auto polite = *Subprocess::Start(*runtime, {.arguments = {"sleep", "100"}});
  RunToEnd(*runtime, TerminateChild(*polite, seconds(10), code));
  EXPECT_EQ(code, 128 + SIGTERM);
  auto stubborn = *Subprocess::Start(*runtime, {.arguments = {"sh", "-c", "trap '' TERM; while :; do sleep 100; done"}});
  ::usleep(50'000);  // until it has set its trap
  RunToEnd(*runtime, TerminateChild(*stubborn, milliseconds(20), code));
  EXPECT_EQ(code, 128 + SIGKILL);
  auto dropped = *Subprocess::Start(*runtime, {.arguments = {"sleep", "100"}});
  pid_t pid = dropped->pid();
  dropped.reset();
  EXPECT_NE(::kill(pid, 0), 0);
}

Task<void> Capture(Runtime& runtime, SubprocessOptions options, Bytes input, Result<CommandOutput>& out) {
  auto command = RunCommand(runtime, std::move(options), std::move(input));
  out = co_await command;
}

TEST(Subprocess, CommandsGiveTheirOutput) {
  auto runtime = RealRuntime::Make();
  Result<CommandOutput> out;
  std::string input(1'000'000, 'i');
  RunToEnd(*runtime, Capture(*runtime, {.arguments = {"sh", "-c", "cat; echo oops >&2; exit 4"}}, Bytes(input), out));
  ASSERT_TRUE(out) << out.error().message();
  EXPECT_EQ(out->exit_code, 4);
  EXPECT_TRUE(out->output == input);
  EXPECT_EQ(out->errors, "oops\n");
  RunToEnd(*runtime, Capture(*runtime, {.arguments = {"true"}}, Bytes(input), out));
  ASSERT_TRUE(out) << "input that nobody reads is no error";
  EXPECT_EQ(out->exit_code, 0);
}

}  // namespace
}  // namespace homeostat
