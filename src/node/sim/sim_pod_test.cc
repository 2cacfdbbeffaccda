#include "node/sim/sim_pod.h"

#include <gtest/gtest.h>

#include "homeostat/object/json.h"
#include "homeostat/object/time.h"
#include "homeostat/schema/conform.h"

namespace homeostat::node::sim {
namespace {

using api::core::v1::Pod;

object::DocumentPtr ParsePod(const std::string& json) {
  auto document = object::ParseJsonDocument(json);
  EXPECT_TRUE(document) << json;
  schema::ConformReport report;
  auto conformed = schema::Conform((*document)->arena(), (*document)->root(), Pod::SchemaType(), report);
  EXPECT_TRUE(conformed) << conformed.error().message();
  (*document)->set_root(*conformed);
  return *document;
}

object::DocumentPtr MakePod(std::string_view metadata, std::string_view spec, std::string_view status = "") {
  std::string json =
      R"({"metadata":{"namespace":"default","name":"web","uid":"u","generation":1)" + std::string(metadata) +
      R"(},"spec":{"restartPolicy":"Always","containers":[{"name":"c","image":"nginx:1.27"}])" + std::string(spec) +
      R"(},"status":{"phase":"Pending","qosClass":"BestEffort","conditions":[{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}])" +
      std::string(status) + "}}";
  return ParsePod(json);
}

SimPodFacts Facts() {
  SimPodFacts facts;
  facts.pod_ip = "10.64.0.2";
  facts.host_ip = "172.18.0.1";
  facts.now = "2026-01-01T00:00:05Z";
  facts.started_at = "2026-01-01T00:00:04Z";
  facts.container_id = [](std::string_view name) { return "containerd://" + std::string(name); };
  return facts;
}

std::string Conditions(const object::DocumentPtr& document) {
  std::string text;
  for (auto condition : Pod(document->root()).status().conditions()) {
    text += (text.empty() ? "" : " ") + std::string(condition.type()) + "=" + std::string(condition.status());
    if (!condition.reason().empty()) text += "(" + std::string(condition.reason()) + ")";
  }
  return text;
}

TEST(SimPod, GoesThroughTheStagesOfAKubelet) {
  object::DocumentPtr creating = WithStage(MakePod("", ""), SimStage::kCreating, Facts());
  EXPECT_EQ(Conditions(creating),
            "PodReadyToStartContainers=False Initialized=True Ready=False(ContainersNotReady) "
            "ContainersReady=False(ContainersNotReady) "
            "PodScheduled=True");
  Pod pod(creating->root());
  EXPECT_EQ(pod.status().container_statuses()[0].state().waiting().reason(), "ContainerCreating");
  EXPECT_EQ(pod.status().pod_ip(), "");
  EXPECT_EQ(pod.status().qos_class(), "BestEffort");
  EXPECT_EQ(StageOf(pod), SimStage::kCreating);

  object::DocumentPtr running = WithStage(creating, SimStage::kRunning, Facts());
  EXPECT_EQ(Conditions(running),
            "PodReadyToStartContainers=True Initialized=True Ready=True ContainersReady=True PodScheduled=True");
  pod = Pod(running->root());
  EXPECT_EQ(pod.status().pod_ip(), "10.64.0.2");
  EXPECT_EQ(pod.status().pod_ips()[0].ip(), "10.64.0.2");
  EXPECT_EQ(pod.status().start_time(), "2026-01-01T00:00:05Z");
  auto status = pod.status().container_statuses()[0];
  EXPECT_TRUE(status.ready());
  EXPECT_EQ(status.image(), "docker.io/library/nginx:1.27");
  EXPECT_TRUE(status.image_id().starts_with("docker.io/library/nginx@sha256:"));
  EXPECT_EQ(status.state().running().started_at(), "2026-01-01T00:00:04Z");
  // What did not change keeps its time.
  EXPECT_EQ(pod.status().conditions()[4].last_transition_time(), "2026-01-01T00:00:00Z");
  EXPECT_EQ(StageOf(pod), SimStage::kRunning);
  // Writing the same again changes nothing.
  object::DocumentPtr again = WithStage(running, SimStage::kRunning, Facts());
  EXPECT_TRUE(object::Equal(Pod(again->root()).status().Raw(), pod.status().Raw()));
}

TEST(SimPod, EndsByItsExitCode) {
  for (auto [code, phase, reason, condition] :
       {std::tuple(0, "Succeeded", "Completed", "PodCompleted"), {3, "Failed", "Error", "PodFailed"}}) {
    SimPodFacts facts = Facts();
    facts.exit_code = code;
    facts.exit_time = "2026-01-01T00:00:09Z";
    object::DocumentPtr ended = WithStage(MakePod("", ""), SimStage::kFinished, facts);
    Pod pod(ended->root());
    EXPECT_EQ(pod.status().phase(), phase);
    auto terminated = pod.status().container_statuses()[0].state().terminated();
    EXPECT_EQ(terminated.exit_code(), code);
    EXPECT_EQ(terminated.reason(), reason);
    EXPECT_EQ(terminated.finished_at(), "2026-01-01T00:00:09Z");
    EXPECT_NE(Conditions(ended).find(std::string("Ready=False(") + condition + ")"), std::string::npos);
    EXPECT_EQ(StageOf(pod), SimStage::kFinished);
  }
}

TEST(SimPod, CrashedContainersWaitAndAreCounted) {
  SimPodFacts facts = Facts();
  facts.exit_code = 1;
  facts.exit_time = "2026-01-01T00:00:09Z";
  facts.restarts = 2;
  object::DocumentPtr crashed = WithStage(MakePod("", ""), SimStage::kCrashed, facts);
  auto status = Pod(crashed->root()).status().container_statuses()[0];
  EXPECT_EQ(status.state().waiting().reason(), "CrashLoopBackOff");
  EXPECT_EQ(status.last_state().terminated().exit_code(), 1);
  EXPECT_EQ(status.restart_count(), 2);
  EXPECT_EQ(StageOf(Pod(crashed->root())), SimStage::kCrashed);
  using std::chrono::seconds;
  EXPECT_EQ(CrashBackoff(0), seconds(0));
  EXPECT_EQ(CrashBackoff(1), seconds(10));
  EXPECT_EQ(CrashBackoff(3), seconds(40));
  EXPECT_EQ(CrashBackoff(50), seconds(300));
}

TEST(SimPod, WaitsForImagesThatAreNotThere) {
  SimPodFacts facts = Facts();
  facts.has_image = [](std::string_view image) { return image.starts_with("registry.k8s.io/"); };
  object::DocumentPtr pod = MakePod("", "");
  EXPECT_EQ(MissingImage(Pod(pod->root()), facts), "nginx:1.27");
  EXPECT_FALSE(MissingImage(Pod(pod->root()), Facts()).has_value());
  object::DocumentPtr waiting = WithStage(pod, SimStage::kNoImage, facts);
  Pod written(waiting->root());
  EXPECT_EQ(written.status().phase(), "Pending");
  EXPECT_EQ(written.status().container_statuses()[0].state().waiting().reason(), "ImagePullBackOff");
  EXPECT_EQ(written.status().pod_ip(), "10.64.0.2");
  EXPECT_EQ(StageOf(written), SimStage::kNoImage);
}

TEST(SimPod, FailsWhenItsDeadlineHasPassed) {
  auto now = object::ParseTime("2026-01-01T00:00:09Z")->ToClock();
  object::DocumentPtr endless = MakePod("", "", R"(,"startTime":"2026-01-01T00:00:05Z")");
  EXPECT_FALSE(LeftOfDeadline(Pod(endless->root()), now).has_value());
  EXPECT_FALSE(LeftOfDeadline(Pod(MakePod("", R"(,"activeDeadlineSeconds":5)")->root()), now).has_value());
  object::DocumentPtr limited = MakePod("", R"(,"activeDeadlineSeconds":5)", R"(,"startTime":"2026-01-01T00:00:05Z")");
  EXPECT_EQ(LeftOfDeadline(Pod(limited->root()), now), std::chrono::seconds(1));
  EXPECT_EQ(LeftOfDeadline(Pod(limited->root()), now + std::chrono::hours(1)), Duration(0));
  SimPodFacts facts = Facts();
  facts.failure = SimFailure{"DeadlineExceeded", "too long"};
  object::DocumentPtr ended = WithStage(limited, SimStage::kFinished, facts);
  EXPECT_EQ(Pod(ended->root()).status().phase(), "Failed");
  EXPECT_EQ(Pod(ended->root()).status().reason(), "DeadlineExceeded");
  EXPECT_EQ(Pod(ended->root()).status().message(), "too long");
}

TEST(SimPod, RefusesHostPortsThatAreTaken) {
  auto with = [](const std::string& port) { return ParsePod(R"({"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80,)" + port + "}]}]}}"); };
  struct Case {
    const char *own, *other;
    bool refused;
  };
  for (const Case& c : {Case{R"("hostPort":8080,"protocol":"TCP")", R"("hostPort":8080,"protocol":"TCP")", true},
                        Case{R"("hostPort":8080,"protocol":"TCP")", R"("hostPort":8081,"protocol":"TCP")", false},
                        Case{R"("hostPort":8080,"protocol":"TCP")", R"("hostPort":8080,"protocol":"UDP")", false},
                        Case{R"("hostPort":8080,"protocol":"TCP","hostIP":"10.0.0.1")", R"("hostPort":8080,"protocol":"TCP","hostIP":"10.0.0.2")", false},
                        Case{R"("hostPort":8080,"protocol":"TCP","hostIP":"10.0.0.1")", R"("hostPort":8080,"protocol":"TCP","hostIP":"0.0.0.0")", true},
                        Case{R"("protocol":"TCP")", R"("protocol":"TCP")", false}}) {
    object::DocumentPtr own = with(c.own), other = with(c.other);
    auto refusal = RefuseHostPorts(Pod(own->root()), {Pod(other->root())});
    EXPECT_EQ(refusal.has_value(), c.refused) << c.own << " " << c.other;
  }
  SimPodFacts facts = Facts();
  facts.failure = SimFailure{"NodePorts", "no ports"};
  object::DocumentPtr refused = WithRefusal(MakePod("", ""), facts);
  EXPECT_EQ(Pod(refused->root()).status().phase(), "Failed");
  EXPECT_EQ(Pod(refused->root()).status().message(), "Pod was rejected: no ports");
  EXPECT_EQ(StageOf(Pod(refused->root())), SimStage::kFinished);
}

TEST(SimPod, ReadinessGatesAndOthersConditionsAreKept) {
  object::DocumentPtr gated =
      WithStage(MakePod("", R"(,"readinessGates":[{"conditionType":"example.com/ok"}])"), SimStage::kRunning, Facts());
  EXPECT_NE(Conditions(gated).find("Ready=False(ReadinessGatesNotReady)"), std::string::npos);
  EXPECT_NE(Conditions(gated).find("ContainersReady=True"), std::string::npos);
}

TEST(SimPod, ExitPlans) {
  struct Case {
    const char* text;
    bool valid;
    int64_t milliseconds;
    int code;
  };
  for (const Case& c : {Case{"5s", true, 5000, 0}, Case{"250ms,3", true, 250, 3}, Case{"1m,256", false, 0, 0},
                        Case{"soon", false, 0, 0}, Case{"1s,", false, 0, 0}, Case{"-1s", false, 0, 0}}) {
    object::DocumentPtr pod =
        MakePod(R"(,"annotations":{"sim.homeostat.dev/exit-after":")" + std::string(c.text) + "\"}", "");
    auto plan = ReadExitPlan(Pod(pod->root()));
    ASSERT_EQ(plan.has_value(), c.valid) << c.text;
    if (!plan) continue;
    EXPECT_EQ(plan->after, std::chrono::milliseconds(c.milliseconds));
    EXPECT_EQ(plan->code, c.code);
  }
  EXPECT_FALSE(ReadExitPlan(Pod(MakePod("", "")->root())));
}

TEST(SimPod, ImageNames) {
  EXPECT_EQ(FullImageName("nginx"), "docker.io/library/nginx:latest");
  EXPECT_EQ(FullImageName("bitnami/redis:7"), "docker.io/bitnami/redis:7");
  EXPECT_EQ(FullImageName("registry.k8s.io/pause:3.10"), "registry.k8s.io/pause:3.10");
  EXPECT_EQ(FullImageName("localhost:5000/a"), "localhost:5000/a:latest");
  EXPECT_TRUE(ImageId("registry.k8s.io/pause:3.10").starts_with("registry.k8s.io/pause@sha256:"));
  EXPECT_TRUE(ImageId("localhost:5000/a").starts_with("localhost:5000/a@sha256:"));
}

}  // namespace
}  // namespace homeostat::node::sim
