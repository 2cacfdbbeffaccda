// The status of a ResourceClaim: who may write which part, and what goes when devices are given back.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

// driver/pool/device, and the share of it.
std::string DeviceId(const Value& device);

// Forgets what is said of devices that were allocated and are no more.
Value PrepareClaimStatus(RuleContext& context, Value claim, Value old);

// Allocations and reservations are for those who may update resourceclaims/binding; what a driver says of its devices is for those who
// may do so with resourceclaims/driver, on their own node or on any.
void CheckStatusRights(RuleContext& context, const Value& claim, const Value& old, FieldErrors& errors);

}  // namespace homeostat::kinds
