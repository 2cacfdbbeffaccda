#include "object/regex_fault.h"

#include <re2/re2.h>

#include <string_view>

namespace homeostat::object {

namespace {

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

std::string GoRegexFault(const re2::RE2& pattern) {
  re2::RE2::ErrorCode code = pattern.error_code();
  std::string shown = pattern.error_arg();
  if (code == re2::RE2::ErrorTrailingBackslash) {
    shown.clear();
  } else if (code == re2::RE2::ErrorMissingParen || code == re2::RE2::ErrorUnexpectedParen || shown.empty()) {
    shown = pattern.pattern();  // around a parenthesis Go shows all of the expression
  }
  return "error parsing regexp: " + std::string(What(code)) + ": `" + shown + "`";
}

}  // namespace homeostat::object
