#include "controllers/node_health.h"

#include <gtest/gtest.h>

#include "controllers/json_object_test.h"
#include "controllers/taints.h"

namespace homeostat::controllers {
namespace {

using api::core::v1::Node;
using api::core::v1::Pod;
using std::chrono::seconds;

TEST(NodeHealthTest, TimeRunsFromTheLastChangeWeSaw) {
  NodeHealth health;
  MonotonicTime start;
  NodeSigns signs{true, "t1", "l1"};
  EXPECT_EQ(health.Observe("a", signs, seconds(9999), start), seconds(0)) << "its age counts only while it has never reported";
  EXPECT_EQ(health.Observe("a", signs, seconds(0), start + seconds(30)), seconds(30));
  signs.lease_renewed = "l2";
  EXPECT_EQ(health.Observe("a", signs, seconds(0), start + seconds(40)), seconds(0));
  signs.heartbeat = "an hour ago";
  EXPECT_EQ(health.Observe("a", signs, seconds(0), start + seconds(50)), seconds(0)) << "whatever its clock says";
  EXPECT_EQ(health.Observe("a", signs, seconds(0), start + seconds(90)), seconds(40));
  health.Reset(start + seconds(95));
  EXPECT_EQ(health.Observe("a", signs, seconds(0), start + seconds(100)), seconds(5));
  EXPECT_EQ(health.Observe("new", NodeSigns{}, seconds(45), start), seconds(45));
}

TEST(EvictionPacerTest, OneAfterTheOther) {
  EvictionPacer pacer;
  MonotonicTime now;
  std::map<std::string, ZoneCount> zones{{"a", {5, 2}}, {"b", {5, 1}}};
  EXPECT_EQ(pacer.Update(zones), EvictionPacer::Turn::kNone);
  EXPECT_TRUE(pacer.Take("a", now));
  EXPECT_FALSE(pacer.Take("a", now));
  EXPECT_TRUE(pacer.Take("b", now)) << "zones don't wait for each other";
  EXPECT_FALSE(pacer.Take("a", now + seconds(9)));
  EXPECT_TRUE(pacer.Take("a", now + seconds(11)));
  EXPECT_FALSE(pacer.Take("unknown", now));
}

TEST(EvictionPacerTest, DisruptedZones) {
  EXPECT_EQ(JudgeZone({0, 1}, 0.55), ZoneState::kFullDisruption);
  EXPECT_EQ(JudgeZone({1, 2}, 0.55), ZoneState::kNormal) << "two are too few to tell";
  EXPECT_EQ(JudgeZone({2, 3}, 0.55), ZoneState::kPartialDisruption);
  EXPECT_EQ(JudgeZone({3, 3}, 0.55), ZoneState::kNormal);
  EvictionPacer pacer;
  MonotonicTime now;
  pacer.Update({{"small", {2, 8}}, {"large", {20, 80}}, {"lost", {0, 3}}});
  EXPECT_FALSE(pacer.Take("small", now)) << "most of a small zone: wait";
  EXPECT_TRUE(pacer.Take("large", now));
  EXPECT_FALSE(pacer.Take("large", now + seconds(50)));
  EXPECT_TRUE(pacer.Take("large", now + seconds(101)));
  EXPECT_TRUE(pacer.Take("lost", now)) << "others live, so this zone is really lost";
}

TEST(EvictionPacerTest, WhenAllAreLostItIsUs) {
  EvictionPacer pacer;
  MonotonicTime now;
  EXPECT_EQ(pacer.Update({{"a", {3, 0}}}), EvictionPacer::Turn::kNone);
  EXPECT_EQ(pacer.Update({{"a", {0, 3}}}), EvictionPacer::Turn::kAllLost);
  EXPECT_EQ(pacer.Update({{"a", {0, 3}}}), EvictionPacer::Turn::kNone);
  EXPECT_FALSE(pacer.Take("a", now));
  EXPECT_EQ(pacer.Update({{"a", {1, 2}}}), EvictionPacer::Turn::kRegained);
  EXPECT_TRUE(pacer.Take("a", now));
}

object::DocumentPtr MakeNode(const std::string& conditions, const std::string& taints = "", const std::string& more = "") {
  return FromJson<Node>(R"({"metadata":{"name":"n"},"spec":{"taints":[)" + taints + "]" + more + R"(},"status":{"conditions":[)" + conditions + "]}}");
}
std::string Cond(const std::string& type, const std::string& status) { return R"({"type":")" + type + R"(","status":")" + status + "\"}"; }
std::string TaintJson(const std::string& key, const std::string& effect) { return R"({"key":"node.kubernetes.io/)" + key + R"(","effect":")" + effect + "\"}"; }

TEST(TaintsTest, FollowConditions) {
  auto change_of = [](const object::DocumentPtr& node) {
    TaintChange change = NoScheduleChange(Node(node->root()));
    std::string text;
    for (const TaintName& taint : change.add) text += "+" + std::string(taint.key.substr(19));
    for (const TaintName& taint : change.remove) text += "-" + std::string(taint.key.substr(19));
    return text;
  };
  EXPECT_EQ(change_of(MakeNode(Cond("Ready", "True"))), "");
  EXPECT_EQ(change_of(MakeNode(Cond("Ready", "False"))), "+not-ready");
  EXPECT_EQ(change_of(MakeNode(Cond("Ready", "Unknown"), TaintJson("not-ready", "NoSchedule"))), "+unreachable-not-ready");
  EXPECT_EQ(change_of(MakeNode(Cond("Ready", "True") + "," + Cond("MemoryPressure", "True"), TaintJson("not-ready", "NoSchedule"))), "+memory-pressure-not-ready");
  EXPECT_EQ(change_of(MakeNode(Cond("Ready", "True"), "", R"(,"unschedulable":true)")), "+unschedulable");
  EXPECT_EQ(change_of(MakeNode(Cond("Ready", "True"), TaintJson("unschedulable", "NoSchedule"))), "-unschedulable");
  EXPECT_EQ(change_of(MakeNode("", TaintJson("not-ready", "NoSchedule"))), "-not-ready");
}

TEST(TaintsTest, NoExecuteIsAddedOnlyWhenItMay) {
  auto ready = MakeNode(Cond("Ready", "True"), TaintJson("unreachable", "NoExecute") + R"(,{"key":"mine","effect":"NoExecute"})"),
       lost = MakeNode(Cond("Ready", "Unknown")), worse = MakeNode(Cond("Ready", "Unknown"), TaintJson("not-ready", "NoExecute"));
  EXPECT_EQ(NoExecuteChange(Node(ready->root()), true).remove.size(), 1u);
  EXPECT_TRUE(NoExecuteChange(Node(ready->root()), true).add.empty());
  EXPECT_TRUE(NoExecuteChange(Node(lost->root()), false).empty());
  EXPECT_EQ(NoExecuteChange(Node(lost->root()), true).add.size(), 1u);
  EXPECT_EQ(NoExecuteChange(Node(worse->root()), false).add.size(), 1u) << "given up already: only the reason changes";
  auto healed = WithTaints(ready, NoExecuteChange(Node(ready->root()), false), "2026-01-01T00:00:00Z");
  ASSERT_EQ(Node(healed->root()).spec().taints().size(), 1u);
  EXPECT_EQ(Node(healed->root()).spec().taints()[0].key(), "mine");
  auto tainted = WithTaints(lost, NoExecuteChange(Node(lost->root()), true), "2026-01-01T00:00:00Z");
  EXPECT_EQ(Node(tainted->root()).spec().taints()[0].time_added(), "2026-01-01T00:00:00Z");
}

TEST(TaintsTest, HowLongAPodStays) {
  auto node = MakeNode(Cond("Ready", "Unknown"), TaintJson("unreachable", "NoExecute") + R"(,{"key":"k","value":"v","effect":"NoExecute"},)" + TaintJson("x", "NoSchedule"));
  std::string both = R"({"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300})";
  struct Case {
    std::string tolerations;
    bool forever;
    int seconds;
  };
  for (const Case& c : {
           Case{"", false, 0},
           Case{both, false, 0},
           Case{both + R"(,{"key":"k","operator":"Exists"})", false, 300},
           Case{both + R"(,{"key":"k","value":"v","tolerationSeconds":60})", false, 60},
           Case{both + R"(,{"key":"k","operator":"Equal","value":"w"})", false, 0},
           Case{R"({"operator":"Exists"})", true, 0},
           Case{R"({"operator":"Exists","effect":"NoSchedule"})", false, 0},
           Case{R"({"operator":"Exists","tolerationSeconds":-5})", false, 0},
           // Of several that fit the first counts.
           Case{R"({"operator":"Exists","tolerationSeconds":10},)" + both, false, 10},
       }) {
    auto pod = FromJson<Pod>(R"({"metadata":{"name":"p"},"spec":{"tolerations":[)" + c.tolerations + "]}}");
    Stay stay = StayOf(Pod(pod->root()), NoExecuteTaints(Node(node->root())));
    EXPECT_EQ(stay.forever, c.forever) << c.tolerations;
    EXPECT_EQ(stay.time, seconds(c.forever ? 0 : c.seconds)) << c.tolerations;
  }
}

}  // namespace
}  // namespace homeostat::controllers
