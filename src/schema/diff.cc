#include "homeostat/schema/diff.h"

#include <algorithm>

#include "schema/internal/presence.h"
#include "schema/internal/scalars.h"
#include "schema/internal/tree.h"

namespace homeostat::schema {

using internal::ElementType;
using object::Member;
using object::Value;

namespace {

// The same memory: no need to look inside.
bool IsShared(const Value& a, const Value& b) {
  if (a.kind() != b.kind() || a.size() != b.size()) return false;
  if (a.IsObject()) return a.members().data() == b.members().data();
  return a.IsList() && a.items().data() == b.items().data();
}

bool IsEqualList(const Type& type, const Value& a, const Value& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!IsEqual(ElementType(type), a.items()[i], b.items()[i])) return false;
  }
  return true;
}

bool IsEqualMap(const Type& type, const Value& a, const Value& b) {
  if (a.size() != b.size()) return false;
  std::vector<Member> left(a.members().begin(), a.members().end()), right(b.members().begin(), b.members().end());
  if (internal::SortByName(left) != internal::SortByName(right)) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].name() != right[i].name() || !IsEqual(ElementType(type), left[i].value, right[i].value)) return false;
  }
  return true;
}

bool IsEqualField(const Type& parent, const Field& field, const Value& a, const Value& b) {
  if (parent.structural && a.kind() != b.kind()) return false;
  if (field.Has(kPointer) && static_cast<bool>(a) != static_cast<bool>(b)) return false;
  if (internal::IsZeroTime(field, a) != internal::IsZeroTime(field, b)) return false;
  return IsEqual(*field.type, a, b);
}

// Visits the indexes of fields that differ until the visitor says false.
template <class Visit>
void VisitChanged(const Type& type, const Value& a, const Value& b, Visit visit) {
  auto left = a.members().begin(), left_end = a.members().end();
  auto right = b.members().begin(), right_end = b.members().end();
  while (true) {
    uint16_t index = object::kNoField;
    if (left != left_end) index = std::min(index, left->field);
    if (right != right_end) index = std::min(index, right->field);
    if (index >= type.fields.size()) return;
    Value x, y;
    if (left != left_end && left->field == index) x = (left++)->value;
    if (right != right_end && right->field == index) y = (right++)->value;
    if (!IsEqualField(type, type.fields[index], x, y) && !visit(index)) return;
  }
}

std::span<const Member> Unknown(const Type& type, const Value& value) {
  auto members = value.members();
  size_t first = 0;
  while (first < members.size() && members[first].field < type.fields.size()) ++first;
  return members.subspan(first);
}

bool IsEqualStruct(const Type& type, const Value& a, const Value& b) {
  bool equal = true;
  VisitChanged(type, a, b, [&](uint16_t) { return equal = false; });
  if (!equal) return false;
  auto left = Unknown(type, a), right = Unknown(type, b);
  if (left.empty() && right.empty()) return true;
  return object::Equal(Value::Object(left), Value::Object(right));
}

}  // namespace

bool IsSameText(const Value& a, const Value& b) {
  if (a.kind() != b.kind() || a.size() != b.size()) return false;
  if (IsShared(a, b)) return true;
  if (a.IsObject()) {
    return std::ranges::equal(a.members(), b.members(),
                              [](const Member& x, const Member& y) { return x.name() == y.name() && IsSameText(x.value, y.value); });
  }
  return a.IsList() ? std::ranges::equal(a.items(), b.items(), IsSameText) : object::Equal(a, b);
}

bool IsEqual(const Type& type, const Value& a, const Value& b) {
  if (IsShared(a, b)) return true;
  const Type& object_type = a.IsObject() ? internal::ObjectType(type) : type;
  switch (object_type.form) {
    case Form::kStruct:
      if ((a && !a.IsObject()) || (b && !b.IsObject())) break;
      return IsEqualStruct(object_type, a, b);
    case Form::kMap:
      if ((a && !a.IsObject()) || (b && !b.IsObject())) break;
      return IsEqualMap(type, a, b);
    case Form::kList:
      if ((a && !a.IsList()) || (b && !b.IsList())) break;
      return IsEqualList(type, a, b);
    case Form::kQuantity:
      if (!type.structural) return internal::CompareQuantities(a, b) == 0;
      break;
    case Form::kRawExtension:
    case Form::kJson:
      if (!type.structural) return IsSameText(a, b);
      [[fallthrough]];
    case Form::kFieldsV1:
      return (!a && !b) || object::Equal(a, b);
    default:
      if (!type.structural && internal::IsZero(type, a) && internal::IsZero(type, b)) return true;
      if (a.IsList() && b.IsList()) return IsEqualList(type, a, b);
  }
  return object::Equal(a, b);
}

std::vector<uint16_t> ChangedFields(const Type& type, const Value& a, const Value& b) {
  std::vector<uint16_t> changed;
  VisitChanged(type, a, b, [&](uint16_t index) {
    changed.push_back(index);
    return true;
  });
  return changed;
}

}  // namespace homeostat::schema
