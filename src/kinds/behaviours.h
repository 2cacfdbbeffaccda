// The list of what is in this folder: behaviours of kinds, and defaults that depend on other fields. Written out, so that
// nothing registers itself.
#pragma once

#include <span>

#include "homeostat/schema/defaults.h"
#include "kinds/behaviour.h"

namespace homeostat::kinds {

std::span<const Behaviour* const> AllBehaviours();
std::span<const schema::DefaultHookEntry> DefaultHooks();
// What objects may hold that there is only once.
std::span<const Pool* const> AllPools();
// Null if there is none of that name.
const Pool* FindPool(std::string_view name);

}  // namespace homeostat::kinds
