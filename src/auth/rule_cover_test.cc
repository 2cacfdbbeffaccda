#include "auth/rule_cover.h"

#include <gtest/gtest.h>

#include "auth/internal/test_objects.h"

namespace homeostat::auth {
namespace {

// The rules of {"rules": …}, kept by `keep`.
std::vector<PolicyRule> Rules(const std::string& json, object::DocumentPtr& keep) {
  internal::TestObjects objects;
  keep = objects.Put(R"({"kind":"ClusterRole","metadata":{"name":"r"},"rules":)" + json + "}");
  std::vector<PolicyRule> rules;
  for (const object::Value& rule : keep->root().Get("rules").items()) rules.emplace_back(rule);
  return rules;
}

TEST(RuleCover, TellsWhatIsMissing) {
  struct Case {
    const char* owned;
    const char* needed;
    std::vector<std::string> missing;
  };
  const Case cases[] = {
      {"[]", R"([{"verbs":["get","list"],"apiGroups":[""],"resources":["secrets"]}])",
       {R"({APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]})"}},
      {R"([{"verbs":["get"],"apiGroups":["","apps"],"resources":["pods","deployments"]}])",
       R"([{"verbs":["get","watch"],"apiGroups":[""],"resources":["pods"]}])",
       {R"({APIGroups:[""], Resources:["pods"], Verbs:["watch"]})"}},
      {R"([{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}])", R"([{"verbs":["a"],"apiGroups":["b"],"resources":["c/d"],"resourceNames":["e"]}])", {}},
      // An asterisk is no more than a word when it is asked for.
      {R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])", R"([{"verbs":["*"],"apiGroups":[""],"resources":["pods"]}])",
       {R"({APIGroups:[""], Resources:["pods"], Verbs:["*"]})"}},
      {R"([{"verbs":["get"],"apiGroups":[""],"resources":["*/status"]}])", R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods/status","pods"]}])",
       {R"({APIGroups:[""], Resources:["pods"], Verbs:["get"]})"}},
      // A right to one name is not the right to all, and the reverse is.
      {R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]}])",
       R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"]},{"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a","b"]}])",
       {R"({APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]})", R"({APIGroups:[""], Resources:["pods"], Verbs:["get"]})"}},
      // Paths: each verb on a line of its own.
      {R"([{"verbs":["get"],"nonResourceURLs":["/healthz/*"]}])", R"([{"verbs":["get","put"],"nonResourceURLs":["/healthz/etcd","/version"]}])",
       {R"({NonResourceURLs:["/healthz/etcd"], Verbs:["put"]})", R"({NonResourceURLs:["/version"], Verbs:["get"]})",
        R"({NonResourceURLs:["/version"], Verbs:["put"]})"}},
  };
  for (const Case& test : cases) {
    object::DocumentPtr a, b;
    EXPECT_EQ(UncoveredRules(Rules(test.owned, a), Rules(test.needed, b)), test.missing) << test.needed;
  }
}

TEST(RuleCover, AProductOfListsIsNotMultipliedOut) {
  std::string list = "[";
  for (int i = 0; i < 2000; ++i) list += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\"";
  list += "]";
  std::string rule = R"([{"verbs":)" + list + R"(,"apiGroups":)" + list + R"(,"resources":)" + list + "}]";
  object::DocumentPtr a, b;
  std::vector<std::string> missing = UncoveredRules(Rules("[]", a), Rules(rule, b));
  ASSERT_FALSE(missing.empty());
  EXPECT_NE(missing.back().find("more than"), std::string::npos);
  EXPECT_TRUE(UncoveredRules(Rules(R"([{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}])", a), Rules(rule, b)).empty());
}

TEST(RuleAllows, MatchesRequests) {
  struct Case {
    const char* rule;
    const char *verb, *group, *resource, *subresource, *name;
    bool allowed;
  };
  const Case cases[] = {
      {R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"]})", "get", "", "pods", "", "a", true},
      {R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"]})", "get", "", "pods", "log", "a", false},
      {R"({"verbs":["get"],"apiGroups":[""],"resources":["pods/log"]})", "get", "", "pods", "log", "a", true},
      {R"({"verbs":["get"],"apiGroups":[""],"resources":["*/log"]})", "get", "", "pods", "log", "a", true},
      {R"({"verbs":["get"],"apiGroups":[""],"resources":["*/log"]})", "get", "", "pods", "", "a", false},
      {R"({"verbs":["*"],"apiGroups":["*"],"resources":["*"]})", "any", "x", "y", "z", "", true},
      {R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]})", "get", "", "pods", "", "b", false},
      {R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]})", "get", "", "pods", "", "", false},
  };
  for (const Case& test : cases) {
    object::DocumentPtr keep;
    Attributes attributes;
    attributes.verb = test.verb;
    attributes.resource_request = true;
    attributes.group = test.group;
    attributes.resource = test.resource;
    attributes.subresource = test.subresource;
    attributes.name = test.name;
    EXPECT_EQ(RuleAllows(Rules(std::string("[") + test.rule + "]", keep)[0], attributes), test.allowed) << test.rule << test.name;
  }
}

}  // namespace
}  // namespace homeostat::auth
