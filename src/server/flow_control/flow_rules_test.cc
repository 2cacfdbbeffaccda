#include "server/flow_control/flow_rules.h"

#include <gtest/gtest.h>

#include "homeostat/object/yaml.h"

namespace homeostat::server {
namespace {

RequestInfo Resource(std::string verb, std::string group, std::string resource, std::string ns, std::string subresource = "") {
  RequestInfo info;
  info.resource_request = true;
  info.verb = std::move(verb);
  info.group = std::move(group);
  info.resource = std::move(resource);
  info.subresource = std::move(subresource);
  info.ns = std::move(ns);
  return info;
}

RequestInfo Path(std::string verb, std::string path) {
  RequestInfo info;
  info.verb = std::move(verb);
  info.path = std::move(path);
  return info;
}

User Somebody(std::string name, std::vector<std::string> groups = {}) {
  User user;
  user.name = std::move(name);
  user.groups = std::move(groups);
  return user;
}

FlowRules Rules(const std::string& rule) {
  object::Arena arena;
  std::string text = "{metadata: {name: f, uid: u}, spec: {matchingPrecedence: 7, priorityLevelConfiguration: {name: l}, "
                     "distinguisherMethod: {type: ByNamespace}, rules: [" + rule + "]}}";
  auto tree = object::ParseYaml(arena, text, nullptr);
  EXPECT_TRUE(tree) << text;
  return FlowRules(*tree);
}

TEST(FlowRules, MatchSubjects) {
  const struct {
    const char *subject, *user;
    std::vector<std::string> groups;
    bool matches;
  } cases[] = {
      {"{kind: User, user: {name: a}}", "a", {}, true},
      {"{kind: User, user: {name: a}}", "b", {}, false},
      {"{kind: User, user: {name: '*'}}", "b", {}, true},
      {"{kind: Group, group: {name: g}}", "b", {"h", "g"}, true},
      {"{kind: Group, group: {name: g}}", "g", {}, false},
      {"{kind: Group, group: {name: '*'}}", "g", {}, true},
      {"{kind: ServiceAccount, serviceAccount: {namespace: ns, name: '*'}}", "system:serviceaccount:ns:x", {}, true},
      {"{kind: ServiceAccount, serviceAccount: {namespace: ns, name: '*'}}", "system:serviceaccount:nss:x", {}, false},
      {"{kind: ServiceAccount, serviceAccount: {namespace: ns, name: x}}", "system:serviceaccount:ns:x", {}, true},
      {"{kind: ServiceAccount, serviceAccount: {namespace: ns, name: x}}", "system:serviceaccount:ns:xx", {}, false},
      {"{kind: ServiceAccount, serviceAccount: {namespace: ns, name: x}}", "ns:x", {}, false},
  };
  RequestInfo info = Resource("get", "", "pods", "ns");
  for (const auto& c : cases) {
    FlowRules rules = Rules(std::string("{subjects: [") + c.subject +
                            "], resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*']}]}");
    EXPECT_EQ(rules.Matches(Somebody(c.user, c.groups), info), c.matches) << c.subject << " " << c.user;
  }
}

TEST(FlowRules, MatchResourcesAndPaths) {
  FlowRules rules = Rules(
      "{subjects: [{kind: User, user: {name: '*'}}], resourceRules: [{verbs: [get, list], apiGroups: ['', apps], resources: [pods, pods/log], "
      "namespaces: [ns]}, {verbs: ['*'], apiGroups: ['*'], resources: [nodes], clusterScope: true}], "
      "nonResourceRules: [{verbs: [get], nonResourceURLs: [/healthz, '/apis/*', /v/]}]}");
  User user = Somebody("u");
  EXPECT_TRUE(rules.Matches(user, Resource("get", "", "pods", "ns")));
  EXPECT_TRUE(rules.Matches(user, Resource("list", "apps", "pods", "ns", "log")));
  EXPECT_FALSE(rules.Matches(user, Resource("list", "", "pods", "ns", "exec")));
  EXPECT_FALSE(rules.Matches(user, Resource("get", "", "pods", "m")));
  EXPECT_FALSE(rules.Matches(user, Resource("list", "", "pods", "")));
  EXPECT_TRUE(rules.Matches(user, Resource("patch", "x", "nodes", "")));
  EXPECT_FALSE(rules.Matches(user, Resource("patch", "x", "nodes", "ns")));
  EXPECT_TRUE(rules.Matches(user, Path("get", "/healthz")));
  EXPECT_TRUE(rules.Matches(user, Path("get", "/healthz/ping")));
  EXPECT_FALSE(rules.Matches(user, Path("get", "/healthzz")));
  EXPECT_TRUE(rules.Matches(user, Path("get", "/apis/apps")));
  EXPECT_TRUE(rules.Matches(user, Path("get", "/v/x")));
  EXPECT_FALSE(rules.Matches(user, Path("post", "/healthz")));
  EXPECT_EQ(rules.FlowOf(user, Resource("get", "", "pods", "ns")), "ns");
  EXPECT_EQ(rules.level(), "l");
  EXPECT_EQ(rules.precedence(), 7);
}

}  // namespace
}  // namespace homeostat::server
