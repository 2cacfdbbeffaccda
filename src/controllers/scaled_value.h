// IntOrString values: a number, or a share of a total.
#pragma once

#include <cstdint>

#include "homeostat/object/value.h"

namespace homeostat::controllers {

// A number, or a percentage of the total ("25%"): rounded up or down. What is neither counts as 0.
int32_t ScaledValue(const object::Value& int_or_percent, int32_t total, bool round_up);

}  // namespace homeostat::controllers
