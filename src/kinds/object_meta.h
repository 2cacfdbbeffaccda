// Rules of the metadata that every object has, and that resources within custom objects have, too.
// Source of the rules: apimachinery's pkg/api/validation, objectmeta.go.
#pragma once

#include "homeostat/object/value.h"
#include "homeostat/schema/field_errors.h"

namespace homeostat::kinds {

using object::Value;

// Faults stand at the list's own path, whichever item they are of.
void CheckOwnerReferences(const Value& references, const schema::FieldPath& path, schema::FieldErrors& errors);
void CheckFinalizers(const Value& finalizers, const schema::FieldPath& path, schema::FieldErrors& errors);

}  // namespace homeostat::kinds
