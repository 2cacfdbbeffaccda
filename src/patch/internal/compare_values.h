// Order and equality of values as apply sees them: integers and doubles are numbers alike, objects ignore the order of
// their members. (object::Equal and object::Compare keep numbers of different kinds apart.)
#pragma once

#include "homeostat/object/value.h"

namespace homeostat::patch::internal {

// A total order: numbers, strings, booleans, lists, objects, null.
int CompareValues(const object::Value& a, const object::Value& b);
bool EqualValues(const object::Value& a, const object::Value& b);

// The same scalar, or the same tree in memory: says no at once for trees that would have to be walked.
bool Identical(const object::Value& a, const object::Value& b);

}  // namespace homeostat::patch::internal
