// Child processes: long-running ones, and commands whose output is wanted. Real runtime only: in simulated time a
// process cannot be started, and says so.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "homeostat/base/bytes.h"
#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat {

struct SubprocessOptions {
  std::vector<std::string> arguments;  // the program first: a path, or a name to be found in PATH
  // Variables set on top of ours (or alone, if `inherit_environment` is off).
  std::vector<std::pair<std::string, std::string>> environment;
  bool inherit_environment = true;
  std::string working_directory;       // empty: ours
  std::string log_file;                // output and errors are appended to it (mode 0600); empty: they go where ours go
};

// A running child in a process group of its own, so that a terminal's Ctrl-C reaches only us. Destroying it while it
// runs kills it. Loop only; the runtime must outlive it.
class Subprocess {
 public:
  // "start PROGRAM: no such file or directory" if it cannot be executed.
  static Result<std::unique_ptr<Subprocess>> Start(Runtime& runtime, const SubprocessOptions& options);
  virtual ~Subprocess() = default;

  virtual pid_t pid() const = 0;
  virtual bool running() const = 0;
  // Completes with the exit code, or 128 + the number of the signal that ended it, as shells have it. May be awaited by many,
  // also after the end.
  virtual Task<int> Wait() = 0;
  // Sends a signal to the child's process group. Harmless after its end.
  virtual void Kill(int signal) = 0;
  // Sends SIGTERM, after `grace` SIGKILL; completes at the end.
  virtual Task<int> Terminate(Duration grace) = 0;
};

struct CommandOutput {
  int exit_code = 0;
  std::string output;
  std::string errors;
};
// Runs a command to its end; `log_file` is not used. At most 16 MiB of each output is kept. Abandoning the task kills it.
Task<Result<CommandOutput>> RunCommand(Runtime& runtime, SubprocessOptions options, Bytes input = Bytes());

}  // namespace homeostat
