// Kinds of the group discovery.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kEndpointSlice;

}  // namespace homeostat::kinds
