// Values as Go's fmt prints them: messages and tables show them so.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/object/value.h"

namespace homeostat::object {

// How integers were decoded upstream: apart from other numbers, or as float64 like those.
enum class GoNumbers { kIntegers, kDoubles };

// %v: map[a:1 b:[x y]], <nil>, 1.5e+06.
std::string GoText(const Value& value, GoNumbers numbers = GoNumbers::kIntegers);
// %s: strings as they are, anything else marked as wrong: %!s(int64=5), [a %!s(<nil>)].
std::string GoStringText(const Value& value, GoNumbers numbers);
// %#v: map[string]interface {}{"a":1}.
std::string GoSyntax(const Value& value, GoNumbers numbers);
// %T: map[string]interface {}, []interface {}, string, bool, int64, float64; <nil> for null and where there is nothing.
std::string_view GoTypeOf(const Value& value, GoNumbers numbers = GoNumbers::kIntegers);

}  // namespace homeostat::object
