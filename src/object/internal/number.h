// Numbers in text as Go's strconv reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace homeostat::object::internal {

// A decimal number [+-]digits[.digits][e[+-]digits], which the caller has checked it to be. nullopt if it is beyond the
// largest double; too small a number is zero.
std::optional<double> ParseDouble(std::string_view number);

// strconv.ParseInt and ParseUint. Base 0: by the prefix 0x, 0o, 0b, or 0 alone for octal. nullopt if it is none or does
// not fit.
std::optional<int64_t> ParseInt(std::string_view text, int base);
std::optional<uint64_t> ParseUint(std::string_view text, int base);

// strconv.FormatFloat(number, 'g', -1, 64) and, of the nearest float, 32. YAML's words for infinities and not-a-number.
std::string FormatShortest(double number);
std::string FormatShortest(float number);

}  // namespace homeostat::object::internal
