// Who may do what, through the whole server: roles and bindings, impersonation, nodes, reviews.
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

class RightsTest : public internal::TestServer {
 protected:
  using TestAnswer = internal::TestAnswer;
  static constexpr const char* kRoles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
  static constexpr const char* kBindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
  static constexpr const char* kClusterRoles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

  // mira may do these things, cluster-wide.
  void Give(const std::string& name, const std::string& rules) {
    EXPECT_EQ(Ask("POST", kClusterRoles, R"({"metadata":{"name":")" + name + R"("},"rules":)" + rules + "}").code, 201);
    EXPECT_EQ(Ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                  R"({"metadata":{"name":")" + name + R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":")" + name +
                      R"("},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"mira"}]})").code, 201);
  }
  TestAnswer AsMira(std::string method, std::string target, std::string body = "") {
    return AskAs("mira", {}, std::move(method), std::move(target), std::move(body));
  }
};

TEST_F(RightsTest, NobodyGivesMoreThanTheyHave) {
  Give("writer", R"([{"verbs":["create","update","patch"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles","rolebindings","clusterroles"]},
                     {"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])");
  std::string own = R"([{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}])";
  std::string more = R"([{"verbs":["get","list"],"apiGroups":[""],"resources":["secrets"]}])";
  EXPECT_EQ(AsMira("POST", kRoles, R"({"metadata":{"name":"own"},"rules":)" + own + "}").code, 201);
  TestAnswer refused = AsMira("POST", kRoles, R"({"metadata":{"name":"more"},"rules":)" + more + "}");
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.message(), "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"mira\" (groups=[\"system:authenticated\"]) is "
                               "attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}");
  EXPECT_EQ(AsMira("PATCH", std::string(kRoles) + "/own", R"({"rules":)" + more + "}").code, 403);
  EXPECT_EQ(AsMira("PATCH", std::string(kRoles) + "/own", R"({"metadata":{"finalizers":["a.b/c"]}})").code, 200);
  EXPECT_EQ(AsMira("PATCH", std::string(kRoles) + "/own", R"({"metadata":{"finalizers":null}})").code, 200);
  TestAnswer aggregating = AsMira("POST", kClusterRoles,
                                  R"({"metadata":{"name":"all"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}})");
  EXPECT_EQ(aggregating.code, 403);
  EXPECT_EQ(aggregating.message(),
            "clusterroles.rbac.authorization.k8s.io \"all\" is forbidden: must have cluster-admin privileges to use the aggregationRule");
  Give("escalator", R"([{"verbs":["escalate"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"]}])");
  EXPECT_EQ(AsMira("POST", kRoles, R"({"metadata":{"name":"more"},"rules":)" + more + "}").code, 201);
}

TEST_F(RightsTest, NobodyBindsMoreThanTheyHave) {
  Give("binder", R"([{"verbs":["create","update"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["rolebindings"]}])");
  auto binding = [](const std::string& name, const std::string& kind, const std::string& role) {
    return R"({"metadata":{"name":")" + name + R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":")" + kind + R"(","name":")" + role + R"("}})";
  };
  EXPECT_EQ(AsMira("POST", kBindings, binding("b", "ClusterRole", "system:kube-dns")).code, 403);
  TestAnswer missing = AsMira("POST", kBindings, binding("b", "Role", "nope"));
  EXPECT_EQ(missing.code, 404);
  EXPECT_EQ(missing.message(), "rolebindings.rbac.authorization.k8s.io \"nope\" not found");
  Give("binder-of-all", R"([{"verbs":["create"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterrolebindings"]}])");
  EXPECT_EQ(AsMira("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding("b", "Role", "nope")).message(), "Namespace parameter required.");
  Give("bind-dns", R"([{"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"resourceNames":["system:kube-dns"]}])");
  EXPECT_EQ(AsMira("POST", kBindings, binding("b", "ClusterRole", "system:kube-dns")).code, 201);
  EXPECT_EQ(AsMira("POST", kBindings, binding("c", "ClusterRole", "system:kube-scheduler")).code, 403);
}

TEST_F(RightsTest, PartsOfAClaimsStatusHaveWritersOfTheirOwn) {
  constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  const std::string status = std::string(kClaims) + "/c/status";
  EXPECT_EQ(Ask("POST", kClaims, R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"k"}}]}}})").code, 201);
  Give("status", R"([{"verbs":["patch"],"apiGroups":["resource.k8s.io"],"resources":["resourceclaims/status"]}])");
  const std::string allocate = R"({"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d.x","pool":"p","device":"v"}]}}}})";
  TestAnswer refused = AsMira("PATCH", status, allocate);
  EXPECT_EQ(refused.code, 422);
  EXPECT_EQ(refused.message(), "ResourceClaim.resource.k8s.io \"c\" is invalid: status.allocation: Forbidden: changing status.allocation or status.reservedFor "
                               "requires resource=\"resourceclaims/binding\", verb=\"patch\" permission: resourceclaims.resource.k8s.io is forbidden: User "
                               "\"mira\" cannot patch resource \"resourceclaims/binding\" in API group \"resource.k8s.io\" at the cluster scope");
  Give("binding", R"([{"verbs":["patch"],"apiGroups":["resource.k8s.io"],"resources":["resourceclaims/binding"]}])");
  EXPECT_EQ(AsMira("PATCH", status, allocate).code, 200);

  const std::string tell = R"({"status":{"devices":[{"driver":"d.x","pool":"p","device":"v"}]}})";
  refused = AsMira("PATCH", status, tell);
  EXPECT_EQ(refused.message(), "ResourceClaim.resource.k8s.io \"c\" is invalid: status.devices: Forbidden: changing status.devices requires "
                               "resource=\"resourceclaims/driver\", verb=\"[arbitrary-node:patch]\" permission: resourceclaims.resource.k8s.io \"d.x\" is forbidden: "
                               "User \"mira\" cannot arbitrary-node:patch resource \"resourceclaims/driver\" in API group \"resource.k8s.io\" in the namespace \"default\"");
  Give("driver", R"([{"verbs":["arbitrary-node:patch"],"apiGroups":["resource.k8s.io"],"resources":["resourceclaims/driver"],"resourceNames":["d.x"]}])");
  EXPECT_EQ(AsMira("PATCH", status, tell).code, 200);
  // What was said of a device goes with its allocation.
  TestAnswer freed = AsMira("PATCH", status, R"({"status":{"allocation":null}})");
  EXPECT_EQ(freed.code, 200);
  EXPECT_FALSE(freed.Get({"status", "devices"}));
}

TEST_F(RightsTest, ImpersonationAsksForEachThing) {
  auto become = [&](std::vector<std::string> headers) {
    user = "mira";
    groups.clear();
    TestAnswer answer = Ask("GET", "/api/v1/namespaces/default/pods", "", std::move(headers));
    user = "admin";
    groups = {"system:masters"};
    return answer;
  };
  EXPECT_EQ(become({"Impersonate-User: nils"}).message(),
            "pods is forbidden: User \"mira\" cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" in the namespace \"default\"");
  EXPECT_EQ(become({"Impersonate-User: system:node:n1", "Impersonate-Group: g"}).message(),
            "users \"system:node:n1\" is forbidden: User \"mira\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope");
  EXPECT_EQ(become({"Impersonate-Group: crew"}).code, 400);
  Give("old-way", R"([{"verbs":["impersonate"],"apiGroups":[""],"resources":["users"],"resourceNames":["nils"]}])");
  EXPECT_EQ(become({"Impersonate-User: nils"}).message(),
            "pods is forbidden: User \"nils\" cannot list resource \"pods\" in API group \"\" in the namespace \"default\"");
  EXPECT_NE(become({"Impersonate-User: nils", "Impersonate-Extra-a.b%2Fc: d"}).message().find("impersonate-on:user-info"), std::string::npos);
  // The constrained way needs both the right to be somebody and the right to do this as somebody.
  Give("new-way", R"([{"verbs":["impersonate:user-info"],"apiGroups":["authentication.k8s.io"],"resources":["users"]},
                      {"verbs":["impersonate-on:user-info:list"],"apiGroups":[""],"resources":["pods"]}])");
  EXPECT_EQ(become({"Impersonate-User: olga"}).message(),
            "pods is forbidden: User \"olga\" cannot list resource \"pods\" in API group \"\" in the namespace \"default\"");
  EXPECT_EQ(become({"Impersonate-User: olga", "Impersonate-Group: system:masters"}).message(),
            "groups.authentication.k8s.io \"system:masters\" is forbidden: User \"mira\" cannot impersonate:user-info resource \"groups\" in API "
            "group \"authentication.k8s.io\" at the cluster scope: impersonating the system:masters group is not allowed");
}

TEST_F(RightsTest, NodesReadWhatTheirPodsUse) {
  Ask("POST", "/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"s"}})");
  auto as_node = [&](std::string target) { return AskAs("system:node:n1", {"system:nodes"}, "GET", std::move(target)); };
  EXPECT_EQ(as_node("/api/v1/namespaces/default/secrets/s").message(),
            "secrets \"s\" is forbidden: User \"system:node:n1\" cannot get resource \"secrets\" in API group \"\" in the namespace \"default\": no "
            "relationship found between node 'n1' and this object");
  Ask("POST", "/api/v1/namespaces/default/pods",
      R"({"metadata":{"name":"p"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","secret":{"secretName":"s"}}]}})");
  EXPECT_EQ(as_node("/api/v1/namespaces/default/secrets/s").code, 200);
  EXPECT_EQ(as_node("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1").code, 200);
  EXPECT_EQ(as_node("/api/v1/pods").code, 403);
  Ask("DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0");
  EXPECT_EQ(as_node("/api/v1/namespaces/default/secrets/s").code, 403);
}

TEST_F(RightsTest, ReviewsUnderstandSelectors) {
  auto review = [&](const std::string& attributes) {
    return Ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
               R"({"spec":{"user":"system:node:n1","groups":["system:nodes"],"resourceAttributes":{"verb":"list","resource":"pods")" + attributes + "}}}");
  };
  EXPECT_FALSE(review("").Get({"status", "allowed"}).AsBool());
  EXPECT_TRUE(review(R"(,"fieldSelector":{"rawSelector":"spec.nodeName=n1"})").Get({"status", "allowed"}).AsBool());
  EXPECT_TRUE(review(R"(,"fieldSelector":{"requirements":[{"key":"spec.nodeName","operator":"In","values":["n1"]}]})")
                  .Get({"status", "allowed"}).AsBool());
  EXPECT_EQ(review(R"(,"fieldSelector":{"rawSelector":"a"})").Text({"status", "evaluationError"}),
            "spec.resourceAttributes.fieldSelector ignored due to parse error");
  EXPECT_EQ(review(R"(,"fieldSelector":{})").code, 422);
  TestAnswer rules = AskAs("system:node:n1", {"system:nodes"}, "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                           R"({"spec":{"namespace":"default"}})");
  EXPECT_TRUE(rules.Get({"status", "incomplete"}).AsBool());
  EXPECT_EQ(rules.Text({"status", "evaluationError"}), "node authorizer does not support user rule resolution");
}

TEST_F(RightsTest, TokensEndWithWhatTheyAreBoundTo) {
  Ask("POST", "/api/v1/namespaces/default/pods",
      R"({"metadata":{"name":"p"},"spec":{"nodeName":"n1","serviceAccountName":"default","containers":[{"name":"c","image":"i"}]}})");
  TestAnswer made = Ask("POST", "/api/v1/namespaces/default/serviceaccounts/default/token",
                        R"({"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}}})");
  ASSERT_EQ(made.code, 201);
  auto review = [&] {
    return Ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", R"({"spec":{"token":")" + made.Text({"status", "token"}) + R"("}})");
  };
  TestAnswer good = review();
  EXPECT_TRUE(good.Get({"status", "authenticated"}).AsBool());
  EXPECT_EQ(good.Get({"status", "user", "extra", "authentication.kubernetes.io/pod-name"}).At(0).AsString(), "p");
  EXPECT_EQ(good.Get({"status", "user", "extra", "authentication.kubernetes.io/node-name"}).At(0).AsString(), "n1");
  Ask("DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0");
  EXPECT_EQ(review().Text({"status", "error"}), "[invalid bearer token, service account token has been invalidated]");
  EXPECT_EQ(Ask("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", R"({"spec":{"expirationSeconds":5}})").message(),
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes");
}

}  // namespace
}  // namespace homeostat::server
