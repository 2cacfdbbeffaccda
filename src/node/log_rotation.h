// Keeps container logs small: a log over the limit is moved away and the runtime told to begin a new one; of those that
// were moved away only the newest stay. Loop only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "node/cri.h"

namespace homeostat::node {

struct LogLimits {
  int64_t bytes = 10 * 1024 * 1024;
  size_t files = 5;                    // with the one that is written to
};

// One look at one running container's log.
Task<Result<void>> RotateLog(Runtime& runtime, cri::Cri& cri, std::string container_id, std::string path, LogLimits limits);

}  // namespace homeostat::node
