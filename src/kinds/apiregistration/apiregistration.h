// Behaviours of apiregistration.k8s.io.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kAPIService;

}  // namespace homeostat::kinds
