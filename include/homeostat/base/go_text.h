// Go's forms of values in texts, where clients see them.
#pragma once

#include <string>

namespace homeostat {

// %v of a float64: the shortest text that reads as the same number, with an exponent below 1e-4 and from 1e+06 on.
std::string GoFloat(double value);

}  // namespace homeostat
