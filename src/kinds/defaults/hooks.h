// The defaults that depend on other fields, by group. Each list holds (definition name, function); the conditions are those of
// upstream's defaulting functions and conversions. What needs the clock or other objects is prepared by behaviours instead.
#pragma once

#include <span>

#include "homeostat/schema/defaults.h"

namespace homeostat::kinds {

std::span<const schema::DefaultHookEntry> CorePodDefaults();
std::span<const schema::DefaultHookEntry> CoreDefaults();
std::span<const schema::DefaultHookEntry> ResourceListDefaults();
std::span<const schema::DefaultHookEntry> GroupDefaults();

}  // namespace homeostat::kinds
