// Prune: takes out of a tree what its type does not know.
#pragma once

#include <string>
#include <vector>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

// The tree, typed or untyped, without members that no field, no additional properties and no preserve-unknown mark of
// the types stand for. Nothing else changes: values are not converted, whatever is kept is shared. Where unknown
// members are preserved, known ones beside them are still pruned within. If `removed` is given, it gets the path of
// each member that was taken out, in the order of the tree, e.g. spec.template.spec.containers[0].foo.
//
// Conform drops the same; this is for trees that must stay as they are otherwise (defaults in a schema, patches).
object::Value Prune(object::Arena& arena, const Type& type, const object::Value& value,
                    std::vector<std::string>* removed = nullptr);

}  // namespace homeostat::schema
