#include "schema/internal/presence.h"

namespace homeostat::schema::internal {

using object::Value;

namespace {

bool IsZeroStruct(const Type& type, const Value& value) {
  for (const object::Member& member : value.members()) {
    if (member.field >= type.fields.size()) return false;
    const Field& field = type.fields[member.field];
    bool there = member.value || IsZeroTime(field, member.value);
    if (field.Has(kPointer) ? there : !IsZero(*field.type, member.value)) return false;
  }
  return true;
}

}  // namespace

bool IsZero(const Type& type, const Value& value) {
  if (!value) return true;
  switch (type.form) {
    case Form::kQuantity:
      return value.AsString() == "0";
    case Form::kTime:
    case Form::kMicroTime:
      return value.AsString().empty();
    case Form::kDuration:
      return value.AsString() == "0s";
    case Form::kIntOrString:
      return value.IsInt() && value.AsInt() == 0;
    case Form::kFieldsV1:
    case Form::kRawExtension:
    case Form::kJson:
      return false;
    case Form::kStruct:
      return IsZeroStruct(type, value);
    case Form::kSchemaOrBool:
    case Form::kSchemaOrList:
    case Form::kSchemaOrStrings:
      return false;
    default:
      return IsEmptyValue(value);
  }
}

Value ZeroElement(const Type& type) {
  switch (type.form) {
    case Form::kBool:
      return Value::Bool(false);
    case Form::kInt32:
    case Form::kInt64:
    case Form::kUint32:
    case Form::kUint64:
    case Form::kIntOrString:
      return Value::Int(0);
    case Form::kDouble:
      return Value::Double(0);
    case Form::kString:
      return Value::StringRef("");
    case Form::kBytes:
      return Value::BytesRef("");
    case Form::kQuantity:
      return Value::StringRef("0");
    case Form::kDuration:
      return Value::StringRef("0s");
    case Form::kStruct:
      return Value::EmptyObject();
    case Form::kSchemaOrBool:
      return Value::Bool(false);
    case Form::kList:
      return type.wrapped_on_wire ? Value::EmptyList() : Value::Null();  // a message of its own: never nil once stored
    default:
      return Value::Null();
  }
}

}  // namespace homeostat::schema::internal
