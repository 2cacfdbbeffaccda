// Audit policies: what they say of requests, and how wrong ones are refused.
#include "server/audit/policy.h"

#include <gtest/gtest.h>

namespace homeostat::server::audit {
namespace {

std::string Text(std::string_view rules) { return "{apiVersion: audit.k8s.io/v1, kind: Policy, " + std::string(rules) + "}"; }

auth::Attributes Resource(const User* user, std::string verb, std::string group, std::string resource, std::string sub, std::string ns, std::string name) {
  auth::Attributes request;
  request.user = user;
  request.verb = std::move(verb);
  request.resource_request = true;
  request.group = std::move(group);
  request.resource = std::move(resource);
  request.subresource = std::move(sub);
  request.ns = std::move(ns);
  request.name = std::move(name);
  return request;
}

TEST(AuditPolicyTest, TheFirstRuleThatMatchesDecides) {
  const User mira{.name = "mira", .uid = {}, .groups = {"devs", "system:authenticated"}, .extra = {}};
  auth::Attributes get = Resource(&mira, "get", "", "secrets", "", "shop", "s"), status = Resource(&mira, "patch", "apps", "deployments", "status", "shop", "d"),
                   node = Resource(&mira, "list", "", "nodes", "", "", ""), health;
  health.user = &mira;
  health.verb = "get";
  health.path = "/healthz/ping";
  auth::Attributes stranger = health;
  stranger.user = nullptr;
  struct Case {
    std::string_view rule;
    const auth::Attributes* request;
    bool matches;
  };
  const Case kCases[] = {
      {"", &get, true},
      {"", &health, true},
      {"users: [mira]", &get, true},
      {"users: [tom]", &get, false},
      {"users: [mira]", &stranger, false},
      {"userGroups: [ops, devs]", &get, true},
      {"userGroups: [ops]", &get, false},
      {"verbs: [list, get]", &get, true},
      {"verbs: [list]", &get, false},
      {"namespaces: [shop]", &get, true},
      {"namespaces: ['']", &node, true},
      {"namespaces: ['']", &get, false},
      {"namespaces: [shop]", &health, false},
      {"resources: [{group: '', resources: [secrets]}]", &get, true},
      {"resources: [{group: apps}]", &status, true},
      {"resources: [{group: apps}]", &get, false},
      {"resources: [{group: '*', resources: ['*']}]", &status, true},
      {"resources: [{group: apps, resources: [deployments]}]", &status, false},
      {"resources: [{group: apps, resources: [deployments/status]}]", &status, true},
      {"resources: [{group: apps, resources: ['*/status']}]", &status, true},
      {"resources: [{group: apps, resources: ['deployments/*']}]", &status, true},
      {"resources: [{group: '', resources: [secrets], resourceNames: [t]}]", &get, false},
      {"resources: [{group: '', resources: [secrets], resourceNames: [s]}]", &get, true},
      {"nonResourceURLs: ['/healthz*']", &health, true},
      {"nonResourceURLs: [/healthz]", &health, false},
      {"nonResourceURLs: ['*']", &get, false},
  };
  for (const Case& test : kCases) {
    auto policy = Policy::Parse(Text("rules: [{level: Request" + std::string(test.rule.empty() ? "" : ", ") + std::string(test.rule) + "}, {level: Metadata}]"));
    ASSERT_TRUE(policy) << policy.error().message();
    EXPECT_EQ(policy->For(*test.request).level, test.matches ? Level::kRequest : Level::kMetadata) << test.rule;
  }
}

TEST(AuditPolicyTest, StagesAndManagedFieldsAreLeftOut) {
  auto policy = Policy::Parse(Text("omitStages: [RequestReceived], omitManagedFields: true, rules: [{level: None, users: [tom]}, {level: RequestResponse, "
                                   "verbs: [get], omitStages: [Panic], omitManagedFields: false}, {level: Metadata, verbs: [list]}]"));
  ASSERT_TRUE(policy) << policy.error().message();
  auth::Attributes request;
  request.verb = "get";
  Decision decision = policy->For(request);
  EXPECT_EQ(decision.level, Level::kRequestResponse);
  EXPECT_TRUE(decision.Omits(Stage::kRequestReceived) && decision.Omits(Stage::kPanic));
  EXPECT_FALSE(decision.Omits(Stage::kResponseComplete) || decision.omits_managed_fields);
  request.verb = "list";
  EXPECT_TRUE(policy->For(request).omits_managed_fields);
  request.verb = "watch";
  EXPECT_EQ(policy->For(request).level, Level::kNone);
}

TEST(AuditPolicyTest, WrongPoliciesAreRefused) {
  struct Case {
    std::string text, error;
  };
  const std::string type = "failed decoding: expected kind Policy of audit.k8s.io/v1, not ";
  for (const Case& test : std::vector<Case>{
           {"{", "failed decoding: yaml: line 1: did not find expected node content"},
           {"", type + "\"\" of \"\""},
           {"{apiVersion: audit.k8s.io/v1beta1, kind: Policy, rules: [{level: None}]}", type + "\"Policy\" of \"audit.k8s.io/v1beta1\""},
           {Text("rules: []"), "loaded illegal policy with 0 rules"},
           {Text("rules: {a: b}"), "failed decoding: rules has a value of another type"},
           {Text("rules: [{level: 3}]"), "failed decoding: rules[0].level has a value of another type"},
           {Text("rules: [{level: Much}]"), "rules[0].level: Unsupported value: \"Much\": supported values: \"None\", \"Metadata\", \"Request\", \"RequestResponse\""},
           {Text("rules: [{verbs: [get]}]"), "rules[0].level: Required value"},
           {Text("rules: [{level: None, nonResourceURLs: [healthz, '/a*b']}]"),
            "[rules[0].nonResourceURLs[0]: Invalid value: \"healthz\": non-resource URL rules must begin with a '/' character, "
            "rules[0].nonResourceURLs[1]: Invalid value: \"/a*b\": non-resource URL wildcards '*' must be the final character of the rule]"},
           {Text("rules: [{level: None, nonResourceURLs: [/a], namespaces: [b]}]"),
            "rules[0].nonResourceURLs: Invalid value: [\"/a\"]: rules cannot apply to both regular resources and non-resource URLs"},
           {Text("rules: [{level: None, resources: [{resourceNames: [a]}]}]"),
            "rules[0].resources.resourceNames: Invalid value: [\"a\"]: using resourceNames requires at least one resource"},
           {Text("rules: [{level: None, omitStages: [Late]}]"),
            "rules[0].omitStages[0]: Invalid value: \"Late\": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic"},
       }) {
    auto policy = Policy::Parse(test.text);
    EXPECT_EQ(policy ? "" : policy.error().message(), test.error) << test.text;
  }
  std::vector<std::string> unknown;
  EXPECT_TRUE(Policy::Parse(Text("rules: [{level: None, kinds: [a]}], more: 1"), &unknown));
  EXPECT_EQ(unknown, (std::vector<std::string>{"more", "rules[0].kinds"}));
}

}  // namespace
}  // namespace homeostat::server::audit
