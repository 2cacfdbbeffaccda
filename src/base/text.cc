#include "homeostat/base/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace homeostat {
namespace {

char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

struct CodePoint {
  uint32_t value = 0;
  size_t length = 0;  // 0: not valid UTF-8
};

CodePoint DecodeUtf8(std::string_view text) {
  auto byte = [&](size_t i) -> uint32_t { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {};
  uint32_t value = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3F);
  }
  static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, length};
}

// What Go's strconv does not print as it is: controls, spaces other than the plain one, format characters,
// surrogates, private use and non-characters.
bool IsPrintable(uint32_t c) {
  if (c < 0x20) return false;
  if (c < 0x7F) return true;
  if (c <= 0xA0 || c == 0xAD) return false;
  if ((c >= 0x0600 && c <= 0x0605) || c == 0x061C || c == 0x06DD || c == 0x070F || c == 0x1680 || c == 0x180E) return false;
  if ((c >= 0x2000 && c <= 0x200F) || (c >= 0x2028 && c <= 0x202F) || (c >= 0x205F && c <= 0x206F) || c == 0x3000) return false;
  if ((c >= 0xE000 && c <= 0xF8FF) || c == 0xFEFF || (c >= 0xFFF0 && c <= 0xFFFB)) return false;
  return (c & 0xFFFE) != 0xFFFE && c < 0x323B0;  // beyond, nothing is assigned that is printed
}

char ShortEscape(uint32_t c) {
  switch (c) {
    case '\a': return 'a';
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    case '\v': return 'v';
    default: return 0;
  }
}

void AppendEscape(std::string& out, uint32_t c, bool valid) {
  if (char letter = valid ? ShortEscape(c) : 0) {
    out += '\\';
    out += letter;
    return;
  }
  const char* format = !valid || c < 0x80 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x";
  char text[12];
  out.append(text, std::snprintf(text, sizeof text, format, c));
}

bool IsPlain(char c, bool quote) { return c >= ' ' && c <= '~' && c != '\\' && !(quote && c == '"'); }

void AppendEscaped(std::string& out, std::string_view text, bool quote) {
  while (!text.empty()) {
    size_t plain = static_cast<size_t>(std::ranges::find_if_not(text, [&](char c) { return IsPlain(c, quote); }) - text.begin());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    CodePoint next = DecodeUtf8(text);
    if (next.length == 0) {
      AppendEscape(out, static_cast<uint8_t>(text[0]), false);
      text.remove_prefix(1);
      continue;
    }
    if (next.value == '\\' || (quote && next.value == '"')) out += '\\';
    if (IsPrintable(next.value)) {
      out.append(text.substr(0, next.length));
    } else {
      AppendEscape(out, next.value, true);
    }
    text.remove_prefix(next.length);
  }
}

constexpr char kStandard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr char kUrl[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

using DecodeTable = std::array<int8_t, 256>;
constexpr DecodeTable MakeTable(const char* alphabet) {
  DecodeTable table{};
  for (int8_t& entry : table) entry = -1;
  for (int i = 0; i < 64; ++i) table[static_cast<uint8_t>(alphabet[i])] = static_cast<int8_t>(i);
  return table;
}
constexpr DecodeTable kStandardTable = MakeTable(kStandard);
constexpr DecodeTable kUrlTable = MakeTable(kUrl);

std::string Encode(std::string_view bytes, const char* alphabet, bool pad) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    size_t left = bytes.size() - i;
    auto byte = [&](size_t k) -> uint32_t { return k < left ? static_cast<uint8_t>(bytes[i + k]) : 0; };
    uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += alphabet[group >> 18];
    out += alphabet[group >> 12 & 63];
    if (left > 1) out += alphabet[group >> 6 & 63];
    if (left > 2) out += alphabet[group & 63];
    if (pad && left < 3) out.append(3 - left, '=');
  }
  return out;
}

std::optional<std::string> Decode(std::string_view text, const DecodeTable& table, bool padded) {
  std::string out;
  out.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0;
  int digits = 0, padding = 0;
  for (char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (padded && c == '=') {
      ++padding;
      continue;
    }
    int8_t value = table[static_cast<uint8_t>(c)];
    if (value < 0 || padding > 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (++digits < 4) continue;
    out += static_cast<char>(bits >> 16);
    out += static_cast<char>(bits >> 8);
    out += static_cast<char>(bits);
    bits = 0;
    digits = 0;
  }
  if (digits == 1 || (padded && padding != (digits == 0 ? 0 : 4 - digits))) return std::nullopt;
  if (digits >= 2) out += static_cast<char>(bits >> (digits == 3 ? 10 : 4));
  if (digits == 3) out += static_cast<char>(bits >> 2);
  return out;
}

}  // namespace

std::string_view TrimSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  size_t first = text.find_first_not_of(kSpace);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = LowerCase(c);
  return lower;
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return LowerCase(x) == LowerCase(y); });
}

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string GoQuote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  AppendEscaped(out, text, true);
  out += '"';
  return out;
}

void AppendOneLine(std::string& out, std::string_view text) { AppendEscaped(out, text, false); }

std::string Base64Encode(std::string_view bytes) { return Encode(bytes, kStandard, true); }
std::string Base64UrlEncode(std::string_view bytes) { return Encode(bytes, kUrl, false); }
std::optional<std::string> Base64Decode(std::string_view text) { return Decode(text, kStandardTable, true); }
std::optional<std::string> Base64UrlDecode(std::string_view text) { return Decode(text, kUrlTable, false); }

}  // namespace homeostat
