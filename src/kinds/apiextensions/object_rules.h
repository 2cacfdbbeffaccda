// Rules of a custom kind as they are evaluated when its objects are written.
// Source of the rules: apiextensions-apiserver's pkg/apiserver/schema/cel/validation.go.
#pragma once

#include <memory>

#include "homeostat/schema/kind.h"
#include "homeostat/schema/structural.h"

namespace homeostat::kinds {

// Null if the schema has no rules. The schema must outlive it; expressions are compiled when the first object comes.
std::unique_ptr<const schema::ObjectRules> MakeObjectRules(const schema::StructuralSchema& schema);

}  // namespace homeostat::kinds
