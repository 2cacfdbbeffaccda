// How Go prints numbers and times: for conversions to string and for messages.
#pragma once

#include <string>

#include "cel/value.h"

namespace homeostat::cel::internal {

// %g with as many digits as are needed: 1e+06, 0.5, NaN, +Inf.
std::string FormatG(double value);
// Without an exponent, with as many digits as are needed.
std::string FormatF(double value);
// RFC 3339 in the offset that the timestamp has.
std::string FormatTimestamp(const Value& timestamp);
// Seconds with as many digits as are needed, and "s".
std::string FormatDurationSeconds(int64_t nanoseconds);

// The parts of a point in time at an offset from UTC.
struct CivilTime {
  int64_t year;
  int month;  // 1…12
  int day;    // 1…31
  int hour, minute, second;
  int weekday;   // 0: Sunday
  int year_day;  // 1…366
};
CivilTime ToCivil(int64_t seconds, int offset_seconds);

}  // namespace homeostat::cel::internal
