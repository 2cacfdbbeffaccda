#include "kinds/behaviours.h"

#include <algorithm>

namespace homeostat::kinds {

std::span<const Behaviour* const> AllBehaviours() { return {}; }

std::span<const schema::DefaultHookEntry> DefaultHooks() { return {}; }

const Behaviour& FindBehaviour(std::string_view group, std::string_view kind) {
  static constexpr Behaviour kNone;
  for (const Behaviour* behaviour : AllBehaviours()) {
    if (behaviour->kind == kind && behaviour->group == group) return *behaviour;
  }
  return kNone;
}

}  // namespace homeostat::kinds
