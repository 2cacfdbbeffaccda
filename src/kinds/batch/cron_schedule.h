// CronSchedule: when a CronJob runs, as "30 4 * * 1-5" or "@daily" say it.
// Source of the rules: the standard parser of github.com/robfig/cron/v3, whose words the errors are.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "homeostat/base/result.h"

namespace homeostat::kinds {

struct CronSchedule {
  // Bit n: value n matches. Bit 63 of days: the field is * (then the other one alone decides).
  uint64_t minutes = 0, hours = 0, days_of_month = 0, months = 0, days_of_week = 0;
  // @every: the time between runs; the fields don't count.
  std::chrono::seconds every{0};
  // TZ= or CRON_TZ= before the schedule; empty for none.
  std::string time_zone;

  static constexpr uint64_t kStar = 1ull << 63;

  // BadRequest with what is wrong.
  static Result<CronSchedule> Parse(std::string_view text);
};

// Whether the system knows a time zone of that name.
bool IsKnownTimeZone(std::string_view name);

}  // namespace homeostat::kinds
