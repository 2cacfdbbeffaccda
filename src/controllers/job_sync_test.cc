#include "controllers/job_sync.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "controllers/json_object_test.h"

namespace homeostat::controllers {
namespace {

using api::batch::v1::Job;
using api::core::v1::Pod;

const WallTime kNow = WallTime(std::chrono::seconds(1'800'000'000));   // 2027-01-15T08:00:00Z

object::DocumentPtr MakeJob(const std::string& spec, const std::string& status = "{}", const std::string& metadata = "") {
  return FromJson<Job>(R"({"metadata":{"name":"j","namespace":"default","uid":"job")" + metadata +
                       R"(},"spec":{"template":{"metadata":{"labels":{"job":"j"}},"spec":{"containers":[{"name":"c","image":"i"}],"restartPolicy":"Never"}},)"
                       R"("backoffLimit":6,)" + spec + R"(},"status":)" + status + "}");
}
// State: r(unning), p(ending), s(ucceeded), f(ailed), d(eleting while running). index: -1 for none.
object::DocumentPtr MakePod(const std::string& name, char state, int index = -1, const std::string& more = "", bool tracked = true) {
  std::string phase = state == 's' ? "Succeeded" : state == 'f' ? "Failed" : state == 'p' ? "Pending" : "Running";
  std::string annotations = index < 0 ? "" : R"("batch.kubernetes.io/job-completion-index":")" + std::to_string(index) + "\"";
  return FromJson<Pod>(R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":")" + name + R"(","creationTimestamp":"2027-01-15T07:00:00Z",)" +
                       (tracked ? R"("finalizers":["batch.kubernetes.io/job-tracking"],)" : "") +
                       (state == 'd' ? R"("deletionTimestamp":"2027-01-15T07:59:00Z",)" : "") + R"("annotations":{)" + annotations +
                       R"(}},"spec":{"nodeName":"n"},"status":{"phase":")" + phase + "\"" + more + "}}");
}
JobView View(object::DocumentPtr job, std::vector<object::DocumentPtr> pods, bool settled = true) { return {std::move(job), std::move(pods), settled, {}, kNow}; }

// Everything goes as planned; the Job after the last write.
object::DocumentPtr Play(JobSync& sync, const object::DocumentPtr& job) {
  sync.Acted({static_cast<int>(sync.actions().create.size()), sync.actions().remove});
  object::DocumentPtr stored = sync.Written(job);
  std::set<std::string> uids;
  for (const object::DocumentPtr& pod : sync.to_strip()) uids.emplace(sdk::meta::Uid(pod->root()));
  sync.Stripped(uids);
  return sync.Written(stored);
}
std::string ConditionsText(const Job& job) {
  std::string text;
  for (auto condition : job.status().conditions()) text += (text.empty() ? "" : " ") + std::string(condition.type()) + "=" + std::string(condition.reason());
  return text;
}
std::vector<int> Indexes(const std::vector<object::DocumentPtr>& pods) {
  std::vector<int> indexes;
  for (const object::DocumentPtr& pod : pods) indexes.push_back(CompletionIndex(Pod(pod->root())));
  return indexes;
}

TEST(IndexSetTest, ReadsAndWrites) {
  EXPECT_EQ(IndexSet::Parse("1,3-5,7", 10).ToString(), "1,3-5,7");
  EXPECT_EQ(IndexSet::Parse("1,2", 10).ToString(), "1,2");
  EXPECT_EQ(IndexSet::Parse("1,2,3", 10).ToString(), "1-3");
  EXPECT_EQ(IndexSet::Parse("0-9", 5).ToString(), "0-4");
  EXPECT_EQ(IndexSet::Parse("x,2-y,5", 10).ToString(), "5");
  EXPECT_EQ(IndexSet::Parse("-1,99999999999", 10).ToString(), "");
  IndexSet set = IndexSet::Parse("1,3", 10);
  set.Add(2);
  EXPECT_EQ(set.ToString(), "1-3");
  EXPECT_EQ(set.size(), 3);
  EXPECT_TRUE(set.Has(2) && !set.Has(0) && !set.Has(4));
  EXPECT_EQ(set.Missing(3, 6), (std::vector<int32_t>{0, 4, 5}));
  EXPECT_EQ(set.Missing(1, 6), std::vector<int32_t>{0});
  EXPECT_EQ(set.SizeOfCommon(IndexSet::Parse("0-1,3-8", 10)), 2);
  set.Add(IndexSet::Parse("0,4-6", 10));
  EXPECT_EQ(set.ToString(), "0-6");
}

TEST(JobSyncTest, MakesAsManyPodsAsMayRun) {
  struct Case {
    std::string spec, states;
    size_t create, remove;
  };
  for (const Case& c : {
           Case{R"("parallelism":2,"completions":5)", "", 2, 0},
           Case{R"("parallelism":2,"completions":5)", "r", 1, 0},
           Case{R"("parallelism":2,"completions":5)", "rr", 0, 0},
           Case{R"("parallelism":2,"completions":5)", "rrr", 0, 1},
           Case{R"("parallelism":3,"completions":2)", "s", 1, 0},
           Case{R"("parallelism":3,"completions":2)", "ss", 0, 0},
           Case{R"("parallelism":2,"completions":5)", "d", 2, 0},            // counts as failed: another takes its place
           Case{R"("parallelism":2)", "", 2, 0},
           Case{R"("parallelism":2)", "sr", 0, 0},                           // after the first success none is made
           Case{R"("parallelism":2,"completions":5,"suspend":true)", "rr", 0, 2},
           Case{R"("parallelism":0,"completions":5)", "r", 0, 1},
       }) {
    std::vector<object::DocumentPtr> pods;
    for (size_t i = 0; i < c.states.size(); ++i) pods.push_back(MakePod("p" + std::to_string(i), c.states[i]));
    JobSync sync(View(MakeJob(c.spec), pods));
    EXPECT_EQ(sync.actions().create.size(), c.create) << c.spec << " " << c.states;
    EXPECT_EQ(sync.actions().remove.size(), c.remove) << c.spec << " " << c.states;
  }
  // While something is still to be seen, nothing is made.
  JobSync unsettled(View(MakeJob(R"("parallelism":2,"completions":5)"), {}, false));
  EXPECT_TRUE(unsettled.actions().create.empty());
}

TEST(JobSyncTest, CountsEachPodOnce) {
  auto job = MakeJob(R"("parallelism":2,"completions":3)");
  JobSync sync(View(job, {MakePod("a", 's'), MakePod("b", 'f'), MakePod("c", 'r')}));
  sync.Acted({static_cast<int>(sync.actions().create.size()), {}});
  auto first = sync.Written(job);
  auto status = Job(first->root()).status();
  // Listed, and not yet counted.
  ASSERT_EQ(status.uncounted_terminated_pods().succeeded().size(), 1u);
  EXPECT_EQ(status.uncounted_terminated_pods().succeeded()[0], "a");
  EXPECT_EQ(status.uncounted_terminated_pods().failed()[0], "b");
  EXPECT_EQ(status.succeeded(), 0);
  EXPECT_EQ(sync.to_strip().size(), 2u);
  // One finalizer could not be taken off.
  sync.Stripped({"a"});
  auto second = sync.Written(first);
  EXPECT_EQ(Job(second->root()).status().succeeded(), 1);
  EXPECT_EQ(Job(second->root()).status().failed(), 0);
  EXPECT_EQ(Job(second->root()).status().uncounted_terminated_pods().failed().size(), 1u);
  // The next look: a has gone, b has its finalizer still and is listed already.
  JobSync next(View(second, {MakePod("b", 'f'), MakePod("c", 'r')}));
  auto third = Play(next, second);
  EXPECT_EQ(Job(third->root()).status().succeeded(), 1);
  EXPECT_EQ(Job(third->root()).status().failed(), 1);
  EXPECT_TRUE(Job(third->root()).status().uncounted_terminated_pods().failed().empty());
}

TEST(JobSyncTest, CompletesWhenAllHaveSucceeded) {
  auto job = MakeJob(R"("parallelism":2,"completions":2)", R"({"succeeded":1,"startTime":"2027-01-15T07:00:00Z"})");
  JobSync sync(View(job, {MakePod("b", 's')}));
  auto done = Play(sync, job);
  EXPECT_EQ(ConditionsText(Job(done->root())), "SuccessCriteriaMet=CompletionsReached Complete=CompletionsReached");
  EXPECT_EQ(Job(done->root()).status().succeeded(), 2);
  EXPECT_EQ(Job(done->root()).status().completion_time(), "2027-01-15T08:00:00Z");
  EXPECT_EQ(sync.events(), (std::vector<JobEvent>{{"Normal", "Completed", "Job completed"}}));
  EXPECT_TRUE(IsJobFinished(Job(done->root())));
}

TEST(JobSyncTest, FailsByLimitDeadlineAndPolicy) {
  struct Case {
    std::string spec, status, pod_status, reason;
    char state;
  };
  const std::string kStarted = R"({"startTime":"2027-01-15T07:59:00Z"})";
  for (const Case& c : {
           Case{R"("backoffLimit":0,"completions":2,"parallelism":2)", kStarted, "", "BackoffLimitExceeded", 'f'},
           Case{R"("activeDeadlineSeconds":30,"completions":2,"parallelism":2)", kStarted, "", "DeadlineExceeded", 'r'},
           Case{R"("completions":2,"parallelism":2,"podFailurePolicy":{"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}]})", kStarted,
                R"(,"containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":42}}}])", "PodFailurePolicy", 'f'},
       }) {
    auto job = MakeJob(c.spec, c.status);
    JobSync sync(View(job, {MakePod("a", c.state, -1, c.pod_status), MakePod("b", 'r')}));
    // The others are told to go first; the end is marked when they have.
    EXPECT_FALSE(sync.actions().remove.empty()) << c.reason;
    EXPECT_FALSE(sync.actions().drop_finalizers);
    auto target = Play(sync, job);
    EXPECT_EQ(ConditionsText(Job(target->root())), "FailureTarget=" + c.reason);
    JobSync next(View(target, {}));
    auto failed = Play(next, target);
    EXPECT_EQ(ConditionsText(Job(failed->root())), "FailureTarget=" + c.reason + " Failed=" + c.reason);
  }
  auto job = MakeJob(R"("activeDeadlineSeconds":90,"completions":2,"parallelism":2)", R"({"startTime":"2027-01-15T07:59:00Z"})");
  JobSync waits(View(job, {MakePod("a", 'r'), MakePod("b", 'r')}));
  EXPECT_EQ(waits.actions().again, std::optional<Duration>(std::chrono::seconds(30)));
}

TEST(JobSyncTest, AnIgnoredFailureDoesNotCount) {
  auto job = MakeJob(R"("backoffLimit":0,"completions":1,"parallelism":1,"podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]}]})");
  JobSync sync(View(job, {MakePod("a", 'f', -1, R"(,"conditions":[{"type":"DisruptionTarget","status":"True"}])")}));
  auto next = Play(sync, job);
  EXPECT_EQ(Job(next->root()).status().failed(), 0);
  EXPECT_EQ(ConditionsText(Job(next->root())), "");
  EXPECT_EQ(sync.to_strip().size(), 1u);
}

TEST(JobSyncTest, FailuresPutOffTheNextPod) {
  auto job = MakeJob(R"("completions":2,"parallelism":1)");
  JobView view = View(job, {});
  view.retry = {2, kNow - std::chrono::seconds(5)};
  JobSync sync(view);
  EXPECT_TRUE(sync.actions().create.empty());
  EXPECT_EQ(sync.actions().again, std::optional<Duration>(std::chrono::seconds(15)));
  EXPECT_EQ(RetryPause(1, kNow, kNow), Duration(std::chrono::seconds(10)));
  EXPECT_EQ(RetryPause(100, kNow, kNow), Duration(std::chrono::minutes(10)));
  EXPECT_EQ(RetryPause(0, kNow, kNow), Duration(0));
  EXPECT_EQ(RetryPause(1, kNow - std::chrono::minutes(1), kNow), Duration(0));
}

TEST(JobSyncTest, SuspensionIsSaid) {
  auto job = MakeJob(R"("suspend":true,"completions":2,"parallelism":1)", R"({"startTime":"2027-01-15T07:00:00Z","active":1})");
  JobSync sync(View(job, {MakePod("a", 'r')}));
  EXPECT_TRUE(sync.actions().drop_finalizers);
  auto next = Play(sync, job);
  EXPECT_EQ(ConditionsText(Job(next->root())), "Suspended=JobSuspended");
  EXPECT_TRUE(Job(next->root()).status().start_time().empty());
  EXPECT_EQ(Job(next->root()).status().failed(), 0);
  EXPECT_EQ(sync.events(), (std::vector<JobEvent>{{"Normal", "Suspended", "Job suspended"}}));
  auto resumed = MakeJob(R"("completions":2,"parallelism":1)", R"({"conditions":[{"type":"Suspended","status":"True","reason":"JobSuspended","message":"Job suspended"}]})");
  JobSync again(View(resumed, {}));
  auto running = Play(again, resumed);
  EXPECT_EQ(ConditionsText(Job(running->root())), "Suspended=JobResumed");
  EXPECT_FALSE(Job(running->root()).status().start_time().empty());
}

TEST(JobSyncTest, AnIndexedJobFillsItsIndexes) {
  auto job = MakeJob(R"("completionMode":"Indexed","completions":5,"parallelism":3)", R"({"completedIndexes":"1"})");
  JobSync sync(View(job, {MakePod("a", 's', 0), MakePod("b", 'r', 3), MakePod("c", 'r', 9)}));
  // Three are to run; the one of index 9 is too many.
  EXPECT_EQ(Indexes(sync.actions().remove), std::vector<int>{9});
  JobSync next(View(job, {MakePod("a", 's', 0), MakePod("b", 'r', 3)}));
  EXPECT_EQ(Indexes(next.actions().create), (std::vector<int>{2, 4}));
  Pod pod(next.actions().create[0]->root());
  EXPECT_EQ(pod.metadata().generate_name(), "j-2-");
  EXPECT_EQ(pod.spec().hostname(), "j-2");
  EXPECT_EQ(pod.metadata().labels().Get("batch.kubernetes.io/job-completion-index"), "2");
  ASSERT_EQ(pod.spec().containers()[0].env().size(), 1u);
  EXPECT_EQ(pod.spec().containers()[0].env()[0].name(), "JOB_COMPLETION_INDEX");
  auto written = Play(next, job);
  EXPECT_EQ(Job(written->root()).status().completed_indexes(), "0,1");
  EXPECT_EQ(Job(written->root()).status().succeeded(), 2);
}

TEST(JobSyncTest, LimitsPerIndex) {
  auto job = MakeJob(R"("completionMode":"Indexed","completions":2,"parallelism":2,"backoffLimitPerIndex":1)");
  const std::string kEnded = R"(,"containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":1,"finishedAt":"2027-01-15T07:00:00Z"}}}])";
  // The first failure of an index: its pod stays, as the next one counts on from it.
  JobSync first(View(job, {MakePod("a", 'f', 0, kEnded), MakePod("b", 'r', 1)}));
  ASSERT_EQ(Indexes(first.actions().create), std::vector<int>{0});
  EXPECT_EQ(Pod(first.actions().create[0]->root()).metadata().annotations().Get("batch.kubernetes.io/job-index-failure-count"), "1");
  auto after = Play(first, job);
  EXPECT_TRUE(first.to_strip().empty());
  // The second: the index has failed; with the other one done, so has the Job.
  auto second = FromJson<Pod>(R"({"metadata":{"name":"a2","uid":"a2","finalizers":["batch.kubernetes.io/job-tracking"],"annotations":{"batch.kubernetes.io/job-completion-index":"0",)"
                              R"("batch.kubernetes.io/job-index-failure-count":"1"}},"status":{"phase":"Failed"}})");
  JobSync last(View(after, {MakePod("a", 'f', 0, kEnded), second, MakePod("b", 's', 1)}));
  auto failed = Play(last, after);
  EXPECT_EQ(Job(failed->root()).status().failed_indexes(), "0");
  EXPECT_EQ(Job(failed->root()).status().completed_indexes(), "1");
  EXPECT_EQ(ConditionsText(Job(failed->root())), "FailureTarget=FailedIndexes Failed=FailedIndexes");
}

TEST(JobSyncTest, ASuccessPolicyEndsTheRest) {
  auto job = MakeJob(R"("completionMode":"Indexed","completions":3,"parallelism":3,"successPolicy":{"rules":[{"succeededIndexes":"0-1","succeededCount":1}]})");
  JobSync sync(View(job, {MakePod("a", 's', 1), MakePod("b", 'r', 2)}));
  EXPECT_EQ(sync.actions().remove.size(), 1u);
  auto met = Play(sync, job);
  EXPECT_EQ(ConditionsText(Job(met->root())), "SuccessCriteriaMet=SuccessPolicy");
  JobSync next(View(met, {MakePod("b", 'f', 2)}));
  auto done = Play(next, met);
  EXPECT_EQ(ConditionsText(Job(done->root())), "SuccessCriteriaMet=SuccessPolicy Complete=SuccessPolicy");
}

TEST(JobSyncTest, PodsAreReplacedOnceTheyHaveFailedIfThatIsAsked) {
  auto job = MakeJob(R"("completions":2,"parallelism":2,"podReplacementPolicy":"Failed")");
  JobSync sync(View(job, {MakePod("a", 'd'), MakePod("b", 'r')}));
  EXPECT_TRUE(sync.actions().create.empty());
  auto next = Play(sync, job);
  EXPECT_EQ(Job(next->root()).status().terminating(), 1);
  EXPECT_TRUE(sync.to_strip().empty());
}

}  // namespace
}  // namespace homeostat::controllers
