// Kinds of the group apps.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kDeployment, kReplicaSet, kDaemonSet, kStatefulSet, kControllerRevision;

// An object that says nothing of its replicas, as upstream shows it: the number is no pointer in its internal form.
Value WithZeroReplicas(object::Arena& arena, const schema::Type& type, Value object);

// "2/3" of two counts.
Value CountOf(object::Arena& arena, const Value& ready, const Value& wanted);

}  // namespace homeostat::kinds
