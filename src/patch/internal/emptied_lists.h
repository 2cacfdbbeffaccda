// Lists that apply takes as one value and in which something came empty that a typed tree has not.
//
// Upstream compares two such lists of an update as Go values, deep down: there an empty list or map is not the same as none, though
// neither is shown. What is stored has none, so whoever sends an empty one changes the list.
#pragma once

#include "homeostat/schema/empty_fields.h"
#include "homeostat/schema/type.h"
#include "patch/field_set.h"

namespace homeostat::patch::internal {

// Where they are in `object`, a tree of the type. empty: what came empty in it. Paths that lead nowhere are passed over.
FieldSet EmptiedLists(Arena& arena, const schema::Type& type, const Value& object, const schema::EmptyFields& empty);

}  // namespace homeostat::patch::internal
