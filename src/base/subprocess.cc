#include "homeostat/base/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>

#include "base/internal/descriptor.h"

extern char** environ;

namespace homeostat {
namespace {

using base_internal::Descriptor;

// One end for us, one for the child.
class Channel {
 public:
  Channel() = default;
  Channel(const Channel&) = delete;
  ~Channel() { CloseChildEnd(), Drop(ours_); }
  Result<void> Open(bool child_reads) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return Fail(SystemError("pipe", errno));
    ours_ = ends[child_reads ? 1 : 0];
    child_ = ends[child_reads ? 0 : 1];
    ::fcntl(ours_, F_SETFL, O_NONBLOCK);
    return {};
  }
  int child_end() const { return child_; }
  void CloseChildEnd() { Drop(child_); }
  int TakeOurEnd() { return std::exchange(ours_, -1); }

 private:
  static void Drop(int& fd) {
    if (fd >= 0) ::close(std::exchange(fd, -1));
  }
  int ours_ = -1, child_ = -1;
};

// Descriptors for the child's input, output and errors; -1: input from nowhere, output to the log file or ours.
using Standard = std::array<int, 3>;

struct SpawnPlan {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  SpawnPlan() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

void PlanFiles(SpawnPlan& plan, const SubprocessOptions& options, const Standard& standard) {
  if (!options.working_directory.empty()) posix_spawn_file_actions_addchdir_np(&plan.files, options.working_directory.c_str());
  if (standard[0] < 0) posix_spawn_file_actions_addopen(&plan.files, 0, "/dev/null", O_RDONLY, 0);
  for (int i = 0; i < 3; ++i) {
    if (standard[i] >= 0) posix_spawn_file_actions_adddup2(&plan.files, standard[i], i);
  }
  if (!options.log_file.empty() && standard[1] < 0) {
    posix_spawn_file_actions_addopen(&plan.files, 1, options.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&plan.files, 1, 2);
  }
}

// The child starts with no signal blocked or ignored, in its own group.
void PlanSignals(SpawnPlan& plan) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setpgroup(&plan.attributes, 0);
  posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

std::vector<std::string> Environment(const SubprocessOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; options.inherit_environment && *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : options.environment) variables[name] = value;
  std::vector<std::string> out;
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

Result<pid_t> Spawn(const SubprocessOptions& options, const Standard& standard) {
  if (options.arguments.empty()) return Fail(SystemError("start: no program given"));
  SpawnPlan plan;
  PlanFiles(plan, options, standard);
  PlanSignals(plan);
  std::vector<std::string> environment = Environment(options);
  pid_t pid = 0;
  int error = posix_spawnp(&pid, options.arguments[0].c_str(), &plan.files, &plan.attributes,
                           Pointers(options.arguments).data(), Pointers(environment).data());
  if (error != 0) return Fail(SystemError("start " + options.arguments[0], error));
  return pid;
}

class Child final : public Subprocess {
 public:
  Child(Runtime& runtime, pid_t pid) : pid_(pid), ended_(runtime), watch_(runtime) {}
  ~Child() override {
    if (!running_) return;
    Kill(SIGKILL);
    int status;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }

  // Begins to watch for the end.
  Result<void> Watch(Runtime& runtime) {
    int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    if (fd < 0) return Fail(SystemError("pidfd_open", errno));
    TRY_ASSIGN(descriptor_, Descriptor::Watch(runtime, fd));
    watch_.Spawn(WatchForEnd());
    return {};
  }

  pid_t pid() const override { return pid_; }
  bool running() const override { return running_; }
  void Kill(int signal) override {
    if (running_ && ::kill(-pid_, signal) != 0) ::kill(pid_, signal);
  }
  Task<int> Wait() override {
    while (running_) {
      auto wait = ended_.Wait();
      co_await wait;
    }
    co_return code_;
  }
  Task<int> Terminate(Duration grace) override {
    Kill(SIGTERM);
    if (running_) {
      auto wait = ended_.WaitFor(grace);
      bool ended = co_await wait;
      if (!ended) Kill(SIGKILL);
    }
    auto end = Wait();
    co_return co_await end;
  }

 private:
  Task<void> WatchForEnd() {
    siginfo_t info{};
    while (running_) {
      info.si_pid = 0;
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0 && errno != EINTR) {
        code_ = 127;  // someone else has reaped it; its code is lost
        running_ = false;
      } else if (info.si_pid == pid_) {
        code_ = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
        running_ = false;
      } else {
        auto wait = descriptor_->Wait(Descriptor::Side::kRead);
        co_await wait;
      }
    }
    ended_.Notify();
  }

  pid_t pid_;
  bool running_ = true;
  int code_ = 0;
  std::unique_ptr<Descriptor> descriptor_;
  Signal ended_;
  TaskGroup watch_;
};

Result<std::unique_ptr<Subprocess>> StartWith(Runtime& runtime, const SubprocessOptions& options, const Standard& standard) {
  TRY(Descriptor::Supported(runtime));
  TRY_ASSIGN(pid_t pid, Spawn(options, standard));
  auto child = std::make_unique<Child>(runtime, pid);
  TRY(child->Watch(runtime));
  return child;
}

Task<void> ReadOutput(Descriptor& descriptor, std::string& out) {
  constexpr size_t kMost = 16 * 1024 * 1024;
  std::vector<char> buffer(16 * 1024);
  while (true) {
    ssize_t got = ::read(descriptor.fd(), buffer.data(), buffer.size());
    if (got > 0) {
      out.append(buffer.data(), std::min(static_cast<size_t>(got), kMost - out.size()));
    } else if (got < 0 && errno == EAGAIN) {
      auto wait = descriptor.Wait(Descriptor::Side::kRead);
      co_await wait;
    } else if (got == 0 || errno != EINTR) {
      co_return;
    }
  }
}

// A child that does not read its input to the end is no error.
Task<void> WriteInput(std::unique_ptr<Descriptor> descriptor, Bytes input) {
  std::string_view rest = input.view();
  while (!rest.empty()) {
    ssize_t written = ::write(descriptor->fd(), rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      auto wait = descriptor->Wait(Descriptor::Side::kWrite);
      co_await wait;
    } else if (errno != EINTR) {
      co_return;
    }
  }
}

}  // namespace

Result<std::unique_ptr<Subprocess>> Subprocess::Start(Runtime& runtime, const SubprocessOptions& options) {
  return StartWith(runtime, options, Standard{-1, -1, -1});
}

Task<Result<CommandOutput>> RunCommand(Runtime& runtime, SubprocessOptions options, Bytes input) {
  Channel in, out, errors;
  CO_TRY(in.Open(true));
  CO_TRY(out.Open(false));
  CO_TRY(errors.Open(false));
  CO_TRY_ASSIGN(auto child, StartWith(runtime, options, Standard{in.child_end(), out.child_end(), errors.child_end()}));
  for (Channel* channel : {&in, &out, &errors}) channel->CloseChildEnd();
  CO_TRY_ASSIGN(auto write_end, Descriptor::Watch(runtime, in.TakeOurEnd()));
  CO_TRY_ASSIGN(auto output, Descriptor::Watch(runtime, out.TakeOurEnd()));
  CO_TRY_ASSIGN(auto complaints, Descriptor::Watch(runtime, errors.TakeOurEnd()));
  CommandOutput result;
  TaskGroup group(runtime);
  group.Spawn(WriteInput(std::move(write_end), std::move(input)));
  group.Spawn(ReadOutput(*output, result.output));
  group.Spawn(ReadOutput(*complaints, result.errors));
  auto end = child->Wait();
  result.exit_code = co_await end;
  // A grandchild may hold the pipes open for ever: what it writes is not waited for long.
  auto drained = Within(runtime, std::chrono::seconds(1), group.Join());
  co_await drained;
  co_return std::move(result);
}

}  // namespace homeostat
