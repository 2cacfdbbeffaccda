// How EndpointSlices follow Endpoints that somebody keeps by hand. Pure. Source: upstream's mirroring controller.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/endpoint_plan.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/object/value.h"

namespace homeostat::controllers {

inline constexpr std::string_view kMirrorManager = "endpointslicemirroring-controller.k8s.io";

// They want to be mirrored: neither is it refused by label, nor do they hold a lock.
bool WantsMirror(const api::core::v1::Endpoints& endpoints);

struct MirrorPlan : SlicePlan {
  size_t invalid = 0, too_many = 0;     // addresses that were passed over
};
// slices: those that mirror them now.
MirrorPlan PlanMirror(const api::core::v1::Endpoints& endpoints, const std::vector<object::DocumentPtr>& slices);

}  // namespace homeostat::controllers
