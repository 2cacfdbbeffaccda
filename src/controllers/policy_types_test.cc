// What is found out about a policy's expressions from published schemas.
#include "controllers/policy_types.h"

#include <gtest/gtest.h>

#include "homeostat/object/json.h"

namespace homeostat::controllers {
namespace {

constexpr std::string_view kDiscovery = R"([
  {"metadata": {}, "versions": [{"version": "v1", "resources": [
    {"resource": "pods", "singularResource": "pod", "responseKind": {"kind": "Pod"}}, {"resource": "events", "responseKind": {"kind": "Event"}}]}]},
  {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [{"resource": "deployments", "responseKind": {"kind": "Deployment"}}]}]},
  {"metadata": {"name": "events.k8s.io"}, "versions": [{"version": "v1", "resources": [{"resource": "events", "responseKind": {"kind": "Event"}}]}]}])";

constexpr std::string_view kOpenApi = R"({"components": {"schemas": {
  "Deployment": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"}], "properties": {
    "kind": {"type": "string"}, "metadata": {"type": "object", "properties": {"name": {"type": "string"}, "labels": {"type": "object",
      "additionalProperties": {"type": "string"}}}}, "spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}], "default": {}}}},
  "Spec": {"type": "object", "properties": {"replicas": {"type": "integer"}, "port": {"$ref": "#/components/schemas/IntOrString"},
    "inner": {"$ref": "#/components/schemas/Spec"}}},
  "IntOrString": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}}}})";

object::DocumentPtr Parse(std::string_view json) {
  auto document = object::ParseJsonDocument(json);
  EXPECT_TRUE(document) << json;
  return document ? *document : nullptr;
}

std::string Kinds(const std::string& rule) {
  object::DocumentPtr discovery = Parse(kDiscovery), policy = Parse(R"({"spec": {"matchConstraints": {"resourceRules": [)" + rule + "]}}}");
  std::string text;
  for (const KindName& kind : KindsOfPolicy(policy->root(), {discovery->root().items().begin(), discovery->root().items().end()})) {
    text += (text.empty() ? "" : "; ") + kind.ToString();
  }
  return text;
}

TEST(PolicyTypes, FindsTheKindsThatRulesName) {
  EXPECT_EQ(Kinds(R"({"apiGroups": ["apps", ""], "apiVersions": ["v1"], "resources": ["deployments", "pods", "pods/status"]})"),
            "/v1, Kind=Pod; apps/v1, Kind=Deployment");
  EXPECT_EQ(Kinds(R"({"apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["pods"]})"), "");
  EXPECT_EQ(Kinds(R"({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["events"]})"), "/v1, Kind=Event; events.k8s.io/v1, Kind=Event");
  EXPECT_EQ(Kinds(R"({"apiGroups": ["apps"], "apiVersions": ["v2"], "resources": ["deployments"]})"), "");
}

TEST(PolicyTypes, ChecksExpressionsAgainstSchemas) {
  KindName name{"apps", "v1", "Deployment"};
  cel::DeclTypePtr type = TypeOfKind(Parse(kOpenApi)->root(), name, "Deployment1");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(TypeOfKind(Parse(kOpenApi)->root(), {"apps", "v1", "Other"}, "x"), nullptr);
  object::DocumentPtr policy = Parse(R"({"spec": {"variables": [{"name": "n", "expression": "object.spec.replicas"}], "validations": [
    {"expression": "object.spec.replicas > 1 && object.metadata.labels['a'] == 'b' && type(object.spec.port) == int && variables.n == 1"},
    {"expression": "object.spec.replica > 1", "messageExpression": "object.kind + 1"},
    {"expression": "object.spec.inner.replicas == 1"}, {"expression": "variables.n == 'a'"}]}})");
  auto warnings = CheckTypes(policy->root(), {{name, type}}, {});
  ASSERT_EQ(warnings.size(), 4u);
  EXPECT_EQ(warnings[0].field, "spec.validations[1].expression");
  EXPECT_EQ(warnings[0].warning,
            "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replica'\n | object.spec.replica > 1\n | ...........^\n");
  EXPECT_EQ(warnings[1].field, "spec.validations[1].messageExpression");
  EXPECT_EQ(warnings[2].field, "spec.validations[2].expression");
  EXPECT_NE(warnings[3].warning.find("applied to '(int, string)'"), std::string::npos) << warnings[3].warning;
}

}  // namespace
}  // namespace homeostat::controllers
