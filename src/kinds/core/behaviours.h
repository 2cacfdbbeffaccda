// The behaviours of the core group.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kComponentStatusBehaviour;
extern const Behaviour kConfigMapBehaviour;
extern const Behaviour kEndpointsBehaviour;
extern const Behaviour kLimitRangeBehaviour;
extern const Behaviour kNamespaceBehaviour;
extern const Behaviour kNodeBehaviour;
extern const Behaviour kPersistentVolumeBehaviour;
extern const Behaviour kPersistentVolumeClaimBehaviour;
extern const Behaviour kPodBehaviour;
extern const Behaviour kPodTemplateBehaviour;
extern const Behaviour kReplicationControllerBehaviour;
extern const Behaviour kResourceQuotaBehaviour;
extern const Behaviour kSecretBehaviour;
extern const Behaviour kServiceBehaviour;
extern const Behaviour kServiceAccountBehaviour;

std::span<const Behaviour* const> CoreBehaviours();

}  // namespace homeostat::kinds
