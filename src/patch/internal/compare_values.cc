#include "patch/internal/compare_values.h"

#include <algorithm>
#include <vector>

#include "homeostat/object/member_lookup.h"
#include "homeostat/object/member_order.h"

namespace homeostat::patch::internal {

using object::Member;
using object::MemberLookup;
using object::Value;
using object::ValueKind;

namespace {

int Rank(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kInt:
    case ValueKind::kDouble:
      return 0;
    case ValueKind::kString:
    case ValueKind::kBytes:
      return 1;
    case ValueKind::kBool:
      return 2;
    case ValueKind::kList:
      return 3;
    case ValueKind::kObject:
      return 4;
    case ValueKind::kNull:
      return 5;
    case ValueKind::kAbsent:
      return 6;
  }
  return 6;
}

template <class T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int CompareNumbers(const Value& a, const Value& b) {
  if (a.IsInt() && b.IsInt()) return Order(a.AsInt(), b.AsInt());
  return Order(a.AsDouble(), b.AsDouble());
}

int CompareLists(const Value& a, const Value& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (int order = CompareValues(a.items()[i], b.items()[i]); order != 0) return order;
  }
  return Order(a.size(), b.size());
}

int CompareMembers(const Member& a, const Member& b) {
  bool same_name = a.name_data == b.name_data && a.name_size == b.name_size;
  if (int order = same_name ? 0 : a.name().compare(b.name()); order != 0) return order < 0 ? -1 : 1;
  return CompareValues(a.value, b.value);
}

// Keys of lists have one or two members, mostly in order already.
bool InOrder(const Value& object) {
  std::span<const Member> members = object.members();
  return std::is_sorted(members.begin(), members.end(),
                        [](const Member& a, const Member& b) { return a.name() < b.name(); });
}

int CompareObjects(const Value& a, const Value& b) {
  if (a.size() == 1 && b.size() == 1) return CompareMembers(a.members()[0], b.members()[0]);
  size_t shared = std::min(a.size(), b.size());
  if (InOrder(a) && InOrder(b)) {
    for (size_t i = 0; i < shared; ++i) {
      if (int order = CompareMembers(a.members()[i], b.members()[i]); order != 0) return order;
    }
    return Order(a.size(), b.size());
  }
  std::vector<const Member*> left = object::SortedByName(a), right = object::SortedByName(b);
  for (size_t i = 0; i < shared; ++i) {
    if (int order = CompareMembers(*left[i], *right[i]); order != 0) return order;
  }
  return Order(a.size(), b.size());
}

bool EqualObjects(const Value& a, const Value& b) {
  if (a.size() != b.size()) return false;
  MemberLookup in_b(b);
  for (const Member& member : a.members()) {
    const Member* other = in_b.Find(member.name());
    if (other == nullptr || !EqualValues(member.value, other->value)) return false;
  }
  return true;
}

bool SameMemory(const Value& a, const Value& b) {
  return a.IsList() ? a.items().data() == b.items().data() : a.members().data() == b.members().data();
}

}  // namespace

int CompareValues(const Value& a, const Value& b) {
  if (int order = Order(Rank(a), Rank(b)); order != 0) return order;
  switch (a.kind()) {
    case ValueKind::kInt:
    case ValueKind::kDouble:
      return CompareNumbers(a, b);
    case ValueKind::kString:
    case ValueKind::kBytes:
      return Order(a.AsString(), b.AsString());
    case ValueKind::kBool:
      return Order(a.AsBool(), b.AsBool());
    case ValueKind::kList:
      return CompareLists(a, b);
    case ValueKind::kObject:
      return CompareObjects(a, b);
    default:
      return 0;
  }
}

bool EqualValues(const Value& a, const Value& b) {
  if (Rank(a) != Rank(b)) return false;
  if (a.IsList()) {
    if (a.size() != b.size()) return false;
    if (SameMemory(a, b)) return true;
    return std::equal(a.items().begin(), a.items().end(), b.items().begin(), EqualValues);
  }
  if (a.IsObject()) return (a.size() == b.size() && SameMemory(a, b)) || EqualObjects(a, b);
  return CompareValues(a, b) == 0;
}

bool Identical(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.IsList() || a.IsObject()) return a.size() == b.size() && (a.empty() || SameMemory(a, b));
  if (a.IsDouble()) return a.AsDouble() == b.AsDouble();
  return CompareValues(a, b) == 0;
}

}  // namespace homeostat::patch::internal
