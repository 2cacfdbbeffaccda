// Where a field stands on the wire: its number, or that of the inlined structs around it, level by level.
#pragma once

#include <cstdint>

#include "homeostat/schema/type.h"

namespace homeostat::schema::internal {

// The number that leads to the field at that level: level 0 is the struct itself, 1 a struct inlined in it, 2 one in
// that.
inline uint32_t WireNumber(const Field& field, int level) {
  if (level == 0 && field.inline_number != 0) return field.inline_number;
  if (level == 1 && field.inline_inner_number != 0) return field.inline_inner_number;
  return field.number;
}

// Whether the field itself is at that level, not a struct around it.
inline bool IsLeaf(const Field& field, int level) {
  if (level == 0) return field.inline_number == 0;
  return level != 1 || field.inline_inner_number == 0;
}

// Whether both fields are within the same inlined struct of that level.
inline bool IsSameGroup(const Field& a, const Field& b, int level) {
  return !IsLeaf(a, level) && !IsLeaf(b, level) && WireNumber(a, level) == WireNumber(b, level);
}

}  // namespace homeostat::schema::internal
