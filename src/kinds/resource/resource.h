// Kinds of the group resource.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kDeviceClass, kResourceClaim, kResourceClaimTemplate, kResourceSlice;

}  // namespace homeostat::kinds
