// The behaviours of the core group.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kEndpointsBehaviour;
extern const Behaviour kPodBehaviour;
extern const Behaviour kServiceBehaviour;

std::span<const Behaviour* const> CoreBehaviours();

}  // namespace homeostat::kinds
