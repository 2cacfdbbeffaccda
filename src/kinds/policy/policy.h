// Kinds of the group policy.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kPodDisruptionBudget;

}  // namespace homeostat::kinds
