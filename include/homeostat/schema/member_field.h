// The field of a struct that a member of an object belongs to.
#pragma once

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema {

// Null if the type has none of that name. Not searched for where the member has come through the type's own tables.
inline const Field* FieldOfMember(const Type& type, const object::Member& member) {
  if (member.field < type.fields.size()) {
    const Field& field = type.fields[member.field];
    if (field.name.data() == member.name_data && field.name.size() == member.name_size) return &field;
  }
  return type.FindField(member.name());
}

}  // namespace homeostat::schema
