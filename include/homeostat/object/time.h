// Points in time and durations as API fields hold them.
//
// Source of the rules: meta/v1 Time (RFC 3339, whole seconds, UTC), MicroTime (six digits of fraction), Duration (Go's
// duration text); what is wrong is said in the words of Go's time package. Safe to call from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "homeostat/base/result.h"

namespace homeostat::object {

// Seconds since 1970 in UTC, leap seconds not counted, and a fraction. Any year from 0 to 9999 can be written.
struct Timestamp {
  int64_t seconds = 0;
  int32_t nanos = 0;  // 0…999,999,999

  static Timestamp FromClock(std::chrono::sys_time<std::chrono::nanoseconds> time);
  // Outside the years 1678…2261 nanoseconds do not fit: the nearest that does.
  std::chrono::sys_time<std::chrono::nanoseconds> ToClock() const;
  auto operator<=>(const Timestamp&) const = default;
};

// RFC 3339, with or without a fraction, any zone. BadRequest with Go's text.
Result<Timestamp> ParseTime(std::string_view text);
// The same, but the fraction must be there and have six digits.
Result<Timestamp> ParseMicroTime(std::string_view text);
// 2006-01-02T15:04:05Z: the fraction is cut off.
std::string FormatTime(const Timestamp& time);
// 2006-01-02T15:04:05.000000Z
std::string FormatMicroTime(const Timestamp& time);
// 2006-01-02T15:04:05.123456789Z with as many digits as are needed.
std::string FormatTimeNano(const Timestamp& time);

// Go's time.ParseDuration: 1h30m, -1.5s, 100ms. BadRequest with Go's text.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);
// Go's Duration.String: 1h30m0s, 1.5s, 100ms, 0s.
std::string FormatDuration(std::chrono::nanoseconds duration);

}  // namespace homeostat::object
