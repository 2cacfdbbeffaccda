// The behaviours of every kind outside the core group, group by group. Part of the list in behaviours.cc.
#pragma once

#include <span>

#include "kinds/behaviour.h"

namespace homeostat::kinds {

std::span<const Behaviour* const> GroupBehaviours();

}  // namespace homeostat::kinds
