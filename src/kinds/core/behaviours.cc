#include "kinds/core/behaviours.h"

namespace homeostat::kinds {

std::span<const Behaviour* const> CoreBehaviours() {
  static constexpr const Behaviour* kAll[] = {
      &kEndpointsBehaviour, &kPodBehaviour, &kServiceBehaviour,
  };
  return kAll;
}

}  // namespace homeostat::kinds
