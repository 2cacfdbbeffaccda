// Programs that are to outlive this one (homeostat/base/subprocess.h is for those that are not). Blocking: call these off
// the loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "homeostat/base/result.h"

namespace homeostat::node {

// Starts a program in a session of its own, its output appended to a file. It goes on when this program ends.
Result<pid_t> StartDaemon(const std::vector<std::string>& argv, const std::string& log_path);

// Full path of a program in PATH (and the usual system folders), or "".
std::string FindProgram(const std::string& name);

// Whether a process with that id is alive and `argument` is one of its arguments: pids are reused.
// Collects it if it was our child and has ended.
bool IsProcess(pid_t pid, const std::string& argument);

}  // namespace homeostat::node
