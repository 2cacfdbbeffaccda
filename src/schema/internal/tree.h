// Small helpers for building trees.
#pragma once

#include <memory>
#include <span>

#include "homeostat/object/value.h"

namespace homeostat::schema::internal {

inline object::Value CopyMembers(object::Arena& arena, std::span<const object::Member> members) {
  if (members.empty()) return object::Value::EmptyObject();
  auto* copy = arena.AllocateArray<object::Member>(members.size());
  std::uninitialized_copy(members.begin(), members.end(), copy);
  return object::Value::Object({copy, members.size()});
}

inline object::Value CopyItems(object::Arena& arena, std::span<const object::Value> items) {
  if (items.empty()) return object::Value::EmptyList();
  auto* copy = arena.AllocateArray<object::Value>(items.size());
  std::uninitialized_copy(items.begin(), items.end(), copy);
  return object::Value::List({copy, items.size()});
}

// The same piece of memory, or the same scalar: says at once that nothing was changed.
inline bool IsSame(const object::Value& a, const object::Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case object::ValueKind::kString:
    case object::ValueKind::kBytes:
      return a.AsString().data() == b.AsString().data() && a.AsString().size() == b.AsString().size();
    case object::ValueKind::kList:
      return a.items().data() == b.items().data() && a.size() == b.size();
    case object::ValueKind::kObject:
      return a.members().data() == b.members().data() && a.size() == b.size();
    default:
      return object::Equal(a, b);
  }
}

// Sorts by name; of members with the same name the last one stays. Returns how many are left.
size_t SortByName(std::span<object::Member> members);
// The same by field index; members without one keep their order, after all others.
size_t SortByField(std::span<object::Member> members);

}  // namespace homeostat::schema::internal
