#include "server/bootstrap_repair.h"

#include "homeostat/api/registry.h"
#include "homeostat/object/yaml.h"
#include "homeostat/schema/conform.h"
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

using internal::TestAnswer;

const schema::Kind& KindOf(std::string_view plural) {
  for (const schema::Kind* kind : api::AllKinds()) {
    if (kind->plural == plural && kind->gvk.version == "v1") return *kind;
  }
  ADD_FAILURE() << plural;
  return *api::AllKinds().front();
}

Repair Between(std::string_view plural, const std::string& existing, const std::string& wanted) {
  object::Arena arena;
  const schema::Kind& kind = KindOf(plural);
  auto typed = [&](const std::string& text) {
    schema::ConformReport report;
    return *schema::Conform(arena, *object::ParseYaml(arena, text, nullptr), *kind.type, report);
  };
  return RepairOf(kind, typed(existing), typed(wanted));
}

TEST(RepairOf, RolesGetWhatTheyLack) {
  const std::string wanted = "{metadata: {name: r, labels: {a: b}}, rules: [{verbs: [get, list], apiGroups: [''], resources: [pods]}]}";
  EXPECT_FALSE(Between("clusterroles", wanted, wanted).needed());
  EXPECT_EQ(Between("clusterroles", "{metadata: {name: r}, rules: [{verbs: [get], apiGroups: ['*'], resources: [pods]}]}", wanted).merge_patch,
            R"({"metadata":{"labels":{"a":"b"}},"rules":[{"verbs":["get"],"apiGroups":["*"],"resources":["pods"]},)"
            R"({"verbs":["list"],"apiGroups":[""],"resources":["pods"]}]})");
  // More than that stays, and so does what somebody has set to something else.
  EXPECT_FALSE(Between("clusterroles", "{metadata: {name: r, labels: {a: c}}, rules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*']}]}", wanted).needed());
  EXPECT_FALSE(Between("clusterroles", "{metadata: {name: r, annotations: {rbac.authorization.kubernetes.io/autoupdate: 'false'}}}", wanted).needed());
}

TEST(RepairOf, RolesAreAggregatedAgain) {
  const std::string wanted = "{metadata: {name: r}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}";
  EXPECT_EQ(Between("clusterroles", "{metadata: {name: r}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {c: d}}]}}", wanted).merge_patch,
            R"({"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"c":"d"}},{"matchLabels":{"a":"b"}}]}})");
  EXPECT_EQ(Between("clusterroles", wanted, "{metadata: {name: r}}").merge_patch, R"({"aggregationRule":null})");
}

TEST(RepairOf, Bindings) {
  const std::string role = "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: x}";
  const std::string wanted = "{metadata: {name: b}, " + role + ", subjects: [{kind: User, name: u, apiGroup: rbac.authorization.k8s.io}]}";
  EXPECT_EQ(Between("clusterrolebindings", "{metadata: {name: b}, " + role + ", subjects: [{kind: User, name: v, apiGroup: rbac.authorization.k8s.io}]}", wanted)
                .merge_patch,
            R"({"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"v"},{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"u"}]})");
  EXPECT_TRUE(Between("clusterrolebindings", "{metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: y}}", wanted).recreate);
  EXPECT_FALSE(Between("clusterrolebindings", wanted, wanted).needed());
}

TEST(RepairOf, FlowControlKeepsItsSpecWhileItIsAsked) {
  auto schema = [](std::string name, std::string annotation, int precedence) {
    std::string annotations = annotation.empty() ? "" : ", annotations: {apf.kubernetes.io/autoupdate-spec: '" + annotation + "'}";
    return "{metadata: {name: " + name + ", generation: 2" + annotations + "}, spec: {matchingPrecedence: " + std::to_string(precedence) + "}}";
  };
  EXPECT_FALSE(Between("flowschemas", schema("s", "true", 5), schema("s", "true", 5)).needed());
  EXPECT_TRUE(Between("flowschemas", schema("s", "true", 6), schema("s", "true", 5)).needed());
  EXPECT_FALSE(Between("flowschemas", schema("s", "false", 6), schema("s", "true", 5)).needed());
  EXPECT_TRUE(Between("flowschemas", schema("exempt", "false", 6), schema("exempt", "true", 1)).needed());
  EXPECT_FALSE(Between("configmaps", "{metadata: {name: c}}", "{metadata: {name: c, labels: {a: b}}}").needed());
}

class KeptObjects : public internal::TestServer {};

TEST_F(KeptObjects, ComeBack) {
  for (const char* path : {"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/service-accounts", "/api/v1/namespaces/default/services/kubernetes"}) {
    EXPECT_EQ(Ask("DELETE", path).code, 200) << path;
    EXPECT_EQ(Ask("GET", path).code, 404) << path;
    runtime->RunFor(std::chrono::seconds(65));
    EXPECT_EQ(Ask("GET", path).code, 200) << path;
  }
}

TEST_F(KeptObjects, TheRangeOfServicesIsReady) {
  TestAnswer range = Ask("GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes");
  object::Value condition = range.Get({"status", "conditions"}).At(0);
  EXPECT_EQ(condition.Get("type").AsString(), "Ready");
  EXPECT_EQ(condition.Get("status").AsString(), "True");
  EXPECT_EQ(condition.Get("message").AsString(), "Kubernetes default Service CIDR is ready");
}

TEST_F(KeptObjects, FlowSchemasSayWhetherTheirLevelIsThere) {
  runtime->RunFor(std::chrono::seconds(1));
  auto dangling = [&](std::string name) {
    TestAnswer schema = Ask("GET", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/" + name);
    return std::string(schema.Get({"status", "conditions"}).At(0).Get("status").AsString());
  };
  EXPECT_EQ(dangling("exempt"), "False");
  Ask("POST", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
      R"({"metadata":{"name":"lost"},"spec":{"matchingPrecedence":77,"priorityLevelConfiguration":{"name":"nowhere"}}})");
  runtime->RunFor(std::chrono::seconds(1));
  EXPECT_EQ(dangling("lost"), "True");
  TestAnswer lost = Ask("GET", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/lost");
  Value entry = lost.Get({"metadata", "managedFields"}).At(0);
  EXPECT_EQ(entry.Get("manager").AsString(), "api-priority-and-fairness-config-consumer-v1");
  EXPECT_EQ(entry.Get("operation").AsString(), "Apply");
  EXPECT_EQ(entry.Get("subresource").AsString(), "status");
}

}  // namespace
}  // namespace homeostat::server
