// Kinds of the group scheduling.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kPriorityClass;

}  // namespace homeostat::kinds
