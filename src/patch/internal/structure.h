// Structure: a type as apply sees it. Apply knows scalars, lists and maps only; a type admits one of them or, where
// anything may stand, all three. A struct is a map with named fields.
//
// Source of the rules: kube-openapi schemaconv (what an OpenAPI schema means to apply) and structured-merge-diff typed.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"
#include "patch/field_set.h"

namespace homeostat::patch::internal {

enum class Scalar : uint8_t { kNone, kNumeric, kString, kBoolean, kUntyped };

// Sets of what a value may be.
enum Part : uint8_t { kScalarPart = 1, kListPart = 2, kMapPart = 4 };

class Structure {
 public:
  // No type: nothing is declared here.
  Structure() = default;
  explicit Structure(const schema::Type& type, bool preserve = false);

  bool declared() const { return type_ != nullptr; }
  const schema::Type& type() const { return *type_; }
  Scalar scalar() const { return scalar_; }
  uint8_t parts() const { return parts_; }

  // The parts that such a value decides for: one, or all of the type's if the value is null or of no kind it admits.
  uint8_t PartsFor(const Value& value) const;

  bool list_atomic() const { return list_atomic_; }
  bool map_atomic() const { return map_atomic_; }
  Structure ListElement() const;

  struct Child;
  // The type of a map's entry or a struct's field; undeclared if there is none of that name.
  Child MapChild(const object::Member& member) const;
  Child MapChild(std::string_view name) const;

  // Whether the member is a field declared to be a scalar, of which there is no more to know.
  bool IsScalarField(const object::Member& member) const {
    if (!named_fields_ || member.field >= type_->fields.size()) return false;
    const schema::Field& field = type_->fields[member.field];
    return field.type->form <= schema::Form::kDuration && field.name.data() == member.name_data;
  }

  // Entries may be anything and so may theirs, and no field is named: nothing is known of such a map.
  bool IsFreeForm() const { return parts_ == (kScalarPart | kListPart | kMapPart) ? !map_atomic_ : free_form_; }

 private:
  // A field's structure. What custom resources keep of unknown fields ends at the Go structs within them (embedded metadata).
  Structure Below(const schema::Type& type) const { return Structure(type, preserve_ && type.structural == type_->structural); }

  const schema::Type* type_ = nullptr;
  Scalar scalar_ = Scalar::kNone;
  uint8_t parts_ = 0;
  bool list_atomic_ = false;
  bool map_atomic_ = false;
  bool named_fields_ = false;
  bool free_form_ = false;  // a map whose entries may be anything
  bool preserve_ = false;   // fields that are not declared are kept, here and below
};

struct Structure::Child {
  Structure structure;
  bool named = false;  // a field of that name is declared, rather than any name admitted
};

// The one part to go on with, when several are possible.
inline Part MainPart(uint8_t parts) {
  return parts & kMapPart ? kMapPart : parts & kScalarPart ? kScalarPart : kListPart;
}

// The same value with the field indexes of its type on the members of structs, so that each is looked up only once.
Value WithFieldIndexes(Arena& arena, const schema::Type& type, const Value& value);

// What an item of a list counts as having where it leaves a key out: the default that is published in OpenAPI. Absent
// if there is none.
Value KeyDefault(Arena& arena, const schema::Type& element, std::string_view name);

// The step that leads to an item of a list that is a set or has keys; or, without the right keys, the reason why there
// is none.
std::expected<PathElement, std::string> ItemElement(Arena& arena, const Structure& list, const Value& item);

}  // namespace homeostat::patch::internal
