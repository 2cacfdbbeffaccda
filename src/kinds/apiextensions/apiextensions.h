// Kinds of the group apiextensions.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kCustomResourceDefinition;

}  // namespace homeostat::kinds
