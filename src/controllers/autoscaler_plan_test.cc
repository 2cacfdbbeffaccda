#include "controllers/autoscaler_plan.h"

#include <gtest/gtest.h>

#include "controllers/json_object_test.h"
#include "homeostat/object/json.h"

namespace homeostat::controllers {
namespace {

using api::autoscaling::v2::HorizontalPodAutoscaler;
using api::core::v1::Pod;

const WallTime kNow = WallTime(std::chrono::seconds(1'800'000'000));   // 2027-01-15T08:00:00Z

object::DocumentPtr MakePod(const std::string& name, const std::string& phase = "Running") {
  return FromJson<Pod>(R"({"metadata":{"name":")" + name + R"("},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"100m"}}}]},"status":{"phase":")" + phase +
                       R"(","startTime":"2027-01-15T06:00:00Z","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2027-01-15T06:00:10Z"}]}})");
}
MetricView View(int current, std::vector<int64_t> used, int pending = 0, int silent = 0) {
  MetricView view;
  view.current = current;
  view.resource = "cpu";
  view.now = kNow;
  for (size_t i = 0; i < used.size(); ++i) {
    std::string name = "p" + std::to_string(i);
    view.pods.push_back(MakePod(name));
    view.metrics[name] = {used[i], kNow, std::chrono::minutes(1)};
  }
  for (int i = 0; i < pending; ++i) view.pods.push_back(MakePod("w" + std::to_string(i), "Pending"));
  for (int i = 0; i < silent; ++i) view.pods.push_back(MakePod("s" + std::to_string(i)));
  return view;
}
object::DocumentPtr MakeScaler(const std::string& more = "") {
  return FromJson<HorizontalPodAutoscaler>(R"({"metadata":{"name":"h"},"spec":{"minReplicas":2,"maxReplicas":10)" + more + "}}");
}

TEST(AutoscalerPlanTest, SizesByWhatIsNoPods) {
  auto total = ForTotal(View(2, {0, 0}, 1), 30'000, 10'000);
  ASSERT_TRUE(total.has_value());
  EXPECT_EQ(total->replicas, 6) << "three times what is wanted, and two are ready";
  EXPECT_EQ(total->average, 30'000);
  EXPECT_EQ(ForTotal(View(2, {0, 0}), 10'500, 10'000)->replicas, 2) << "within the tolerance";
  EXPECT_EQ(ForTotal(View(2, {}), 30'000, 10'000).error().message(),
            "unable to calculate ready pods: no pods returned by selector while calculating replica count");
  Proposal share = ForShare({}, 35'000, 10'000, 2);
  EXPECT_EQ(share.replicas, 4);
  EXPECT_EQ(share.average, 17'500);
  EXPECT_EQ(ForShare({}, 21'000, 10'000, 2).replicas, 2) << "within the tolerance";
  EXPECT_EQ(ForShare({}, 25'000, 10'000, 0).replicas, 3);
}

TEST(AutoscalerPlanTest, AmountsOfTheWholePodCount) {
  MetricView view = View(1, {300});
  view.pods = {FromJson<Pod>(R"({"metadata":{"name":"p0"},"spec":{"resources":{"requests":{"cpu":"200m"}},"containers":[{"name":"c"}]},"status":{"phase":"Running",
      "startTime":"2027-01-15T06:00:00Z","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2027-01-15T06:00:10Z"}]}})")};
  auto proposal = ForUtilization(view, 50);
  ASSERT_TRUE(proposal.has_value()) << proposal.error().message();
  EXPECT_EQ(*proposal->utilization, 150);
  view.resource = "memory";
  EXPECT_EQ(ForUtilization(view, 50).error().message(), "missing pod-level request for memory in Pod p0");
}

TEST(AutoscalerPlanTest, SizesByUtilization) {
  struct Case {
    MetricView view;
    int target, replicas;
  };
  for (const Case& c : {
           Case{View(2, {100, 100}), 50, 4},
           Case{View(2, {50, 50}), 50, 2},
           Case{View(2, {54, 54}), 50, 2},                  // within the tolerance
           Case{View(4, {10, 10, 10, 10}), 50, 1},
           Case{View(3, {100, 100}, 1), 50, 4},             // one not started yet counts as using nothing
           Case{View(3, {10, 10}, 0, 1), 50, 3},            // one that says nothing counts as using all it asked for
       }) {
    auto proposal = ForUtilization(c.view, c.target);
    ASSERT_TRUE(proposal.has_value());
    EXPECT_EQ(proposal->replicas, c.replicas) << c.view.current;
  }
  EXPECT_EQ(ForUtilization(View(2, {}, 2), 50).error().message(), "did not receive metrics for targeted pods (pods might be unready)");
  EXPECT_EQ(ForUtilization(View(2, {}), 50).error().message(), "no pods returned by selector while calculating replica count");
  auto average = ForAverage(View(2, {300, 300}), 100);
  EXPECT_EQ(average->replicas, 6);
  EXPECT_EQ(average->average, 300);
}

TEST(AutoscalerPlanTest, SizesStayWithinBoundsAndRates) {
  struct Case {
    int current, proposed, replicas;
    std::string reason;
  };
  for (const Case& c : {Case{3, 4, 4, "DesiredWithinRange"}, Case{3, 1, 2, "TooFewReplicas"}, Case{3, 50, 6, "ScaleUpLimit"}, Case{8, 50, 10, "TooManyReplicas"}}) {
    auto scaler = MakeScaler();
    ScalingHistory history;
    SizeDecision decision = DecideSize(HorizontalPodAutoscaler(scaler->root()), c.current, c.proposed, history, kNow);
    EXPECT_EQ(decision.replicas, c.replicas) << c.current << " " << c.proposed;
    EXPECT_EQ(decision.limited_reason, c.reason);
  }
}

TEST(AutoscalerPlanTest, ShrinkingWaitsForAWhile) {
  auto scaler = MakeScaler();
  ScalingHistory history;
  HorizontalPodAutoscaler view(scaler->root());
  EXPECT_EQ(DecideSize(view, 8, 8, history, kNow).replicas, 8);
  SizeDecision soon = DecideSize(view, 8, 3, history, kNow + std::chrono::minutes(1));
  EXPECT_EQ(soon.replicas, 8);
  EXPECT_EQ(soon.able_reason, "ScaleDownStabilized");
  EXPECT_EQ(DecideSize(view, 8, 3, history, kNow + std::chrono::minutes(7)).replicas, 3);
}

TEST(AutoscalerPlanTest, ABehaviourSetsThePace) {
  auto scaler = MakeScaler(R"(,"behavior":{"scaleUp":{"stabilizationWindowSeconds":0,"selectPolicy":"Max","policies":[{"type":"Pods","value":1,"periodSeconds":60}]},)"
                           R"("scaleDown":{"stabilizationWindowSeconds":0,"selectPolicy":"Disabled","policies":[]}})");
  HorizontalPodAutoscaler view(scaler->root());
  ScalingHistory history;
  SizeDecision up = DecideSize(view, 3, 9, history, kNow);
  EXPECT_EQ(up.replicas, 4);
  EXPECT_EQ(up.limited_reason, "ScaleUpLimit");
  NoteScaling(view, 3, 4, history, kNow);
  EXPECT_EQ(DecideSize(view, 4, 9, history, kNow + std::chrono::seconds(30)).replicas, 4);
  EXPECT_EQ(DecideSize(view, 4, 9, history, kNow + std::chrono::seconds(61)).replicas, 5);
  EXPECT_EQ(DecideSize(view, 5, 2, history, kNow + std::chrono::minutes(30)).replicas, 5);
}

TEST(AutoscalerPlanTest, ReadsPodMetrics) {
  auto list = *object::ParseJsonDocument(R"({"items":[{"metadata":{"name":"a"},"timestamp":"2027-01-15T08:00:00Z","window":"30s","containers":[{"name":"c","usage":{"cpu":"250m"}},{"name":"d","usage":{"cpu":"50m"}}]}]})");
  EXPECT_EQ(ReadPodMetrics(list->root(), "cpu", "").at("a").value, 300);
  EXPECT_EQ(ReadPodMetrics(list->root(), "cpu", "d").at("a").value, 50);
  EXPECT_TRUE(ReadPodMetrics(list->root(), "cpu", "none").empty());
}

}  // namespace
}  // namespace homeostat::controllers
