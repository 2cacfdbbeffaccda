// Evictions, and the limit on an object's size, through the whole server.
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

class EvictionTest : public internal::TestServer {
 protected:
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";
  static constexpr const char* kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  using TestAnswer = internal::TestAnswer;

  // A pod on a node, in that phase.
  void MakePod(const std::string& name, const std::string& phase = "Running", const std::string& ready = "True") {
    EXPECT_EQ(Ask("POST", kPods, R"({"metadata":{"name":")" + name + R"(","labels":{"a":"b"}},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}})").code, 201);
    EXPECT_EQ(Ask("PATCH", std::string(kPods) + "/" + name + "/status",
                  R"({"status":{"phase":")" + phase + R"(","conditions":[{"type":"Ready","status":")" + ready + R"("}]}})").code, 200);
  }
  void MakeBudget(const std::string& name, const std::string& spec = "") {
    EXPECT_EQ(Ask("POST", kBudgets, R"({"metadata":{"name":")" + name + R"("},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}})" + spec + "}}").code, 201);
  }
  void SetBudget(const std::string& name, int allowed, int healthy, int desired) {
    EXPECT_EQ(Ask("PATCH", std::string(kBudgets) + "/" + name + "/status",
                  R"({"status":{"observedGeneration":1,"expectedPods":2,"disruptionsAllowed":)" + std::to_string(allowed) + R"(,"currentHealthy":)" +
                      std::to_string(healthy) + R"(,"desiredHealthy":)" + std::to_string(desired) + "}}").code, 200);
  }
  TestAnswer Evict(const std::string& name, const std::string& options = "", const std::string& query = "") {
    std::string body = R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":")" + name + "\"}";
    if (!options.empty()) body += ",\"deleteOptions\":" + options;
    return Ask("POST", std::string(kPods) + "/" + name + "/eviction" + query, body + "}");
  }
  bool IsGoing(const std::string& name) {
    TestAnswer pod = Ask("GET", std::string(kPods) + "/" + name);
    return pod.code == 404 || !pod.Text({"metadata", "deletionTimestamp"}).empty();
  }
  std::string Cause(const TestAnswer& answer) { return std::string(answer.Get({"details", "causes"}).At(0).Get("message").AsString()); }
};

TEST_F(EvictionTest, GoesWithoutABudget) {
  MakePod("p");
  EXPECT_EQ(Evict("p", "", "?dryRun=All").code, 201);
  EXPECT_FALSE(IsGoing("p"));
  TestAnswer evicted = Evict("p", R"({"gracePeriodSeconds":7})");
  EXPECT_EQ(evicted.code, 201);
  EXPECT_EQ(evicted.Text({"status"}), "Success");
  TestAnswer pod = Ask("GET", std::string(kPods) + "/p");
  EXPECT_EQ(pod.Get({"metadata", "deletionGracePeriodSeconds"}).AsInt(), 7);
  EXPECT_EQ(pod.Get({"status", "conditions"}).At(1).Get("reason").AsString(), "EvictionByEvictionAPI");
  EXPECT_EQ(Evict("p").code, 201);  // on its way already
}

TEST_F(EvictionTest, ABudgetSaysHowMany) {
  MakePod("p");
  MakePod("q");
  MakeBudget("b");
  TestAnswer early = Evict("p");
  EXPECT_EQ(early.code, 429);
  EXPECT_EQ(early.headers.Get("Retry-After"), "10");
  EXPECT_EQ(Cause(early), "The disruption budget b is still being processed by the server.");
  SetBudget("b", 1, 2, 1);
  EXPECT_EQ(Evict("p", "", "?dryRun=All").code, 201);
  EXPECT_EQ(Evict("p").code, 201);
  TestAnswer budget = Ask("GET", std::string(kBudgets) + "/b");
  EXPECT_EQ(budget.Get({"status", "disruptionsAllowed"}).AsInt(), 0);
  EXPECT_FALSE(budget.Text({"status", "disruptedPods", "p"}).empty());
  EXPECT_EQ(budget.Get({"status", "conditions"}).At(0).Get("reason").AsString(), "InsufficientPods");
  TestAnswer refused = Evict("q");
  EXPECT_EQ(refused.code, 429);
  EXPECT_EQ(refused.headers.Get("Retry-After"), "");
  EXPECT_EQ(Cause(refused), "The disruption budget b does not allow evicting pods currently");
  SetBudget("b", 0, 1, 1);
  EXPECT_EQ(Cause(Evict("q")), "The disruption budget b needs 1 healthy pods and has 1 currently");
  EXPECT_FALSE(IsGoing("q"));
}

TEST_F(EvictionTest, UnhealthyPodsGoByTheirPolicy) {
  MakePod("sick", "Running", "False");
  MakeBudget("b");
  SetBudget("b", 0, 0, 1);
  EXPECT_EQ(Evict("sick").code, 429);
  SetBudget("b", 0, 1, 1);  // enough healthy ones are left
  EXPECT_EQ(Evict("sick").code, 201);
  MakePod("sicker", "Running", "False");
  Ask("PATCH", std::string(kBudgets) + "/b", R"({"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}})");
  Ask("PATCH", std::string(kBudgets) + "/b/status", R"({"status":{"observedGeneration":2,"currentHealthy":0}})");
  EXPECT_EQ(Evict("sicker").code, 201);
  EXPECT_TRUE(IsGoing("sicker"));
}

TEST_F(EvictionTest, PodsThatServeNobodyNeedNoBudget) {
  MakeBudget("b");
  SetBudget("b", 0, 1, 1);
  for (const char* phase : {"Pending", "Succeeded", "Failed"}) {
    MakePod("p", phase);
    EXPECT_EQ(Evict("p").code, 201) << phase;
    Ask("DELETE", std::string(kPods) + "/p?gracePeriodSeconds=0");
  }
}

TEST_F(EvictionTest, RefusesWhatCanNotBe) {
  MakePod("p");
  EXPECT_EQ(Evict("nope").message(), "pods \"nope\" not found");
  EXPECT_EQ(Evict("p", R"({"preconditions":{"uid":"x"}})").code, 409);
  EXPECT_EQ(Evict("p", R"({"preconditions":{"resourceVersion":"1"}})").code, 409);
  EXPECT_EQ(Evict("p", R"({"dryRun":["x"]})", "?dryRun=All").message(), "Non-matching dry-run options in request and content: [All] and [x]");
  EXPECT_EQ(Ask("POST", std::string(kPods) + "/p/eviction", "{}").message(), "name in URL does not match name in Eviction object");
  MakeBudget("b");
  MakeBudget("c");
  TestAnswer both = Evict("p");
  EXPECT_EQ(both.code, 500);
  EXPECT_EQ(both.message(), "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
  EXPECT_FALSE(IsGoing("p"));
}

TEST_F(EvictionTest, ObjectsHaveALimit) {
  auto deployment = [](size_t size) {
    return R"({"metadata":{"name":"big"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"c","image":"i","args":[")" + std::string(size, 'x') + "\"]}]}}}}";
  };
  const std::string path = "/apis/apps/v1/namespaces/default/deployments";
  TestAnswer refused = Ask("POST", path, deployment(1'600'000));
  EXPECT_EQ(refused.code, 500);
  EXPECT_EQ(refused.message(), "etcdserver: request is too large");
  EXPECT_EQ(Ask("POST", path, deployment(1'500'000)).code, 201);
  EXPECT_EQ(Ask("PATCH", path + "/big", R"({"metadata":{"labels":{"a":"b"}}})").code, 200);
  EXPECT_EQ(Ask("POST", path + "?dryRun=All", deployment(1'600'000)).code, 409);
}

}  // namespace
}  // namespace homeostat::server
