// Kinds of the group coordination.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kLease, kLeaseCandidate;

}  // namespace homeostat::kinds
