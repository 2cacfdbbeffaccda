#include "node/node_status.h"

#include "node/admit.h"
#include "node/internal/test_pods.h"
#include "node/values.h"

namespace homeostat::node {
namespace {

NodeDescription Description() {
  NodeDescription d;
  d.name = "n1";
  d.machine = {.cpus = 4, .memory_bytes = int64_t{8} << 30, .disk_bytes = int64_t{100} << 30, .hostname = "host",
               .architecture = "amd64", .addresses = {"192.168.0.1"}};
  d.kubelet_version = "v1.36.3+homeostat.1";
  d.runtime_version = "containerd://1.6.20";
  return d;
}

constexpr WallTime kNow{std::chrono::seconds(1'700'000'000)};

TEST(MakeNode, HasWhatSchedulersAndPeopleNeed) {
  NodeDescription d = Description();
  d.pod_cidrs = {"10.244.0.0/24"};
  object::DocumentPtr document = MakeNode(d, {}, kNow);
  core::Node node(document->root());
  EXPECT_EQ(node.metadata().labels().Get("kubernetes.io/hostname"), "host");
  EXPECT_EQ(node.spec().pod_cidr(), "10.244.0.0/24");
  EXPECT_EQ(node.status().capacity().Get("cpu"), "4");
  EXPECT_EQ(node.status().capacity().Get("memory"), "8388608Ki");
  EXPECT_EQ(node.status().allocatable().Get("memory"), "8286208Ki");
  EXPECT_EQ(node.status().allocatable().Get("pods"), "110");
  ASSERT_EQ(node.status().conditions().size(), 4u);
  EXPECT_EQ(node.status().conditions()[3].type(), "Ready");
  EXPECT_EQ(node.status().conditions()[3].reason(), "KubeletReady");
  EXPECT_EQ(node.status().addresses()[0].address(), "192.168.0.1");
}

TEST(UpdateNode, KeepsWhatIsOthersAndTransitionTimes) {
  object::DocumentPtr first = MakeNode(Description(), {}, kNow);
  object::DocumentPtr foreign = FromJson<core::Node>(
      "{'metadata': {'name': 'n1'}, 'status': {'conditions': [{'type': 'NetworkUnavailable', 'status': 'False'},"
      "{'type': 'Ready', 'status': 'False', 'lastTransitionTime': '2020-01-01T00:00:00Z'}]}}");
  object::DocumentPtr next = UpdateNode(foreign, Description(), {}, {}, kNow);
  core::Node node(next->root());
  EXPECT_EQ(node.status().conditions()[0].type(), "NetworkUnavailable");
  object::DocumentPtr later = UpdateNode(next, Description(), {}, {}, kNow + std::chrono::seconds(60));
  EXPECT_FALSE(NodeChanged(node, core::Node(later->root()))) << "a heartbeat is no change";
  EXPECT_EQ(core::Node(later->root()).status().conditions()[4].last_transition_time(), "2023-11-14T22:13:20Z");
  object::DocumentPtr bad = UpdateNode(next, Description(), {false, "container runtime is down"}, {}, kNow);
  EXPECT_TRUE(NodeChanged(node, core::Node(bad->root())));
}

TEST(RuntimeTrouble, NamesTheNetwork) {
  EXPECT_EQ(RuntimeTrouble({{"RuntimeReady", "", "", true}, {"NetworkReady", "", "", true}}), "");
  EXPECT_EQ(RuntimeTrouble({{"RuntimeReady", "", "", true}, {"NetworkReady", "NetworkPluginNotReady", "no config", false}}),
            "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no config");
}

TEST(RefuseToAdmit, CountsWhatIsThere) {
  NodeDescription d = Description();
  object::DocumentPtr node = MakeNode(d, {}, kNow);
  object::DocumentPtr big = PodWith("{'containers': [{'name': 'a', 'resources': {'requests': {'cpu': '3'}}, 'ports': [{'containerPort': 80, 'hostPort': 80}]}]}");
  object::DocumentPtr small = PodWith("{'containers': [{'name': 'a', 'resources': {'requests': {'cpu': '500m'}}}]}");
  object::DocumentPtr elsewhere = PodWith("{'nodeSelector': {'disk': 'ssd'}, 'containers': [{'name': 'a'}]}");
  AdmitInput input{.pod = core::Pod(big->root()), .node = core::Node(node->root()), .allocatable = NodeAllocatable(d)};
  EXPECT_EQ(RefuseToAdmit(input), std::nullopt);
  input.others = {core::Pod(big->root())};
  EXPECT_EQ(RefuseToAdmit(input),
            (StartFailure{"OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 3000, capacity: 4000"}));
  input.pod = core::Pod(small->root());
  EXPECT_EQ(RefuseToAdmit(input), std::nullopt);
  input.allocatable["pods"] = 1;
  EXPECT_EQ(RefuseToAdmit(input)->reason, "OutOfpods");
  input.allocatable["pods"] = 110;
  input.pod = core::Pod(elsewhere->root());
  EXPECT_EQ(RefuseToAdmit(input)->reason, "NodeAffinity");
  object::DocumentPtr port = PodWith("{'containers': [{'name': 'a', 'ports': [{'containerPort': 80, 'hostPort': 80}]}]}");
  input.pod = core::Pod(port->root());
  EXPECT_EQ(RefuseToAdmit(input)->reason, "NodePorts");
}

}  // namespace
}  // namespace homeostat::node
