// The fuzzer's input as a few JSON values, one a line.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "homeostat/object/json.h"

namespace homeostat::fuzz {

// The values of the lines, as long as each is JSON; nothing if one is not.
inline std::optional<std::vector<object::Value>> JsonLines(object::Arena& arena, const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<object::Value> values;
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\n'), rest.size());
    auto value = object::ParseJson(arena, rest.substr(0, end));
    if (!value) return std::nullopt;
    values.push_back(*value);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return values;
}

// What must hold.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace homeostat::fuzz
