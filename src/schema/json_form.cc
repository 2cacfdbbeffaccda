// ToJsonForm: the encoder's rules, with a tree as the output.
#include <algorithm>
#include <vector>

#include "homeostat/object/json.h"
#include "homeostat/schema/json_encoder.h"
#include "schema/internal/fields_v1.h"
#include "schema/internal/presence.h"
#include "schema/internal/tree.h"

namespace homeostat::schema {

using internal::ElementType;
using internal::HowWritten;
using internal::IsSame;
using internal::Written;
using object::Arena;
using object::Member;
using object::Value;
using object::ValueKind;

namespace {

Value Base64Text(Arena& arena, std::string_view octets) {
  std::string text;
  object::AppendBase64(text, octets);
  return Value::String(arena, text);
}

Value ValueForm(Arena& arena, const Type& type, const Value& value);

Value ZeroForm(Arena& arena, const Type& type) {
  Value zero = internal::ZeroElement(type);
  if (type.form == Form::kStruct) return ValueForm(arena, type, zero);
  return zero.IsBytes() ? Value::Null() : zero;
}

// The parts of a list or object that begins as an old one does: they are copied from where they differ, and if they never
// do, the old one serves. Most of what is in an object has the same JSON form.
template <class T>
class Parts {
 public:
  explicit Parts(std::span<const T> old) : old_(old) {}
  void Add(const T& part, bool same) {
    if (same_ && same) {
      ++count_;
      return;
    }
    Begin();
    changed_.push_back(part);
  }
  // The part that is next, if all before it are the same.
  const T* next() const { return same_ && count_ < old_.size() ? &old_[count_] : nullptr; }
  bool same() const { return same_ && count_ == old_.size(); }
  std::vector<T>& changed() {
    Begin();
    return changed_;
  }

 private:
  // The copy, of the parts so far.
  void Begin() {
    if (!std::exchange(same_, false)) return;
    changed_.reserve(old_.size() + 4);
    changed_.assign(old_.begin(), old_.begin() + static_cast<ptrdiff_t>(count_));
  }

  std::span<const T> old_;
  size_t count_ = 0;
  bool same_ = true;
  std::vector<T> changed_;
};

// Whether the JSON form of such a value is the value, whatever its type.
bool IsItsOwnForm(const Value& value) { return value && !value.IsBytes() && !value.IsList() && !value.IsObject(); }

void AddMember(Parts<Member>& parts, std::string_view name, const Value& value, uint16_t index) {
  const Member* next = parts.next();
  bool same = next != nullptr && next->name_data == name.data() && next->name_size == name.size() && next->field == index &&
              IsSame(next->value, value);
  parts.Add(Member(name, value, index), same);
}

Value StructForm(Arena& arena, const Type& type, const Value& value) {
  Parts<Member> parts(value.members());
  auto unknown = internal::EachWritable(type, value, [&](uint16_t index, const Field& field, const Value& found) {
    switch (HowWritten(field, found)) {
      case Written::kNot:
        break;
      case Written::kNull:
        AddMember(parts, field.name, Value::Null(), index);
        break;
      case Written::kZero:
        AddMember(parts, field.name, ZeroForm(arena, *field.type), index);
        break;
      case Written::kValue:
        if (const Member* next = parts.next(); next != nullptr && next->field == index && IsItsOwnForm(found)) {
          parts.Add(*next, true);
        } else {
          AddMember(parts, field.name, ValueForm(arena, *field.type, found), index);
        }
        break;
    }
  });
  for (const Member& member : unknown) {
    Value form = type.element != nullptr ? ValueForm(arena, *type.element, member.value) : member.value;
    AddMember(parts, member.name(), form, object::kNoField);
  }
  return parts.same() ? value : internal::CopyMembers(arena, parts.changed());
}

Value MapForm(Arena& arena, const Type& type, const Value& value) {
  auto before = [](const Member& a, const Member& b) { return a.name() < b.name(); };
  Parts<Member> parts(value.members());
  for (const Member& member : value.members()) {
    bool null = type.element_nullable && member.value.IsNull();
    AddMember(parts, member.name(), null ? member.value : ValueForm(arena, ElementType(type), member.value), object::kNoField);
  }
  if (parts.same() && std::is_sorted(value.members().begin(), value.members().end(), before)) return value;
  std::vector<Member>& members = parts.changed();
  std::sort(members.begin(), members.end(), before);
  return internal::CopyMembers(arena, members);
}

Value ListForm(Arena& arena, const Type& type, const Value& value) {
  Parts<Value> parts(value.items());
  for (const Value& item : value.items()) {
    bool null = type.element_nullable && item.IsNull();
    Value form = null ? item : ValueForm(arena, ElementType(type), item);
    parts.Add(form, IsSame(form, item));
  }
  return parts.same() ? value : internal::CopyItems(arena, parts.changed());
}

Value ValueForm(Arena& arena, const Type& type, const Value& value) {
  switch (value.kind()) {
    case ValueKind::kAbsent:
    case ValueKind::kNull:
      return ZeroForm(arena, type);
    case ValueKind::kBytes:
      return type.form == Form::kFieldsV1 ? internal::FieldsV1Tree(arena, value) : Base64Text(arena, value.AsString());
    case ValueKind::kList:
      return ListForm(arena, type, value);
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
