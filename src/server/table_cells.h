// Cells: what stands in a table's columns. Paths and the generic cells are computed here for every kind; the rest by the
// kind's behaviour. The meaning of each is documented at schema::Column.
#pragma once

#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"
#include "homeostat/schema/kind.h"
#include "kinds/behaviour.h"

namespace homeostat::server {

// One cell of one object (storage version). Values live in the arena or the object.
object::Value TableCell(object::Arena& arena, const schema::Column& column, const kinds::Behaviour& behaviour,
                        const schema::Type& type, const object::Value& object, WallTime now);

}  // namespace homeostat::server
