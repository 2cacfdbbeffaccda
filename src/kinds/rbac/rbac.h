// Behaviours of rbac.authorization.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kRole, kClusterRole, kRoleBinding, kClusterRoleBinding;

}  // namespace homeostat::kinds
