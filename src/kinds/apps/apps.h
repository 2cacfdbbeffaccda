// Kinds of the group apps.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kDeployment, kReplicaSet, kDaemonSet, kStatefulSet, kControllerRevision;

// "2/3" of two counts.
Value CountOf(object::Arena& arena, const Value& ready, const Value& wanted);

}  // namespace homeostat::kinds
