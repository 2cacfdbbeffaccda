// CronSchedule: when a CronJob runs, as "30 4 * * 1-5" or "@daily" say it.
// Source of the rules: the standard parser and the schedules of github.com/robfig/cron/v3, whose words the errors are. Safe to use
// from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "homeostat/base/result.h"
#include "homeostat/object/time_zone.h"

namespace homeostat::object {

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

  // The first time after that one (both in seconds since 1970) at which it runs, by the clocks of that zone; nullopt if there is
  // none within five years. An hour that a zone leaves out is passed over; one that comes twice counts once for fields that
  // name an hour, as upstream's schedule does it.
  std::optional<int64_t> Next(int64_t after, const TimeZone& zone) const;
};

}  // namespace homeostat::object
