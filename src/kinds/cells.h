// Texts that stand in the cells of tables.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"

namespace homeostat::kinds {

// An age as people read it: 5s, 3m20s, 4h, 12d. A second below zero is none, more are "<invalid>".
std::string HumanDuration(Duration duration);
// The time since then; "<unknown>" if there is none.
std::string Since(const object::Value& timestamp, WallTime now);

inline object::Value TextCell(object::Arena& arena, std::string_view text) { return object::Value::String(arena, text); }
// "<none>" instead of nothing.
inline object::Value TextOrNone(object::Arena& arena, std::string_view text) {
  return text.empty() ? object::Value::StringRef("<none>") : TextCell(arena, text);
}

}  // namespace homeostat::kinds
