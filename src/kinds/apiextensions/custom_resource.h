// The one behaviour that objects of all custom kinds share: they are checked against the schema of their definition, which
// is compiled into their kind's type.
// Source of the rules: apiextensions-apiserver's registry/customresource.
#pragma once

#include "homeostat/object/value.h"
#include "homeostat/schema/field_errors.h"
#include "homeostat/schema/type.h"
#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kCustomResource;

// Items of lists that are sets or maps, twice in one list. Paths start at `path`.
void CheckListItems(const schema::Type& type, const Value& value, const schema::FieldPath& path, schema::FieldErrors& errors);
// Resources that stand within others (x-kubernetes-embedded-resource): their kind, apiVersion and metadata. `root`: the
// value is such a resource whatever its type says.
void CheckEmbeddedResources(const schema::Type& type, const Value& value, const schema::FieldPath& path, schema::FieldErrors& errors, bool root = false);

}  // namespace homeostat::kinds
