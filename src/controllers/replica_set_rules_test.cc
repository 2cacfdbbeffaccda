#include "controllers/replica_set_rules.h"

#include <gtest/gtest.h>

#include "controllers/claims.h"
#include "controllers/expectations.h"
#include "controllers/json_object_test.h"
#include "controllers/pod_template.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {
namespace {

using api::apps::v1::ReplicaSet;
using api::core::v1::Pod;
using object::Value;

WallTime At(const std::string& time) { return object::ParseTime(time)->ToClock(); }

struct PodSpec {
  std::string name, node = "n1", phase = "Running", ready_since = "2026-01-01T00:00:00Z", created = "2026-01-01T00:00:00Z", cost;
  int restarts = 0;
  int sidecar_restarts = 0;
};

object::DocumentPtr MakePod(const PodSpec& spec) {
  std::string annotations = spec.cost.empty() ? "" : R"("controller.kubernetes.io/pod-deletion-cost":")" + spec.cost + "\"";
  std::string ready = spec.ready_since.empty() ? R"({"type":"Ready","status":"False"})"
                                               : R"({"type":"Ready","status":"True","lastTransitionTime":")" + spec.ready_since + "\"}";
  return FromJson<Pod>(R"({"metadata":{"name":")" + spec.name + R"(","uid":")" + spec.name + R"(","creationTimestamp":")" + spec.created +
                       R"(","annotations":{)" + annotations + R"(}},"spec":{"nodeName":")" + spec.node +
                       R"(","initContainers":[{"name":"side","restartPolicy":"Always"},{"name":"once"}]},"status":{"phase":")" + spec.phase +
                       R"(","conditions":[)" + ready + R"(],"containerStatuses":[{"name":"c","restartCount":)" + std::to_string(spec.restarts) +
                       R"(}],"initContainerStatuses":[{"name":"once","restartCount":99},{"name":"side","restartCount":)" +
                       std::to_string(spec.sidecar_restarts) + "}]}}");
}

TEST(ReplicaSetRulesTest, WhichPodsGoFirst) {
  // Each pair in order: the first goes before the second.
  std::vector<std::pair<PodSpec, PodSpec>> pairs = {
      {{.name = "a", .node = ""}, {.name = "b", .phase = "Pending", .ready_since = ""}},
      {{.name = "a", .phase = "Pending"}, {.name = "b", .phase = "Unknown"}},
      {{.name = "a", .phase = "Unknown"}, {.name = "b"}},
      {{.name = "a", .ready_since = ""}, {.name = "b", .cost = "-10"}},
      {{.name = "a", .cost = "-10"}, {.name = "b"}},
      {{.name = "b"}, {.name = "a", .cost = "1"}},
      // Ready for hours before ready for months; both for days: by uid.
      {{.name = "b", .ready_since = "2026-05-31T23:00:00Z"}, {.name = "a"}},
      {{.name = "a", .ready_since = "2026-05-20T00:00:00Z"}, {.name = "b", .ready_since = "2026-05-21T00:00:00Z"}},
      {{.name = "b", .restarts = 3}, {.name = "a", .restarts = 2}},
      {{.name = "b", .restarts = 2, .sidecar_restarts = 1}, {.name = "a", .restarts = 2}},
      {{.name = "b", .created = "2026-05-31T23:59:00Z"}, {.name = "a"}},
  };
  for (const auto& [first, second] : pairs) {
    auto a = MakePod(first), b = MakePod(second);
    for (bool swapped : {false, true}) {
      std::vector<object::DocumentPtr> pods = swapped ? std::vector{b, a} : std::vector{a, b};
      SortForDeletion(pods, {}, At("2026-06-01T00:00:00Z"));
      EXPECT_EQ(pods[0], a) << first.name << " before " << second.name << " created " << first.created;
    }
  }
}

TEST(ReplicaSetRulesTest, CrowdedNodesFirst) {
  std::vector<object::DocumentPtr> pods = {MakePod({.name = "alone", .node = "n1"}), MakePod({.name = "crowded", .node = "n2"})};
  std::vector<object::DocumentPtr> related = pods;
  related.push_back(MakePod({.name = "sibling", .node = "n2"}));
  related.push_back(MakePod({.name = "ended", .node = "n1", .phase = "Succeeded"}));
  related.push_back(MakePod({.name = "ended too", .node = "n1", .phase = "Failed"}));
  SortForDeletion(pods, related, At("2026-06-01T00:00:00Z"));
  EXPECT_EQ(sdk::meta::Name(pods[0]->root()), "crowded");
}

TEST(ReplicaSetRulesTest, StatusOfPods) {
  auto set = FromJson<ReplicaSet>(R"({"metadata":{"name":"web","generation":3},"spec":{"replicas":4,"minReadySeconds":60,
      "template":{"metadata":{"labels":{"app":"a"}}}}})");
  auto labeled = FromJson<Pod>(R"({"metadata":{"labels":{"app":"a","x":"y"}},"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
  auto fresh = FromJson<Pod>(R"({"metadata":{"labels":{"other":"a"}},"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:40Z"}]}})");
  auto starting = FromJson<Pod>(R"({"metadata":{"labels":{"app":"a"}}})");
  WallTime now = At("2026-01-01T00:01:30Z");
  std::vector<object::DocumentPtr> pods = {labeled, fresh, starting};
  auto next = WithStatus(set, pods, 2, SystemError("boom"), now);
  ReplicaSet view(next->root());
  EXPECT_EQ(view.status().replicas(), 3);
  EXPECT_EQ(view.status().fully_labeled_replicas(), 2);
  EXPECT_EQ(view.status().ready_replicas(), 2);
  EXPECT_EQ(view.status().available_replicas(), 1);
  EXPECT_EQ(view.status().terminating_replicas(), 2);
  EXPECT_EQ(view.status().observed_generation(), 3);
  EXPECT_EQ(view.status().conditions()[0].reason(), "FailedCreate");
  EXPECT_EQ(view.status().conditions()[0].message(), "boom");
  EXPECT_EQ(NextAvailability(pods, 60, now), std::chrono::seconds(10));
  EXPECT_EQ(NextAvailability(pods, 60, now + std::chrono::seconds(10)), std::nullopt);
  auto healed = WithStatus(next, pods, 0, std::nullopt, now);
  EXPECT_TRUE(ReplicaSet(healed->root()).status().conditions().empty());
}

TEST(ReplicaSetRulesTest, APodIsMadeOfTheTemplate) {
  auto set = FromJson<ReplicaSet>(R"({"metadata":{"name":"web","namespace":"n","uid":"u"},"spec":{"template":{"metadata":{"labels":{"app":"a"},
      "annotations":{"k":"v"},"finalizers":["f/x"],"name":"ignored"},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  auto made = PodFromTemplate(ReplicaSet(set->root()).spec().template_(), ReplicaSet::SchemaKind(), set->root()).Freeze();
  Pod pod(made->root());
  EXPECT_EQ(pod.metadata().generate_name(), "web-");
  EXPECT_EQ(pod.metadata().name(), "");
  EXPECT_EQ(pod.metadata().labels().Get("app"), "a");
  EXPECT_EQ(pod.metadata().annotations().Get("k"), "v");
  EXPECT_EQ(pod.metadata().finalizers()[0], "f/x");
  EXPECT_EQ(pod.spec().containers()[0].image(), "i");
  auto owner = pod.metadata().owner_references()[0];
  EXPECT_EQ(owner.uid(), "u");
  EXPECT_EQ(owner.api_version(), "apps/v1");
  EXPECT_TRUE(owner.controller());
  EXPECT_TRUE(owner.block_owner_deletion());
}

TEST(ClaimsTest, FollowsItsTable) {
  auto owner = [](bool going) {
    return FromJson<ReplicaSet>(std::string(R"({"metadata":{"name":"o","namespace":"n","uid":"u")") +
                                (going ? R"(,"deletionTimestamp":"2026-01-01T00:00:00Z"}})" : "}}"));
  };
  auto pod = [](std::string controller, std::string label, bool going, std::string ns = "n") {
    std::string owners = controller.empty() ? "" : R"(,"ownerReferences":[{"kind":"ReplicaSet","name":"o","uid":")" + controller + R"(","controller":true}])";
    return FromJson<Pod>(R"({"metadata":{"namespace":")" + ns + R"(","labels":{"app":")" + label + "\"}" + owners +
                         (going ? R"(,"deletionTimestamp":"2026-01-01T00:00:00Z"}})" : "}}"));
  };
  auto selector = object::LabelSelector::Parse("app=a").value();
  struct Case {
    std::string controller, label;
    bool pod_going, owner_going;
    ClaimStep expected;
  };
  for (const Case& c : {
           Case{"u", "a", false, false, ClaimStep::kKeep}, Case{"u", "a", true, true, ClaimStep::kKeep},
           Case{"u", "b", false, false, ClaimStep::kRelease}, Case{"u", "b", false, true, ClaimStep::kIgnore},
           Case{"", "a", false, false, ClaimStep::kAdopt}, Case{"", "a", true, false, ClaimStep::kIgnore},
           Case{"", "a", false, true, ClaimStep::kIgnore}, Case{"", "b", false, false, ClaimStep::kIgnore},
           Case{"other", "a", false, false, ClaimStep::kIgnore},
       }) {
    auto o = owner(c.owner_going), p = pod(c.controller, c.label, c.pod_going);
    EXPECT_EQ(DecideClaim(o->root(), selector, p->root()), c.expected) << c.controller << " " << c.label << c.pod_going << c.owner_going;
  }
  auto o = owner(false), elsewhere = pod("", "a", false, "m");
  EXPECT_EQ(DecideClaim(o->root(), selector, elsewhere->root()), ClaimStep::kIgnore);
}

TEST(ExpectationsTest, EndBySightOrComeIntoDoubt) {
  Expectations expectations;
  MonotonicTime now;
  EXPECT_TRUE(expectations.Satisfied("k"));
  EXPECT_FALSE(expectations.InDoubt("k", now));
  expectations.Expect("k", 2, {}, now);
  expectations.CreationSeen("k");
  EXPECT_FALSE(expectations.Satisfied("k"));
  expectations.CreationSeen("k");
  EXPECT_TRUE(expectations.Satisfied("k"));
  expectations.CreationSeen("k");
  expectations.Expect("k", 0, {"a", "b"}, now);
  expectations.DeletionSeen("k", "a");
  expectations.DeletionSeen("k", "a");
  EXPECT_FALSE(expectations.Satisfied("k"));
  EXPECT_FALSE(expectations.InDoubt("k", now + std::chrono::minutes(5)));
  EXPECT_TRUE(expectations.InDoubt("k", now + std::chrono::minutes(5) + std::chrono::seconds(1)));
  expectations.DeletionSeen("k", "b");
  EXPECT_TRUE(expectations.Satisfied("k"));
  EXPECT_FALSE(expectations.InDoubt("k", now + std::chrono::hours(1)));
}

}  // namespace
}  // namespace homeostat::controllers
