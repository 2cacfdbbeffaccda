// What is left of a strategic merge patch once it has been merged. Upstream's merge takes its directives out of the patch as it
// obeys them, and messages about what came of the patch show the rest.
// Source: apimachinery/pkg/util/strategicpatch, mergeMap.
#pragma once

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::patch {

// The patch after it was merged into the original, of that type. Parts that a merge by keys of lists reaches are left as they were sent.
object::Value ConsumedPatch(object::Arena& arena, const schema::Type& type, const object::Value& original, const object::Value& patch);

}  // namespace homeostat::patch
