// The values that literals in an expression's text stand for.
//
// Source of the rules: cel-go's parser/unescape.go; messages are its.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace homeostat::cel::internal {

// A string literal with its quotes and prefix r or R (a bytes literal without its b). Line ends become \n.
std::expected<std::string, std::string> Unquote(std::string_view literal, bool is_bytes);

// Decimal, or hexadecimal behind 0x; nullopt if it does not fit.
std::optional<int64_t> ParseIntLiteral(std::string_view text, bool negative);
std::optional<uint64_t> ParseUintLiteral(std::string_view text);
// nullopt if it is too large.
std::optional<double> ParseDoubleLiteral(const std::string& text);

}  // namespace homeostat::cel::internal
