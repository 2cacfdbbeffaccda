// Which characters Go calls printable, and text taken apart into characters as Go's range over a string does.
#pragma once

#include <cstdint>
#include <string_view>

namespace homeostat::patch::internal {

bool IsPrintable(uint32_t code_point);

struct CodePoint {
  uint32_t value;
  size_t length;
};
// The first character of a text that isn't empty; U+FFFD of length 1 for a byte that is no UTF-8.
CodePoint NextCodePoint(std::string_view text);

}  // namespace homeostat::patch::internal
