// FieldsV1 in typed trees: Bytes that hold its JSON text, as Go's struct does. It is often half of an object and is mostly
// asked for as that text, so that a tree of it is made only where someone looks inside.
#pragma once

#include "homeostat/object/value.h"

namespace homeostat::schema::internal {

// The text of a tree, in Bytes.
object::Value FieldsV1Text(object::Arena& arena, const object::Value& tree);
// The tree of such a text.
object::Value FieldsV1Tree(object::Arena& arena, const object::Value& text);

}  // namespace homeostat::schema::internal
