// Which values Go would write, and which are zero to it. Shared by the codecs of this layer.
#pragma once

#include <bit>

#include "homeostat/object/value.h"
#include "homeostat/schema/type.h"

namespace homeostat::schema::internal {

// Structs to Go: omitempty has no effect on them.
constexpr bool IsStructLike(Form form) {
  switch (form) {
    case Form::kQuantity:
    case Form::kTime:
    case Form::kMicroTime:
    case Form::kDuration:
    case Form::kIntOrString:
    case Form::kFieldsV1:
    case Form::kRawExtension:
    case Form::kJson:
    case Form::kStruct:
    case Form::kSchemaOrBool:
    case Form::kSchemaOrList:
    case Form::kSchemaOrStrings:
      return true;
    default:
      return false;
  }
}

// A value without content, whatever its type: what omitempty leaves out. Null and absent are.
inline bool IsEmptyValue(const object::Value& value) {
  switch (value.kind()) {
    case object::ValueKind::kAbsent:
    case object::ValueKind::kNull:
      return true;
    case object::ValueKind::kBool:
      return !value.AsBool();
    case object::ValueKind::kInt:
      return value.AsInt() == 0;
    case object::ValueKind::kDouble:
      return value.AsDouble() == 0;
    case object::ValueKind::kString:
    case object::ValueKind::kBytes:
      return value.AsString().empty();
    case object::ValueKind::kList:
    case object::ValueKind::kObject:
      return value.empty();
  }
  return false;
}

// Go's zero time given as a time, where a time is a pointer: it is one, but looks like none. Null stands for it in a tree.
inline bool IsZeroTime(const Field& field, const object::Value& value) {
  return value.IsNull() && field.Has(kPointer) && (field.type->form == Form::kTime || field.type->form == Form::kMicroTime);
}

// The zero value of the type: a struct is zero if all its fields are.
bool IsZero(const Type& type, const object::Value& value);

// What stands for nothing in a list or map, where it can't be left out: 0, "", {} …; Null where Go has a nil.
object::Value ZeroElement(const Type& type);

enum class Written : uint8_t { kNot, kNull, kZero, kValue };

// What Go writes for the field: nothing, null, its type's zero value, or the value.
[[gnu::always_inline]] inline Written HowWritten(const Field& field, const object::Value& value) {
  if (value) {
    if (field.Has(kPointer)) return Written::kValue;
    if (field.Has(kOmitZero)) return IsZero(*field.type, value) ? Written::kNot : Written::kValue;
    if (field.Has(kOmitEmpty) && IsEmptyValue(value) && !IsStructLike(field.type->form)) return Written::kNot;
    return Written::kValue;
  }
  if (value.IsNull() && (field.Has(kNullable) || IsZeroTime(field, value))) return Written::kNull;
  if (field.Has(kPointer)) return field.Has(kOmitEmpty) || field.Has(kOmitZero) ? Written::kNot : Written::kNull;
  if (field.Has(kOmitZero)) return Written::kNot;
  if (field.Has(kOmitEmpty) && !IsStructLike(field.type->form)) return Written::kNot;
  return Written::kZero;
}

// The fields of a struct that are there or may be written all the same, in order: visit(index, field, value or absent). Returns the
// members that belong to no field.
template <class Visit>
std::span<const object::Member> EachWritable(const Type& type, const object::Value& value, Visit visit) {
  std::span<const object::Member> members = value.members();
  const size_t count = type.fields.size();
  size_t next = 0;
  auto take = [&](size_t index) {
    bool there = next < members.size() && members[next].field == index;
    visit(static_cast<uint16_t>(index), type.fields[index], there ? members[next++].value : object::Value());
  };
  if (count > 64) {
    for (size_t i = 0; i < count; ++i) take(i);
    return members.subspan(next);
  }
  uint64_t due = count == 64 ? type.absent_in_json : type.absent_in_json & ((uint64_t{1} << count) - 1);
  for (const object::Member& member : members) {
    if (member.field >= count) break;
    due |= uint64_t{1} << member.field;
  }
  for (; due != 0; due &= due - 1) take(static_cast<size_t>(std::countr_zero(due)));
  return members.subspan(next);
}

inline bool IsVariant(Form form) {
  return form == Form::kSchemaOrBool || form == Form::kSchemaOrList || form == Form::kSchemaOrStrings;
}

// The type of a list's items or a map's values: a variant's too, when it is a list. The untyped one if there is none.
inline const Type& ElementType(const Type& type) {
  if (type.form == Form::kSchemaOrStrings) return ScalarType(Form::kString);
  return type.element != nullptr ? *type.element : AnyType();
}

// The type by which an object of this type is read: a variant's is its schema.
inline const Type& ObjectType(const Type& type) {
  return IsVariant(type.form) && type.element != nullptr ? *type.element : type;
}

// Objects nest no deeper than this in any codec: a tree that does is refused, not overflowed on.
inline constexpr int kMaxDepth = 400;

}  // namespace homeostat::schema::internal
