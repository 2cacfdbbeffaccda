// Pods from their creation to their end: scheduler and simulated nodes against the API server.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/await_for_tests.h"
#include "homeostat/api/coordination/v1.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/informer.h"
#include "node/sim/sim_nodes.h"
#include "scheduler/scheduler.h"
#include "server/control_plane.h"

namespace homeostat {
namespace {

using api::core::v1::Event;
using api::core::v1::Node;
using api::core::v1::Pod;
using std::chrono::minutes;
using std::chrono::seconds;

template <class T>
sdk::Object<T> FromJson(const std::string& json) {
  auto document = object::ParseJsonDocument(json).value();
  schema::ConformReport report;
  document->set_root(schema::Conform(document->arena(), document->root(), T::SchemaType(), report).value());
  EXPECT_TRUE(report.problems.empty()) << report.problems.front();
  return sdk::Object<T>(document);
}

class SchedulingTest : public testing::Test {
 protected:
  void SetUp() override {
    server::ControlPlaneOptions options;
    options.engine = store::MakeMemoryEngine(*runtime_);
    options.admission_plugins.disable = {"TaintNodesByCondition"};  // nobody here takes the taint away again
    control_plane_ = std::make_unique<server::ControlPlane>(*runtime_, std::move(options));
    ASSERT_TRUE(Await(control_plane_->Start()));
    client_.emplace(ClientFor("admin", {"system:masters"}));
    Create<api::core::v1::ServiceAccount>(R"({"metadata":{"name":"default","namespace":"default"}})");
  }

  sdk::Client ClientFor(std::string user, std::vector<std::string> groups) {
    sdk::ClientOptions options;
    options.runtime = runtime_.get();
    return sdk::Client(control_plane_->TransportFor(std::move(user), std::move(groups)), options);
  }

  void Start(node::sim::SimNodesOptions nodes) {
    informers_ = std::make_unique<sdk::InformerFactory>(*runtime_, *client_);
    scheduler_ = std::make_unique<scheduler::Scheduler>(*runtime_, ClientFor("system:kube-scheduler", {}), *informers_);
    auto client_for = [this](const std::string& node) { return ClientFor("system:node:" + node, {"system:nodes"}); };
    sim_nodes_ = std::make_unique<node::sim::SimNodes>(*runtime_, client_for, *informers_, nodes);
    scheduler_->Start();
    sim_nodes_->Start();
    informers_->Start();
    ASSERT_TRUE(runtime_->RunUntil([&] { return sim_nodes_->registered() == nodes.count; }, minutes(1)));
  }

  template <class T>
  T Await(Task<T> task) {
    return homeostat::Await(*runtime_, std::move(task), minutes(2));
  }

  template <class T>
  void Create(const std::string& json) {
    sdk::Object<T> object = FromJson<T>(json);
    auto created = Await(client_->Create<T>(std::string(object->metadata().namespace_()), object));
    ASSERT_TRUE(created) << created.error().message();
  }

  void CreatePod(const std::string& name, const std::string& spec = "", const std::string& metadata = "") {
    Create<Pod>(R"({"metadata":{"namespace":"default","name":")" + name + "\"" + metadata + R"(},"spec":{)" + spec +
                R"("containers":[{"name":"c","image":"nginx","resources":{"requests":{"cpu":"500m"}}}]}})");
  }

  sdk::Object<Pod> GetPod(const std::string& name) {
    auto pod = Await(client_->Get<Pod>("default", name));
    return pod ? *pod : sdk::Object<Pod>();
  }

  // Looks again every tenth of a second.
  bool Eventually(const std::function<bool()>& condition, Duration limit) {
    MonotonicTime end = runtime_->Now() + limit;
    while (runtime_->Now() < end) {
      if (condition()) return true;
      runtime_->RunFor(std::chrono::milliseconds(100));
    }
    return condition();
  }

  bool HasPhase(const std::string& name, std::string_view phase) {
    sdk::Object<Pod> pod = GetPod(name);
    return pod && pod->status().phase() == phase;
  }

  std::string ConditionMessage(const std::string& name) {
    sdk::Object<Pod> pod = GetPod(name);
    if (!pod) return "gone";
    for (auto condition : pod->status().conditions()) {
      if (condition.type() == "PodScheduled")
        return std::string(condition.reason()) + ": " + std::string(condition.message());
    }
    return "";
  }

  std::vector<std::string> Events(const std::string& reason) {
    std::vector<std::string> messages;
    auto events = Await(client_->List<Event>("default"));
    EXPECT_TRUE(events);
    for (const auto& event : *events) {
      if (event->reason() == reason) messages.emplace_back(event->message());
    }
    return messages;
  }

  std::unique_ptr<SimulatedRuntime> runtime_ = SimulatedRuntime::Make(11);
  std::unique_ptr<server::ControlPlane> control_plane_;
  std::optional<sdk::Client> client_;
  std::unique_ptr<sdk::InformerFactory> informers_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<node::sim::SimNodes> sim_nodes_;
};

node::sim::SimNodesOptions Nodes(size_t count, std::string cpu = "4") {
  node::sim::SimNodesOptions options;
  options.count = count;
  options.cpu = std::move(cpu);
  return options;
}

TEST_F(SchedulingTest, PodsRunSpreadOverTheNodes) {
  Start(Nodes(3));
  for (int i = 0; i < 12; ++i) CreatePod("web-" + std::to_string(i));
  std::map<std::string, int> by_node;
  std::map<std::string, int> addresses;
  for (int i = 0; i < 12; ++i) {
    std::string name = "web-" + std::to_string(i);
    ASSERT_TRUE(Eventually([&] { return HasPhase(name, "Running"); }, minutes(1))) << ConditionMessage(name);
    sdk::Object<Pod> pod = GetPod(name);
    ++by_node[std::string(pod->spec().node_name())];
    ++addresses[std::string(pod->status().pod_ip())];
  }
  EXPECT_EQ(by_node.size(), 3u);
  for (const auto& [node, count] : by_node) EXPECT_EQ(count, 4) << node;
  EXPECT_EQ(addresses.size(), 12u);
  runtime_->RunFor(seconds(5));
  EXPECT_EQ(Events("Scheduled").size(), 12u);
  EXPECT_EQ(Events("Started").size(), 12u);
}

TEST_F(SchedulingTest, LeasesAreRenewed) {
  Start(Nodes(2));
  auto renewed = [&] {
    auto lease = Await(client_->Get<api::coordination::v1::Lease>("kube-node-lease", "sim-node-1"));
    EXPECT_TRUE(lease) << lease.error().message();
    return lease ? std::string((*lease)->spec().renew_time()) : std::string();
  };
  std::string first = renewed();
  EXPECT_NE(first, "");
  runtime_->RunFor(seconds(25));
  EXPECT_GT(renewed(), first);
}

TEST_F(SchedulingTest, WhatFitsNowhereSaysSoAndRunsOnceItFits) {
  Start(Nodes(2, "400m"));
  CreatePod("big");
  ASSERT_TRUE(Eventually([&] { return ConditionMessage("big").starts_with("Unschedulable"); }, seconds(30)));
  EXPECT_EQ(ConditionMessage("big"),
            "Unschedulable: 0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
            "2 Preemption is not helpful for scheduling.");
  runtime_->RunFor(seconds(2));
  std::vector<std::string> failed = Events("FailedScheduling");
  ASSERT_FALSE(failed.empty());
  EXPECT_EQ(failed.front(), ConditionMessage("big").substr(std::string("Unschedulable: ").size()));
  Create<Node>(
      R"({"metadata":{"name":"sim-node-99","labels":{}},"status":{"allocatable":{"cpu":"4","memory":"1Gi","pods":"10"}}})");
  ASSERT_TRUE(Eventually([&] { return GetPod("big")->spec().node_name() == "sim-node-99"; }, seconds(30)))
      << ConditionMessage("big");
}

TEST_F(SchedulingTest, GatesHoldAPod) {
  Start(Nodes(1));
  CreatePod("gated", R"("schedulingGates":[{"name":"example.com/wait"}],)");
  runtime_->RunFor(seconds(20));
  EXPECT_EQ(GetPod("gated")->spec().node_name(), "");
  sdk::PatchOptions options;
  auto patched = Await(client_->Patch(Pod::SchemaKind(), "default", "gated", sdk::PatchType::kMerge,
                                      Bytes(R"({"spec":{"schedulingGates":[]}})"), "", options));
  ASSERT_TRUE(patched) << patched.error().message();
  EXPECT_TRUE(Eventually([&] { return HasPhase("gated", "Running"); }, seconds(30)));
}

TEST_F(SchedulingTest, OtherSchedulersPodsAreLeftAlone) {
  Start(Nodes(1));
  CreatePod("theirs", R"("schedulerName":"other",)");
  runtime_->RunFor(seconds(20));
  EXPECT_EQ(GetPod("theirs")->spec().node_name(), "");
  EXPECT_EQ(ConditionMessage("theirs"), "");
}

TEST_F(SchedulingTest, PodsEndByThemselvesOrWhenDeleted) {
  Start(Nodes(1));
  CreatePod("job", R"("restartPolicy":"Never",)", R"(,"annotations":{"sim.homeostat.dev/exit-after":"5s"})");
  CreatePod("bad", R"("restartPolicy":"Never",)", R"(,"annotations":{"sim.homeostat.dev/exit-after":"5s,7"})");
  CreatePod("again", R"("restartPolicy":"OnFailure",)", R"(,"annotations":{"sim.homeostat.dev/exit-after":"5s,7"})");
  CreatePod("server");
  EXPECT_TRUE(Eventually([&] { return HasPhase("job", "Succeeded"); }, seconds(30)));
  EXPECT_TRUE(Eventually([&] { return HasPhase("bad", "Failed"); }, seconds(30)));
  EXPECT_EQ(GetPod("bad")->status().container_statuses()[0].state().terminated().exit_code(), 7);
  EXPECT_TRUE(
      Eventually([&] { return GetPod("again")->status().container_statuses()[0].restart_count() >= 2; }, minutes(2)));
  ASSERT_TRUE(HasPhase("server", "Running"));
  auto removed = Await(client_->Delete<Pod>("default", "server"));
  ASSERT_TRUE(removed) << removed.error().message();
  EXPECT_TRUE(Eventually([&] { return !GetPod("server"); }, seconds(5)));
}

TEST_F(SchedulingTest, ImportantPodsTakeThePlaceOfOthers) {
  Start(Nodes(1, "1"));
  CreatePod("low-1");
  CreatePod("low-2");
  ASSERT_TRUE(Eventually([&] { return HasPhase("low-1", "Running") && HasPhase("low-2", "Running"); }, seconds(30)));
  CreatePod("high", R"("priorityClassName":"system-cluster-critical","priority":2000000000,)");
  ASSERT_TRUE(Eventually([&] { return HasPhase("high", "Running"); }, minutes(1))) << ConditionMessage("high");
  EXPECT_NE(static_cast<bool>(GetPod("low-1")), static_cast<bool>(GetPod("low-2")));
  runtime_->RunFor(seconds(2));
  EXPECT_EQ(Events("Preempted").size(), 1u);
}

}  // namespace
}  // namespace homeostat
