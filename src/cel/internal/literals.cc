#include "cel/internal/literals.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "cel/internal/source.h"

namespace homeostat::cel::internal {

namespace {

constexpr const char* kBad = "unable to unescape string";

std::string NormalizeNewlines(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
      continue;
    }
    out += '\n';
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  return out;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char SimpleEscape(char c) {
  switch (c) {
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    case '\\': case '\'': case '"': case '`': case '?': return c;
    default: return 0;
  }
}

bool ValidRune(uint32_t c) { return c <= 0x10FFFF && !(c >= 0xD800 && c <= 0xDFFF); }

// Appends what the escape at text[at] (behind its backslash) means, and moves on. An error's text, or nullptr.
const char* AppendEscape(std::string_view text, size_t& at, bool is_bytes, std::string& out) {
  if (at >= text.size()) return "unable to unescape string, found '\\' as last character";
  char c = text[at++];
  if (char simple = SimpleEscape(c)) {
    out += simple;
    return nullptr;
  }
  uint32_t value = 0;
  if (c == 'x' || c == 'X' || c == 'u' || c == 'U') {
    size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : 2;
    if (digits != 2 && is_bytes) return kBad;
    if (text.size() - at < digits) return kBad;
    for (size_t i = 0; i < digits; ++i) {
      int digit = HexDigit(text[at++]);
      if (digit < 0) return kBad;
      value = value << 4 | static_cast<uint32_t>(digit);
    }
  } else if (c >= '0' && c <= '3') {
    if (text.size() - at < 2) return "unable to unescape octal sequence in string";
    value = static_cast<uint32_t>(c - '0');
    for (int i = 0; i < 2; ++i) {
      char digit = text[at++];
      if (digit < '0' || digit > '7') return "unable to unescape octal sequence in string";
      value = value * 8 + static_cast<uint32_t>(digit - '0');
    }
  } else {
    return kBad;
  }
  if (is_bytes) {
    out += static_cast<char>(value);
    return nullptr;
  }
  if (!ValidRune(value)) return "invalid unicode code point";
  AppendUtf8(out, value);
  return nullptr;
}

}  // namespace

std::expected<std::string, std::string> Unquote(std::string_view literal, bool is_bytes) {
  std::string normalized = NormalizeNewlines(literal);
  std::string_view text = normalized;
  if (text.size() < 2) return std::unexpected(kBad);
  bool raw = text[0] == 'r' || text[0] == 'R';
  if (raw) text.remove_prefix(1);
  if (text.size() < 2 || text.front() != text.back() || (text[0] != '"' && text[0] != '\'')) return std::unexpected(kBad);
  std::string triple(3, text[0]);
  size_t quotes = text.size() >= 6 && text.starts_with(triple) && text.ends_with(triple) ? 3 : 1;
  text = text.substr(quotes, text.size() - 2 * quotes);
  if (raw || text.find('\\') == std::string_view::npos) return std::string(text);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
      continue;
    }
    ++at;
    if (const char* error = AppendEscape(text, at, is_bytes, out)) return std::unexpected(error);
  }
  return out;
}

std::optional<uint64_t> ParseUintLiteral(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> ParseIntLiteral(std::string_view text, bool negative) {
  auto magnitude = ParseUintLiteral(text);
  if (!magnitude || *magnitude > uint64_t{INT64_MAX} + (negative ? 1 : 0)) return std::nullopt;
  return static_cast<int64_t>(negative ? 0 - *magnitude : *magnitude);
}

std::optional<double> ParseDoubleLiteral(const std::string& text) {
  double value = std::strtod(text.c_str(), nullptr);
  if (std::isinf(value)) return std::nullopt;
  return value;
}

}  // namespace homeostat::cel::internal
