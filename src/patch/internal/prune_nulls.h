// What a patch adds where there was nothing: nulls in it delete nothing, so they go.
#pragma once

#include "patch/field_set.h"

namespace homeostat::patch::internal {

// Without members that are null, at any depth; null items of lists stay. The value itself if there are none.
Value WithoutNullMembers(Arena& arena, const Value& value);

}  // namespace homeostat::patch::internal
