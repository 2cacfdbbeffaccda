#include "controllers/deployment_rules.h"

#include <gtest/gtest.h>

#include "controllers/json_object_test.h"

namespace homeostat::controllers {
namespace {

using api::apps::v1::Deployment;
using api::apps::v1::ReplicaSet;

const WallTime kNow = WallTime(std::chrono::seconds(1'800'000'000));

object::DocumentPtr MakeDeployment(int replicas, const std::string& surge, const std::string& unavailable, const std::string& more = "") {
  return FromJson<Deployment>(R"({"metadata":{"name":"web","namespace":"default","uid":"d","generation":2},"spec":{"replicas":)" + std::to_string(replicas) +
                              R"(,"progressDeadlineSeconds":600,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":)" + surge +
                              ",\"maxUnavailable\":" + unavailable + "}}}" + more + "}");
}

object::DocumentPtr MakeSet(const std::string& name, int size, int available, const std::string& annotations = "", const std::string& created = "2026-01-01T00:00:00Z") {
  return FromJson<ReplicaSet>(R"({"metadata":{"name":")" + name + R"(","creationTimestamp":")" + created + R"(","annotations":{)" + annotations +
                              R"(}},"spec":{"replicas":)" + std::to_string(size) + R"(},"status":{"replicas":)" + std::to_string(size) +
                              R"(,"readyReplicas":)" + std::to_string(available) + R"(,"availableReplicas":)" + std::to_string(available) + "}}");
}

TEST(DeploymentRulesTest, FencepostsRoundUpAndDown) {
  struct Case {
    int replicas;
    std::string surge, unavailable;
    int expected_surge, expected_unavailable;
  };
  for (const Case& c : {Case{10, "\"25%\"", "\"25%\"", 3, 2}, Case{3, "\"25%\"", "\"25%\"", 1, 0}, Case{1, "\"25%\"", "\"25%\"", 1, 0},
                        Case{4, "0", "0", 0, 1}, Case{10, "\"0%\"", "\"5%\"", 0, 1}, Case{2, "0", "5", 0, 2}, Case{0, "\"25%\"", "\"25%\"", 0, 0},
                        Case{7, "2", "\"100%\"", 2, 7}, Case{1000, "\"1%\"", "\"1%\"", 10, 10}}) {
    auto document = MakeDeployment(c.replicas, c.surge, c.unavailable);
    Fenceposts posts = FencepostsOf(Deployment(document->root()));
    EXPECT_EQ(posts.surge, c.expected_surge) << c.replicas << " " << c.surge;
    EXPECT_EQ(posts.unavailable, c.expected_unavailable) << c.replicas << " " << c.unavailable;
  }
  auto recreate = FromJson<Deployment>(R"({"metadata":{"name":"web"},"spec":{"replicas":4,"strategy":{"type":"Recreate"}}})");
  EXPECT_EQ(FencepostsOf(Deployment(recreate->root())).surge, 0);
  EXPECT_EQ(FencepostsOf(Deployment(recreate->root())).unavailable, 0);
}

TEST(DeploymentRulesTest, TheNewSetGrowsIntoTheRoomThatIsThere) {
  struct Case {
    int wanted, surge, size, total, expected;
  };
  for (const Case& c : {Case{10, 3, 0, 10, 3}, Case{10, 3, 3, 13, 3}, Case{10, 3, 3, 11, 5}, Case{10, 3, 0, 0, 10}, Case{10, 0, 0, 10, 0},
                        Case{10, 3, 12, 12, 10}, Case{10, 3, 9, 9, 10}, Case{5, 1, 2, 20, 2}}) {
    auto document = MakeDeployment(c.wanted, std::to_string(c.surge), "1");
    EXPECT_EQ(NewSetSize(Deployment(document->root()), c.size, c.total), c.expected) << c.wanted << " " << c.size << " " << c.total;
  }
}

TEST(DeploymentRulesTest, OldSetsShrinkAsFarAsAvailabilityAllows) {
  struct Case {
    int wanted, unavailable;
    std::vector<std::pair<int, int>> old_sets;    // size, available
    std::pair<int, int> new_set;
    std::vector<int> expected;
  };
  for (const Case& c : {
           // Nothing of the new set is available: only what maxUnavailable allows.
           Case{10, 2, {{10, 10}}, {3, 0}, {8}},
           // Each available new pod lets an old one go.
           Case{10, 2, {{8, 8}}, {5, 5}, {3}},
           Case{10, 0, {{10, 10}}, {3, 3}, {7}},
           // Unhealthy old pods go first, and as many as may go at all.
           Case{10, 2, {{10, 5}}, {3, 0}, {8}},
           Case{10, 2, {{10, 0}}, {10, 0}, {8}},
           // Unhealthy ones of a later set before healthy ones of an earlier.
           Case{10, 0, {{5, 5}, {5, 2}}, {3, 3}, {5, 2}},
           // The oldest first.
           Case{10, 2, {{2, 2}, {8, 8}}, {5, 5}, {0, 3}},
           // Everything may go once the new set is there.
           Case{3, 0, {{2, 2}, {1, 1}}, {3, 3}, {0, 0}},
           Case{3, 0, {{3, 3}}, {1, 0}, {3}},
       }) {
    auto document = MakeDeployment(c.wanted, "3", std::to_string(c.unavailable));
    std::vector<object::DocumentPtr> kept;
    ReplicaSets old_sets;
    for (auto [size, available] : c.old_sets) {
      kept.push_back(MakeSet("old", size, available));
      old_sets.emplace_back(kept.back()->root());
    }
    auto new_set = MakeSet("new", c.new_set.first, c.new_set.second);
    EXPECT_EQ(OldSetSizes(Deployment(document->root()), ReplicaSet(new_set->root()), old_sets), c.expected)
        << c.wanted << " of " << c.old_sets.front().first;
  }
}

// Whatever the numbers are: never too many pods, never too few available ones, and an end.
TEST(DeploymentRulesTest, ARolloutKeepsItsPromisesAndEnds) {
  uint64_t random = 7;
  auto draw = [&](int limit) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int>((random >> 33) % static_cast<uint64_t>(limit));
  };
  for (int round = 0; round < 300; ++round) {
    int wanted = 1 + draw(12), surge = draw(4), unavailable = draw(4);
    auto document = MakeDeployment(wanted, std::to_string(surge), std::to_string(unavailable));
    Deployment deployment(document->root());
    Fenceposts posts = FencepostsOf(deployment);
    int old_size = wanted, new_size = 0, new_available = 0;
    int steps = 0;
    while (new_available < wanted || old_size > 0) {
      ASSERT_LT(++steps, 200) << "wanted " << wanted << " surge " << surge << " unavailable " << unavailable;
      auto old_set = MakeSet("old", old_size, old_size), new_set = MakeSet("new", new_size, new_available);
      int grown = NewSetSize(deployment, new_size, old_size + new_size);
      if (grown != new_size) {
        new_size = grown;
      } else {
        old_size = OldSetSizes(deployment, ReplicaSet(new_set->root()), {ReplicaSet(old_set->root())})[0];
      }
      new_available += draw(new_size - new_available + 1);
      ASSERT_LE(old_size + new_size, wanted + posts.surge);
      ASSERT_GE(old_size + new_available, wanted - posts.unavailable);
    }
  }
}

TEST(DeploymentRulesTest, ScalingInTheMiddleKeepsProportions) {
  struct Case {
    int wanted, surge, max_before;
    std::vector<int> sizes, expected;
  };
  for (const Case& c : {
           Case{12, 0, 10, {10}, {12}},
           Case{20, 0, 10, {5, 5}, {10, 10}},
           Case{5, 0, 10, {5, 5}, {2, 3}},
           Case{10, 0, 5, {2, 3}, {4, 6}},
           Case{3, 0, 10, {10, 0}, {3, 0}},
           Case{0, 0, 10, {6, 4}, {0, 0}},
           Case{22, 2, 12, {8, 4}, {16, 8}},
           Case{10, 0, 10, {6, 4}, {6, 4}},
       }) {
    auto document = MakeDeployment(c.wanted, std::to_string(c.surge), "1");
    std::vector<object::DocumentPtr> kept;
    ReplicaSets sets;
    for (int size : c.sizes) {
      kept.push_back(MakeSet("s" + std::to_string(kept.size()), size, size, R"("deployment.kubernetes.io/max-replicas":")" + std::to_string(c.max_before) + "\"",
                             "2026-01-0" + std::to_string(kept.size() + 1) + "T00:00:00Z"));
      sets.emplace_back(kept.back()->root());
    }
    std::vector<int> sizes = ProportionalSizes(Deployment(document->root()), sets);
    EXPECT_EQ(sizes, c.expected) << c.wanted;
  }
}

TEST(DeploymentRulesTest, ASetRemembersItsRevisions) {
  auto document = FromJson<Deployment>(R"({"metadata":{"name":"web","annotations":{"note":"x","deployment.kubernetes.io/revision":"9",
      "kubectl.kubernetes.io/last-applied-configuration":"{}"}}})");
  Deployment deployment(document->root());
  api::apps::v1::ReplicaSetBuilder set;
  AnnotateSet(set, deployment, 3);
  EXPECT_EQ(RevisionOf(set.View().Raw()), 3);
  EXPECT_EQ(set.View().metadata().annotations().Get("note"), "x");
  EXPECT_EQ(set.View().metadata().annotations().size(), 2u);
  AnnotateSet(set, deployment, 3);
  EXPECT_FALSE(set.View().metadata().annotations().contains(kRevisionHistoryAnnotation));
  AnnotateSet(set, deployment, 5);
  AnnotateSet(set, deployment, 8);
  EXPECT_EQ(RevisionOf(set.View().Raw()), 8);
  EXPECT_EQ(set.View().metadata().annotations().Get(kRevisionHistoryAnnotation), "3,5");
  for (int revision = 9; revision < 2000; ++revision) AnnotateSet(set, deployment, revision);
  std::string_view history = set.View().metadata().annotations().Get(kRevisionHistoryAnnotation);
  EXPECT_LE(history.size(), 2000u);
  EXPECT_TRUE(history.ends_with(",1997,1998"));
  // One that is no number is left alone.
  set.mutable_metadata().set_annotations(kRevisionAnnotation, "mine");
  AnnotateSet(set, deployment, 3000);
  EXPECT_EQ(set.View().metadata().annotations().Get(kRevisionAnnotation), "mine");
}

TEST(DeploymentRulesTest, TheHashFollowsTemplateAndCollisions) {
  std::string base = R"({"metadata":{"name":"web"},"spec":{"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"IMAGE"}]}}})";
  auto with = [&](std::string image, std::string status) {
    std::string json = base;
    json.replace(json.find("IMAGE"), 5, image);
    auto document = FromJson<Deployment>(json + status + "}");
    return TemplateHash(Deployment(document->root()));
  };
  EXPECT_EQ(with("a", ""), with("a", ""));
  EXPECT_NE(with("a", ""), with("b", ""));
  EXPECT_NE(with("a", ""), with("a", R"(,"status":{"collisionCount":1})"));
  EXPECT_NE(with("a", R"(,"status":{"collisionCount":2})"), with("a", R"(,"status":{"collisionCount":1})"));
}

TEST(DeploymentRulesTest, ANewSetIsMadeOfTheTemplate) {
  std::string name(250, 'x');
  auto document = FromJson<Deployment>(R"({"metadata":{"name":")" + name + R"(","namespace":"n","uid":"d"},"spec":{"replicas":2,"minReadySeconds":7,
      "selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  Deployment deployment(document->root());
  auto made = NewReplicaSet(deployment, 4, 1);
  ReplicaSet set(made->root());
  EXPECT_LE(set.metadata().name().size(), 253u);
  std::string hash = TemplateHash(deployment);
  EXPECT_TRUE(set.metadata().name().ends_with("-" + hash));
  EXPECT_EQ(set.spec().selector().match_labels().Get(kTemplateHashLabel), hash);
  EXPECT_EQ(set.spec().selector().match_labels().Get("app"), "a");
  EXPECT_EQ(set.spec().template_().metadata().labels().Get(kTemplateHashLabel), hash);
  EXPECT_EQ(set.metadata().labels().Get("app"), "a");
  EXPECT_EQ(set.spec().min_ready_seconds(), 7);
  EXPECT_EQ(set.spec().replicas(), 1);
  EXPECT_EQ(RevisionOf(set.Raw()), 4);
  EXPECT_TRUE(SameTemplate(deployment, set));
  EXPECT_EQ(set.metadata().owner_references()[0].uid(), "d");
  EXPECT_TRUE(SizesAreNoted(set, deployment));
  EXPECT_FALSE(WasScaled(deployment, {set}));
}

TEST(DeploymentRulesTest, ProgressFromStartToEnd) {
  auto document = MakeDeployment(2, "1", "0");
  auto state_of = [&](int size, int available, WallTime now) {
    auto set = MakeSet("web-1", size, available);
    ReplicaSet view(set->root());
    DeploymentState state = RolloutState(Deployment(document->root()), {view}, &view, now);
    document = WithState(document, state);
    return state;
  };
  DeploymentState state = state_of(2, 0, kNow);
  const Condition* progressing = FindCondition(state.conditions, "Progressing");
  ASSERT_NE(progressing, nullptr);
  EXPECT_EQ(progressing->reason, "ReplicaSetUpdated");
  EXPECT_EQ(progressing->message, "ReplicaSet \"web-1\" is progressing.");
  EXPECT_EQ(FindCondition(state.conditions, "Available")->reason, "MinimumReplicasUnavailable");
  EXPECT_EQ(state.unavailable, 2);
  EXPECT_EQ(TimeToDeadline(Deployment(document->root()), state, kNow), std::chrono::seconds(601));

  // Nothing for ten minutes: the deadline. A step restarts it.
  state = state_of(2, 0, kNow + std::chrono::seconds(600));
  EXPECT_EQ(FindCondition(state.conditions, "Progressing")->reason, "ReplicaSetUpdated");
  state = state_of(2, 1, kNow + std::chrono::seconds(600));
  state = state_of(2, 1, kNow + std::chrono::seconds(1200));
  EXPECT_EQ(FindCondition(state.conditions, "Progressing")->reason, "ReplicaSetUpdated");
  state = state_of(2, 1, kNow + std::chrono::seconds(1201));
  progressing = FindCondition(state.conditions, "Progressing");
  EXPECT_EQ(progressing->reason, "ProgressDeadlineExceeded");
  EXPECT_EQ(progressing->status, "False");
  EXPECT_EQ(TimeToDeadline(Deployment(document->root()), state, kNow), std::nullopt);

  // It may still succeed.
  state = state_of(2, 2, kNow + std::chrono::seconds(1300));
  progressing = FindCondition(state.conditions, "Progressing");
  EXPECT_EQ(progressing->reason, "NewReplicaSetAvailable");
  EXPECT_EQ(progressing->message, "ReplicaSet \"web-1\" has successfully progressed.");
  EXPECT_EQ(FindCondition(state.conditions, "Available")->status, "True");
  EXPECT_TRUE(IsComplete(Deployment(document->root()), state));
  // A pod that fails later is no rollout.
  state = state_of(2, 1, kNow + std::chrono::seconds(9000));
  EXPECT_EQ(FindCondition(state.conditions, "Progressing")->reason, "NewReplicaSetAvailable");
  EXPECT_EQ(FindCondition(state.conditions, "Available")->status, "False");
}

TEST(DeploymentRulesTest, FailuresOfSetsShow) {
  auto document = MakeDeployment(2, "1", "0");
  auto failing = FromJson<ReplicaSet>(R"({"metadata":{"name":"web-1"},"spec":{"replicas":2},"status":{"replicas":0,"conditions":[
      {"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"quota","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
  ReplicaSet set(failing->root());
  DeploymentState state = RolloutState(Deployment(document->root()), {set}, &set, kNow);
  const Condition* failure = FindCondition(state.conditions, "ReplicaFailure");
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->message, "quota");
  EXPECT_EQ(failure->last_update_time, "2026-01-01T00:00:00Z");
  document = WithState(document, state);
  auto healthy = MakeSet("web-1", 2, 2);
  ReplicaSet now(healthy->root());
  state = RolloutState(Deployment(document->root()), {now}, &now, kNow);
  EXPECT_EQ(FindCondition(state.conditions, "ReplicaFailure"), nullptr);
}

TEST(DeploymentRulesTest, TerminatingReplicasAreUnknownWhileASetDoesNotSay) {
  auto document = MakeDeployment(2, "1", "0");
  auto make = [](std::string status) { return FromJson<ReplicaSet>(R"({"metadata":{"name":"s"},"spec":{"replicas":1},"status":)" + status + "}"); };
  auto never_seen = make(R"({"replicas":0})"), says = make(R"({"replicas":1,"observedGeneration":1,"terminatingReplicas":3})"),
       silent = make(R"({"replicas":1,"observedGeneration":1})");
  auto count = [&](std::vector<object::DocumentPtr> documents) {
    ReplicaSets sets;
    for (const auto& one : documents) sets.emplace_back(one->root());
    return CountReplicas(Deployment(document->root()), sets, nullptr, kNow).terminating;
  };
  EXPECT_EQ(count({never_seen, says}), 3);
  EXPECT_EQ(count({never_seen}), 0);
  EXPECT_EQ(count({says, silent}), std::nullopt);
}

}  // namespace
}  // namespace homeostat::controllers
