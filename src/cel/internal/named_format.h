// The named formats of strings: format.dns1123Label() and so on.
#pragma once

#include <cstdint>

#include "cel/value.h"

namespace homeostat::cel::internal {

// The size of pattern that costs assume for a format; 0 for another value.
uint64_t FormatRegexSize(const Value& format);

}  // namespace homeostat::cel::internal
