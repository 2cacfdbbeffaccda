#include "node/pod_status.h"

#include "node/internal/test_pods.h"
#include "node/values.h"

namespace homeostat::node {
namespace {

class PodStatusTest : public testing::Test {
 protected:
  void Use(const std::string& spec, const std::string& more = "") {
    pod_ = PodWith(spec, more);
    runtime_ = std::make_unique<FakeRuntimePod>(pod_);
    input_.pod = core::Pod(pod_->root());
    input_.probes = &probes_;
    input_.host_ips = {"192.168.0.1"};
    input_.now = FromNanoseconds(1'700'000'000'000'000'000);
  }
  core::PodStatus Make() {
    input_.runtime = &runtime_->pod;
    status_ = MakePodStatus(input_);
    return core::PodStatus(status_->root());
  }
  std::string Condition(const std::string& type) {
    for (core::PodCondition c : core::PodStatus(status_->root()).conditions()) {
      if (c.type() != type) continue;
      std::string out(c.status());
      if (!c.reason().empty()) out += " " + std::string(c.reason());
      if (!c.message().empty()) out += ": " + std::string(c.message());
      return out;
    }
    return "none";
  }

  object::DocumentPtr pod_, status_, old_;
  std::unique_ptr<FakeRuntimePod> runtime_;
  ProbeBook probes_;
  StatusInput input_;
};

constexpr const char* kProbed =
    "{'restartPolicy': 'Always', 'containers': [{'name': 'a', 'image': 'a', 'readinessProbe': {'exec': {}}}]}";

TEST_F(PodStatusTest, ANewPodIsPending) {
  Use(kProbed);
  core::PodStatus status = Make();
  EXPECT_EQ(status.phase(), "Pending");
  EXPECT_EQ(status.start_time(), "2023-11-14T22:13:20Z");
  EXPECT_EQ(status.host_ip(), "192.168.0.1");
  EXPECT_EQ(status.qos_class(), "BestEffort");
  EXPECT_EQ(status.container_statuses()[0].state().waiting().reason(), "ContainerCreating");
  EXPECT_EQ(Condition("PodReadyToStartContainers"), "False");
  EXPECT_EQ(Condition("Initialized"), "True");
  EXPECT_EQ(Condition("Ready"), "False ContainersNotReady: containers with unready status: [a]");
  EXPECT_EQ(Condition("ContainersReady"), "False ContainersNotReady: containers with unready status: [a]");
  EXPECT_EQ(Condition("PodScheduled"), "True");
}

TEST_F(PodStatusTest, RunningIsReadyOnlyWithItsProbe) {
  Use(kProbed);
  runtime_->Sandbox().Running("a");
  core::PodStatus status = Make();
  EXPECT_EQ(status.phase(), "Running");
  EXPECT_EQ(status.pod_ip(), "10.244.0.2");
  EXPECT_TRUE(status.container_statuses()[0].started());
  EXPECT_FALSE(status.container_statuses()[0].ready());
  EXPECT_EQ(status.container_statuses()[0].container_id(), "containerd://a0");
  EXPECT_EQ(Condition("Ready"), "False ContainersNotReady: containers with unready status: [a]");
  probes_["a0"].readiness = ProbeOutcome::kSuccess;
  status = Make();
  EXPECT_TRUE(status.container_statuses()[0].ready());
  EXPECT_EQ(Condition("Ready"), "True");
  EXPECT_EQ(Condition("PodReadyToStartContainers"), "True");
}

TEST_F(PodStatusTest, ReadinessOutlivesARestartOfTheNodeAgent) {
  Use(kProbed);
  runtime_->Sandbox().Running("a");
  probes_["a0"].readiness = ProbeOutcome::kSuccess;
  Make();
  old_ = status_;
  input_.old = core::PodStatus(old_->root());
  probes_.clear();
  EXPECT_TRUE(Make().container_statuses()[0].ready());
  runtime_->Latest("a").status.state = cri::ContainerState::kExited;
  runtime_->Running("a");
  EXPECT_FALSE(Make().container_statuses()[0].ready()) << "another container must prove itself";
}

TEST_F(PodStatusTest, TransitionTimesChangeOnlyWithTheStatus) {
  Use(kProbed);
  runtime_->Sandbox().Running("a");
  Make();
  old_ = status_;
  input_.old = core::PodStatus(old_->root());
  input_.now += std::chrono::seconds(60);
  probes_["a0"].readiness = ProbeOutcome::kSuccess;
  for (core::PodCondition c : Make().conditions()) {
    bool changed = c.type() == "Ready" || c.type() == "ContainersReady";
    EXPECT_EQ(c.last_transition_time(), changed ? "2023-11-14T22:14:20Z" : "2023-11-14T22:13:20Z") << c.type();
  }
}

TEST_F(PodStatusTest, ACrashLoopWaitsAndShowsTheLastEnd) {
  Use(kProbed);
  runtime_->Sandbox().Exited("a", 1);
  EXPECT_EQ(Make().container_statuses()[0].state().terminated().exit_code(), 1) << "without a reason the end is shown";
  input_.failures["a"] = {"CrashLoopBackOff", "back-off 10s restarting failed container=a pod=web_default(u1)"};
  core::PodStatus status = Make();
  EXPECT_EQ(status.phase(), "Running");
  core::ContainerStatus a = status.container_statuses()[0];
  EXPECT_EQ(a.state().waiting().reason(), "CrashLoopBackOff");
  EXPECT_EQ(a.last_state().terminated().exit_code(), 1);
  EXPECT_EQ(a.last_state().terminated().reason(), "Error");
  EXPECT_FALSE(a.started());
}

TEST_F(PodStatusTest, ARestartedContainerRemembersTheOneBefore) {
  Use(kProbed);
  runtime_->Sandbox().Exited("a", 3).Running("a");
  core::ContainerStatus a = Make().container_statuses()[0];
  EXPECT_EQ(a.restart_count(), 1);
  EXPECT_TRUE(a.state().has_running());
  EXPECT_EQ(a.last_state().terminated().exit_code(), 3);
}

TEST_F(PodStatusTest, InitContainersHoldThePodPending) {
  Use("{'initContainers': [{'name': 'i', 'image': 'i'}, {'name': 'j', 'image': 'j'}], 'containers': [{'name': 'a', 'image': 'a'}]}");
  runtime_->Sandbox().Exited("i", 0).Running("j");
  core::PodStatus status = Make();
  EXPECT_EQ(status.phase(), "Pending");
  EXPECT_TRUE(status.init_container_statuses()[0].ready());
  EXPECT_EQ(status.container_statuses()[0].state().waiting().reason(), "PodInitializing");
  EXPECT_EQ(Condition("Initialized"), "False ContainersNotInitialized: containers with incomplete status: [j]");
}

TEST_F(PodStatusTest, AContainerThatIsAboutToStartWaitsAsBefore) {
  Use("{'initContainers': [{'name': 'i', 'image': 'i'}, {'name': 'j', 'image': 'j'}], 'containers': [{'name': 'a', 'image': 'a'}]}");
  runtime_->Sandbox().Exited("i", 0).Add("j", cri::ContainerState::kCreated, 0);
  EXPECT_EQ(Make().init_container_statuses()[1].state().waiting().reason(), "PodInitializing");
}

struct PhaseCase {
  const char* policy;
  int first, second;   // exit codes, -1: running
  bool terminal;
  const char* phase;
};

TEST_F(PodStatusTest, PhaseFollowsExitsAndPolicy) {
  for (const PhaseCase& c : {PhaseCase{"Always", 0, 0, false, "Running"}, PhaseCase{"Always", 0, 0, true, "Succeeded"},
                             PhaseCase{"Always", 1, 0, true, "Failed"}, PhaseCase{"Never", 0, 0, false, "Succeeded"},
                             PhaseCase{"Never", 0, 1, false, "Failed"}, PhaseCase{"Never", 0, -1, false, "Running"},
                             PhaseCase{"OnFailure", 0, 1, false, "Running"}, PhaseCase{"OnFailure", 0, 0, false, "Succeeded"},
                             PhaseCase{"OnFailure", 0, 1, true, "Failed"}}) {
    Use(std::string("{'restartPolicy': '") + c.policy +
        "', 'containers': [{'name': 'a', 'image': 'a'}, {'name': 'b', 'image': 'b'}]}");
    runtime_->Sandbox();
    for (auto [name, code] : {std::pair("a", c.first), std::pair("b", c.second)}) {
      code < 0 ? runtime_->Running(name) : runtime_->Exited(name, code);
    }
    input_.terminal = c.terminal;
    EXPECT_EQ(Make().phase(), c.phase) << c.policy << c.first << c.second << c.terminal;
  }
}

TEST_F(PodStatusTest, TerminalPhaseNeverChanges) {
  Use(kProbed, ", 'status': {'phase': 'Failed', 'reason': 'Evicted', 'message': 'why'}");
  runtime_->Sandbox().Running("a");
  core::PodStatus status = Make();
  EXPECT_EQ(status.phase(), "Failed");
  EXPECT_EQ(status.reason(), "Evicted");
  EXPECT_EQ(status.message(), "why");
  EXPECT_EQ(Condition("Ready"), "False PodFailed");
}

TEST_F(PodStatusTest, ReadinessGatesOfOthersCount) {
  Use("{'readinessGates': [{'conditionType': 'example.com/a'}], 'containers': [{'name': 'a', 'image': 'a'}]}");
  runtime_->Sandbox().Running("a");
  Make();
  EXPECT_EQ(Condition("ContainersReady"), "True");
  EXPECT_EQ(Condition("Ready"),
            "False ReadinessGatesNotReady: corresponding condition of pod readiness gate \"example.com/a\" does not exist.");
  Use("{'readinessGates': [{'conditionType': 'example.com/a'}], 'containers': [{'name': 'a', 'image': 'a'}]}",
      ", 'status': {'conditions': [{'type': 'example.com/a', 'status': 'True'}]}");
  runtime_->Sandbox().Running("a");
  Make();
  EXPECT_EQ(Condition("Ready"), "True");
  EXPECT_EQ(Condition("example.com/a"), "True") << "conditions of others stay";
}

TEST_F(PodStatusTest, AContainerThatVanishedIsShownAsLost) {
  Use("{'restartPolicy': 'Always', 'containers': [{'name': 'a', 'image': 'a'}]}");
  runtime_->Sandbox().Running("a");
  Make();
  old_ = status_;
  input_.old = core::PodStatus(old_->root());
  runtime_->pod.containers.clear();
  core::ContainerStatus a = Make().container_statuses()[0];
  EXPECT_EQ(a.state().waiting().reason(), "ContainerCreating");
  EXPECT_EQ(a.last_state().terminated().reason(), "ContainerStatusUnknown");
  EXPECT_EQ(a.last_state().terminated().exit_code(), 137);
  EXPECT_EQ(a.restart_count(), 1);
  EXPECT_EQ(core::PodStatus(status_->root()).phase(), "Running");
}

TEST_F(PodStatusTest, ARefusedPodSaysNothingOfContainers) {
  Use(kProbed);
  input_.terminal = input_.settled = input_.refused = true;
  input_.failure = StartFailure{"OutOfcpu", "Pod was rejected"};
  core::PodStatus status = Make();
  EXPECT_EQ(status.phase(), "Failed");
  EXPECT_EQ(status.reason(), "OutOfcpu");
  EXPECT_TRUE(status.container_statuses().empty());
}

TEST_F(PodStatusTest, APodThatEndsBeforeItRanHasFailed) {
  Use(kProbed);
  input_.terminal = input_.settled = true;
  EXPECT_EQ(Make().phase(), "Failed");
  input_.failure = StartFailure{"OutOfcpu", "Pod was rejected"};
  core::PodStatus status = Make();
  EXPECT_EQ(status.reason(), "OutOfcpu");
}

}  // namespace
}  // namespace homeostat::node
