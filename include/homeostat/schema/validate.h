// Validation that needs nothing but the type: required fields, enums, limits, and fields that may not change.
//
// Built-in kinds are worded as Kubernetes' declarative validation words them, structural types (custom resources) as
// its OpenAPI validation does ("spec.oars in body should be less than or equal to 40"). What a schema can't say is
// checked by the behaviour of the kind.
#pragma once

#include <memory>

#include "homeostat/object/value.h"
#include "homeostat/schema/field_errors.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

// Which checks to make. The tables mark as required what OpenAPI lists so; many such fields of built-in kinds are
// accepted when zero (numbers of a status), so behaviours choose for which parts of an object they want that check.
struct ValidateOptions {
  bool required = true;
  bool enums = true;
  bool limits = true;
};

// Keeps compiled patterns for as long as it lives. Its functions may be called from any thread.
class Validator {
 public:
  Validator();
  ~Validator();
  Validator(const Validator&) = delete;
  Validator& operator=(const Validator&) = delete;

  // Adds the faults of a typed value and of everything below it, in field order. A number or boolean that is zero
  // counts as present, unless its field is a pointer.
  void Validate(const Type& type, const object::Value& value, const FieldPath& path, FieldErrors& errors,
                const ValidateOptions& options = {}) const;

  // Adds "field is immutable" for each field that is marked so and differs from the old value. Items of lists are
  // compared by their keys where the list is a map, else not looked into.
  void ValidateUpdate(const Type& type, const object::Value& value, const object::Value& old, const FieldPath& path,
                      FieldErrors& errors) const;

 private:
  class Patterns;
  std::unique_ptr<Patterns> patterns_;
};

}  // namespace homeostat::schema
