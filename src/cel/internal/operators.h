// Pieces of the operators that others use, too.
#pragma once

#include "cel/internal/functions.h"

namespace re2 {
class RE2;
}

namespace homeostat::cel::internal {

// The position that a list's index means. nullptr if it is one; otherwise how the message about it begins.
const char* ListIndex(const Value& key, int64_t& index);
std::string ListIndexError(const Value& key, const char* beginning);

// a + b as the operator does it.
Value AddValues(CallContext& context, const Value& a, const Value& b);

// matches, find and findAll with a pattern that was compiled before.
Value CallWithPattern(CallContext& context, const re2::RE2& pattern, std::string_view function, std::span<const Value> args);
// A pattern, or Go's message why it is none.
struct CompiledPattern {
  std::shared_ptr<const re2::RE2> pattern;
  std::string error;
};
CompiledPattern CompilePattern(std::string_view text);

}  // namespace homeostat::cel::internal
