// UTF-8 as Go's unicode/utf8 reads it: every octet that begins no valid sequence is one U+FFFD.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace homeostat::object::internal {

inline constexpr char32_t kReplacement = 0xFFFD;

struct Rune {
  char32_t value = kReplacement;
  uint32_t size = 1;  // octets read
  bool valid = false;
};

// The first rune of a text that is not empty.
inline Rune DecodeRune(std::string_view text) {
  auto octet = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  auto tail = [&](size_t i) { return (octet(i) & 0xC0) == 0x80; };
  uint8_t first = octet(0);
  if (first < 0x80) return {first, 1, true};
  if (first >= 0xC2 && first <= 0xDF && tail(1)) return {char32_t{first & 0x1Fu} << 6 | (octet(1) & 0x3Fu), 2, true};
  if (first >= 0xE0 && first <= 0xEF && tail(1) && tail(2)) {
    char32_t value = char32_t{first & 0x0Fu} << 12 | char32_t{octet(1) & 0x3Fu} << 6 | (octet(2) & 0x3Fu);
    if (value >= 0x800 && (value < 0xD800 || value > 0xDFFF)) return {value, 3, true};
  }
  if (first >= 0xF0 && first <= 0xF4 && tail(1) && tail(2) && tail(3)) {
    char32_t value = char32_t{first & 0x07u} << 18 | char32_t{octet(1) & 0x3Fu} << 12 | char32_t{octet(2) & 0x3Fu} << 6 |
                     (octet(3) & 0x3Fu);
    if (value >= 0x10000 && value <= 0x10FFFF) return {value, 4, true};
  }
  return {};
}

inline void AppendRune(std::string& out, char32_t value) {
  if (value < 0x80) {
    out.push_back(static_cast<char>(value));
  } else if (value < 0x800) {
    out.push_back(static_cast<char>(0xC0 | value >> 6));
    out.push_back(static_cast<char>(0x80 | (value & 0x3F)));
  } else if (value < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | value >> 12));
    out.push_back(static_cast<char>(0x80 | (value >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (value & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | value >> 18));
    out.push_back(static_cast<char>(0x80 | (value >> 12 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (value >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (value & 0x3F)));
  }
}

inline bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    Rune rune = DecodeRune(text);
    if (!rune.valid) return false;
    text.remove_prefix(rune.size);
  }
  return true;
}

}  // namespace homeostat::object::internal
