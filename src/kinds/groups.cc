#include "kinds/groups.h"

#include "kinds/apiregistration/apiregistration.h"
#include "kinds/rbac/rbac.h"

namespace homeostat::kinds {

std::span<const Behaviour* const> GroupBehaviours() {
  static const Behaviour* const behaviours[] = {
      &kAPIService,
      &kRole, &kClusterRole, &kRoleBinding, &kClusterRoleBinding,
  };
  return behaviours;
}

}  // namespace homeostat::kinds
