// Strategic merge patch: a merge patch that knows the type. Lists that the type says are merged are, item by item, and
// directives in the patch say what can't be said by example:
//
//   $patch: delete | replace                 of the object it stands in, or of an item or the whole of a merged list
//   $retainKeys: [a, b]                      all other members of the object go
//   $deleteFromPrimitiveList/x: [1, 2]       these items of list x go
//   $setElementOrder/x: [{name: a}, …]       the order of list x; items it does not name keep their place among each
//   other
//
// Source of the rules: apimachinery util/strategicpatch (what a server does with a patch; making one is kubectl's
// part).
#pragma once

#include "homeostat/base/result.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::patch {

using object::Arena;
using object::Value;

// The patched object, in JSON form as `original` is (schema::ToJsonForm), sharing what did not change. Errors as
// clients get them: 400 for directives of the wrong shape, 422 in general words for lists of lists, 500 with upstream's
// text for all else, such as an item without its merge key.
Result<Value> ApplyStrategicMergePatch(Arena& arena, const schema::Type& type, const Value& original,
                                       const Value& patch);

}  // namespace homeostat::patch
