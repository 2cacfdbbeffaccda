// Expressions of policies and webhooks are looked at when they are written.
#include "kinds/internal/testing.h"

namespace homeostat::kinds {
namespace {

constexpr std::string_view kPolicy = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}, spec: {matchConstraints: "
                                     "{resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [pods]}]}}}";
constexpr std::string_view kMutating = "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: p}, spec: {reinvocationPolicy: "
                                       "Never, matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}}}";

class AdmissionKindsTest : public internal::BehaviourTest {};

TEST_F(AdmissionKindsTest, PoliciesAreChecked) {
  struct Case {
    std::string_view policy, change;
    std::vector<std::string> faults;
  };
  const Case cases[] = {
      {kPolicy, "{spec: {validations: [{expression: 'object.x == 1', messageExpression: '\"a\"', reason: Forbidden}]}}", {}},
      {kPolicy, "{spec: {validations: [{expression: '1'}]}}", {"spec.validations[0].expression: Invalid value: \"1\": must evaluate to bool but got int"}},
      {kPolicy, "{spec: {validations: [{expression: ' ', reason: Other, message: \"a\\nb\"}]}}",
       {"spec.validations[0].expression: Required value: expression is not specified",
        "spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks",
        "spec.validations[0].reason: Unsupported value: \"Other\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\""}},
      {kPolicy, "{spec: {variables: [{name: for, expression: '1'}, {name: a, expression: ''}], validations: [{expression: 'variables.for == 1'}]}}",
       {"spec.variables[0].name: Invalid value: \"for\": must be a valid CEL identifier",
        "spec.variables[1].expression: Required value: expression is not specified"}},
      {kPolicy, "{spec: {auditAnnotations: [{key: k, valueExpression: '1'}, {key: k, valueExpression: 'null'}]}}",
       {"spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one of [string null_type] but got int",
        "spec.auditAnnotations[1].key: Duplicate value: \"k\""}},
      {kPolicy, "{spec: {validations: [{expression: 'true'}], matchConditions: [{name: x, expression: 'true'}, {name: x, expression: '\"a\"'}]}}",
       {"spec.matchConditions[1].expression: Invalid value: \"\\\"a\\\"\": must evaluate to bool but got string",
        "spec.matchConditions[1].name: Duplicate value: \"x\""}},
      {kMutating, "{spec: {mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"remove\", path: \"/a\"}]'}}]}}", {}},
      {kMutating, "{spec: {mutations: [{patchType: JSONPatch, jsonPatch: {expression: '\"x\"'}, applyConfiguration: {expression: 'Object{}'}}]}}",
       {"spec.mutations[0].jsonPatch.expression: Invalid value: \"\\\"x\\\"\": must evaluate to list(JSONPatch) but got string",
        "spec.mutations[0].applyConfiguration: Invalid value: \"{applyConfiguration}\": must not be specified when patchType is JSONPatch"}},
      {kMutating, "{spec: {mutations: [{patchType: ApplyConfiguration}]}}",
       {"spec.mutations[0].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration"}},
  };
  for (const Case& test : cases) EXPECT_EQ(Create(test.policy, test.change).faults, test.faults) << test.change;
}

TEST_F(AdmissionKindsTest, ConditionsThatStayAreNotLookedAtAgain) {
  constexpr std::string_view kBroken = "{spec: {validations: [{expression: 'true'}], matchConditions: [{name: x, expression: '1'}]}}";
  Value old = Load(kPolicy, kBroken);
  EXPECT_EQ(Create(old).faults.size(), 1u);
  EXPECT_TRUE(Update(old, old).faults.empty());
  EXPECT_EQ(Update(Load(kPolicy, "{spec: {validations: [{expression: 'true'}], matchConditions: [{name: x, expression: '2'}]}}"), old).faults.size(), 1u);
}

TEST_F(AdmissionKindsTest, NothingDeletedIsMutated) {
  constexpr std::string_view kBinding = "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: b}, spec: {policyName: p, "
                                        "matchResources: {matchPolicy: Exact, namespaceSelector: {}, objectSelector: {}, resourceRules: [{apiGroups: [''], apiVersions: [v1], "
                                        "resources: [pods], operations: [DELETE]}]}}}";
  EXPECT_EQ(Create(kBinding).faults, std::vector<std::string>{"spec.matchResources.resourceRules.operations: Unsupported value: \"DELETE\": supported values: "
                                                              "\"*\", \"CONNECT\", \"CREATE\", \"UPDATE\""});
}

TEST_F(AdmissionKindsTest, UrlsOfWebhooksAreGoUrls) {
  constexpr std::string_view kHook = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: a.b.c, "
                                     "sideEffects: None, failurePolicy: Fail, timeoutSeconds: 1, admissionReviewVersions: [v1], clientConfig: {url: '";
  const std::string at = "webhooks[0].clientConfig.url: ", form = "; desired format: https://host[/path]";
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"https://a.example/x", {}},
      {"://", {at + "Required value: url must be a valid URL: parse \"://\": missing protocol scheme" + form}},
      {"https://a:x/", {at + "Required value: url must be a valid URL: parse \"https://a:x/\": invalid port \":x\" after host" + form}},
      {"http://u@a?b#c",
       {at + "Invalid value: \"http\": 'https' is the only allowed URL scheme" + form, at + "Invalid value: \"u\": user information is not permitted in the URL",
        at + "Invalid value: \"c\": fragments are not permitted in the URL", at + "Invalid value: \"b\": query parameters are not permitted in the URL"}},
  };
  EXPECT_EQ(Create(std::string(kHook.substr(0, kHook.find("url"))) + "service: {name: s, port: 443}}}]}").faults,
            std::vector<std::string>{"webhooks[0].clientConfig.service.name: Required value"}) << "upstream takes it for the namespace";
  for (const auto& [url, faults] : cases) EXPECT_EQ(Create(std::string(kHook) + url + "'}}]}").faults, faults) << url;
}

}  // namespace
}  // namespace homeostat::kinds
