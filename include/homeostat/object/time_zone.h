// TimeZone: which time the clocks of a place show, by the system's time zone database (tzdata, in /usr/share/zoneinfo).
//
// Source of the format: RFC 8536 (TZif) with the rule of its footer for the years after the table. Immutable; read from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/result.h"

namespace homeostat::object {

class TimeZone {
 public:
  // UTC.
  TimeZone() = default;
  // By its name in the database; "" and "UTC" are UTC. Reads a file of a few kilobytes, which blocks. BadRequest `unknown time zone NAME`.
  static Result<TimeZone> Find(std::string_view name);
  // Whether Find would find one.
  static bool IsKnown(std::string_view name);
  // From the contents of such a file.
  static Result<TimeZone> Parse(std::string_view octets);

  // Seconds that the clocks are ahead of UTC at that time (seconds since 1970).
  int32_t OffsetAt(int64_t time) const;
  // The time at which the clocks show that many seconds since 1970. Where they show it twice the first, where never the one
  // with the offset before the gap, as Go's time.Date has it.
  int64_t FromLocal(int64_t local) const;

 private:
  // A day of a year, and a time on it, as the footer's rule has it: M month.week.weekday, J day (no leap days), or day.
  struct RuleDay {
    char kind = 'M';
    int32_t month = 1, week = 1, day = 0;
    int32_t time = 7200;
    int64_t SecondsIn(int32_t year) const;   // since 1970, by a clock without an offset
  };
  struct Rule {
    int32_t standard = 0;
    bool has_summer = false;
    int32_t summer = 0;
    RuleDay begin, end;
  };
  static std::optional<Rule> ParseRule(std::string_view text);
  int32_t OffsetByRule(int64_t time) const;

  std::vector<int64_t> transitions_;   // ascending
  std::vector<int32_t> offsets_;       // from each on
  int32_t first_ = 0;                  // before the first
  std::optional<Rule> rule_;           // after the last
};

}  // namespace homeostat::object
