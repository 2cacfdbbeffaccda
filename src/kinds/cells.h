// Texts that stand in the cells of tables.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/runtime.h"
#include "homeostat/object/value.h"

namespace homeostat::kinds {

// An age as people read it: 5s, 3m20s, 4h, 12d. A second below zero is none, more are "<invalid>".
std::string HumanDuration(Duration duration);
// The time from one to the other, or the longest there is, as Go's Sub gives it: some 292 years.
Duration Between(WallTime earlier, WallTime later);
// The time since then; "<unknown>" if there is none, or Go's zero time.
std::string Since(const object::Value& timestamp, WallTime now);

inline object::Value TextCell(object::Arena& arena, std::string_view text) { return object::Value::String(arena, text); }
// "<none>" instead of nothing.
inline object::Value TextOrNone(object::Arena& arena, std::string_view text) {
  return text.empty() ? object::Value::StringRef("<none>") : TextCell(arena, text);
}

}  // namespace homeostat::kinds
