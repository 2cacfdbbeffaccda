// What Go would say of a JSON text that the fast parser refused: an error in its words, or the text mended where Go is
// more lenient.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/base/result.h"

namespace homeostat::object::internal {

// How Go's complaint about a number begins that no double holds.
inline constexpr std::string_view kBeyondDoubles = "json: cannot unmarshal number ";

// The text with the same meaning in stricter JSON: octets that are not UTF-8 and lone surrogates as U+FFFD, integers
// beyond 64 bits with an exponent; with `clamp`, numbers beyond the largest double as that. BadRequest in the words of
// encoding/json for whatever Go refuses.
Result<std::string> MendJson(std::string_view text, bool clamp = false);

}  // namespace homeostat::object::internal
