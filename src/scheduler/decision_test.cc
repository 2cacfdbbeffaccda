#include "scheduler/decision.h"

#include <chrono>
#include <random>

#include "scheduler/internal/objects_for_tests.h"

namespace homeostat::scheduler {
namespace {

constexpr std::string_view kPlain = R"("containers":[{"name":"c"}])";

std::string Priority(int priority, std::string_view cpu) {
  return R"("priority":)" + std::to_string(priority) + "," + Requests(cpu, "1Mi");
}

class DecisionTest : public testing::Test {
 protected:
  Decision Decide(const PodInfoPtr& pod) { return decider_.Decide(*pod); }
  std::string Message(const PodInfoPtr& pod, const std::vector<DisruptionBudget>& budgets = {}) {
    Decision decision = Decide(pod);
    if (!decision.failure) return "on " + decision.node;
    auto preemption = FindPreemption(table_, volumes_, pod, budgets, *decision.failure);
    if (!preemption) return decision.failure->Message();
    std::string text = "preempts on " + preemption->node + ":";
    for (const PodInfoPtr& victim : preemption->victims) text += " " + victim->name;
    return text;
  }

  NodeTable table_;
  VolumeTable volumes_;
  std::optional<object::LabelSelector> group_;
  Decider decider_{table_, volumes_, [this](const PodInfo&) { return group_; }, 7};
};

TEST_F(DecisionTest, SaysWhyNoNodeWillDo) {
  PodInfoPtr pod = MakePod("p", Requests("3", "1Gi"));
  EXPECT_EQ(Message(pod), "no nodes available to schedule pods");
  table_.SetNode(MakeNode("a", "", "", "2"));
  table_.SetNode(MakeNode("b", "", R"("taints":[{"key":"k","effect":"NoSchedule"}])"));
  table_.SetNode(MakeNode("c", "", R"("taints":[{"key":"k","effect":"NoSchedule"}])"));
  EXPECT_EQ(Message(pod),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). preemption: 0/3 nodes "
            "are available: "
            "3 Preemption is not helpful for scheduling.");
  table_.SetNode(MakeNode("a"));
  table_.AddPod(MakePod("old", Requests("2", "1Gi")), "a");
  EXPECT_EQ(Message(pod),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). preemption: 0/3 nodes "
            "are available: "
            "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.");
  PodInfoPtr claiming = MakePod(
      "q", R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}],"containers":[{"name":"c"}])");
  EXPECT_EQ(Message(claiming),
            "0/3 nodes are available: persistentvolumeclaim \"data\" not found. preemption: 0/3 nodes are available: "
            "3 Preemption is not helpful for scheduling.");
  EXPECT_EQ(Message(MakePod("r", R"("preemptionPolicy":"Never",)" + Requests("3", "1Gi"))),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). "
            "preemption: not eligible due to preemptionPolicy=Never.");
}

TEST_F(DecisionTest, PodsPinnedToANodeLookAtNoOther) {
  for (std::string_view name : {"a", "b", "c"}) table_.SetNode(MakeNode(name, "", "", "1"));
  auto pinned = [](std::string cpu) {
    return MakePod(
        "p", R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
        {"matchFields":[{"key":"metadata.name","operator":"In","values":["b"]}]}]}}},)" +
                 Requests(cpu, "1Mi"));
  };
  EXPECT_EQ(Message(pinned("1")), "on b");
  EXPECT_EQ(
      Message(pinned("2")),
      "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. preemption: "
      "0/3 nodes are available: 3 Preemption is not helpful for scheduling.");
}

TEST_F(DecisionTest, SpreadsEqualReplicasEvenly) {
  for (int i = 0; i < 5; ++i)
    table_.SetNode(
        MakeNode("n" + std::to_string(i), R"("topology.kubernetes.io/zone":"z)" + std::to_string(i % 2) + "\""));
  group_ = object::LabelSelector::Parse("app=web").value();
  std::map<std::string, int> placed;
  for (int i = 0; i < 50; ++i) {
    PodInfoPtr pod = MakePod("p" + std::to_string(i), kPlain, R"("labels":{"app":"web"})");
    Decision decision = Decide(pod);
    ASSERT_FALSE(decision.failure);
    ++placed[decision.node];
    table_.AddPod(pod, decision.node);
  }
  for (const auto& [node, count] : placed) EXPECT_NEAR(count, 10, 3) << node;
  EXPECT_EQ(placed.size(), 5u);
}

TEST_F(DecisionTest, PrefersWhatItIsAskedTo) {
  table_.SetNode(MakeNode("a", R"("disk":"hdd","zone":"1")"));
  table_.SetNode(MakeNode("b", R"("disk":"ssd","zone":"2")"));
  table_.SetNode(MakeNode("c", R"("disk":"hdd","zone":"3")", R"("taints":[{"key":"k","effect":"PreferNoSchedule"}])"));
  auto prefer_ssd =
      MakePod("p", R"("affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,
      "preference":{"matchExpressions":[{"key":"disk","operator":"In","values":["ssd"]}]}}]}},"containers":[{"name":"c"}])");
  EXPECT_EQ(Message(prefer_ssd), "on b");
  table_.AddPod(MakePod("friend", kPlain, R"("labels":{"app":"db"})"), "a");
  auto near = [](std::string kind) {
    return MakePod("p", R"("affinity":{")" + kind +
                            R"(":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":10,"podAffinityTerm":{
        "topologyKey":"zone","labelSelector":{"matchLabels":{"app":"db"}}}}]}},"containers":[{"name":"c"}])");
  };
  EXPECT_EQ(Message(near("podAffinity")), "on a");
  EXPECT_EQ(Message(near("podAntiAffinity")), "on b");
}

TEST_F(DecisionTest, PreemptsTheLeastImportantPodsThatMakeRoom) {
  table_.SetNode(MakeNode("a", "", "", "4"));
  table_.SetNode(MakeNode("b", "", "", "4"));
  table_.AddPod(MakePod("low", Priority(1, "2")), "a");
  table_.AddPod(MakePod("lower", Priority(0, "2")), "a");
  table_.AddPod(MakePod("middle", Priority(5, "4")), "b");
  EXPECT_EQ(Message(MakePod("p", Priority(10, "2"))), "preempts on a: lower");
  EXPECT_EQ(Message(MakePod("p", Priority(10, "4"))), "preempts on a: low lower");
  EXPECT_EQ(Message(MakePod("p", Priority(1, "4"))),
            "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
            "1 Insufficient cpu, 1 No preemption victims found for incoming pod.");
  // Trying left everything where it was.
  EXPECT_EQ(table_.NodeOf("uid-low"), "a");
  EXPECT_EQ(table_.slots()[table_.Find("a")].requested.milli_cpu, 4000);
  // A budget that allows nothing makes the other node the better one.
  std::vector<DisruptionBudget> budgets{{"default", object::LabelSelector::Parse("app=guarded").value(), 0}};
  table_.AddPod(MakePod("lower", Priority(0, "2"), R"("labels":{"app":"guarded"})"), "a");
  EXPECT_EQ(Message(MakePod("p", Priority(10, "4")), budgets), "preempts on b: middle");
}

TEST_F(DecisionTest, RoomMadeForOnePodIsNotTakenByAnother) {
  table_.SetNode(MakeNode("a", "", "", "4"));
  PodInfoPtr waiting = MakePod("waiting", Priority(10, "3"), "", R"("nominatedNodeName":"a")");
  table_.Nominate(waiting, "a");
  EXPECT_EQ(Message(MakePod("p", Priority(0, "2"))).substr(0, 42), "0/1 nodes are available: 1 Insufficient cp");
  EXPECT_EQ(Message(MakePod("p", Priority(0, "1"))), "on a");
  EXPECT_EQ(Message(MakePod("p", Priority(20, "2"))), "on a");
  EXPECT_EQ(Message(waiting), "on a");
  table_.Withdraw("uid-waiting");
  EXPECT_EQ(Message(MakePod("p", Priority(0, "2"))), "on a");
}

// Whatever comes and goes, no node ever holds more than it has.
TEST_F(DecisionTest, NeverOvercommits) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    std::mt19937_64 random(seed);
    NodeTable table;
    VolumeTable volumes;
    Decider decider(table, volumes, {}, seed);
    for (int i = 0; i < 12; ++i) {
      table.SetNode(MakeNode("n" + std::to_string(i), "", "", std::to_string(1 + random() % 4),
                             std::to_string(1 + random() % 8) + "Gi", static_cast<int>(3 + random() % 10)));
    }
    std::vector<PodInfoPtr> placed;
    size_t refused = 0;
    for (int step = 0; step < 600; ++step) {
      if (!placed.empty() && random() % 3 == 0) {
        size_t index = random() % placed.size();
        table.RemovePod(placed[index]->uid);
        placed.erase(placed.begin() + static_cast<ptrdiff_t>(index));
      } else {
        PodInfoPtr pod = MakePod("s" + std::to_string(step), R"("priority":)" + std::to_string(random() % 3) + "," +
                                                                 Requests(std::to_string(50 + random() % 1500) + "m",
                                                                          std::to_string(1 + random() % 2000) + "Mi"));
        Decision decision = decider.Decide(*pod);
        if (decision.failure) {
          ++refused;
          auto preemption = FindPreemption(table, volumes, pod, {}, *decision.failure);
          if (!preemption) continue;
          for (const PodInfoPtr& victim : preemption->victims) {
            EXPECT_LT(victim->priority, pod->priority);
            table.RemovePod(victim->uid);
            std::erase(placed, victim);
          }
          decision = decider.Decide(*pod);
          ASSERT_FALSE(decision.failure) << decision.failure->Message();
        }
        table.AddPod(pod, decision.node);
        placed.push_back(pod);
      }
      size_t pods = 0;
      for (const NodeInfo& node : table.slots()) {
        Resources sum;
        for (const PodInfoPtr& pod : node.pods) sum.Add(pod->requests.exact);
        ASSERT_EQ(sum, node.requested);
        ASSERT_LE(sum.milli_cpu, node.allocatable.milli_cpu);
        ASSERT_LE(sum.memory, node.allocatable.memory);
        ASSERT_LE(static_cast<int64_t>(node.pods.size()), node.allowed_pods);
        pods += node.pods.size();
      }
      ASSERT_EQ(pods, placed.size());
    }
    EXPECT_GT(refused, 0u);
    EXPECT_GT(placed.size(), 0u);
  }
}

TEST(NodeTable, CountsFollowPodsAndNodes) {
  NodeTable table;
  PodMatcher matcher;
  matcher.parts.push_back({{"default"}, std::nullopt, object::LabelSelector::Parse("app=web").value()});
  matcher.MakeKey();
  auto web = [](std::string name) { return MakePod(name, kPlain, R"("labels":{"app":"web"})"); };
  // A pod may be told of before its node.
  table.AddPod(web("a"), "n1");
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.Counts(matcher)[table.Find("n1")], 1);
  table.SetNode(MakeNode("n1"));
  table.SetNode(MakeNode("n2"));
  table.AddPod(web("b"), "n2");
  table.AddPod(web("a"), "n2");
  EXPECT_EQ(table.Counts(matcher)[table.Find("n1")], 0);
  EXPECT_EQ(table.Counts(matcher)[table.Find("n2")], 2);
  table.AddPod(MakePod("b"), "n2");
  EXPECT_EQ(table.Counts(matcher)[table.Find("n2")], 1);
  table.RemoveNode("n2");
  EXPECT_EQ(table.size(), 1u);
  table.RemovePod("uid-a");
  table.RemovePod("uid-b");
  EXPECT_EQ(table.Find("n2"), NodeTable::kNone);
  table.SetNode(MakeNode("n3"));
  EXPECT_EQ(table.Counts(matcher)[table.Find("n3")], 0);
}

}  // namespace
}  // namespace homeostat::scheduler
