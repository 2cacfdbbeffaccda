// JSON given as YAML, which is what most clients apply.
#pragma once

#include <optional>
#include <string_view>

#include "homeostat/object/arena.h"
#include "homeostat/object/value.h"

namespace homeostat::object::internal {

// The value of a YAML text that is JSON as well, where both languages agree on it; nullopt where they may not (numbers
// with a fraction, escapes that YAML reads otherwise, duplicate keys, long or split keys, deep nesting) and for all that
// is no JSON: then the text is to be read as YAML, errors included. About eight times faster than that.
std::optional<Value> ReadJsonAsYaml(Arena& arena, std::string_view text);

}  // namespace homeostat::object::internal
