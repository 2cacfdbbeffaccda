#include "kinds/behaviours.h"

#include <algorithm>

#include "kinds/apiextensions/definition_names.h"
#include "kinds/core/behaviours.h"
#include "kinds/core/service.h"
#include "kinds/defaults/hooks.h"
#include "kinds/groups.h"

namespace homeostat::kinds {

std::span<const Behaviour* const> AllBehaviours() {
  static const std::vector<const Behaviour*> behaviours = [] {
    std::vector<const Behaviour*> all;
    for (auto part : {CoreBehaviours(), GroupBehaviours()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return behaviours;
}

std::span<const schema::DefaultHookEntry> DefaultHooks() {
  static const std::vector<schema::DefaultHookEntry> hooks = [] {
    std::vector<schema::DefaultHookEntry> all;
    for (auto group : {CorePodDefaults(), CoreDefaults(), ResourceListDefaults(), GroupDefaults()}) {
      all.insert(all.end(), group.begin(), group.end());
    }
    return all;
  }();
  return hooks;
}

std::span<const Pool* const> AllPools() {
  static const std::vector<const Pool*> pools = [] {
    std::vector<const Pool*> all(ServicePools().begin(), ServicePools().end());
    all.push_back(&DefinitionNamesPool());
    return all;
  }();
  return pools;
}

const Pool* FindPool(std::string_view name) {
  auto pools = AllPools();
  auto found = std::ranges::find(pools, name, &Pool::name);
  return found == pools.end() ? nullptr : *found;
}

const Behaviour& FindBehaviour(std::string_view group, std::string_view kind) {
  static constexpr Behaviour kNone;
  for (const Behaviour* behaviour : AllBehaviours()) {
    if (behaviour->kind == kind && behaviour->group == group) return *behaviour;
  }
  return kNone;
}

}  // namespace homeostat::kinds
