// A copy of a tree in no more memory than it needs, for those who keep many: what is parsed lives in blocks with room to
// spare, beside the bytes it was parsed from.
#pragma once

#include "homeostat/object/value.h"

namespace homeostat::object {

// The tree in one block of its own. Texts are copied, and the names of members that have no field; the names of fields must
// be their schema's, which outlives the copy. (DeepCopy copies those too.)
DocumentPtr Packed(const Value& root);
// The same in an arena, of which it reserves a block.
Value PackedInto(Arena& arena, const Value& root);

}  // namespace homeostat::object
