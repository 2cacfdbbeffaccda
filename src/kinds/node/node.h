// Kinds of the group node.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kRuntimeClass;

}  // namespace homeostat::kinds
