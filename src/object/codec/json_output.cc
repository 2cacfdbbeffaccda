#include "homeostat/object/json_output.h"

#include <array>
#include <charconv>
#include <cmath>

#include "homeostat/object/json.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace homeostat::object {

void JsonOutput::Grow(size_t bytes) {
  size_t used = static_cast<size_t>(at_ - out_.data());
  size_t room = used + bytes + kStep;
  Trim();
  Open(room);
}

namespace {

constexpr std::array<bool, 256> MakePlain() {
  std::array<bool, 256> plain{};
  for (int c = 0x20; c < 0x80; ++c) plain[static_cast<size_t>(c)] = true;
  for (char c : {'"', '\\', '<', '>', '&'}) plain[static_cast<size_t>(c)] = false;
  return plain;
}
constexpr std::array<bool, 256> kPlain = MakePlain();

}  // namespace

bool JsonOutput::IsPlain(std::string_view text) {
  const char* at = text.data();
  const char* end = at + text.size();
#if defined(__SSE2__)
  const __m128i space = _mm_set1_epi8(0x20), quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
  const __m128i less = _mm_set1_epi8('<'), greater = _mm_set1_epi8('>'), ampersand = _mm_set1_epi8('&');
  for (; end - at >= 16; at += 16) {
    __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // Compared as signed: octets of 0x80 and above are below the space, too.
    __m128i found = _mm_cmplt_epi8(block, space);
    found = _mm_or_si128(found, _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)));
    found = _mm_or_si128(found, _mm_or_si128(_mm_cmpeq_epi8(block, less), _mm_cmpeq_epi8(block, greater)));
    found = _mm_or_si128(found, _mm_cmpeq_epi8(block, ampersand));
    if (_mm_movemask_epi8(found) != 0) return false;
  }
#endif
  while (at != end && kPlain[static_cast<uint8_t>(*at)]) ++at;
  return at == end;
}

void JsonOutput::String(std::string_view text) {
  if (!IsPlain(text)) {
    Trim();
    AppendJsonString(out_, text);
    return Open(kStep);
  }
  Room(text.size() + 2);
  *at_++ = '"';
  if (!text.empty()) std::memcpy(at_, text.data(), text.size());
  at_ += text.size();
  *at_++ = '"';
}

void JsonOutput::Base64(std::string_view octets) {
  Char('"');
  Trim();
  AppendBase64(out_, octets);
  Open(kStep);
  Char('"');
}

void JsonOutput::Int(int64_t value) {
  Room(20);
  at_ = std::to_chars(at_, at_ + 20, value).ptr;
}

void JsonOutput::Double(double value) {
  if (!std::isfinite(value)) return Text("null");
  Trim();
  AppendJsonDouble(out_, value);
  Open(kStep);
}

void JsonOutput::Untyped(const Value& value, bool sort_names) {
  Trim();
  size_t before = out_.size();
  if (!AppendJson(out_, value, {.sort_names = sort_names})) {
    out_.resize(before);
    out_ += "null";
  }
  Open(kStep);
}

}  // namespace homeostat::object
