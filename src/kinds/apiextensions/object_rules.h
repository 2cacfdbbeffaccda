// Rules of a custom kind as they are evaluated when its objects are written.
// Source of the rules: apiextensions-apiserver's pkg/apiserver/schema/cel/validation.go.
#pragma once

#include <memory>

#include "homeostat/schema/conditions.h"
#include "homeostat/schema/field_errors.h"
#include "homeostat/schema/kind.h"
#include "homeostat/schema/structural.h"

namespace homeostat::kinds {

// Null if the schema has no rules. The schema must outlive it; expressions are compiled when the first object comes.
std::unique_ptr<const schema::ObjectRules> MakeObjectRules(const schema::StructuralSchema& schema);

// The rules of one part of a schema, and of the parts below it, on its default: as one that stays as it is, then as a new one.
// shape: the part's type, null within metadata. resource: the part is a whole object. budget: what the rules may cost; gives what
// is left of it, less than 0 if they were not all evaluated.
int64_t CheckRulesOfDefault(const schema::Condition& part, const schema::Type* shape, bool resource, const object::Value& fallback,
                            int64_t budget, const schema::FieldPath& path, schema::FieldErrors& errors);

}  // namespace homeostat::kinds
