// homeostat stop-node: ends the containers of a data directory's node, and their runtime.
#pragma once

#include <string>

namespace homeostat::cli {

// Takes away what the node of that data directory has on the machine: containers, their runtime, the bridge, mounts. What
// the cluster knows of them stays: the next `up` starts them anew. The cluster must not run. Answers with the exit code.
int RunStopNode(const std::string& data_dir);

}  // namespace homeostat::cli
