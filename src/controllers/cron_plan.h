// The pure rules of CronJobs: when the next Job is due and what it is, which finished ones go, what the status says of them.
// Source: upstream's cronjob controller.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "homeostat/api/batch/v1_builders.h"
#include "homeostat/base/runtime.h"
#include "homeostat/object/cron_schedule.h"
#include "homeostat/object/value.h"

namespace homeostat::controllers {

// A schedule with the zone it is meant in.
struct CronTiming {
  object::CronSchedule schedule;
  object::TimeZone zone;
};
// The CronJob's; the error is what is wrong with its schedule or its zone.
Result<CronTiming> TimingOf(const api::batch::v1::CronJob& cron);

struct DueTime {
  std::optional<int64_t> due;       // the latest time that has come since it last ran, in seconds since 1970
  bool many_missed = false;         // more than a hundred have
};
// BadRequest if the schedule has two runs within a second, or none within five years.
Result<DueTime> FindDueTime(const api::batch::v1::CronJob& cron, const CronTiming& timing, WallTime now);
// Until it is to be looked at for the next run: a little later than that.
Duration UntilNextRun(const api::batch::v1::CronJob& cron, const CronTiming& timing, WallTime now);

std::string CronJobName(const api::batch::v1::CronJob& cron, int64_t time);
// The Job of that time.
object::DocumentPtr JobOf(const api::batch::v1::CronJob& cron, int64_t time);

struct CronEvent {
  std::string type, reason, message;
  bool operator==(const CronEvent&) const = default;
};
// What the Jobs of a CronJob make of its status.
struct CronReview {
  object::DocumentPtr cron;                       // with the new status; the same document if nothing changed
  std::vector<CronEvent> events;
  std::vector<std::string> unseen;                // names of active Jobs that are not among the given ones
};
CronReview ReviewJobs(const object::DocumentPtr& cron, const std::vector<object::DocumentPtr>& jobs);
bool IsActive(const api::batch::v1::CronJob& cron, std::string_view uid);
object::DocumentPtr WithoutActive(const object::DocumentPtr& cron, std::string_view uid);
// With a Job that was started for that time.
object::DocumentPtr WithActive(const object::DocumentPtr& cron, const object::Value& job, int64_t time);

// Finished ones beyond the limits, oldest first.
std::vector<object::DocumentPtr> SurplusJobs(const api::batch::v1::CronJob& cron, const std::vector<object::DocumentPtr>& jobs);

}  // namespace homeostat::controllers
