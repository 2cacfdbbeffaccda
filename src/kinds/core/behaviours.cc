#include "kinds/core/behaviours.h"

namespace homeostat::kinds {

std::span<const Behaviour* const> CoreBehaviours() {
  static constexpr const Behaviour* kAll[] = {
      &kComponentStatusBehaviour,
      &kConfigMapBehaviour,
      &kEndpointsBehaviour,
      &kLimitRangeBehaviour,
      &kNamespaceBehaviour,
      &kNodeBehaviour,
      &kPersistentVolumeBehaviour,
      &kPersistentVolumeClaimBehaviour,
      &kPodBehaviour,
      &kPodTemplateBehaviour,
      &kReplicationControllerBehaviour,
      &kResourceQuotaBehaviour,
      &kSecretBehaviour,
      &kServiceBehaviour,
      &kServiceAccountBehaviour,
  };
  return kAll;
}

}  // namespace homeostat::kinds
