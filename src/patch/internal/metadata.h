// Reading and changing an object's metadata, in typed trees and in JSON form alike.
#pragma once

#include <initializer_list>
#include <string_view>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"
#include "patch/field_set.h"

namespace homeostat::patch::internal {

// Whether the members of the object carry field indexes. An object without members may be either and counts as untyped.
bool IsTyped(const Value& object);

// The type reached by these field names, "[]" being a list's items; null if there is none.
const schema::Type* TypeAt(const schema::Type& type, std::initializer_list<std::string_view> steps);

// The object with that member of its metadata set, or erased if the value is absent. Made if there was no metadata.
Value WithMetadata(Arena& arena, const schema::Type& type, const Value& object, std::string_view name, Value value);

// Builds a struct member by member, in order of its fields if the type is given.
class FieldWriter {
 public:
  FieldWriter(Arena& arena, const schema::Type* type, const Value& from = {}) : type_(type), builder_(arena, from) {}
  // An absent value erases.
  void Set(std::string_view name, Value value);
  Value Build() { return builder_.Build(); }

 private:
  const schema::Type* type_;
  object::ObjectBuilder builder_;
};

}  // namespace homeostat::patch::internal
