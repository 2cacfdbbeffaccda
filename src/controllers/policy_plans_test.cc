// PodDisruptionBudgets, signing requests and the times of nodes: the smaller pure rules.
#include <gtest/gtest.h>

#include "controllers/certificate_rules.h"
#include "controllers/disruption_plan.h"
#include "controllers/json_object_test.h"
#include "controllers/node_ttl.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {
namespace {

using api::certificates::v1::CertificateSigningRequest;
using api::core::v1::Pod;
using api::policy::v1::PodDisruptionBudget;

const WallTime kNow = WallTime(std::chrono::seconds(1'800'000'000));   // 2027-01-15T08:00:00Z

object::DocumentPtr MakeBudget(const std::string& spec, const std::string& status = "{}") {
  return FromJson<PodDisruptionBudget>(R"({"metadata":{"name":"b","namespace":"default","generation":2},"spec":)" + spec + R"(,"status":)" + status + "}");
}
object::DocumentPtr MakePod(const std::string& name, bool ready, const std::string& more = "") {
  return FromJson<Pod>(R"({"metadata":{"name":")" + name + R"("},"status":{"phase":"Running","conditions":[{"type":"Ready","status":")" + (ready ? "True" : "False") + "\"}" + more + "]}}");
}

TEST(DisruptionPlanTest, ReckonsWithNumbersAndShares) {
  struct Case {
    std::string spec;
    int expected, desired;
  };
  for (const Case& c : {Case{R"({"minAvailable":2})", 3, 2}, Case{R"({"minAvailable":"50%"})", 5, 3}, Case{R"({"maxUnavailable":1})", 5, 4},
                        Case{R"({"maxUnavailable":"30%"})", 5, 3}, Case{R"({"maxUnavailable":9})", 5, 0}, Case{"{}", 0, 0}}) {
    auto budget = MakeBudget(c.spec);
    ExpectedPods expected = ExpectedOf(PodDisruptionBudget(budget->root()), 3, 5);
    EXPECT_EQ(expected.expected, c.expected) << c.spec;
    EXPECT_EQ(expected.desired_healthy, c.desired) << c.spec;
  }
}

TEST(DisruptionPlanTest, SaysHowManyMayBeDisturbed) {
  auto budget = MakeBudget(R"({"minAvailable":1})");
  BudgetStatus judged = JudgeBudget(budget, {MakePod("a", true), MakePod("b", true), MakePod("c", false)}, {3, 1}, kNow);
  auto status = PodDisruptionBudget(judged.budget->root()).status();
  EXPECT_EQ(status.current_healthy(), 2);
  EXPECT_EQ(status.disruptions_allowed(), 1);
  EXPECT_EQ(status.observed_generation(), 2);
  ASSERT_EQ(status.conditions().size(), 1u);
  EXPECT_EQ(status.conditions()[0].reason(), "SufficientPods");
  EXPECT_EQ(JudgeBudget(judged.budget, {MakePod("a", true), MakePod("b", true), MakePod("c", false)}, {3, 1}, kNow).budget, judged.budget);
  auto failed = WithSyncFailure(judged.budget, "found no controllers", kNow);
  EXPECT_EQ(PodDisruptionBudget(failed->root()).status().disruptions_allowed(), 0);
  EXPECT_EQ(PodDisruptionBudget(failed->root()).status().conditions()[0].reason(), "SyncFailed");
}

TEST(DisruptionPlanTest, EvictedPodsAreAwaited) {
  auto budget = MakeBudget(R"({"minAvailable":0})", R"({"disruptedPods":{"a":"2027-01-15T07:59:30Z","b":"2027-01-15T07:50:00Z","gone":"2027-01-15T07:59:00Z"}})");
  BudgetStatus judged = JudgeBudget(budget, {MakePod("a", true), MakePod("b", true)}, {2, 0}, kNow);
  auto status = PodDisruptionBudget(judged.budget->root()).status();
  EXPECT_EQ(status.disrupted_pods().size(), 1u);
  EXPECT_EQ(status.current_healthy(), 1);
  EXPECT_EQ(judged.again, std::optional<Duration>(std::chrono::seconds(90)));
  ASSERT_EQ(judged.not_deleted.size(), 1u);
}

TEST(DisruptionPlanTest, ADisruptionThatDoesNotComeIsTakenBack) {
  auto pod = MakePod("a", true, R"(,{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI","lastTransitionTime":"2027-01-15T07:59:00Z"})");
  EXPECT_EQ(UntilStale(Pod(pod->root()), kNow), std::optional<Duration>(std::chrono::minutes(1)));
  auto calm = WithoutDisruptionTarget(pod, kNow);
  EXPECT_EQ(UntilStale(Pod(calm->root()), kNow), std::nullopt);
  EXPECT_EQ(Pod(calm->root()).status().conditions()[1].status(), "False");
}

TEST(CertificateRulesTest, SignersRefuseWhatIsNotTheirs) {
  struct Case {
    std::string_view signer;
    CertificateSubject subject;
    std::vector<std::string> usages;
    std::string refusal;
  };
  const std::vector<std::string> kClient{"digital signature", "client auth"}, kServer{"key encipherment", "digital signature", "server auth"};
  for (const Case& c : {
           Case{kApiServerClientSigner, {"mira"}, {"client auth"}, ""},
           Case{kApiServerClientSigner, {"mira"}, {"digital signature"}, "missing required usage for client certificate: client auth"},
           Case{kApiServerClientSigner, {"mira"}, {"client auth", "server auth"}, "invalid usage for client certificate: server auth"},
           Case{kKubeletClientSigner, {"system:node:n", {"system:nodes"}}, kClient, ""},
           Case{kKubeletClientSigner, {"system:node:n", {"crew"}}, kClient, "subject organization is not system:nodes"},
           Case{kKubeletClientSigner, {"n", {"system:nodes"}}, kClient, "subject common name does not begin with system:node:"},
           Case{kKubeletClientSigner, {"system:node:n", {"system:nodes"}, 1}, kClient, "DNS subjectAltNames are not allowed"},
           Case{kKubeletClientSigner, {"system:node:n", {"system:nodes"}}, kServer, "usages did not match [client auth digital signature key encipherment]"},
           Case{kKubeletServingSigner, {"system:node:n", {"system:nodes"}, 1}, kServer, ""},
           Case{kKubeletServingSigner, {"system:node:n", {"system:nodes"}}, kServer, "DNS or IP subjectAltName is required"},
           Case{kLegacySigner, {"x"}, {"any"}, ""},
       }) {
    EXPECT_EQ(RefusalOf(c.signer, c.subject, c.usages).value_or(""), c.refusal) << c.signer;
  }
}

TEST(CertificateRulesTest, LifetimesAndAges) {
  auto asked = FromJson<CertificateSigningRequest>(R"({"metadata":{"creationTimestamp":"2027-01-14T07:00:00Z"},"spec":{"expirationSeconds":60}})");
  EXPECT_EQ(LifetimeOf(CertificateSigningRequest(asked->root())), Duration(std::chrono::minutes(10)));
  EXPECT_TRUE(IsRequestOld(CertificateSigningRequest(asked->root()), std::nullopt, kNow));
  auto denied = FromJson<CertificateSigningRequest>(R"({"status":{"conditions":[{"type":"Denied","status":"True","lastUpdateTime":"2027-01-15T07:30:00Z"}]}})");
  EXPECT_FALSE(IsRequestOld(CertificateSigningRequest(denied->root()), std::nullopt, kNow));
  EXPECT_TRUE(IsRequestOld(CertificateSigningRequest(denied->root()), std::nullopt, kNow + std::chrono::hours(1)));
  EXPECT_EQ(LifetimeOf(CertificateSigningRequest(denied->root())), Duration(std::chrono::hours(24 * 365)));
}

TEST(NodeTtlTest, StepsOverlap) {
  EXPECT_EQ(NodeTtl(1, 0), 0);
  EXPECT_EQ(NodeTtl(101, 0), 15);
  EXPECT_EQ(NodeTtl(95, 15), 15);
  EXPECT_EQ(NodeTtl(89, 15), 0);
  EXPECT_EQ(NodeTtl(5000, 60), 300);
}

}  // namespace
}  // namespace homeostat::controllers
