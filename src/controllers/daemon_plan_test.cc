#include "controllers/daemon_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "controllers/json_object_test.h"
#include "homeostat/object/json.h"

namespace homeostat::controllers {
namespace {

using api::apps::v1::DaemonSet;
using api::core::v1::Node;
using api::core::v1::Pod;

const WallTime kNow = WallTime(std::chrono::seconds(1'800'000'000));

object::DocumentPtr MakeSet(const std::string& strategy = R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":1}})",
                            const std::string& pod_spec = "{}") {
  return FromJson<DaemonSet>(R"({"metadata":{"name":"d","namespace":"default","uid":"u","generation":3},"spec":{"selector":{"matchLabels":{"app":"d"}},)"
                             R"("updateStrategy":)" + strategy + R"(,"template":{"metadata":{"labels":{"app":"d"}},"spec":)" + pod_spec + "}}}");
}
object::DocumentPtr MakeNode(const std::string& name, const std::string& more = "{}") {
  return FromJson<Node>(R"({"metadata":{"name":")" + name + R"(","labels":{"kubernetes.io/hostname":")" + name + R"(","zone":"a"}},"spec":)" + more + "}");
}
// State: new or old, then r(eady), p(ending), f(ailed), s(ucceeded), d(eleting).
object::DocumentPtr MakePod(const std::string& name, const std::string& node, bool newer, char state, bool bound = true) {
  std::string phase = state == 'f' ? "Failed" : state == 's' ? "Succeeded" : state == 'p' ? "Pending" : "Running";
  std::string place = bound ? R"("nodeName":")" + node + "\""
                            : R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[)"
                              R"({"key":"metadata.name","operator":"In","values":[")" + node + R"("]}]}]}}})";
  return FromJson<Pod>(R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":")" + name + R"(","creationTimestamp":"2026-01-01T00:00:00Z",)" +
                       (state == 'd' ? R"("deletionTimestamp":"2026-01-02T00:00:00Z",)" : "") + R"("labels":{"app":"d","controller-revision-hash":")" +
                       (newer ? "new" : "old") + R"("}},"spec":{)" + place + R"(},"status":{"phase":")" + phase +
                       R"(","conditions":[{"type":"Ready","status":")" + (state == 'r' ? "True" : "False") +
                       R"(","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
}
DaemonView View(object::DocumentPtr set, std::vector<object::DocumentPtr> nodes, const std::vector<object::DocumentPtr>& pods) {
  return MakeDaemonView(std::move(set), "new", std::move(nodes), pods, kNow);
}
std::vector<std::string> Names(const std::vector<object::DocumentPtr>& objects) {
  std::vector<std::string> names;
  for (const object::DocumentPtr& object : objects) names.emplace_back(sdk::meta::Name(object->root()));
  std::ranges::sort(names);
  return names;
}
using Texts = std::vector<std::string>;

TEST(DaemonPlacementTest, LooksAtNamesSelectorsAffinityAndTaints) {
  struct Case {
    std::string pod_spec, node_spec;
    bool run, stay;
  };
  for (const Case& c : {
           Case{"{}", "{}", true, true},
           Case{R"({"nodeName":"n"})", "{}", true, true},
           Case{R"({"nodeName":"other"})", "{}", false, false},
           Case{R"({"nodeSelector":{"zone":"a"}})", "{}", true, true},
           Case{R"({"nodeSelector":{"zone":"b"}})", "{}", false, false},
           Case{R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"NotIn","values":["a"]}]}]}}}})",
                "{}", false, false},
           Case{"{}", R"({"taints":[{"key":"k","effect":"NoSchedule"}]})", false, true},
           Case{"{}", R"({"taints":[{"key":"k","effect":"NoExecute"}]})", false, false},
           Case{"{}", R"({"taints":[{"key":"k","effect":"PreferNoSchedule"}]})", true, true},
           Case{R"({"tolerations":[{"key":"k","operator":"Exists"}]})", R"({"taints":[{"key":"k","effect":"NoExecute"}]})", true, true},
           // What every daemon puts up with.
           Case{"{}", R"({"taints":[{"key":"node.kubernetes.io/unreachable","effect":"NoExecute"},{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]})", true, true},
           Case{"{}", R"({"taints":[{"key":"node.kubernetes.io/network-unavailable","effect":"NoSchedule"}]})", false, true},
           Case{R"({"hostNetwork":true})", R"({"taints":[{"key":"node.kubernetes.io/network-unavailable","effect":"NoSchedule"}]})", true, true},
       }) {
    auto set = MakeSet(R"({"type":"OnDelete"})", c.pod_spec), node = MakeNode("n", c.node_spec);
    EXPECT_EQ(DaemonPlacement(DaemonSet(set->root())).Judge(Node(node->root())), (DaemonPlacement::Verdict{c.run, c.stay})) << c.pod_spec << c.node_spec;
  }
}

TEST(DaemonPlanTest, APodOfANodeRunsNowhereElseAndTolerates) {
  auto set = MakeSet(R"({"type":"OnDelete"})", R"({"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":30}],)"
                                               R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"Exists"}]}]}}}})");
  auto document = DaemonPod(DaemonSet(set->root()), "n1", "h");
  Pod pod(document->root());
  EXPECT_EQ(pod.metadata().generate_name(), "d-");
  EXPECT_EQ(pod.metadata().labels().Get("controller-revision-hash"), "h");
  EXPECT_EQ(TargetNode(pod), "n1");
  EXPECT_EQ(pod.spec().affinity().node_affinity().required_during_scheduling_ignored_during_execution().node_selector_terms().size(), 1u);
  EXPECT_EQ(pod.spec().tolerations().size(), 6u);
  EXPECT_FALSE(pod.spec().tolerations()[0].has_toleration_seconds());
}

TEST(DaemonPlanTest, OnePodOnEachNodeAndNoneElsewhere) {
  auto view = View(MakeSet(),
                   {MakeNode("n1"), MakeNode("n2"), MakeNode("n3", R"({"taints":[{"key":"k","effect":"NoExecute"}]})"), MakeNode("n4"), MakeNode("n5"), MakeNode("n6")},
                   {MakePod("two", "n2", true, 'r'), MakePod("twice", "n2", true, 'r'), MakePod("tainted", "n3", true, 'r'), MakePod("failed", "n4", true, 'f'),
                    MakePod("done", "n5", true, 's'), MakePod("going", "n6", true, 'd'), MakePod("lost", "gone", true, 'p', false)});
  DaemonChanges changes = PlaceDaemons(view);
  EXPECT_EQ(changes.create_on, Texts{"n1"});
  EXPECT_EQ(Names(changes.remove), (Texts{"lost", "tainted", "two"}));   // of the same age, the name decides which stays
  ASSERT_EQ(changes.failed.size(), 1u);
  EXPECT_EQ(changes.failed[0].first, "n4");
  EXPECT_EQ(Names(changes.succeeded), Texts{"done"});
}

TEST(DaemonPlanTest, AnUpdateRemovesAsManyAsMayBeUnavailable) {
  struct Case {
    std::string unavailable;
    std::string states;           // node by node: upper case is old
    Texts removed;
  };
  for (const Case& c : {
           Case{"1", "RRR", {"p0"}},
           Case{"2", "RRR", {"p0", "p1"}},
           Case{"\"50%\"", "RRR", {"p0", "p1"}},     // rounded up
           Case{"1", "rRR", {"p1"}},
           Case{"1", "pRR", {}},                     // the new one is not available yet
           Case{"1", "RRP", {"p2"}},                 // what is not available goes first, and uses up the room
           Case{"2", "RRP", {"p0", "p2"}},
           Case{"1", "rrr", {}},
           Case{"0", "RR", {"p0"}},                  // nothing at all would never end
           Case{"1", "-RR", {}},                     // a node without its pod counts
       }) {
    std::vector<object::DocumentPtr> nodes, pods;
    for (size_t i = 0; i < c.states.size(); ++i) {
      nodes.push_back(MakeNode("n" + std::to_string(i)));
      char state = c.states[i];
      if (state != '-') pods.push_back(MakePod("p" + std::to_string(i), "n" + std::to_string(i), std::islower(state) != 0, static_cast<char>(std::tolower(state))));
    }
    auto set = MakeSet(R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":)" + c.unavailable + "}}");
    DaemonChanges changes = RollDaemons(View(set, nodes, pods));
    EXPECT_EQ(Names(changes.remove), c.removed) << c.unavailable << " " << c.states;
    EXPECT_TRUE(changes.create_on.empty());
  }
}

TEST(DaemonPlanTest, ASurgingUpdateMakesTheNewPodFirst) {
  auto set = MakeSet(R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":0}})");
  std::vector<object::DocumentPtr> nodes{MakeNode("n0"), MakeNode("n1")};
  DaemonChanges first = RollDaemons(View(set, nodes, {MakePod("a", "n0", false, 'r'), MakePod("b", "n1", false, 'r')}));
  EXPECT_EQ(first.create_on, Texts{"n0"});
  EXPECT_TRUE(first.remove.empty());
  // Until it is available, nothing happens.
  DaemonChanges second = RollDaemons(View(set, nodes, {MakePod("a", "n0", false, 'r'), MakePod("a2", "n0", true, 'p'), MakePod("b", "n1", false, 'r')}));
  EXPECT_TRUE(second.create_on.empty() && second.remove.empty());
  DaemonChanges third = RollDaemons(View(set, nodes, {MakePod("a", "n0", false, 'r'), MakePod("a2", "n0", true, 'r'), MakePod("b", "n1", false, 'r')}));
  EXPECT_EQ(Names(third.remove), Texts{"a"});
  EXPECT_EQ(third.create_on, Texts{"n1"});
  // And placing leaves the two of a node alone while the old one is needed.
  DaemonChanges place = PlaceDaemons(View(set, nodes, {MakePod("a", "n0", false, 'r'), MakePod("a2", "n0", true, 'p'), MakePod("b", "n1", false, 'r')}));
  EXPECT_TRUE(place.create_on.empty() && place.remove.empty());
}

TEST(DaemonPlanTest, CountsWhatIsThere) {
  auto view = View(MakeSet(), {MakeNode("n0"), MakeNode("n1"), MakeNode("n2"), MakeNode("n3", R"({"taints":[{"key":"k","effect":"NoSchedule"}]})")},
                   {MakePod("a", "n0", true, 'r'), MakePod("b", "n1", false, 'p'), MakePod("c", "n3", true, 'r')});
  DaemonCounts counts = CountDaemons(view);
  EXPECT_EQ(counts, (DaemonCounts{.desired = 3, .current = 2, .misscheduled = 1, .ready = 1, .updated = 1, .available = 1}));
  auto next = WithDaemonStatus(view.set, counts, true);
  EXPECT_EQ(DaemonSet(next->root()).status().number_unavailable(), 2);
  EXPECT_EQ(DaemonSet(next->root()).status().observed_generation(), 3);
  EXPECT_EQ(WithDaemonStatus(next, counts, true), next);
}

}  // namespace
}  // namespace homeostat::controllers
