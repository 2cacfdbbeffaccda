#include "schema/internal/patterns.h"

#include <re2/re2.h>

namespace homeostat::schema {

Validator::Patterns::Patterns() = default;
Validator::Patterns::~Patterns() = default;

bool Validator::Patterns::Matches(std::string_view pattern, std::string_view text) {
  const re2::RE2* expression = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto& slot = compiled_[std::string(pattern)];
    if (slot == nullptr)
      slot = std::make_unique<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), re2::RE2::Quiet);
    expression = slot.get();
  }
  return expression->ok() && re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression);
}

}  // namespace homeostat::schema
