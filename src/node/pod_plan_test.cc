#include "node/pod_plan.h"

#include "node/internal/test_pods.h"

namespace homeostat::node {
namespace {

constexpr const char* kTwo = "{'restartPolicy': 'Always', 'containers': [{'name': 'a', 'image': 'a'}, {'name': 'b', 'image': 'b'}]}";
constexpr const char* kInit =
    "{'restartPolicy': 'POLICY', 'initContainers': [{'name': 'i', 'image': 'i'},"
    "{'name': 's', 'image': 's', 'restartPolicy': 'Always'}, {'name': 'j', 'image': 'j'}],"
    "'containers': [{'name': 'a', 'image': 'a'}]}";

std::string WithPolicy(std::string spec, const std::string& policy) {
  for (const char* from : {"POLICY", "Always'"}) {
    size_t at = spec.find(from);
    if (at == std::string::npos || (std::string(from) == "Always'" && spec.find("initContainers") != std::string::npos)) continue;
    spec.replace(at, std::string(from).size(), std::string(from) == "POLICY" ? policy : policy + "'");
  }
  return spec;
}

// "new#1 kill starts:a,b over" and so on: the whole plan in one line.
std::string Shown(const PodPlan& plan) {
  std::string out;
  if (plan.create_sandbox) out += "new#" + std::to_string(plan.attempt) + " ";
  if (plan.kill_pod) out += "stop-all ";
  for (const KillStep& kill : plan.kills) out += "kill:" + kill.id + "(" + kill.message + ") ";
  for (const ContainerSpec& start : plan.starts) out += "start:" + std::string(start.container.name()) + " ";
  if (plan.over) out += "over ";
  return out;
}

struct Case {
  const char* name;
  std::string spec;
  std::function<void(FakeRuntimePod&)> runtime;
  std::string plan;
  ProbeBook probes = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class PodPlanTest : public testing::TestWithParam<Case> {};

TEST_P(PodPlanTest, NamesTheStepsThatAreDue) {
  const Case& c = GetParam();
  object::DocumentPtr pod = PodWith(c.spec);
  FakeRuntimePod runtime(pod);
  c.runtime(runtime);
  EXPECT_EQ(Shown(MakePodPlan(core::Pod(pod->root()), runtime.pod, c.probes)), c.plan);
}

using R = FakeRuntimePod&;
constexpr ProbeOutcome kBad = ProbeOutcome::kFailure;

INSTANTIATE_TEST_SUITE_P(
    Sandbox, PodPlanTest,
    testing::Values(
        Case{"NewPod", kTwo, [](R) {}, "new#0 stop-all start:a start:b "},
        Case{"NewPodWithInit", WithPolicy(kInit, "Always"), [](R) {}, "new#0 stop-all start:i "},
        Case{"SandboxLost", kTwo, [](R r) { r.Sandbox(false).Exited("a", 1); }, "new#1 stop-all start:a start:b "},
        Case{"SandboxLostOfNeverPod", WithPolicy(kTwo, "Never"), [](R r) { r.Sandbox(false).Exited("a", 1); }, "stop-all over "},
        Case{"SandboxNeverUsedOfNeverPod", WithPolicy(kTwo, "Never"), [](R r) { r.Sandbox(false); },
             "new#1 stop-all start:a start:b "},
        Case{"SandboxLostOneSucceeded", WithPolicy(kTwo, "OnFailure"), [](R r) { r.Sandbox(false).Exited("a", 0).Exited("b", 1); },
             "new#1 stop-all start:b "},
        Case{"SandboxLostAllSucceeded", WithPolicy(kTwo, "OnFailure"), [](R r) { r.Sandbox(false).Exited("a", 0).Exited("b", 0); },
             "stop-all over "},
        Case{"NoAddress", kTwo, [](R r) { r.Sandbox(); r.pod.sandboxes[0].ips.clear(); }, "new#1 stop-all start:a start:b "},
        Case{"NetworkModeDiffers", kTwo, [](R r) { r.Sandbox(); r.pod.sandboxes[0].network = cri::NamespaceMode::kNode; },
             "new#1 stop-all start:a start:b "}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Regular, PodPlanTest,
    testing::Values(
        Case{"Fresh", kTwo, [](R r) { r.Sandbox(); }, "start:a start:b "},
        Case{"AllRun", kTwo, [](R r) { r.Sandbox().Running("a").Running("b"); }, ""},
        Case{"OneExitedAlways", kTwo, [](R r) { r.Sandbox().Exited("a", 0).Running("b"); }, "start:a "},
        Case{"OneExitedWellOnFailure", WithPolicy(kTwo, "OnFailure"), [](R r) { r.Sandbox().Exited("a", 0).Running("b"); }, ""},
        Case{"OneExitedBadlyOnFailure", WithPolicy(kTwo, "OnFailure"), [](R r) { r.Sandbox().Exited("a", 3).Running("b"); },
             "start:a "},
        Case{"OneExitedNever", WithPolicy(kTwo, "Never"), [](R r) { r.Sandbox().Exited("a", 3).Running("b"); }, ""},
        Case{"AllDoneNever", WithPolicy(kTwo, "Never"), [](R r) { r.Sandbox().Exited("a", 3).Exited("b", 0); }, "stop-all over "},
        Case{"CreatedButNotStarted", kTwo,
             [](R r) { r.Sandbox().Running("b").Add("a", cri::ContainerState::kCreated, 0); }, "start:a "},
        Case{"LivenessFailed", kTwo, [](R r) { r.Sandbox().Running("a").Running("b"); },
             "kill:a0(Container a failed liveness probe, will be restarted) start:a ", {{"a0", {.liveness = kBad}}}},
        Case{"StartupFailedNever", WithPolicy(kTwo, "Never"), [](R r) { r.Sandbox().Running("a").Running("b"); },
             "kill:a0(Container a failed startup probe) ", {{"a0", {.startup = kBad}}}},
        Case{"ImageChanged", WithPolicy(kTwo, "Never"),
             [](R r) { r.Sandbox().Running("a").Running("b"); r.Latest("b").hash = 1; },
             "kill:b0(Container b definition changed, will be restarted) start:b "},
        Case{"UnknownState", kTwo, [](R r) { r.Sandbox().Running("a").Add("b", cri::ContainerState::kUnknown, 0); },
             "kill:b0(Container is in \"unknown\" state, try killing it before restart) start:b "},
        Case{"Ephemeral",
             "{'containers': [{'name': 'a', 'image': 'a'}], 'ephemeralContainers': [{'name': 'e', 'image': 'e'}]}",
             [](R r) { r.Sandbox().Running("a"); }, "start:e "},
        Case{"EphemeralNeverAgain",
             "{'containers': [{'name': 'a', 'image': 'a'}], 'ephemeralContainers': [{'name': 'e', 'image': 'e'}]}",
             [](R r) { r.Sandbox().Running("a").Exited("e", 1); }, ""}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Init, PodPlanTest,
    testing::Values(
        Case{"First", WithPolicy(kInit, "Always"), [](R r) { r.Sandbox(); }, "start:i "},
        Case{"FirstRuns", WithPolicy(kInit, "Always"), [](R r) { r.Sandbox().Running("i"); }, ""},
        Case{"FirstDone", WithPolicy(kInit, "Always"), [](R r) { r.Sandbox().Exited("i", 0); }, "start:s "},
        Case{"FirstFailed", WithPolicy(kInit, "Always"), [](R r) { r.Sandbox().Exited("i", 1); }, "start:i "},
        Case{"FirstFailedNever", WithPolicy(kInit, "Never"), [](R r) { r.Sandbox().Exited("i", 1); }, "stop-all over "},
        Case{"SidecarRuns", WithPolicy(kInit, "Never"), [](R r) { r.Sandbox().Exited("i", 0).Running("s"); }, "start:j "},
        Case{"SidecarDied", WithPolicy(kInit, "Never"), [](R r) { r.Sandbox().Exited("i", 0).Exited("s", 1).Running("j"); },
             "start:s "},
        Case{"LastDone", WithPolicy(kInit, "Never"), [](R r) { r.Sandbox().Exited("i", 0).Running("s").Exited("j", 0); },
             "start:a "},
        Case{"EarlyOnesForgotten", WithPolicy(kInit, "Never"), [](R r) { r.Sandbox().Running("s").Exited("j", 0); }, "start:a "},
        Case{"AllForgottenButRegularRuns", WithPolicy(kInit, "Always"), [](R r) { r.Sandbox().Running("s").Running("a"); }, ""},
        Case{"SidecarDiedWhileRegularRuns", WithPolicy(kInit, "Never"),
             [](R r) { r.Sandbox().Exited("i", 0).Exited("s", 0).Exited("j", 0).Running("a"); }, "start:s "},
        Case{"SidecarDoesNotKeepPodAlive", WithPolicy(kInit, "Never"),
             [](R r) { r.Sandbox().Exited("i", 0).Running("s").Exited("j", 0).Exited("a", 0); }, "stop-all over "},
        Case{"DeadSidecarIsNotRestartedAtTheEnd", WithPolicy(kInit, "Never"),
             [](R r) { r.Sandbox().Exited("i", 0).Exited("s", 0).Exited("j", 0).Exited("a", 0); }, "stop-all over "},
        Case{"NewSandboxRunsInitAgain", WithPolicy(kInit, "Always"),
             [](R r) { r.Sandbox().Exited("i", 0).Running("s").Exited("j", 0).Exited("a", 1).Sandbox(); }, "start:i "}),
    [](const auto& info) { return info.param.name; });

TEST(PodPlan, SidecarWithStartupProbeHoldsTheNextBack) {
  object::DocumentPtr pod = PodWith(
      "{'initContainers': [{'name': 's', 'image': 's', 'restartPolicy': 'Always', 'startupProbe': {'exec': {}}}],"
      "'containers': [{'name': 'a', 'image': 'a'}]}");
  FakeRuntimePod runtime(pod);
  runtime.Sandbox().Running("s");
  core::Pod view(pod->root());
  EXPECT_EQ(Shown(MakePodPlan(view, runtime.pod, {})), "");
  EXPECT_EQ(Shown(MakePodPlan(view, runtime.pod, {{"s0", {.startup = ProbeOutcome::kSuccess}}})), "start:a ");
  EXPECT_EQ(Shown(MakePodPlan(view, runtime.pod, {{"s0", {.startup = kBad}}})),
            "kill:s0(Init container s failed startup probe) start:s ");
}

TEST(FindSuperfluous, KeepsTwoOfEachNameAndWhatIsInUse) {
  object::DocumentPtr pod = PodWith(kTwo);
  FakeRuntimePod runtime(pod);
  runtime.Sandbox().Exited("a", 1).Exited("a", 2).Sandbox().Exited("b", 0).Sandbox().Exited("a", 3).Running("a");
  Superfluous garbage = FindSuperfluous(runtime.pod);
  ASSERT_EQ(garbage.containers.size(), 2u);
  EXPECT_EQ(garbage.containers[0].first, "a1");
  EXPECT_EQ(garbage.containers[1].first, "a0");
  EXPECT_EQ(garbage.sandboxes, std::vector<std::string>{"s0"}) << "s1 still has b";
}

TEST(RestartRules, MatchByExitCodeBeforeThePolicy) {
  object::DocumentPtr pod = PodWith(
      "{'restartPolicy': 'Never', 'containers': [{'name': 'a', 'image': 'a', 'restartPolicy': 'Never', 'restartPolicyRules': "
      "[{'action': 'Restart', 'exitCodes': {'operator': 'In', 'values': [42, 43]}}]}]}");
  core::PodSpec spec = core::Pod(pod->root()).spec();
  EXPECT_TRUE(RestartsAfterExit(spec.containers()[0], spec, 42));
  EXPECT_FALSE(RestartsAfterExit(spec.containers()[0], spec, 1));
  EXPECT_FALSE(RestartsAfterKill(spec.containers()[0], spec));
}

TEST(PodSpec, EphemeralContainersReadAsContainers) {
  std::span<const schema::Field> regular = core::Container::SchemaType().fields;
  std::span<const schema::Field> ephemeral = core::EphemeralContainer::SchemaType().fields;
  ASSERT_EQ(ephemeral.size(), regular.size() + 1);
  for (size_t i = 0; i < regular.size(); ++i) EXPECT_EQ(regular[i].name, ephemeral[i].name);
}

TEST(QosClass, FollowsRequestsAndLimits) {
  auto qos = [](const std::string& resources) {
    object::DocumentPtr pod = PodWith("{'containers': [{'name': 'a', 'resources': " + resources + "}]}");
    return std::string(QosClass(core::Pod(pod->root())));
  };
  EXPECT_EQ(qos("{}"), "BestEffort");
  EXPECT_EQ(qos("{'requests': {'cpu': '100m'}}"), "Burstable");
  EXPECT_EQ(qos("{'limits': {'cpu': '1', 'memory': '1Gi'}, 'requests': {'cpu': '1000m', 'memory': '1024Mi'}}"), "Guaranteed");
  EXPECT_EQ(qos("{'limits': {'cpu': '1', 'memory': '1Gi'}, 'requests': {'cpu': '500m', 'memory': '1Gi'}}"), "Burstable");
  EXPECT_EQ(qos("{'limits': {'memory': '1Gi'}, 'requests': {'memory': '1Gi'}}"), "Burstable");
}

TEST(PodResource, CountsSidecarsWithRegularAndInitAsTheLargest) {
  object::DocumentPtr pod = PodWith(
      "{'initContainers': [{'name': 's', 'restartPolicy': 'Always', 'resources': {'requests': {'cpu': '100m'}}},"
      "{'name': 'i', 'resources': {'requests': {'cpu': '2'}}}],"
      "'containers': [{'name': 'a', 'resources': {'requests': {'cpu': '500m'}}}], 'overhead': {'cpu': '50m'}}");
  EXPECT_EQ(PodResource(core::Pod(pod->root()).spec(), "cpu", false), 2150);
}

}  // namespace
}  // namespace homeostat::node
