// Checks of events, which two groups serve: the core's and events.k8s.io's, with different rules for one stored kind.
#pragma once

#include "kinds/behaviour.h"
#include "kinds/checks.h"

namespace homeostat::kinds {

// Rules that hold in both groups. event: of core/v1; reporting_field: how the group names the reporting controller.
void CheckEventBasics(const Value& event, std::string_view reporting_field, FieldErrors& errors);

Value EventCell(object::Arena& arena, std::string_view cell, Value event, WallTime now);

}  // namespace homeostat::kinds
