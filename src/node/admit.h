// Whether a pod that was bound to this node can run on it. Pure.
//
// The scheduler has looked before; this guards against pods bound by hand, and against races.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/pod_status.h"

namespace homeostat::node {

struct AdmitInput {
  core::Pod pod;
  core::Node node;
  std::map<std::string, int64_t> allocatable;      // as NodeAllocatable
  std::vector<core::Pod> others;                   // admitted ones that have not ended
};

// The reason and message that the pod fails with; nullopt: it may run.
std::optional<StartFailure> RefuseToAdmit(const AdmitInput& input);

}  // namespace homeostat::node
