#include "node/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "node/errors.h"

extern char** environ;

namespace homeostat::node {

namespace {

constexpr std::string_view kSystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

Status SystemError(const std::string& what, int error) { return NodeError(what + ": " + std::strerror(error)); }

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
    if (program.empty()) return Fail(NodeError(argv[0] + " is not installed"));
    std::vector<char*> arguments;
    for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    pid_t pid = 0;
    int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), environ);
    if (error != 0) return Fail(SystemError("can't start " + program, error));
    return pid;
  }
};

}  // namespace

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
  pid_t waited = waitpid(pid, nullptr, WNOHANG);
  if (waited == pid) return false;
  std::ifstream in("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  bool any = false;
  for (std::string part; std::getline(in, part, '\0');) {
    any = true;
    if (part == argument) return true;
  }
  // In the middle of becoming another program a process has no arguments; then it is our child, and just started.
  return !any && waited == 0;
}

}  // namespace homeostat::node
