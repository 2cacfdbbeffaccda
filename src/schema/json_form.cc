// ToJsonForm: the encoder's rules, with a tree as the output.
#include <algorithm>
#include <vector>

#include "homeostat/schema/json_encoder.h"
#include "schema/internal/json_output.h"
#include "schema/internal/presence.h"
#include "schema/internal/tree.h"

namespace homeostat::schema {

using internal::ElementType;
using internal::HowWritten;
using internal::Written;
using object::Arena;
using object::Member;
using object::Value;
using object::ValueKind;

namespace {

Value Base64Text(Arena& arena, std::string_view octets) {
  std::string text;
  { internal::JsonOutput(text).Base64(octets); }
  return Value::String(arena, std::string_view(text).substr(1, text.size() - 2));
}

Value ValueForm(Arena& arena, const Type& type, const Value& value);

Value ZeroForm(Arena& arena, const Type& type) {
  Value zero = internal::ZeroElement(type);
  if (type.form == Form::kStruct) return ValueForm(arena, type, zero);
  return zero.IsBytes() ? Value::Null() : zero;
}

Value StructForm(Arena& arena, const Type& type, const Value& value) {
  std::vector<Member> members;
  members.reserve(value.size() + 4);
  auto member = value.members().begin();
  auto end = value.members().end();
  for (size_t i = 0; i < type.fields.size(); ++i) {
    Value found;
    if (member != end && member->field == i) found = (member++)->value;
    const Field& field = type.fields[i];
    auto index = static_cast<uint16_t>(i);
    switch (HowWritten(field, found)) {
      case Written::kNot:
        break;
      case Written::kNull:
        members.emplace_back(field.name, Value::Null(), index);
        break;
      case Written::kZero:
        members.emplace_back(field.name, ZeroForm(arena, *field.type), index);
        break;
      case Written::kValue:
        members.emplace_back(field.name, ValueForm(arena, *field.type, found), index);
        break;
    }
  }
  for (; member != end; ++member) {
    members.emplace_back(member->name(),
                         type.element != nullptr ? ValueForm(arena, *type.element, member->value) : member->value);
  }
  return internal::CopyMembers(arena, members);
}

Value MapForm(Arena& arena, const Type& type, const Value& value) {
  std::vector<Member> members(value.members().begin(), value.members().end());
  for (Member& member : members) {
    member.field = object::kNoField;
    bool null = type.element_nullable && member.value.IsNull();
    if (!null) member.value = ValueForm(arena, ElementType(type), member.value);
  }
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.name() < b.name(); });
  return internal::CopyMembers(arena, members);
}

Value ValueForm(Arena& arena, const Type& type, const Value& value) {
  switch (value.kind()) {
    case ValueKind::kAbsent:
    case ValueKind::kNull:
      return ZeroForm(arena, type);
    case ValueKind::kBytes:
      return Base64Text(arena, value.AsString());
    case ValueKind::kList: {
      std::vector<Value> items(value.items().begin(), value.items().end());
      for (Value& item : items) {
        if (!type.element_nullable || !item.IsNull()) item = ValueForm(arena, ElementType(type), item);
      }
      return internal::CopyItems(arena, items);
    }
    case ValueKind::kObject: {
      const Type& object_type = internal::ObjectType(type);
      if (object_type.form == Form::kStruct) return StructForm(arena, object_type, value);
      return object_type.form == Form::kMap ? MapForm(arena, object_type, value) : value;
    }
    default:
      return value;
  }
}

// Structural trees are what they were in JSON already; only field indexes go.
Value StripIndexes(Arena& arena, const Value& value) {
  if (value.IsList()) {
    std::vector<Value> items(value.items().begin(), value.items().end());
    for (Value& item : items) item = StripIndexes(arena, item);
    return internal::CopyItems(arena, items);
  }
  if (!value.IsObject()) return value.IsBytes() ? Base64Text(arena, value.AsString()) : value;
  std::vector<Member> members(value.members().begin(), value.members().end());
  for (Member& member : members) {
    member.field = object::kNoField;
    member.value = StripIndexes(arena, member.value);
  }
  return internal::CopyMembers(arena, members);
}

}  // namespace

Value ToJsonForm(Arena& arena, const Type& type, const Value& value) {
  return type.structural ? StripIndexes(arena, value) : ValueForm(arena, type, value);
}

}  // namespace homeostat::schema
