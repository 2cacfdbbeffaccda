#include "controllers/stateful_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "controllers/json_object_test.h"
#include "controllers/stateful_claims.h"

namespace homeostat::controllers {
namespace {

using api::apps::v1::StatefulSet;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::Pod;
using Kind = StatefulStep::Kind;

const WallTime kNow = WallTime(std::chrono::seconds(1'800'000'000));

object::DocumentPtr MakeSet(int replicas, const std::string& more = "", const std::string& status = "{}") {
  return FromJson<StatefulSet>(R"({"metadata":{"name":"web","namespace":"default","uid":"set","generation":2},"spec":{"serviceName":"svc","replicas":)" +
                               std::to_string(replicas) + R"(,"selector":{"matchLabels":{"app":"web"}},"updateStrategy":{"type":"RollingUpdate"},)"
                               R"("template":{"metadata":{"labels":{"app":"web"}},"spec":{"volumes":[{"name":"data"},{"name":"other"}]}},)"
                               R"("volumeClaimTemplates":[{"metadata":{"name":"data","labels":{"x":"y"}}}])" + more + R"(},"status":)" + status + "}");
}
// State: r(eady), p(ending), f(ailed), d(eleting while ready); upper case: of the current revision, lower case: of the update.
object::DocumentPtr MakePod(int ordinal, char state) {
  bool update = std::islower(state) != 0;
  char kind = static_cast<char>(std::tolower(state));
  std::string name = "web-" + std::to_string(ordinal);
  std::string phase = kind == 'f' ? "Failed" : kind == 'p' ? "Pending" : "Running";
  return FromJson<Pod>(R"({"metadata":{"name":")" + name + R"(","namespace":"default","uid":")" + name + "\"," +
                       (kind == 'd' ? R"("deletionTimestamp":"2026-01-02T00:00:00Z",)" : "") +
                       R"("labels":{"app":"web","statefulset.kubernetes.io/pod-name":")" + name + R"(","controller-revision-hash":")" + (update ? "web-b" : "web-a") +
                       R"("}},"spec":{"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data-)" + name + R"("}}]},"status":{"phase":")" + phase +
                       R"(","conditions":[{"type":"Ready","status":")" + (kind == 'r' || kind == 'd' ? "True" : "False") +
                       R"(","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
}
StatefulView View(object::DocumentPtr set, const std::string& states, int first = 0) {
  StatefulView view{set, {"web-a", {set, StatefulSet(set->root()).spec().template_().Raw()}}, {"web-b", {set, StatefulSet(set->root()).spec().template_().Raw()}}, {}, kNow};
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i] != '-') view.pods.push_back(MakePod(first + static_cast<int>(i), states[i]));
  }
  return view;
}
// The steps that change pods: +0 makes, -1 deletes.
std::string Steps(const StatefulPlan& plan) {
  std::string text;
  for (const StatefulStep& step : plan.steps) {
    if (step.kind != Kind::kCreate && step.kind != Kind::kDelete) continue;
    text += (text.empty() ? "" : " ") + std::string(step.kind == Kind::kCreate ? "+" : "-") + std::to_string(ParseStatefulName(sdk::meta::Name(step.pod->root())).ordinal);
  }
  return text;
}

TEST(StatefulPlanTest, GoesInOrder) {
  struct Case {
    int replicas;
    std::string states, more, steps, parallel;
  };
  for (const Case& c : {
           Case{3, "", "", "+0", "+0 +1 +2"},
           Case{3, "r", "", "+1", "+1 +2"},
           Case{3, "p", "", "", "+1 +2"},
           Case{3, "rdr", "", "", ""},
           Case{3, "rfr", "", "-1", "-1"},
           Case{3, "r-r", "", "+1", "+1"},
           // Beyond the size: from the highest down, one at a time; a sick one in the way keeps the others.
           Case{1, "rrr", "", "-2", "-2 -1"},
           Case{1, "rrd", "", "", "-1"},
           Case{1, "rrp", "", "-2", "-2 -1"},
           Case{1, "rpr", "", "-2", "-2 -1"},
           Case{1, "rpp", "", "", "-2 -1"},
           Case{1, "prr", "", "", "-2 -1"},
           // Updates: from the highest down, one at a time, while all above are healthy.
           Case{3, "RRR", "", "-2", "-2"},
           Case{3, "RRr", "", "-1", "-1"},
           Case{3, "RRp", "", "", ""},
           Case{3, "RRP", "", "", "-2"},
           Case{3, "RRR", R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}})", "-2", "-2"},
           Case{3, "RRr", R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}})", "", ""},
           Case{3, "RRR", R"(,"updateStrategy":{"type":"OnDelete"})", "", ""},
           Case{0, "rr", "", "-1", "-1 -0"},
           Case{2, "rr", R"(,"ordinals":{"start":1})", "+2", "+2 -0"},
       }) {
    EXPECT_EQ(Steps(PlanStatefulSet(View(MakeSet(c.replicas, c.more), c.states))), c.steps) << c.replicas << " " << c.states << c.more;
    auto parallel = MakeSet(c.replicas, c.more + R"(,"podManagementPolicy":"Parallel")");
    EXPECT_EQ(Steps(PlanStatefulSet(View(parallel, c.states))), c.parallel) << "parallel " << c.replicas << " " << c.states << c.more;
  }
  auto going = FromJson<StatefulSet>(R"({"metadata":{"name":"web","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"replicas":2}})");
  EXPECT_TRUE(PlanStatefulSet(View(going, "r")).steps.empty());
}

TEST(StatefulPlanTest, APodHasItsNamePlaceAndRevision) {
  auto set = MakeSet(3, R"(,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}})");
  StatefulView view = View(set, "");
  auto document = StatefulPod(view, 1);
  Pod pod(document->root());
  EXPECT_EQ(pod.metadata().name(), "web-1");
  EXPECT_EQ(pod.metadata().generate_name(), "web-");
  EXPECT_EQ(pod.metadata().labels().Get("statefulset.kubernetes.io/pod-name"), "web-1");
  EXPECT_EQ(pod.metadata().labels().Get("apps.kubernetes.io/pod-index"), "1");
  EXPECT_EQ(pod.metadata().labels().Get("controller-revision-hash"), "web-b");
  EXPECT_EQ(pod.spec().hostname(), "web-1");
  EXPECT_EQ(pod.spec().subdomain(), "svc");
  ASSERT_EQ(pod.spec().volumes().size(), 2u);
  EXPECT_EQ(pod.spec().volumes()[0].persistent_volume_claim().claim_name(), "data-web-1");
  EXPECT_EQ(pod.spec().volumes()[1].name(), "other");
  // Below the partition: as it was.
  auto before = StatefulPod(view, 0);
  EXPECT_EQ(Pod(before->root()).metadata().labels().Get("controller-revision-hash"), "web-a");
  auto claims = StatefulClaims(StatefulSet(set->root()), 1);
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(sdk::meta::Key(claims[0]->root()), "default/data-web-1");
  EXPECT_EQ(sdk::meta::Labels(claims[0]->root()).Get("app").AsString(), "web");
  EXPECT_EQ(sdk::meta::Labels(claims[0]->root()).Get("x").AsString(), "y");
  auto right = MakePod(0, 'r');
  EXPECT_EQ(AlignedPod(StatefulSet(set->root()), right), right);
}

TEST(StatefulPlanTest, StatusTellsRevisionsAndWhenTheUpdateIsThrough) {
  StatefulView view = View(MakeSet(3), "Rrr");
  StatefulCounts counts = CountStateful(view);
  EXPECT_EQ(counts, (StatefulCounts{.replicas = 3, .ready = 3, .available = 3, .current = 1, .updated = 2}));
  auto halfway = WithStatefulStatus(view, counts, 0);
  EXPECT_EQ(StatefulSet(halfway->root()).status().current_revision(), "web-a");
  EXPECT_EQ(StatefulSet(halfway->root()).status().update_revision(), "web-b");
  StatefulView done = View(MakeSet(3), "rrr");
  auto through = WithStatefulStatus(done, CountStateful(done), 0);
  EXPECT_EQ(StatefulSet(through->root()).status().current_revision(), "web-b");
  EXPECT_EQ(StatefulSet(through->root()).status().current_replicas(), 3);
}

TEST(StatefulPlanTest, NamesAreReadFromTheEnd) {
  EXPECT_EQ(ParseStatefulName("a-b-12").set, "a-b");
  EXPECT_EQ(ParseStatefulName("a-b-12").ordinal, 12);
  EXPECT_EQ(ParseStatefulName("a").ordinal, -1);
  EXPECT_EQ(ParseStatefulName("a-").ordinal, -1);
  EXPECT_EQ(ParseStatefulName("a-x1").ordinal, -1);
  EXPECT_EQ(ParseStatefulName("a-99999999999").ordinal, -1);
}

TEST(StatefulClaimsTest, ThePolicySaysWhoOwnsAClaim) {
  struct Case {
    std::string scaled, deleted;
    int ordinal;                   // of two replicas
    std::string owner;
  };
  for (const Case& c : {Case{"Retain", "Retain", 0, ""}, Case{"Retain", "Delete", 0, "set"}, Case{"Retain", "Delete", 2, "set"}, Case{"Delete", "Retain", 0, ""},
                        Case{"Delete", "Retain", 2, "web-2"}, Case{"Delete", "Delete", 0, "set"}, Case{"Delete", "Delete", 2, "web-2"}}) {
    auto set = MakeSet(2, R"(,"persistentVolumeClaimRetentionPolicy":{"whenScaled":")" + c.scaled + R"(","whenDeleted":")" + c.deleted + "\"}");
    auto pod = MakePod(c.ordinal, 'r');
    auto claim = FromJson<PersistentVolumeClaim>(R"({"metadata":{"name":"data-web","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"c"}]}})");
    auto next = ClaimWithOwners(claim, StatefulSet(set->root()), Pod(pod->root()));
    auto owner = sdk::meta::ControllerOf(next->root());
    EXPECT_EQ(owner.Get("uid").AsString(), c.owner) << c.scaled << " " << c.deleted << " " << c.ordinal;
    EXPECT_EQ(PersistentVolumeClaim(next->root()).metadata().owner_references().size(), c.owner.empty() ? 1u : 2u);
    EXPECT_EQ(ClaimWithOwners(next, StatefulSet(set->root()), Pod(pod->root())), next);
  }
}

TEST(StatefulClaimsTest, ClaimsOfOthersAreLeftAlone) {
  auto set = MakeSet(2, R"(,"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete","whenDeleted":"Delete"})");
  auto pod = MakePod(0, 'r');
  auto managed = FromJson<PersistentVolumeClaim>(R"({"metadata":{"name":"c","ownerReferences":[{"apiVersion":"x/v1","kind":"X","name":"x","uid":"x","controller":true}]}})");
  EXPECT_TRUE(HasOtherController(PersistentVolumeClaim(managed->root()), StatefulSet(set->root()), Pod(pod->root())));
  EXPECT_EQ(ClaimWithOwners(managed, StatefulSet(set->root()), Pod(pod->root())), managed);
  auto earlier = FromJson<PersistentVolumeClaim>(R"({"metadata":{"name":"c","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"web-0","uid":"before","controller":true}]}})");
  EXPECT_TRUE(IsClaimOfEarlierPod(PersistentVolumeClaim(earlier->root()), StatefulSet(set->root()), Pod(pod->root())));
  EXPECT_EQ(ClaimWithOwners(earlier, StatefulSet(set->root()), Pod(pod->root())), earlier);
}

}  // namespace
}  // namespace homeostat::controllers
