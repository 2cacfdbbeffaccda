#include "kinds/behaviours.h"

#include "kinds/apiregistration/apiregistration.h"
#include "kinds/rbac/rbac.h"

namespace homeostat::kinds {

std::span<const Behaviour* const> AllBehaviours() {
  static constexpr const Behaviour* kAll[] = {&kRole, &kClusterRole, &kRoleBinding, &kClusterRoleBinding, &kAPIService};
  return kAll;
}

std::span<const schema::DefaultHookEntry> DefaultHooks() { return {}; }

const Behaviour& FindBehaviour(std::string_view group, std::string_view kind) {
  static constexpr Behaviour kNone;
  for (const Behaviour* behaviour : AllBehaviours()) {
    if (behaviour->kind == kind && behaviour->group == group) return *behaviour;
  }
  return kNone;
}

}  // namespace homeostat::kinds
