#include "node/pod_worker.h"

#include "node/errors.h"
#include "node/internal/test_pods.h"
#include "node/values.h"

namespace homeostat::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kOne = "{'restartPolicy': 'Always', 'containers': [{'name': 'a', 'image': 'a:1'}]}";

std::string Shown(const WorkerOutput& out) {
  static constexpr const char* kNames[] = {"volumes", "sandbox", "start", "kill", "stop", "clean", "report"};
  std::string text;
  for (const PodStep& step : out.steps) {
    text += kNames[static_cast<int>(step.kind)];
    if (step.kind == StepKind::kStartContainer) text += ":" + step.container;
    if (step.kind == StepKind::kKillContainer) {
      text += ":" + step.kill.id + "/" + std::to_string(step.grace_seconds) + (step.hurry ? "!" : "");
    }
    if (step.remove) text += "+remove";
    text += " ";
  }
  return text;
}

// A worker with a clock and a fake runtime.
class PodWorkerTest : public testing::Test {
 protected:
  void Use(const std::string& spec, const std::string& more = "") {
    pod_ = PodWith(spec, more);
    worker_ = std::make_unique<PodWorker>(pod_);
    runtime_ = std::make_unique<FakeRuntimePod>(pod_);
  }
  void Change(const std::string& spec, const std::string& metadata) {
    pod_ = FromJson<core::Pod>("{'metadata': {'name': 'web', 'namespace': 'default', 'uid': 'u1'" + metadata + "}, 'spec': " +
                               spec + "}");
    worker_->SetPod(pod_);
  }
  std::string Next() {
    worker_->SetRuntime(runtime_->pod, worker_->BeginObservation());
    out_ = worker_->Next(probes_, now_);
    for (const PodStep& step : out_.steps) begun_[step.key] = step;
    return Shown(out_);
  }
  void Done(const std::string& key, Result<void> result = {}) { worker_->Finished(begun_.at(key), result, now_); }
  void Fails(StartFailure failure) { worker_->StartFailed(begun_.at("start"), std::move(failure), now_); }
  std::string FailureOf(const std::string& name) {
    StatusInput input;
    worker_->FillStatus(input);
    auto found = input.failures.find(name);
    return found == input.failures.end() ? "" : found->second.reason;
  }
  // Up to a running container.
  void Start() {
    Next();
    Done("volumes");
    Next();
    Done("sandbox");
    runtime_->Sandbox();
    Next();
    runtime_->Running("a");
    Done("start");
    ASSERT_EQ(Next(), "");
  }
  int64_t NowNanoseconds() const { return now_.time_since_epoch().count(); }

  object::DocumentPtr pod_;
  std::unique_ptr<PodWorker> worker_;
  std::unique_ptr<FakeRuntimePod> runtime_;
  ProbeBook probes_;
  WallTime now_ = FromNanoseconds(1'700'000'000'000'000'000);
  WorkerOutput out_;
  std::map<std::string, PodStep> begun_;
};

TEST_F(PodWorkerTest, StartsInOrderAndNothingTwice) {
  Use(kOne);
  EXPECT_EQ(Next(), "volumes ");
  EXPECT_EQ(Next(), "");
  Done("volumes");
  EXPECT_EQ(Next(), "sandbox ");
  EXPECT_EQ(Next(), "");
  runtime_->Sandbox();
  Done("sandbox");
  EXPECT_EQ(Next(), "start:a ");
  EXPECT_EQ(Next(), "");
  runtime_->Running("a");
  Done("start");
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(worker_->state(), WorkerState::kRunning);
}

TEST_F(PodWorkerTest, WhatWasSeenBeforeAStepFinishedIsPassedOver) {
  Use(kOne);
  Next();
  Done("volumes");
  EXPECT_EQ(Next(), "sandbox ");
  uint64_t begun = worker_->BeginObservation();
  RuntimePod before = runtime_->pod;
  runtime_->Sandbox();
  Done("sandbox");
  EXPECT_FALSE(worker_->SetRuntime(before, begun));
  EXPECT_TRUE(worker_->Next(probes_, now_).steps.empty()) << "no second sandbox";
  EXPECT_EQ(Next(), "start:a ");
}

TEST_F(PodWorkerTest, RetriesVolumesAndSandboxAfterTenSeconds) {
  Use(kOne);
  Next();
  Done("volumes", Fail(NodeError("no ConfigMap")));
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(out_.wake, now_ + seconds(10));
  now_ += seconds(10);
  EXPECT_EQ(Next(), "volumes ");
  Done("volumes");
  Next();
  Done("sandbox", Fail(NodeError("no network")));
  EXPECT_EQ(Next(), "");
  now_ += seconds(10);
  EXPECT_EQ(Next(), "sandbox ");
}

TEST_F(PodWorkerTest, RestartsAtOnceThenBacksOffTwiceAsLongEachTime) {
  Use(kOne);
  Start();
  runtime_->Latest("a").status.state = cri::ContainerState::kExited;
  runtime_->Latest("a").status.finished_at = NowNanoseconds();
  EXPECT_EQ(Next(), "start:a ");
  for (int delay : {10, 20, 40, 80, 160, 300, 300}) {
    runtime_->Exited("a", 1, NowNanoseconds());
    Done("start");
    EXPECT_EQ(Next(), "") << delay;
    EXPECT_EQ(FailureOf("a"), "CrashLoopBackOff");
    EXPECT_EQ(out_.wake, now_ + seconds(delay));
    ASSERT_EQ(out_.events.size(), 1u);
    EXPECT_EQ(out_.events[0].message, "Back-off restarting failed container a in pod web_default(u1)");
    Next();
    EXPECT_TRUE(out_.events.empty()) << "the event comes once a back-off";
    now_ += seconds(delay) - milliseconds(1);
    EXPECT_EQ(Next(), "");
    now_ += milliseconds(1);
    EXPECT_EQ(Next(), "start:a ") << delay;
  }
}

TEST_F(PodWorkerTest, ForgetsBackOffAfterTenGoodMinutes) {
  Use(kOne);
  Start();
  for (int i = 0; i < 3; ++i) {
    runtime_->Latest("a").status.state = cri::ContainerState::kExited;
    runtime_->Latest("a").status.finished_at = NowNanoseconds();
    now_ += std::chrono::minutes(6);
    ASSERT_EQ(Next(), "start:a ");
    runtime_->Running("a");
    Done("start");
    Next();
  }
  now_ += std::chrono::minutes(11);
  runtime_->Latest("a").status.state = cri::ContainerState::kExited;
  runtime_->Latest("a").status.finished_at = NowNanoseconds();
  EXPECT_EQ(Next(), "start:a ");
  runtime_->Exited("a", 1, NowNanoseconds());
  Done("start");
  Next();
  EXPECT_EQ(out_.wake, now_ + seconds(10));
}

TEST_F(PodWorkerTest, ShowsAFailedPullThenBacksOff) {
  Use(kOne);
  Next();
  Done("volumes");
  Next();
  runtime_->Sandbox();
  Done("sandbox");
  Next();
  for (int delay : {10, 20, 40}) {
    Fails({"ErrImagePull", "not found"});
    EXPECT_EQ(Next(), "");
    EXPECT_EQ(FailureOf("a"), "ErrImagePull");
    now_ += seconds(5);
    EXPECT_EQ(Next(), "");
    EXPECT_EQ(FailureOf("a"), "ImagePullBackOff");
    ASSERT_FALSE(out_.events.empty());
    EXPECT_EQ(out_.events[0].message, "Back-off pulling image \"a:1\"");
    now_ += seconds(delay - 5);
    EXPECT_EQ(Next(), "start:a ");
  }
}

TEST_F(PodWorkerTest, OneFailingContainerDoesNotHoldBackTheOthers) {
  Use("{'containers': [{'name': 'a', 'image': 'a'}, {'name': 'b', 'image': 'b'}]}");
  Next();
  Done("volumes");
  Next();
  runtime_->Sandbox();
  Done("sandbox");
  EXPECT_EQ(Next(), "start:a ");
  Fails({"CreateContainerConfigError", "configmap \"x\" not found"});
  EXPECT_EQ(Next(), "start:b ");
  EXPECT_EQ(FailureOf("a"), "CreateContainerConfigError");
}

TEST_F(PodWorkerTest, DeletionKillsStopsCleansAndReports) {
  Use(kOne);
  Start();
  Change(kOne, ", 'deletionTimestamp': '2023-11-14T22:13:50Z', 'deletionGracePeriodSeconds': 30");
  EXPECT_EQ(Next(), "kill:a0/30 ");
  EXPECT_EQ(worker_->state(), WorkerState::kTerminating);
  EXPECT_EQ(Next(), "");
  runtime_->Latest("a").status.state = cri::ContainerState::kExited;
  Done("kill:a0");
  EXPECT_EQ(Next(), "stop ");
  runtime_->pod.sandboxes[0].state = cri::SandboxState::kNotReady;
  Done("stop");
  EXPECT_EQ(Next(), "") << "waits for the final status";
  EXPECT_EQ(worker_->state(), WorkerState::kStopped);
  worker_->SetFinalStatusWritten();
  EXPECT_EQ(Next(), "clean+remove ");
  Done("clean");
  EXPECT_EQ(Next(), "report ");
  Done("report");
  EXPECT_EQ(Next(), "");
  worker_->SetGone();
  Next();
  EXPECT_EQ(worker_->state(), WorkerState::kDone);
}

TEST_F(PodWorkerTest, AShorterGracePeriodHurriesTheKill) {
  Use(kOne);
  Start();
  Change(kOne, ", 'deletionTimestamp': '2023-11-14T22:13:50Z', 'deletionGracePeriodSeconds': 30");
  EXPECT_EQ(Next(), "kill:a0/30 ");
  now_ += seconds(3);
  EXPECT_EQ(Next(), "");
  Change(kOne, ", 'deletionTimestamp': '2023-11-14T22:13:30Z', 'deletionGracePeriodSeconds': 5");
  EXPECT_EQ(Next(), "kill:a0/2! ");
  EXPECT_EQ(Next(), "");
}

TEST_F(PodWorkerTest, AForcedDeletionNeedsNoReport) {
  Use(kOne);
  Start();
  worker_->SetGone();
  EXPECT_EQ(Next(), "kill:a0/30 ");
  runtime_->Latest("a").status.state = cri::ContainerState::kExited;
  Done("kill:a0");
  Next();
  runtime_->pod.sandboxes[0].state = cri::SandboxState::kNotReady;
  Done("stop");
  EXPECT_EQ(Next(), "clean+remove ");
  Done("clean");
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(worker_->state(), WorkerState::kDone);
}

TEST_F(PodWorkerTest, SidecarsEndLastAndInReverse) {
  Use("{'terminationGracePeriodSeconds': 20, 'initContainers': [{'name': 's', 'image': 's', 'restartPolicy': 'Always'},"
      "{'name': 't', 'image': 't', 'restartPolicy': 'Always'}], 'containers': [{'name': 'a', 'image': 'a'}]}");
  runtime_->Sandbox().Running("s").Running("t").Running("a");
  worker_->End({"Evicted", "too big"});
  EXPECT_EQ(Next(), "kill:a0/20 ");
  now_ += seconds(5);
  runtime_->Latest("a").status.state = cri::ContainerState::kExited;
  Done("kill:a0");
  EXPECT_EQ(Next(), "kill:t0/15 ");
  runtime_->Latest("t").status.state = cri::ContainerState::kExited;
  Done("kill:t0");
  EXPECT_EQ(Next(), "kill:s0/15 ");
}

TEST_F(PodWorkerTest, DeletionDuringAStartWaitsForItThenKills) {
  Use(kOne);
  Next();
  Done("volumes");
  Next();
  runtime_->Sandbox();
  Done("sandbox");
  EXPECT_EQ(Next(), "start:a ");
  Change(kOne, ", 'deletionTimestamp': '2023-11-14T22:13:50Z', 'deletionGracePeriodSeconds': 30");
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(worker_->state(), WorkerState::kTerminating);
  runtime_->Running("a");
  Done("start");
  EXPECT_EQ(Next(), "kill:a0/30 ");
}

TEST_F(PodWorkerTest, ACompletedPodIsCleanedUpButItsContainersStay) {
  Use("{'restartPolicy': 'Never', 'containers': [{'name': 'a', 'image': 'a'}]}");
  Start();
  runtime_->Latest("a").status.state = cri::ContainerState::kExited;
  EXPECT_EQ(Next(), "stop ");
  runtime_->pod.sandboxes[0].state = cri::SandboxState::kNotReady;
  Done("stop");
  Next();
  worker_->SetFinalStatusWritten();
  EXPECT_EQ(Next(), "clean ");
  Done("clean");
  EXPECT_EQ(Next(), "");
  Change("{'restartPolicy': 'Never', 'containers': [{'name': 'a', 'image': 'a'}]}",
         ", 'deletionTimestamp': '2023-11-14T22:13:50Z', 'deletionGracePeriodSeconds': 0");
  EXPECT_EQ(Next(), "clean+remove ");
}

TEST_F(PodWorkerTest, TheDeadlineEndsThePod) {
  Use("{'activeDeadlineSeconds': 60, 'containers': [{'name': 'a', 'image': 'a'}]}",
      ", 'status': {'startTime': '2023-11-14T22:13:20Z'}");
  Start();
  EXPECT_EQ(out_.wake, now_ + seconds(60));
  now_ += seconds(60);
  EXPECT_EQ(Next(), "kill:a0/30 ");
  StatusInput input;
  worker_->FillStatus(input);
  ASSERT_TRUE(input.failure);
  EXPECT_EQ(input.failure->reason, "DeadlineExceeded");
}

TEST_F(PodWorkerTest, AFoundPodIsAdoptedWithoutRestart) {
  Use(kOne);
  runtime_->Sandbox().Running("a");
  EXPECT_EQ(Next(), "volumes ");
  Done("volumes");
  EXPECT_EQ(Next(), "");
}

TEST_F(PodWorkerTest, ALostSandboxIsReplacedOnceNothingRuns) {
  Use(kOne);
  Start();
  runtime_->pod.sandboxes[0].state = cri::SandboxState::kNotReady;
  EXPECT_EQ(Next(), "kill:a0/30 ");
  runtime_->Latest("a").status.state = cri::ContainerState::kExited;
  Done("kill:a0");
  EXPECT_EQ(Next(), "sandbox ");
  EXPECT_EQ(out_.steps[0].attempt, 1u);
  ASSERT_EQ(out_.events.size(), 1u);
  EXPECT_EQ(out_.events[0].reason, "SandboxChanged");
}

}  // namespace
}  // namespace homeostat::node
