#include "schema/internal/pattern.h"

#include <re2/re2.h>

#include "homeostat/schema/conditions.h"

namespace homeostat::schema {

namespace {

// One pattern must not take more than this, whatever it says; RE2 matches in linear time.
constexpr int64_t kPatternMemory = 2 << 20;

re2::RE2::Options PatternOptions() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  return options;
}

// Go takes (?<name>…) since 1.22, RE2 only (?P<name>…).
std::string ToRe2(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      result += text.substr(i, 2);
      ++i;
      continue;
    }
    std::string_view rest = text.substr(i);
    if (rest.starts_with("(?<") && rest.size() > 3 && rest[3] != '=' && rest[3] != '!') {
      result += "(?P<";
      i += 2;
      continue;
    }
    result += text[i];
  }
  return result;
}

std::string_view GoFault(re2::RE2::ErrorCode code) {
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

Pattern::Pattern(std::string_view text) : expression_(std::make_unique<const re2::RE2>(ToRe2(text), PatternOptions())) {}
Pattern::~Pattern() = default;

bool Pattern::ok() const { return expression_->ok(); }

bool Pattern::Matches(std::string_view text) const {
  return ok() && re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression_);
}

std::string Pattern::Fault() const {
  if (ok()) return "";
  std::string fault = "error parsing regexp: " + std::string(GoFault(expression_->error_code()));
  re2::RE2::ErrorCode code = expression_->error_code();
  if (code == re2::RE2::ErrorTrailingBackslash) return fault + ": ``";
  // Go shows what stands around a parenthesis: all of the expression.
  bool whole = code == re2::RE2::ErrorMissingParen || code == re2::RE2::ErrorUnexpectedParen || expression_->error_arg().empty();
  return fault + ": `" + (whole ? expression_->pattern() : expression_->error_arg()) + "`";
}

std::string PatternFault(std::string_view pattern) { return Pattern(pattern).Fault(); }

}  // namespace homeostat::schema
