// What a JSON string holds as it is.
#pragma once

#include <array>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace homeostat::object::internal {

// By octet. Not plain are those of Go's HTML-safe set (control characters, quotes, backslash, <, > and &), and the octets of what is
// not ASCII, which must be looked at.
inline constexpr std::array<bool, 256> kPlainInJson = [] {
  std::array<bool, 256> plain{};
  for (unsigned c = 0x20; c < 0x80; ++c) plain[c] = true;
  for (unsigned char c : {'"', '\\', '<', '>', '&'}) plain[c] = false;
  return plain;
}();

#if defined(__SSE2__)
// A bit for each octet of the block that is not plain.
[[gnu::always_inline]] inline uint32_t NotPlainInJson(__m128i block) {
  auto equals = [&](char c) { return _mm_cmpeq_epi8(block, _mm_set1_epi8(c)); };
  // Compared as signed: octets of 0x80 and above are below the space, too.
  __m128i found = _mm_or_si128(_mm_cmplt_epi8(block, _mm_set1_epi8(0x20)), _mm_or_si128(equals('"'), equals('\\')));
  found = _mm_or_si128(found, _mm_or_si128(equals('<'), _mm_or_si128(equals('>'), equals('&'))));
  return static_cast<uint32_t>(_mm_movemask_epi8(found));
}
#endif

}  // namespace homeostat::object::internal
