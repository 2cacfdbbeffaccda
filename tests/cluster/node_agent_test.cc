// The node agent against the API server and a container runtime on simulated time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/await_for_tests.h"
#include "simulated_cri.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/informer.h"
#include "node/node_status.h"
#include "node/pod_manager.h"
#include "server/control_plane.h"

namespace homeostat {
namespace {

namespace core = api::core::v1;
using node::NodeContext;
using std::chrono::minutes;
using std::chrono::seconds;

// A node agent without its machine: what agent.cc puts together, over the fake runtime. Destroying it is a crash.
class TestNode {
 public:
  TestNode(Runtime& runtime, sdk::Client client, node::cri::Cri& cri, const std::string& folder, std::vector<node::PodEvent>* events)
      : tokens_(runtime, client), volumes_(runtime, tokens_, folder + "/pods"),
        references_(runtime, client, [this](const std::string& uid) { manager_->ReferenceChanged(uid); }),
        sink_([events](const object::DocumentPtr&, const node::PodEvent& event) { events->push_back(event); }),
        images_(runtime, cri, client, sink_),
        prober_(runtime, cri, sink_, [this](const std::string& uid) { manager_->Wake(uid); }),
        pods_(runtime, client, core::Pod::SchemaKind(), {.field_selector = "spec.nodeName=n1"}),
        context_{.runtime = runtime, .cri = cri, .client = client, .node_name = "n1", .owner = "test", .host_ips = {"192.168.0.1"},
                 .pods_folder = folder + "/pods", .logs_folder = folder + "/logs", .cgroups = {.systemd = true},
                 .allocatable = {{"cpu", 4000}, {"memory", int64_t{8} << 30}, {"pods", 110}}, .events = sink_,
                 .volumes = volumes_, .references = references_, .images = images_, .prober = prober_,
                 .services = [](core::Pod) { return std::vector<object::DocumentPtr>(); }} {
    manager_ = std::make_unique<node::PodManager>(context_, pods_, [] { return object::DocumentPtr(); });
    manager_->Start();
    pods_.Start();
  }
  size_t pods() const { return manager_->All().size(); }

 private:
  node::Tokens tokens_;
  node::Volumes volumes_;
  node::References references_;
  node::EventSink sink_;
  node::Images images_;
  node::Prober prober_;
  sdk::Informer pods_;
  NodeContext context_;
  std::unique_ptr<node::PodManager> manager_;
};

class NodeAgentTest : public testing::Test {
 protected:
  explicit NodeAgentTest(uint64_t seed = 1) { Prepare(seed); }
  ~NodeAgentTest() override {
    node_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Prepare(uint64_t seed) {
    node_.reset();
    client_.reset();
    control_plane_.reset();
    cri_.reset();
    runtime_ = SimulatedRuntime::Make(seed);
    folder_ = std::filesystem::temp_directory_path() / ("homeostat-node-agent-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    cri_ = std::make_unique<node::cri::SimulatedCri>(*runtime_);
    server::ControlPlaneOptions options;
    options.engine = store::MakeMemoryEngine(*runtime_);
    control_plane_ = std::make_unique<server::ControlPlane>(*runtime_, std::move(options));
    auto started = Await(control_plane_->Start());
    ASSERT_TRUE(started);
    sdk::ClientOptions client;
    client.runtime = runtime_.get();
    client_.emplace(control_plane_->TransportFor("admin", {"system:masters"}), client);
    Create<core::ServiceAccount>(R"({"metadata":{"name":"default","namespace":"default"}})");
    StartNode();
  }
  void StartNode() { node_ = std::make_unique<TestNode>(*runtime_, *client_, *cri_, folder_, &events_); }
  void CrashNode() { node_.reset(); }

  template <class T>
  T Await(Task<T> task) {
    return homeostat::Await(*runtime_, std::move(task), minutes(2));
  }
  template <class T>
  void Create(const std::string& json) {
    auto document = object::ParseJsonDocument(json).value();
    schema::ConformReport report;
    document->set_root(schema::Conform(document->arena(), document->root(), T::SchemaType(), report).value());
    ASSERT_TRUE(report.problems.empty()) << report.problems[0];
    sdk::Object<T> object(document);
    auto created = Await(client_->Create<T>(std::string(object->metadata().namespace_()), object));
    ASSERT_TRUE(created) << created.error().message();
  }
  void CreatePod(const std::string& name, const std::string& image, const std::string& spec = "", const std::string& container = "") {
    Create<core::Pod>(R"({"metadata":{"namespace":"default","name":")" + name + R"("},"spec":{"nodeName":"n1",)" +
                      R"("automountServiceAccountToken":false,)" + spec + R"("containers":[{"name":"c","image":"local/)" + image +
                      R"(:1","imagePullPolicy":"IfNotPresent")" + container + "}]}}");
  }
  void Delete(const std::string& name, std::optional<int64_t> grace = {}) {
    sdk::DeleteOptions options{.grace_period_seconds = grace};
    (void)Await(client_->Delete<core::Pod>("default", name, options));
  }
  sdk::Object<core::Pod> Get(const std::string& name) {
    auto pod = Await(client_->Get<core::Pod>("default", name));
    return pod ? *pod : sdk::Object<core::Pod>();
  }
  core::ContainerStatus Status(const std::string& name) {
    last_ = Get(name);
    return last_ ? last_->status().container_statuses()[0] : core::ContainerStatus();
  }
  bool Eventually(const std::function<bool()>& condition, Duration limit = minutes(1)) {
    MonotonicTime end = runtime_->Now() + limit;
    while (runtime_->Now() < end) {
      if (condition()) return true;
      runtime_->RunFor(std::chrono::milliseconds(100));
    }
    return condition();
  }
  bool IsReady(const std::string& name) { return Status(name).ready(); }
  std::string Waiting(const std::string& name) { return std::string(Status(name).state().waiting().reason()); }
  bool Told(std::string_view reason, std::string_view part) {
    return std::any_of(events_.begin(), events_.end(), [&](const node::PodEvent& event) {
      return event.reason == reason && event.message.find(part) != std::string::npos;
    });
  }

  std::unique_ptr<SimulatedRuntime> runtime_;
  std::string folder_;
  std::unique_ptr<node::cri::SimulatedCri> cri_;
  std::unique_ptr<server::ControlPlane> control_plane_;
  std::optional<sdk::Client> client_;
  std::vector<node::PodEvent> events_;
  std::unique_ptr<TestNode> node_;
  sdk::Object<core::Pod> last_;
};

TEST_F(NodeAgentTest, RunsAPodToItsEnd) {
  CreatePod("web", "run");
  ASSERT_TRUE(Eventually([&] { return IsReady("web"); }));
  core::PodStatus status = last_->status();
  EXPECT_EQ(status.phase(), "Running");
  EXPECT_TRUE(status.pod_ip().starts_with("10.0.0."));
  EXPECT_TRUE(Told("Started", "Container started"));
  Delete("web");
  ASSERT_TRUE(Eventually([&] { return !Get("web"); }));
  EXPECT_TRUE(Eventually([&] { return node_->pods() == 0; }));
  EXPECT_TRUE(cri_->containers.empty());
  EXPECT_TRUE(cri_->sandboxes.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/pods"));
}

TEST_F(NodeAgentTest, ContainersOutliveTheNodeAgent) {
  CreatePod("web", "run", "", R"(,"readinessProbe":{"exec":{"command":["healthy"]},"periodSeconds":1})");
  ASSERT_TRUE(Eventually([&] { return IsReady("web"); }));
  std::string id(Status("web").container_id());
  std::string version(last_->metadata().resource_version());
  CrashNode();
  StartNode();
  runtime_->RunFor(seconds(30));
  EXPECT_EQ(Status("web").container_id(), id);
  EXPECT_EQ(Status("web").restart_count(), 0);
  EXPECT_EQ(last_->metadata().resource_version(), version) << "nothing was written: it stayed ready throughout";
  EXPECT_EQ(cri_->Running(), 1u);
}

TEST_F(NodeAgentTest, PodsDeletedMeanwhileAreTakenAway) {
  CreatePod("web", "run");
  ASSERT_TRUE(Eventually([&] { return IsReady("web"); }));
  CrashNode();
  Delete("web", 0);
  EXPECT_FALSE(Get("web"));
  StartNode();
  EXPECT_TRUE(Eventually([&] { return cri_->containers.empty() && cri_->sandboxes.empty(); }));
}

TEST_F(NodeAgentTest, PodsOfOthersAreLeftAlone) {
  node::cri::SandboxConfig other;
  other.metadata = {"other", "other-uid", "default", 0};
  other.labels = {{"io.kubernetes.pod.uid", "other-uid"}};
  ASSERT_TRUE(Await(cri_->RunPodSandbox(other)));
  runtime_->RunFor(minutes(1));
  EXPECT_EQ(cri_->sandboxes.size(), 1u);
}

TEST_F(NodeAgentTest, ADeletedPodDoesNotWaitForItsPull) {
  CreatePod("web", "slow");
  ASSERT_TRUE(Eventually([&] { return Told("Pulling", "Pulling image \"local/slow:1\""); }));
  Delete("web");
  EXPECT_TRUE(Eventually([&] { return !Get("web"); }, seconds(10)));
  EXPECT_EQ(cri_->pulls_finished, 0);
}

TEST_F(NodeAgentTest, BacksOffAndShowsIt) {
  CreatePod("crash", "exit-3");
  ASSERT_TRUE(Eventually([&] { return Waiting("crash") == "CrashLoopBackOff"; }));
  EXPECT_EQ(Status("crash").last_state().terminated().exit_code(), 3);
  EXPECT_EQ(last_->status().phase(), "Running");
  runtime_->RunFor(minutes(10));
  int32_t restarts = Status("crash").restart_count();
  EXPECT_GE(restarts, 5);
  EXPECT_LE(restarts, 8) << "10, 20, 40, 80, 160, 300 seconds";
  EXPECT_EQ(cri_->containers.size(), 2u) << "older ones are removed";
}

TEST_F(NodeAgentTest, AFailedPullBacksOff) {
  CreatePod("web", "missing");
  ASSERT_TRUE(Eventually([&] { return Waiting("web") == "ErrImagePull"; }, seconds(5)));
  ASSERT_TRUE(Eventually([&] { return Waiting("web") == "ImagePullBackOff"; }, seconds(15)));
  EXPECT_EQ(last_->status().phase(), "Pending");
}

TEST_F(NodeAgentTest, AnUnhealthyContainerIsReplaced) {
  CreatePod("web", "run", R"("terminationGracePeriodSeconds":1,)",
            R"(,"livenessProbe":{"exec":{"command":["healthy"]},"periodSeconds":1,"failureThreshold":2})");
  ASSERT_TRUE(Eventually([&] { return IsReady("web"); }));
  cri_->unhealthy.insert(cri_->Find(std::string(last_->metadata().uid()), "c")->status.id);
  EXPECT_TRUE(Eventually([&] { return Status("web").restart_count() == 1 && IsReady("web"); }));
  EXPECT_TRUE(Told("Killing", "Container c failed liveness probe, will be restarted"));
}

TEST_F(NodeAgentTest, AStartupProbeHoldsReadinessBack) {
  CreatePod("web", "run", "",
            R"(,"startupProbe":{"exec":{"command":["healthy"]},"periodSeconds":5,"initialDelaySeconds":10},)"
            R"("readinessProbe":{"exec":{"command":["healthy"]},"periodSeconds":1})");
  ASSERT_TRUE(Eventually([&] { return Status("web").state().has_running(); }));
  runtime_->RunFor(seconds(8));
  EXPECT_FALSE(Status("web").started());
  EXPECT_TRUE(Eventually([&] { return IsReady("web"); }, seconds(20)));
  EXPECT_TRUE(Status("web").started());
}

TEST_F(NodeAgentTest, GraceIsKeptAndShortened) {
  CreatePod("slow", "stubborn", R"("terminationGracePeriodSeconds":100,)");
  ASSERT_TRUE(Eventually([&] { return IsReady("slow"); }));
  Delete("slow");
  runtime_->RunFor(seconds(20));
  EXPECT_EQ(cri_->Running(), 1u) << "it has its hundred seconds";
  Delete("slow", 5);
  EXPECT_TRUE(Eventually([&] { return !Get("slow"); }, seconds(15)));
}

TEST_F(NodeAgentTest, ACompletedPodKeepsItsContainerUntilItIsDeleted) {
  CreatePod("once", "exit-0", R"("restartPolicy":"Never",)");
  ASSERT_TRUE(Eventually([&] {
    last_ = Get("once");
    return last_->status().phase() == "Succeeded";
  }));
  runtime_->RunFor(minutes(2));
  EXPECT_EQ(cri_->containers.size(), 1u) << "for its logs";
  EXPECT_EQ(Status("once").state().terminated().reason(), "Completed");
  Delete("once");
  EXPECT_TRUE(Eventually([&] { return !Get("once") && cri_->containers.empty(); }));
}

TEST_F(NodeAgentTest, ALostSandboxIsReplaced) {
  CreatePod("web", "run");
  ASSERT_TRUE(Eventually([&] { return IsReady("web"); }));
  // As after a reboot.
  for (auto& [id, container] : cri_->containers) cri_->End(id, 137);
  for (auto& [id, sandbox] : cri_->sandboxes) sandbox.state = node::cri::SandboxState::kNotReady;
  EXPECT_TRUE(Eventually([&] { return Status("web").restart_count() == 1 && IsReady("web"); }));
  EXPECT_TRUE(Told("SandboxChanged", "Pod sandbox changed"));
}

TEST_F(NodeAgentTest, InitContainersThenSidecarsThenTheRest) {
  CreatePod("web", "run",
            R"("initContainers":[{"name":"i","image":"local/exit-0:1"},{"name":"s","image":"local/run:1","restartPolicy":"Always"}],)");
  ASSERT_TRUE(Eventually([&] { return IsReady("web"); }));
  ASSERT_EQ(last_->status().init_container_statuses().size(), 2u);
  EXPECT_EQ(last_->status().init_container_statuses()[0].state().terminated().reason(), "Completed");
  EXPECT_TRUE(last_->status().init_container_statuses()[1].started());
  Delete("web");
  EXPECT_TRUE(Eventually([&] { return !Get("web"); }));
}

TEST_F(NodeAgentTest, APodThatDoesNotFitIsRefused) {
  CreatePod("big", "run", "", R"(,"resources":{"requests":{"cpu":"5"}})");
  ASSERT_TRUE(Eventually([&] {
    last_ = Get("big");
    return last_->status().phase() == "Failed";
  }));
  EXPECT_EQ(last_->status().reason(), "OutOfcpu");
  CrashNode();
  std::string version(Get("big")->metadata().resource_version());
  StartNode();
  runtime_->RunFor(seconds(30));
  EXPECT_EQ(Get("big")->metadata().resource_version(), version) << "the next node agent leaves it as it is";
  EXPECT_TRUE(cri_->sandboxes.empty());
}

// Pods come and go, containers die, the node agent crashes at any moment: what must never happen doesn't, and in the end all
// is as wanted.
class NodeAgentChaos : public NodeAgentTest, public testing::WithParamInterface<uint64_t> {
 protected:
  NodeAgentChaos() : NodeAgentTest(GetParam()) {}
  uint64_t Draw(uint64_t below) { return runtime_->Random() % below; }
  std::string AnyPod() { return "p" + std::to_string(Draw(6)); }

  void Disturb() {
    switch (Draw(6)) {
      case 0:
      case 1: {
        static constexpr const char* kImages[] = {"run", "run", "exit-1", "stubborn", "slow", "missing"};
        std::string name = AnyPod();
        if (!Get(name)) CreatePod(name, kImages[Draw(6)], R"("terminationGracePeriodSeconds":3,)");
        break;
      }
      case 2: Delete(AnyPod()); break;
      case 3: Delete(AnyPod(), 0); break;
      case 4:
        if (!cri_->containers.empty()) cri_->End(std::next(cri_->containers.begin(), static_cast<int64_t>(Draw(cri_->containers.size())))->first, 1);
        break;
      default:
        CrashNode();
        runtime_->RunFor(std::chrono::milliseconds(Draw(3000)));
        StartNode();
    }
  }
};

TEST_P(NodeAgentChaos, Converges) {
  for (int i = 0; i < 60; ++i) {
    Disturb();
    runtime_->RunFor(std::chrono::milliseconds(Draw(2000)));
  }
  for (int i = 0; i < 6; ++i) {
    std::string name = "p" + std::to_string(i);
    Delete(name, 0);
    CreatePod(name, "run");
  }
  EXPECT_TRUE(Eventually([&] {
    for (int i = 0; i < 6; ++i) {
      if (!IsReady("p" + std::to_string(i))) return false;
    }
    return cri_->Running() == 6 && node_->pods() == 6;
  }, minutes(5))) << cri_->Running() << " run, " << node_->pods() << " pods";
  EXPECT_TRUE(cri_->faults.empty()) << cri_->faults[0];
  for (int i = 0; i < 6; ++i) Delete("p" + std::to_string(i));
  EXPECT_TRUE(Eventually([&] { return cri_->sandboxes.empty() && cri_->containers.empty() && node_->pods() == 0; }, minutes(2)));
}

// HOMEOSTAT_SEEDS tries more of them.
uint64_t Seeds() {
  const char* text = std::getenv("HOMEOSTAT_SEEDS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 10;
}

INSTANTIATE_TEST_SUITE_P(Seeds, NodeAgentChaos, testing::Range<uint64_t>(1, Seeds() + 1),
                         [](const auto& info) { return "Seed" + std::to_string(info.param); });

}  // namespace
}  // namespace homeostat
