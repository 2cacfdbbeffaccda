// The order of an object's members.
#pragma once

#include <vector>

#include "homeostat/object/arena.h"
#include "homeostat/object/value.h"

namespace homeostat::object {

// The tree with the members of every object in order of their names (as octets), as Go writes maps. Members of one name
// keep their order. What is in order already is shared with the given tree, not copied. Recursion goes as deep as the
// tree, which parsers bound.
Value WithSortedMembers(Arena& arena, const Value& value);

// The tree with, of members of one object with the same name, the last value at the first place. What has none is shared with
// the given tree. Recursion as above.
Value WithoutRepeats(Arena& arena, const Value& value);

// The members of one object in that order; nothing for what is none.
std::vector<const Member*> SortedByName(const Value& object);

}  // namespace homeostat::object
