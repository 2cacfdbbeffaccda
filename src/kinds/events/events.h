// Event: stored as the core group's, served by that and by events.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kEvent;

}  // namespace homeostat::kinds
