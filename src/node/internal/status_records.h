// Parts of pod_status.cc.
#pragma once

#include "homeostat/api/core/v1_builders.h"
#include "node/pod_status.h"

namespace homeostat::node::internal {

// Appends the conditions, those that others own first.
void WriteConditions(const StatusInput& input, const std::vector<ContainerRecord>& records, std::string_view phase,
                     core::PodStatusBuilder& status);

}  // namespace homeostat::node::internal
