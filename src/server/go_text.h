// Values as Go's fmt prints them with %v, which messages and tables show.
#pragma once

#include <string>

#include "homeostat/object/value.h"

namespace homeostat::server {

// map[a:1 b:[x y]], <nil>, 1.5e+06.
std::string GoText(const object::Value& value);

}  // namespace homeostat::server
