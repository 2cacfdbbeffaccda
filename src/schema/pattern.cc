#include "schema/internal/pattern.h"

#include <re2/re2.h>

#include "homeostat/schema/conditions.h"
#include "object/go_regex.h"

namespace homeostat::schema {

// One pattern must not take more than this, whatever it says; RE2 matches in linear time.
constexpr int64_t kPatternMemory = 2 << 20;

Pattern::Pattern(std::string_view text) : text_(text) {}
Pattern::~Pattern() = default;

const re2::RE2& Pattern::expression() const {
  std::call_once(compiled_, [this] { expression_ = object::CompileGoRegex(text_, kPatternMemory); });
  return *expression_;
}

bool Pattern::ok() const { return expression().ok(); }

bool Pattern::Matches(std::string_view text) const {
  return ok() && re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression());
}

std::string Pattern::Fault() const { return ok() ? std::string() : object::GoRegexFault(expression(), text_); }

std::string PatternFault(std::string_view pattern) { return Pattern(pattern).Fault(); }

}  // namespace homeostat::schema
