#include "controllers/cron_job.h"

#include <utility>

#include "controllers/answers.h"
#include "controllers/claims.h"
#include "homeostat/base/text.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {

namespace {

// Mon, 02 Jan 2006 15:04:05 +0000
std::string MailTime(int64_t seconds) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  auto days = std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(seconds)));
  std::chrono::year_month_day date(days);
  std::string iso = object::FormatTime({seconds, 0});   // 2006-01-02T15:04:05Z
  return std::string(kDays[std::chrono::weekday(days).c_encoding()]) + ", " + iso.substr(8, 2) + " " +
         kMonths[static_cast<unsigned>(date.month()) - 1] + " " + iso.substr(0, 4) + " " + iso.substr(11, 8) + " +0000";
}

}  // namespace

CronJobController::CronJobController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, CronJobOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      crons_(informers.For<CronJob>()),
      jobs_(informers.For<Job>()),
      events_(runtime, client_, "cronjob-controller"),
      controller_(runtime, {.name = "cronjob", .workers = options.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  AddControllerIndex(jobs_);
  crons_.AddHandler([this](const sdk::Change& change) { CronChanged(change); });
  controller_.WaitFor(crons_);
  controller_.WatchOwned(jobs_, CronJob::SchemaKind());
}

void CronJobController::CronChanged(const sdk::Change& change) {
  std::string key = sdk::meta::Key((change.current ? change.current : change.previous)->root());
  if (change.current && change.previous) {
    CronJob before(change.previous->root()), now(change.current->root());
    bool other = before.spec().schedule() != now.spec().schedule() || before.spec().time_zone() != now.spec().time_zone();
    if (other) {
      auto timing = TimingOf(now);
      if (!timing) {
        events_.Record(CronJob::SchemaKind(), now.Raw(), "Warning", "UnParseableCronJobSchedule",
                       "unparseable schedule for cronjob: " + std::string(now.spec().schedule()));
        return;
      }
      // What the new schedule would have started in the past is not made up for.
      controller_.EnqueueAfter(std::move(key), UntilNextRun(now, *timing, runtime_.WallNow()));
      return;
    }
  }
  controller_.Enqueue(std::move(key));
}

void CronJobController::Tell(const Look& look, std::string_view type, std::string_view reason, std::string message) {
  events_.Record(CronJob::SchemaKind(), look.cron->root(), type, reason, std::move(message));
}

Task<Result<sdk::ReconcileOutcome>> CronJobController::Reconcile(std::string key) {
  if (!own_writes_.Seen(key)) co_return sdk::ReconcileOutcome{kRecheck};
  Look look{key, crons_.Get(key), {}};
  if (!look.cron) {
    own_writes_.Forget(key);
    co_return sdk::ReconcileOutcome();
  }
  object::DocumentPtr stored = look.cron;
  std::vector<object::DocumentPtr> jobs = OwnedBy(jobs_, stored->root());
  auto clean = CleanUp(look, jobs);
  CO_TRY(co_await clean);
  auto review = Review(look, jobs);
  Result<void> outcome = co_await review;
  if (outcome && !sdk::meta::IsDeleting(look.cron->root())) {
    auto schedule = Schedule(look);
    outcome = co_await schedule;
  }
  if (look.cron != stored) {
    auto update = client_.UpdateStatus<CronJob>(sdk::Object<CronJob>(look.cron));
    CO_TRY_ASSIGN(sdk::Object<CronJob> updated, co_await update);
    own_writes_.Wrote(key, crons_, updated->metadata().resource_version());
  }
  if (!outcome) co_return Fail(outcome.error());
  co_return sdk::ReconcileOutcome{look.again};
}

CronJobController::Step CronJobController::CleanUp(Look& look, std::vector<object::DocumentPtr> jobs) {
  for (const object::DocumentPtr& job : SurplusJobs(look.View(), jobs)) {
    if (sdk::meta::IsDeleting(job->root())) continue;
    auto deletion = DeleteJob(look, job);
    // One that can't be deleted now is found again at the next look.
    CO_TRY(co_await deletion);
  }
  co_return Done();
}

Task<Result<bool>> CronJobController::DeleteJob(Look& look, object::DocumentPtr job) {
  sdk::DeleteOptions options;
  options.propagation_policy = "Background";
  options.precondition_uid = sdk::meta::Uid(job->root());
  auto deletion = client_.Delete<Job>(std::string(sdk::meta::Namespace(job->root())), std::string(sdk::meta::Name(job->root())), options);
  Result<void> deleted = co_await deletion;
  if (!deleted && !deleted.error().IsNotFound() && !deleted.error().IsConflict()) {
    Tell(look, "Warning", "FailedDelete", "Deleted job: " + deleted.error().message());
    co_return false;
  }
  look.cron = WithoutActive(look.cron, sdk::meta::Uid(job->root()));
  Tell(look, "Normal", "SuccessfulDelete", "Deleted job " + std::string(sdk::meta::Name(job->root())));
  co_return true;
}

CronJobController::Step CronJobController::Review(Look& look, std::vector<object::DocumentPtr> jobs) {
  CronReview review = ReviewJobs(look.cron, jobs);
  look.cron = review.cron;
  for (CronEvent& event : review.events) Tell(look, event.type, event.reason, std::move(event.message));
  std::string ns(look.View().metadata().namespace_());
  for (const std::string& name : review.unseen) {
    auto get = client_.Get<Job>(ns, name);
    Result<sdk::Object<Job>> found = co_await get;
    if (!found && !found.error().IsNotFound()) co_return Fail(found.error());
    if (found) continue;
    Tell(look, "Normal", "MissingJob", "Active job went missing: " + name);
    std::string uid;
    for (auto reference : look.View().status().active()) uid = reference.name() == name ? std::string(reference.uid()) : uid;
    look.cron = WithoutActive(look.cron, uid);
  }
  co_return Done();
}

CronJobController::Step CronJobController::Schedule(Look& look) {
  CronJob cron = look.View();
  std::string zone(cron.spec().time_zone()), schedule(cron.spec().schedule());
  if (cron.spec().has_time_zone()) {
    if (auto known = object::TimeZone::Find(zone); !known) {
      Tell(look, "Warning", "UnknownTimeZone", "invalid timeZone: " + GoQuote(zone) + ": " + known.error().message());
      co_return Done();
    }
  }
  if (cron.spec().suspend()) co_return Done();
  if (schedule.find("TZ") != schedule.npos) {
    Tell(look, "Warning", "UnsupportedSchedule",
         "CRON_TZ or TZ used in schedule " + GoQuote(schedule) +
             " is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details");
  }
  auto timing = TimingOf(cron);
  if (!timing) {
    Tell(look, "Warning", "UnparseableSchedule", "unparseable schedule: " + GoQuote(schedule) + " : " + timing.error().message());
    co_return Done();
  }
  WallTime now = runtime_.WallNow();
  auto due = FindDueTime(cron, *timing, now);
  if (!due) {
    Tell(look, "Warning", "InvalidSchedule", "invalid schedule: " + schedule + " : " + due.error().message());
    co_return Done();
  }
  if (due->many_missed && due->due) {
    Tell(look, "Warning", "TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew");
  }
  look.again = UntilNextRun(cron, *timing, now);
  if (!due->due) co_return Done();
  int64_t time = *due->due;
  if (cron.spec().has_starting_deadline_seconds() && WallTime(std::chrono::seconds(time + cron.spec().starting_deadline_seconds())) < now) {
    Tell(look, "Warning", "MissSchedule", "Missed scheduled time to start a job: " + MailTime(time));
    co_return Done();
  }
  std::string name = CronJobName(cron, time);
  bool started = cron.status().last_schedule_time() == object::FormatTime({time, 0});
  for (auto reference : cron.status().active()) started |= reference.name() == name;
  if (started) co_return Done();
  bool busy = !cron.status().active().empty();
  if (busy && cron.spec().concurrency_policy() == "Forbid") {
    Tell(look, "Normal", "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid");
    co_return Done();
  }
  if (busy && cron.spec().concurrency_policy() == "Replace") {
    auto replace = Replace(look);
    CO_TRY(co_await replace);
  }
  auto start = StartJob(look, time);
  co_return co_await start;
}

CronJobController::Step CronJobController::Replace(Look& look) {
  object::DocumentPtr before = look.cron;
  for (auto reference : CronJob(before->root()).status().active()) {
    auto get = client_.Get<Job>(std::string(reference.namespace_()), std::string(reference.name()));
    Result<sdk::Object<Job>> job = co_await get;
    if (!job) {
      Tell(look, "Warning", "FailedGet", "Get job: " + job.error().message());
      co_return Fail(job.error());
    }
    auto deletion = DeleteJob(look, job->document());
    CO_TRY_ASSIGN(bool deleted, co_await deletion);
    if (!deleted) co_return Fail(SystemError("could not replace job " + sdk::meta::Key((*job)->Raw())));
  }
  co_return Done();
}

CronJobController::Step CronJobController::StartJob(Look& look, int64_t time) {
  std::string ns(look.View().metadata().namespace_());
  sdk::Object<Job> wanted(JobOf(look.View(), time));
  auto create = client_.Create<Job>(ns, wanted);
  Result<sdk::Object<Job>> created = co_await create;
  if (!created && created.error().IsAlreadyExists()) {
    // Made by a look whose answer was lost; or somebody else's, which is left alone.
    auto get = client_.Get<Job>(ns, std::string(wanted->metadata().name()));
    CO_TRY_ASSIGN(sdk::Object<Job> there, co_await get);
    bool own = sdk::meta::ControllerOf(there->Raw()).Get("uid").AsString() == look.View().metadata().uid();
    if (!own || IsActive(look.View(), there->metadata().uid())) co_return Done();
    look.cron = WithActive(look.cron, there->Raw(), time);
    co_return Done();
  }
  if (!created) {
    if (!IsNamespaceTerminating(created.error())) Tell(look, "Warning", "FailedCreate", "Error creating job: " + created.error().message());
    co_return Fail(created.error());
  }
  own_writes_.Wrote(look.key, jobs_, (*created)->metadata().resource_version());
  Tell(look, "Normal", "SuccessfulCreate", "Created job " + std::string((*created)->metadata().name()));
  look.cron = WithActive(look.cron, (*created)->Raw(), time);
  co_return Done();
}

}  // namespace homeostat::controllers
