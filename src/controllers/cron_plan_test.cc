#include "controllers/cron_plan.h"

#include <gtest/gtest.h>

#include "controllers/json_object_test.h"
#include "homeostat/object/time.h"
#include "homeostat/sdk/object.h"

namespace homeostat::controllers {
namespace {

using api::batch::v1::CronJob;
using api::batch::v1::Job;

WallTime At(std::string_view text) { return object::ParseTime(text).value().ToClock(); }
std::string Text(std::optional<int64_t> time) { return time ? object::FormatTime({*time, 0}) : "none"; }

object::DocumentPtr MakeCron(const std::string& spec, const std::string& status = "{}") {
  return FromJson<CronJob>(R"({"metadata":{"name":"c","namespace":"default","uid":"u","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{)" + spec +
                           R"(,"jobTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{"parallelism":3}}},"status":)" + status + "}");
}
object::DocumentPtr MakeJob(const std::string& name, const std::string& finish = "", const std::string& start = "2026-01-01T00:00:00Z") {
  std::string conditions = finish.empty() ? "" : R"(,"conditions":[{"type":")" + finish + R"(","status":"True"}])";
  std::string completion = finish == "Complete" ? R"(,"completionTime":"2026-01-01T01:00:00Z")" : "";
  return FromJson<Job>(R"({"metadata":{"name":")" + name + R"(","uid":")" + name + R"("},"status":{"startTime":")" + start + "\"" + conditions + completion + "}}");
}

TEST(CronPlanTest, FindsWhatIsDue) {
  struct Case {
    std::string spec, status, now, due;
    bool many;
  };
  for (const Case& c : {
           Case{R"("schedule":"0 * * * *")", "{}", "2026-01-01T00:30:00Z", "none", false},
           Case{R"("schedule":"0 * * * *")", "{}", "2026-01-01T01:00:00Z", "2026-01-01T01:00:00Z", false},
           Case{R"("schedule":"0 * * * *")", "{}", "2026-01-01T05:30:00Z", "2026-01-01T05:00:00Z", false},
           Case{R"("schedule":"0 * * * *")", R"({"lastScheduleTime":"2026-01-01T05:00:00Z"})", "2026-01-01T05:30:00Z", "none", false},
           Case{R"("schedule":"* * * * *")", "{}", "2026-01-02T00:00:10Z", "2026-01-02T00:00:00Z", true},
           Case{R"("schedule":"* * * * *","startingDeadlineSeconds":60)", "{}", "2026-01-02T00:00:10Z", "2026-01-02T00:00:00Z", false},
           Case{R"("schedule":"0 9 * * *","timeZone":"Asia/Kolkata")", "{}", "2026-01-01T04:00:00Z", "2026-01-01T03:30:00Z", false},
           // Weekdays: the time between runs is not always the same.
           Case{R"("schedule":"0 0 * * 1-5")", R"({"lastScheduleTime":"2026-01-09T00:00:00Z"})", "2026-01-14T12:00:00Z", "2026-01-14T00:00:00Z", false},
       }) {
    auto cron = MakeCron(c.spec, c.status);
    auto timing = TimingOf(CronJob(cron->root()));
    ASSERT_TRUE(timing.has_value()) << c.spec;
    auto due = FindDueTime(CronJob(cron->root()), *timing, At(c.now));
    ASSERT_TRUE(due.has_value());
    EXPECT_EQ(Text(due->due), c.due) << c.spec << " " << c.now;
    EXPECT_EQ(due->many_missed, c.many) << c.spec;
  }
  auto never = MakeCron(R"("schedule":"0 0 30 2 *")");
  EXPECT_EQ(FindDueTime(CronJob(never->root()), *TimingOf(CronJob(never->root())), At("2026-06-01T00:00:00Z")).error().message(),
            "time difference between two schedules is less than 1 second");
  auto bad = MakeCron(R"("schedule":"often")");
  EXPECT_EQ(TimingOf(CronJob(bad->root())).error().message(), "expected exactly 5 fields, found 1: [often]");
}

TEST(CronPlanTest, WaitsForTheNextRun) {
  auto cron = MakeCron(R"("schedule":"0 * * * *")", R"({"lastScheduleTime":"2026-01-01T05:00:00Z"})");
  auto timing = TimingOf(CronJob(cron->root()));
  EXPECT_EQ(UntilNextRun(CronJob(cron->root()), *timing, At("2026-01-01T05:30:00Z")), std::chrono::minutes(30) + std::chrono::milliseconds(100));
}

TEST(CronPlanTest, AJobIsNamedAfterItsTime) {
  auto cron = MakeCron(R"("schedule":"0 9 * * *","timeZone":"Asia/Kolkata")");
  auto job = JobOf(CronJob(cron->root()), At("2026-01-01T03:30:00Z").time_since_epoch() / std::chrono::seconds(1));
  EXPECT_EQ(sdk::meta::Name(job->root()), "c-29453970");
  EXPECT_EQ(sdk::meta::Annotations(job->root()).Get("batch.kubernetes.io/cronjob-scheduled-timestamp").AsString(), "2026-01-01T09:00:00+05:30");
  EXPECT_EQ(sdk::meta::Labels(job->root()).Get("a").AsString(), "b");
  EXPECT_EQ(Job(job->root()).spec().parallelism(), 3);
  EXPECT_EQ(sdk::meta::ControllerOf(job->root()).Get("uid").AsString(), "u");
}

TEST(CronPlanTest, ReviewTellsWhatBecameOfJobs) {
  auto cron = MakeCron(R"("schedule":"* * * * *")", R"({"active":[{"name":"runs","uid":"runs"},{"name":"done","uid":"done"},{"name":"lost","uid":"lost"}]})");
  CronReview review = ReviewJobs(cron, {MakeJob("runs"), MakeJob("done", "Complete"), MakeJob("stray")});
  CronJob next(review.cron->root());
  ASSERT_EQ(next.status().active().size(), 2u);
  EXPECT_FALSE(IsActive(next, "done"));
  EXPECT_EQ(next.status().last_successful_time(), "2026-01-01T01:00:00Z");
  EXPECT_EQ(review.events, (std::vector<CronEvent>{{"Normal", "SawCompletedJob", "Saw completed job: done, condition: Complete"},
                                                   {"Warning", "UnexpectedJob", "Saw a job that the controller did not create or forgot: stray"}}));
  EXPECT_EQ(review.unseen, std::vector<std::string>{"lost"});
  auto same = MakeCron(R"("schedule":"* * * * *")");
  EXPECT_EQ(ReviewJobs(same, {}).cron, same);
}

TEST(CronPlanTest, OldFinishedJobsGo) {
  auto cron = MakeCron(R"("schedule":"* * * * *","successfulJobsHistoryLimit":1,"failedJobsHistoryLimit":0)");
  auto surplus = SurplusJobs(CronJob(cron->root()), {MakeJob("new", "Complete", "2026-01-01T03:00:00Z"), MakeJob("old", "Complete", "2026-01-01T01:00:00Z"),
                                                     MakeJob("bad", "Failed"), MakeJob("runs")});
  ASSERT_EQ(surplus.size(), 2u);
  EXPECT_EQ(sdk::meta::Name(surplus[0]->root()), "old");
  EXPECT_EQ(sdk::meta::Name(surplus[1]->root()), "bad");
}

}  // namespace
}  // namespace homeostat::controllers
