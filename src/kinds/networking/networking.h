// Kinds of the group networking.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kIngress, kIngressClass, kNetworkPolicy, kIPAddress, kServiceCIDR;

}  // namespace homeostat::kinds
