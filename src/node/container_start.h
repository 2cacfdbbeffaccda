// Starts one container of a pod: image, configuration, creation, start, and the hook after it. And stops one: the hook
// before it, then the runtime's stop. Loop only.
#pragma once

#include <optional>

#include "node/node_context.h"

namespace homeostat::node {

struct StartInput {
  object::DocumentPtr pod;
  RuntimePod runtime;          // as observed before
  ContainerSpec container;     // reads the pod's tree
  uint32_t attempt = 0;        // of the sandbox
};

// Where a start is: while nothing of the container is there yet, or it runs and only its hook is waited for, the start
// may be abandoned; in between its outcome must be waited for.
enum class StartStage : uint8_t { kPreparing, kCreating, kHook };

// nullopt: it runs. Records the events of each step. `stage` must outlive the task.
Task<std::optional<StartFailure>> StartContainer(NodeContext& context, StartInput input, StartStage* stage);

struct StopInput {
  object::DocumentPtr pod;
  KillStep kill;
  int64_t grace_seconds = 0;
  std::string pod_ip;
};
// Completes once it has stopped.
Task<Result<void>> StopContainer(NodeContext& context, StopInput input);

}  // namespace homeostat::node
