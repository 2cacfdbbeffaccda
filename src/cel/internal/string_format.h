// "%s is %d".format([…]): the format language, and what the compiler says of a format that is a literal.
//
// Source of the rules: cel-go's ext/formatting.go as Kubernetes uses it (numbers as in English).
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace homeostat::cel::internal {

// The error is the message of the original.
std::expected<std::string, std::string> FormatString(std::string_view format, const List& args);

// One clause: s, d, f, e, b, x, X or o, and the digits behind the point.
struct FormatClause {
  char verb;
  int precision = 6;
};
// Reads a format. text takes what stands between clauses, clause one by one with the argument's number; an error's text
// ends it. argument_count: how many there are.
std::string WalkFormat(std::string_view format, uint64_t argument_count, const std::function<void(std::string_view)>& text,
                       const std::function<std::string(const FormatClause&, uint64_t)>& clause);

// "decimal clause can only be used on integers, was given string"
std::string FormatClauseError(char verb, std::string_view type_name);

}  // namespace homeostat::cel::internal
