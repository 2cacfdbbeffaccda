#include "auth/rbac.h"

#include <gtest/gtest.h>

#include "auth/internal/test_objects.h"

namespace homeostat::auth {
namespace {

class RbacTest : public ::testing::Test {
 protected:
  Verdict Ask(std::string ns, std::string verb = "get", std::string resource = "pods") {
    Attributes attributes;
    attributes.user = &user;
    attributes.verb = std::move(verb);
    attributes.resource_request = true;
    attributes.resource = std::move(resource);
    attributes.ns = std::move(ns);
    return rbac.Authorize(attributes);
  }
  // A role that reads pods, and a binding of it.
  void PutRole(const std::string& verbs = R"("get")") {
    objects.Put(R"({"kind":"Role","metadata":{"name":"reader","namespace":"a"},"rules":[{"verbs":[)" + verbs +
                R"(],"apiGroups":[""],"resources":["pods"]}]})");
  }
  void PutBinding(const std::string& subjects) {
    objects.Put(R"({"kind":"RoleBinding","metadata":{"name":"b","namespace":"a"},"subjects":[)" + subjects +
                R"(],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"}})");
  }
  static constexpr const char* kMira = R"({"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"mira"})";

  internal::TestObjects objects;
  RbacAuthorizer rbac{objects};
  User user{.name = "mira", .groups = {"crew", "system:authenticated"}};
};

TEST_F(RbacTest, SaysByWhatItAllows) {
  PutRole();
  PutBinding(kMira);
  Verdict verdict = Ask("a");
  EXPECT_EQ(verdict.decision, Decision::kAllow);
  EXPECT_EQ(verdict.reason, R"(RBAC: allowed by RoleBinding "b/a" of Role "reader" to User "mira")");
  EXPECT_EQ(Ask("b").decision, Decision::kNoOpinion);
  EXPECT_EQ(Ask("").decision, Decision::kNoOpinion);
  EXPECT_EQ(Ask("a", "list").decision, Decision::kNoOpinion);
}

TEST_F(RbacTest, AlwaysAllowFollowsThoseThatSayNothing) {
  AlwaysAllowAuthorizer all;
  UnionAuthorizer both({&rbac, &all});
  Attributes attributes;
  attributes.user = &user;
  attributes.verb = "get";
  attributes.path = "/anything";
  EXPECT_EQ(both.Authorize(attributes).decision, Decision::kAllow);
  EXPECT_EQ(all.RulesFor(user, "a").resources[0].verbs, std::vector<std::string>{"*"});
}

TEST_F(RbacTest, NamesServiceAccountsByTheBindingsNamespace) {
  PutRole();
  PutBinding(R"({"kind":"ServiceAccount","name":"builder"})");
  user.name = "system:serviceaccount:a:builder";
  EXPECT_EQ(Ask("a").reason, R"(RBAC: allowed by RoleBinding "b/a" of Role "reader" to ServiceAccount "builder/a")");
  user.name = "system:serviceaccount:b:builder";
  EXPECT_EQ(Ask("a").decision, Decision::kNoOpinion);
}

TEST_F(RbacTest, TellsOfRolesThatAreMissing) {
  PutBinding(kMira);
  EXPECT_EQ(Ask("a").reason, R"(RBAC: role.rbac.authorization.k8s.io "reader" not found)");
  RuleList rules = rbac.RulesFor(user, "a");
  EXPECT_FALSE(rules.incomplete);
  EXPECT_EQ(rules.faults, std::vector<std::string>{R"(role.rbac.authorization.k8s.io "reader" not found)"});
}

TEST_F(RbacTest, GoesByTheNewestOnceTold) {
  EXPECT_EQ(Ask("a").decision, Decision::kNoOpinion);
  PutRole();
  PutBinding(kMira);
  rbac.Forget("rolebindings", "a", "b");
  EXPECT_EQ(Ask("a").decision, Decision::kAllow);
  PutRole(R"("watch")");
  rbac.Forget("roles", "a", "reader");
  EXPECT_EQ(Ask("a").decision, Decision::kNoOpinion);
  EXPECT_EQ(Ask("a", "watch").decision, Decision::kAllow);
  objects.Remove("rbac.authorization.k8s.io", "rolebindings", "a", "b");
  rbac.Forget("rolebindings", "a", "b");
  EXPECT_EQ(Ask("a", "watch").decision, Decision::kNoOpinion);
}

TEST_F(RbacTest, LooksObjectsUpOnce) {
  PutRole();
  PutBinding(kMira);
  (void)Ask("a");
  int reads = objects.reads;
  for (int i = 0; i < 10; ++i) (void)Ask("a");
  EXPECT_EQ(objects.reads, reads);
}

TEST_F(RbacTest, TellsWhatAUserLacks) {
  PutRole();
  PutBinding(kMira);
  auto role = objects.Put(R"({"kind":"ClusterRole","metadata":{"name":"x"},"rules":[
      {"verbs":["get","delete"],"apiGroups":[""],"resources":["pods"]}]})");
  auto lacking = rbac.Lacking(user, "a", role->root().Get("rules"), "roles");
  ASSERT_TRUE(lacking.has_value());
  EXPECT_EQ(*lacking, "user \"mira\" (groups=[\"crew\" \"system:authenticated\"]) is attempting to grant RBAC permissions not "
                      "currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}");
  PutRole(R"("*")");
  rbac.Forget("roles", "a", "reader");
  EXPECT_FALSE(rbac.Lacking(user, "a", role->root().Get("rules"), "roles").has_value());
  EXPECT_TRUE(rbac.Lacking(user, "", role->root().Get("rules"), "clusterroles").has_value());
}

}  // namespace
}  // namespace homeostat::auth
