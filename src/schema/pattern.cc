#include "schema/internal/pattern.h"

#include <re2/re2.h>

#include "homeostat/schema/conditions.h"
#include "object/regex_fault.h"

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

}  // namespace

Pattern::Pattern(std::string_view text) : expression_(std::make_unique<const re2::RE2>(ToRe2(text), PatternOptions())) {}
Pattern::~Pattern() = default;

bool Pattern::ok() const { return expression_->ok(); }

bool Pattern::Matches(std::string_view text) const {
  return ok() && re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression_);
}

std::string Pattern::Fault() const { return ok() ? std::string() : object::GoRegexFault(*expression_); }

std::string PatternFault(std::string_view pattern) { return Pattern(pattern).Fault(); }

}  // namespace homeostat::schema
