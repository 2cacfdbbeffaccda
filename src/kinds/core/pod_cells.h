// What a table says of a pod.
// Source of the rules: printPod of pkg/printers/internalversion.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

Value PodCell(object::Arena& arena, std::string_view cell, Value pod, WallTime now);

}  // namespace homeostat::kinds
