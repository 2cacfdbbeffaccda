// What the programs that serve until they are told to stop have in common.
#pragma once

#include <memory>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"
#include "homeostat/base/task.h"

namespace homeostat::cli {

// A part that serves. Stop follows Start, also one that failed.
class Serving {
 public:
  virtual ~Serving() = default;
  virtual Task<Result<void>> Start() = 0;
  virtual Task<void> Stop() = 0;
};

// Runs it until SIGTERM or SIGINT; a second signal does not wait. With `with_parent` also until the process that started this
// one has ended. The exit code.
int Serve(RealRuntime& runtime, Serving& serving, bool with_parent);

}  // namespace homeostat::cli
