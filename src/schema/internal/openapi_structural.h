// The published form of a custom resource's schema: what its definition says, with the fields that every object has.
#pragma once

#include <vector>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"
#include "schema/openapi.h"

namespace homeostat::schema::internal {

// `type` is the compiled root of a custom kind. Texts are shared with its schema. Types referred to are added to `referenced`.
// Source of the rules: apiextensions-apiserver's pkg/controller/openapi.
object::Value StructuralDefinition(object::Arena& arena, const Type& type, OpenApiVersion version, std::vector<const Type*>* referenced);

}  // namespace homeostat::schema::internal
