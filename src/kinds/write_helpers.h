// What preparing an object needs again and again.
#pragma once

#include "kinds/behaviour.h"

namespace homeostat::kinds {

// The time of the write, as meta/v1 Time.
Value Now(const RuleContext& context);

// Metadata of a write to a part of an object (status and the like): what only a write of the whole object may change is as it was.
// Source: meta/v1 ResetObjectMetaForStatus.
Value MetadataForPartialWrite(object::Arena& arena, const Value& metadata, const Value& old);

}  // namespace homeostat::kinds
