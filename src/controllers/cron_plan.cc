#include "controllers/cron_plan.h"

#include <algorithm>

#include "controllers/claims.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {

using api::batch::v1::CronJob;
using api::batch::v1::CronJobBuilder;
using api::batch::v1::Job;
using api::batch::v1::JobBuilder;

namespace {

constexpr std::string_view kScheduledAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";
// So that clocks that differ a little don't find the time not come yet.
constexpr Duration kLater = std::chrono::milliseconds(100);
constexpr int64_t kManyMissed = 100;

std::optional<int64_t> Seconds(std::string_view text) {
  if (text.empty()) return std::nullopt;
  auto time = object::ParseTime(text);
  return time ? std::optional(time->seconds) : std::nullopt;
}
std::string Text(int64_t time) { return object::FormatTime({time, 0}); }
int64_t Whole(WallTime time) { return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count(); }

// As the clocks of the zone show it, with the zone: 2026-01-01T01:00:00+01:00.
std::string LocalText(int64_t time, const object::TimeZone& zone) {
  int32_t offset = zone.OffsetAt(time);
  std::string text = Text(time + offset);
  if (offset == 0) return text;
  text.pop_back();
  int32_t minutes = std::abs(offset) / 60;
  auto two = [](int32_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return text + (offset < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60);
}

struct Recent {
  int64_t earliest = 0;                   // from when on times count
  std::optional<int64_t> latest;          // the latest that has come since
  int64_t missed = 0;
};
Result<Recent> FindRecent(const CronJob& cron, const CronTiming& timing, WallTime wall_now, bool with_deadline) {
  int64_t now = Whole(wall_now);
  Recent recent;
  recent.earliest = Seconds(cron.status().last_schedule_time()).value_or(Seconds(cron.metadata().creation_timestamp()).value_or(now));
  if (with_deadline && cron.spec().has_starting_deadline_seconds()) {
    recent.earliest = std::max(recent.earliest, now - cron.spec().starting_deadline_seconds());
  }
  auto next = [&timing](int64_t after) { return timing.schedule.Next(after, timing.zone); };
  std::optional<int64_t> first = next(recent.earliest);
  if (first && now < *first) return recent;
  std::optional<int64_t> second = first ? next(*first) : std::nullopt;
  if (second && now < *second) {
    recent.latest = first;
    return recent;
  }
  // A schedule that never comes (31 February) is told so in the words for one that comes all the time.
  int64_t between = second ? *second - *first : 0;
  if (between < 1) return Fail(BadRequestError("time difference between two schedules is less than 1 second"));
  recent.missed = (now - *first) / between + 1;
  // From a little before now on, so that a long sleep is no long search.
  for (auto time = next(*first + (recent.missed - 2) * between); time && *time <= now; time = next(*time)) recent.latest = time;
  return recent;
}

std::string_view FinishOf(const Job& job) {
  for (auto condition : job.status().conditions()) {
    if ((condition.type() == "Complete" || condition.type() == "Failed") && condition.status() == "True") return condition.type();
  }
  return {};
}

void EraseActive(CronJobBuilder& cron, std::string_view uid) {
  auto list = cron.View().status().active();
  for (size_t i = list.size(); i-- > 0;) {
    if (list[i].uid() == uid) cron.mutable_status().erase_active(i);
  }
}

// Those that started first; those that never did, last.
void SortByStart(std::vector<object::DocumentPtr>& jobs) {
  std::ranges::sort(jobs, [](const object::DocumentPtr& x, const object::DocumentPtr& y) {
    Job a(x->root()), b(y->root());
    std::string_view s = a.status().start_time(), t = b.status().start_time();
    if (s.empty() != t.empty()) return !s.empty();
    return s != t ? s < t : a.metadata().name() < b.metadata().name();
  });
}

}  // namespace

Result<CronTiming> TimingOf(const CronJob& cron) {
  CronTiming timing;
  TRY_ASSIGN(timing.schedule, object::CronSchedule::Parse(cron.spec().schedule()));
  std::string_view zone = timing.schedule.time_zone.empty() ? cron.spec().time_zone() : std::string_view(timing.schedule.time_zone);
  TRY_ASSIGN(timing.zone, object::TimeZone::Find(zone));
  return timing;
}

Result<DueTime> FindDueTime(const CronJob& cron, const CronTiming& timing, WallTime now) {
  TRY_ASSIGN(Recent recent, FindRecent(cron, timing, now, true));
  return DueTime{recent.latest, recent.missed > kManyMissed};
}

Duration UntilNextRun(const CronJob& cron, const CronTiming& timing, WallTime now) {
  auto recent = FindRecent(cron, timing, now, false);
  int64_t from = Whole(now);
  if (recent && (recent->latest || recent->missed == 0)) from = recent->latest.value_or(recent->earliest);
  std::optional<int64_t> next = timing.schedule.Next(from, timing.zone);
  if (!next) return std::chrono::hours(24 * 365);
  return std::max(Duration(0), WallTime(std::chrono::seconds(*next)) - now) + kLater;
}

std::string CronJobName(const CronJob& cron, int64_t time) { return std::string(cron.metadata().name()) + "-" + std::to_string(time / 60); }

object::DocumentPtr JobOf(const CronJob& cron, int64_t time) {
  auto tmpl = cron.spec().job_template();
  JobBuilder job;
  auto metadata = job.mutable_metadata();
  metadata.set_name(CronJobName(cron, time)).set_namespace(cron.metadata().namespace_());
  metadata.set_labels(schema::Subtree(tmpl.metadata().labels()));
  metadata.set_annotations(schema::Subtree(tmpl.metadata().annotations()));
  auto zone = object::TimeZone::Find(cron.spec().time_zone());
  metadata.set_annotations(kScheduledAnnotation, LocalText(time, zone ? *zone : object::TimeZone()));
  AddControllerReference(metadata, CronJob::SchemaKind(), cron.Raw());
  job.set_spec(schema::Subtree(tmpl.spec()));
  return job.Freeze();
}

bool IsActive(const CronJob& cron, std::string_view uid) {
  return std::ranges::any_of(cron.status().active(), [&](auto reference) { return reference.uid() == uid; });
}

object::DocumentPtr WithoutActive(const object::DocumentPtr& document, std::string_view uid) {
  if (!IsActive(CronJob(document->root()), uid)) return document;
  CronJobBuilder next{schema::Subtree(document)};
  EraseActive(next, uid);
  return next.Freeze();
}

object::DocumentPtr WithActive(const object::DocumentPtr& document, const object::Value& job, int64_t time) {
  CronJobBuilder next{schema::Subtree(document)};
  auto status = next.mutable_status();
  status.set_last_schedule_time(Text(time));
  auto reference = status.add_active();
  reference.set_kind(Job::SchemaKind().gvk.kind).set_api_version(Job::SchemaKind().gvk.ApiVersion());
  reference.set_namespace(sdk::meta::Namespace(job)).set_name(sdk::meta::Name(job)).set_uid(sdk::meta::Uid(job));
  reference.set_resource_version(sdk::meta::ResourceVersion(job));
  return next.Freeze();
}

CronReview ReviewJobs(const object::DocumentPtr& document, const std::vector<object::DocumentPtr>& jobs) {
  CronJob cron(document->root());
  CronReview review;
  CronJobBuilder next{schema::Subtree(document)};
  std::string last_success(cron.status().last_successful_time());
  for (const object::DocumentPtr& one : jobs) {
    Job job(one->root());
    std::string name(job.metadata().name());
    std::string_view finish = FinishOf(job);
    bool active = IsActive(cron, job.metadata().uid());
    if (finish.empty()) {
      if (!active) review.events.push_back({"Warning", "UnexpectedJob", "Saw a job that the controller did not create or forgot: " + name});
      continue;
    }
    if (active) {
      EraseActive(next, job.metadata().uid());
      review.events.push_back({"Normal", "SawCompletedJob", "Saw completed job: " + name + ", condition: " + std::string(finish)});
    }
    if (finish == "Complete" && job.status().completion_time() > last_success) last_success = job.status().completion_time();
  }
  if (last_success != cron.status().last_successful_time()) next.mutable_status().set_last_successful_time(last_success);
  for (auto reference : cron.status().active()) {
    bool seen = std::ranges::any_of(jobs, [&](const object::DocumentPtr& job) { return sdk::meta::Uid(job->root()) == reference.uid(); });
    if (!seen) review.unseen.emplace_back(reference.name());
  }
  review.cron = next.Changed() ? next.Freeze() : document;
  return review;
}

std::vector<object::DocumentPtr> SurplusJobs(const CronJob& cron, const std::vector<object::DocumentPtr>& jobs) {
  std::vector<object::DocumentPtr> surplus;
  auto add = [&](std::string_view finish, bool limited, int32_t limit) {
    if (!limited) return;
    std::vector<object::DocumentPtr> finished;
    std::ranges::copy_if(jobs, std::back_inserter(finished), [&](const object::DocumentPtr& job) { return FinishOf(Job(job->root())) == finish; });
    SortByStart(finished);
    for (int64_t i = 0; i < static_cast<int64_t>(finished.size()) - limit; ++i) surplus.push_back(finished[static_cast<size_t>(i)]);
  };
  add("Complete", cron.spec().has_successful_jobs_history_limit(), cron.spec().successful_jobs_history_limit());
  add("Failed", cron.spec().has_failed_jobs_history_limit(), cron.spec().failed_jobs_history_limit());
  return surplus;
}

}  // namespace homeostat::controllers
