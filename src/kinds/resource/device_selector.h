// Expressions that select devices, in device classes and claims.
// Source of the rules: k8s.io/dynamic-resource-allocation/cel and pkg/apis/resource/validation.
#pragma once

#include <string_view>

#include "kinds/checks.h"

namespace homeostat::kinds {

// Faults of the expression: that it is none, that it gives no bool, that it may cost too much. Any thread.
void CheckDeviceExpression(std::string_view expression, const FieldPath& path, FieldErrors& errors);

}  // namespace homeostat::kinds
