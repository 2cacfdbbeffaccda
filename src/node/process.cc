#include "node/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

extern char** environ;

namespace homeostat::node {

namespace {

constexpr size_t kMostOutput = 64 * 1024;
constexpr std::string_view kSystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~Fd() { Close(); }
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

Status SystemError(const std::string& what, int error) { return InternalError(what + ": " + std::strerror(error)); }

// Owns the two attribute blocks of posix_spawn.
struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSetup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    // Signals blocked or ignored here must not be so in the child.
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  Result<pid_t> Spawn(const std::vector<std::string>& argv, short extra_flags) {
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | extra_flags));
    std::string program = FindProgram(argv[0]);
    if (program.empty()) return Fail(InternalError(argv[0] + " is not installed"));
    std::vector<char*> arguments;
    for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    pid_t pid = 0;
    int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), environ);
    if (error != 0) return Fail(SystemError("can't start " + program, error));
    return pid;
  }
};

int WaitForExit(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return 255;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Pipes {
  Fd in_read, in_write, out_read, out_write;
  static Result<Pipes> Make() {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0) return Fail(SystemError("pipe", errno));
    Pipes pipes;
    pipes.in_read = Fd(in[0]);
    pipes.in_write = Fd(in[1]);
    if (pipe2(out, O_CLOEXEC) != 0) return Fail(SystemError("pipe", errno));
    pipes.out_read = Fd(out[0]);
    pipes.out_write = Fd(out[1]);
    return pipes;
  }
};

// Feeds input and gathers output until the program closes its output. False when it was idle for too long.
bool Converse(Pipes& pipes, std::string_view input, int idle_seconds, std::string& output) {
  fcntl(pipes.in_write.get(), F_SETFL, O_NONBLOCK);
  if (input.empty()) pipes.in_write.Close();
  for (;;) {
    pollfd wait[2] = {{pipes.out_read.get(), POLLIN, 0}, {pipes.in_write.get(), POLLOUT, 0}};
    int ready = poll(wait, 2, idle_seconds * 1000);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    if (wait[1].revents != 0) {
      ssize_t wrote = write(pipes.in_write.get(), input.data(), input.size());
      if (wrote > 0) input.remove_prefix(static_cast<size_t>(wrote));
      if (input.empty() || (wrote < 0 && errno != EAGAIN && errno != EINTR)) pipes.in_write.Close();
    }
    if (wait[0].revents == 0) continue;
    char buffer[8192];
    ssize_t got = read(pipes.out_read.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    output.append(buffer, static_cast<size_t>(got));
    if (output.size() > 2 * kMostOutput) output.erase(0, output.size() - kMostOutput);
  }
}

}  // namespace

Result<ProcessResult> RunProcess(const std::vector<std::string>& argv, const std::string& input, int idle_seconds) {
  TRY_ASSIGN(Pipes pipes, Pipes::Make());
  SpawnSetup setup;
  posix_spawn_file_actions_adddup2(&setup.actions, pipes.in_read.get(), 0);
  posix_spawn_file_actions_adddup2(&setup.actions, pipes.out_write.get(), 1);
  posix_spawn_file_actions_adddup2(&setup.actions, pipes.out_write.get(), 2);
  TRY_ASSIGN(pid_t pid, setup.Spawn(argv, 0));
  pipes.in_read.Close();
  pipes.out_write.Close();
  ProcessResult result;
  bool ended = Converse(pipes, input, idle_seconds, result.output);
  if (!ended) kill(pid, SIGKILL);
  result.exit_code = WaitForExit(pid);
  if (!ended) return Fail(InternalError(argv[0] + " did nothing for " + std::to_string(idle_seconds) + " s and was killed"));
  if (result.output.size() > kMostOutput) result.output.erase(0, result.output.size() - kMostOutput);
  return result;
}

Result<std::string> RunProcessOrFail(const std::vector<std::string>& argv, const std::string& input, int idle_seconds) {
  TRY_ASSIGN(ProcessResult result, RunProcess(argv, input, idle_seconds));
  if (result.exit_code == 0) return std::move(result.output);
  std::string shown = result.output.substr(0, 1000);
  while (!shown.empty() && shown.back() == '\n') shown.pop_back();
  return Fail(InternalError(argv[0] + " failed with exit code " + std::to_string(result.exit_code) + ": " + shown));
}

Result<pid_t> StartDaemon(const std::vector<std::string>& argv, const std::string& log_path) {
  SpawnSetup setup;
  posix_spawn_file_actions_addopen(&setup.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&setup.actions, 1, log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&setup.actions, 1, 2);
  return setup.Spawn(argv, POSIX_SPAWN_SETSID);
}

std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = getenv("PATH");
  std::stringstream folders((path ? std::string(path) + ":" : std::string()) + std::string(kSystemPath));
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string full = folder + "/" + name;
    if (!folder.empty() && access(full.c_str(), X_OK) == 0) return full;
  }
  return "";
}

bool IsProcess(pid_t pid, const std::string& argument) {
  if (pid <= 1) return false;
  waitpid(pid, nullptr, WNOHANG);
  std::ifstream in("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  for (std::string part; std::getline(in, part, '\0');) {
    if (part == argument) return true;
  }
  return false;
}

}  // namespace homeostat::node
