// Kinds of the group flowcontrol.apiserver.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kFlowSchema, kPriorityLevelConfiguration;

}  // namespace homeostat::kinds
