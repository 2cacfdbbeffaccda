// Other programs: run to their end, or started to outlive this one. Blocking: call these off the loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "homeostat/base/result.h"

namespace homeostat::node {

struct ProcessResult {
  int exit_code = 0;          // 128 + signal for one that was killed
  std::string output;         // standard output and error, in the order they came; its last 64 KiB
};

// Runs a program (looked up in PATH) with that standard input. No descriptor but the three standard ones reaches it.
// A program that neither ends nor prints anything for `idle_seconds` is killed. The error is for programs that can't be
// started; a non-zero exit code is a result.
Result<ProcessResult> RunProcess(const std::vector<std::string>& argv, const std::string& input = {}, int idle_seconds = 120);

// The same, where any exit code but 0 is an error that shows what the program printed.
Result<std::string> RunProcessOrFail(const std::vector<std::string>& argv, const std::string& input = {},
                                     int idle_seconds = 120);

// Starts a program in a session of its own, its output appended to a file. It goes on when this program ends.
Result<pid_t> StartDaemon(const std::vector<std::string>& argv, const std::string& log_path);

// Full path of a program in PATH (and the usual system folders), or "".
std::string FindProgram(const std::string& name);

// Whether a process with that id is alive and `argument` is one of its arguments: pids are reused.
// Collects it if it was our child and has ended.
bool IsProcess(pid_t pid, const std::string& argument);

}  // namespace homeostat::node
