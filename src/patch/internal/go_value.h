// Values as Go's fmt prints them: what upstream's messages about patches show.
#pragma once

#include <string>

#include "homeostat/object/value.h"

namespace homeostat::patch::internal {

// How integers were decoded upstream: apply configurations come through YAML and hold float64 only, other patches keep
// integers apart.
enum class GoNumbers { kIntegers, kDoubles };

// %v: map[a:1 b:[x y]], <nil>.
std::string GoText(const object::Value& value, GoNumbers numbers);
// %s: strings as they are, anything else marked as wrong: %!s(int64=5), [a %!s(<nil>)].
std::string GoStringText(const object::Value& value, GoNumbers numbers);
// %#v: map[string]interface {}{"a":1}.
std::string GoSyntax(const object::Value& value, GoNumbers numbers);
// %T: map[string]interface {}, []interface {}, string, bool, int64, float64, <nil>.
std::string_view GoDynamicType(const object::Value& value, GoNumbers numbers);
// A double with %v: the shortest digits, with an exponent below 1e-4 and from 1e+06 on.
std::string GoDouble(double number);

}  // namespace homeostat::patch::internal
