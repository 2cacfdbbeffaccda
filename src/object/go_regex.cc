#include "object/go_regex.h"

#include <re2/re2.h>

#include <algorithm>

namespace homeostat::object {
namespace {

// Go takes (?<name>…) since 1.22, RE2 only (?P<name>…).
constexpr std::string_view kGroup = "(?<", kGroupOfRe2 = "(?P<";

// The length of what stands at the beginning of a pattern and holds no group: an escape, a quoted text, a character class.
size_t LengthWithoutGroup(std::string_view text) {
  if (text.starts_with("\\Q")) return std::min(text.find("\\E"), text.size());
  if (text.starts_with('\\')) return std::min<size_t>(2, text.size());
  if (!text.starts_with('[')) return 0;
  // A bracket that comes first is one of the characters; [:name:] has its own.
  size_t i = text.starts_with("[^") ? 2 : 1;
  if (i < text.size() && text[i] == ']') ++i;
  while (i < text.size() && text[i] != ']') {
    size_t end = text.substr(i).starts_with("[:") ? text.find(":]", i + 2) : text.npos;
    i = end != text.npos ? end + 2 : i + (text[i] == '\\' ? 2 : 1);
  }
  return std::min(i + 1, text.size());
}

std::string ToRe2(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    size_t length = LengthWithoutGroup(text);
    if (length == 0 && text.starts_with(kGroup) && text.size() > kGroup.size()) {
      result += kGroupOfRe2;
      length = kGroup.size();
    } else {
      length = std::max<size_t>(length, 1);
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result;
}

// A part of what RE2 was given, as it stands in the pattern.
std::string Original(std::string part, std::string_view pattern) {
  if (pattern.find(part) != pattern.npos) return part;
  for (size_t at = part.find(kGroupOfRe2); at != part.npos; at = part.find(kGroupOfRe2, at + 1)) part.erase(at + 2, 1);
  return part;
}

std::string_view What(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorBadEscape: return "invalid escape sequence";
    case re2::RE2::ErrorBadCharClass: return "invalid character class";
    case re2::RE2::ErrorBadCharRange: return "invalid character class range";
    case re2::RE2::ErrorMissingBracket: return "missing closing ]";
    case re2::RE2::ErrorMissingParen: return "missing closing )";
    case re2::RE2::ErrorUnexpectedParen: return "unexpected )";
    case re2::RE2::ErrorTrailingBackslash: return "trailing backslash at end of expression";
    case re2::RE2::ErrorRepeatArgument: return "missing argument to repetition operator";
    case re2::RE2::ErrorRepeatSize: return "invalid repeat count";
    case re2::RE2::ErrorRepeatOp: return "invalid nested repetition operator";
    case re2::RE2::ErrorBadPerlOp: return "invalid or unsupported Perl syntax";
    case re2::RE2::ErrorBadUTF8: return "invalid UTF-8";
    case re2::RE2::ErrorBadNamedCapture: return "invalid named capture";
    case re2::RE2::ErrorPatternTooLarge: return "expression too large";
    default: return "regexp/syntax: internal error";
  }
}

}  // namespace

std::unique_ptr<const re2::RE2> CompileGoRegex(std::string_view pattern, int64_t max_memory) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(max_memory);
  return std::make_unique<const re2::RE2>(ToRe2(pattern), options);
}

std::string GoRegexFault(const re2::RE2& compiled, std::string_view pattern) {
  re2::RE2::ErrorCode code = compiled.error_code();
  std::string shown = Original(compiled.error_arg(), pattern);
  if (code == re2::RE2::ErrorTrailingBackslash) {
    shown.clear();
  } else if (code == re2::RE2::ErrorMissingParen || code == re2::RE2::ErrorUnexpectedParen || shown.empty()) {
    shown = pattern;  // around a parenthesis Go shows all of the expression
  }
  return "error parsing regexp: " + std::string(What(code)) + ": `" + shown + "`";
}

}  // namespace homeostat::object
