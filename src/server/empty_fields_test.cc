// What came empty is told apart from what did not come, where upstream does.
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

using internal::TestAnswer;

class EmptyFieldsTest : public internal::TestServer {};

TEST_F(EmptyFieldsTest, MessagesShowThem) {
  const std::string path = "/apis/networking.k8s.io/v1/servicecidrs";
  ASSERT_EQ(Ask("POST", path, R"({"metadata":{"name":"r"},"spec":{"cidrs":["198.18.0.0/24"]}})").code, 201);
  const std::string what = "ServiceCIDR.networking.k8s.io \"r\" is invalid: spec.cidrs: Invalid value: ";
  EXPECT_EQ(Ask("PATCH", path + "/r", R"({"spec":{"cidrs":[]}})").message(), what + "[]: field is immutable");
  EXPECT_EQ(Ask("PATCH", path + "/r", R"({"spec":{"cidrs":null}})").message(), what + "null: field is immutable");
}

TEST_F(EmptyFieldsTest, AnEmptyMapIsNotNone) {
  const std::string path = "/api/v1/namespaces/default/configmaps";
  ASSERT_EQ(Ask("POST", path, R"({"metadata":{"name":"c"},"immutable":true,"data":{"a":"b"}})").code, 201);
  EXPECT_EQ(Ask("PATCH", path + "/c", R"({"binaryData":{}})").code, 422);
  EXPECT_EQ(Ask("PATCH", path + "/c", R"({"binaryData":null})").code, 200);
  std::string pod = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"overhead":{}}})";
  EXPECT_EQ(Ask("POST", "/api/v1/namespaces/default/pods", pod).code, 403);
}

TEST_F(EmptyFieldsTest, RaiseTheGenerationOfSomeKinds) {
  const std::string path = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";
  ASSERT_EQ(Ask("POST", path, R"({"metadata":{"name":"n"},"spec":{"podSelector":{},"policyTypes":["Ingress"]}})").code, 201);
  EXPECT_EQ(Ask("PATCH", path + "/n", R"({"metadata":{"labels":{"a":"b"}}})").Get({"metadata", "generation"}).AsInt(), 1);
  EXPECT_EQ(Ask("PATCH", path + "/n", R"({"spec":{"ingress":[]}})").Get({"metadata", "generation"}).AsInt(), 2);
}

TEST_F(EmptyFieldsTest, DefaultsAreForThoseWhoSayNothing) {
  const std::string start = R"({"metadata":{"name":"h"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"behavior":{"scaleUp":)";
  const std::string path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
  EXPECT_EQ(Ask("POST", path, start + R"({"policies":[]}}}})").message(),
            "HorizontalPodAutoscaler.autoscaling \"h\" is invalid: spec.behavior.scaleUp.policies: Required value: must specify at least one Policy");
  EXPECT_EQ(Ask("POST", path, start + "{}}}}").code, 201);
}

// A list that counts as one value is changed by an empty list within it, although that is not shown.
TEST_F(EmptyFieldsTest, ChangeTheListsThatAreOneValue) {
  const std::string path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
  ASSERT_EQ(Ask("POST", path + "?fieldManager=a", R"({"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]})").code, 201);
  auto owner = [](const TestAnswer& answer) { return answer.Get({"metadata", "managedFields"}).At(0).Get("manager").AsString(); };
  const std::string rule = R"({"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"])";
  EXPECT_EQ(owner(Ask("PATCH", path + "/r?fieldManager=b", rule + "}]}")), "a");
  EXPECT_EQ(owner(Ask("PATCH", path + "/r?fieldManager=b", rule + R"(,"resourceNames":[]}]})")), "b");
}

// Octets that came empty are stored so: the next write that leaves them out changes them.
TEST_F(EmptyFieldsTest, EmptyOctetsAreStored) {
  const std::string path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  TestAnswer made = Ask("POST", path, R"({"metadata":{"name":"w"},"webhooks":[{"name":"a.b.c","clientConfig":{"url":"https://127.0.0.1:1/x","caBundle":""},)"
                                     R"("sideEffects":"None","admissionReviewVersions":["v1"]}]})");
  ASSERT_EQ(made.code, 201);
  EXPECT_FALSE(made.Get({"webhooks"}).At(0).Get("clientConfig").Get("caBundle"));
  auto labelled = [&](const std::string& label) {
    return Ask("PATCH", path + "/w", R"({"metadata":{"labels":{"a":")" + label + R"("}}})").Get({"metadata", "generation"}).AsInt();
  };
  EXPECT_EQ(labelled("b"), 2);
  EXPECT_EQ(labelled("c"), 2);
}

// Go's zero time is a time where times are pointers, though it is shown as none.
TEST_F(EmptyFieldsTest, AZeroTimeIsSet) {
  const std::string path = "/api/v1/namespaces/default/pods";
  ASSERT_EQ(Ask("POST", path, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})").code, 201);
  ASSERT_EQ(Ask("PATCH", path + "/p/status", R"({"status":{"startTime":"0001-01-01T00:00:00Z"}})").code, 200);
  TestAnswer pod = Ask("GET", path + "/p");
  ASSERT_NE(pod.Get({"status"}).Find("startTime"), nullptr);
  EXPECT_TRUE(pod.Get({"status", "startTime"}).IsNull());
  EXPECT_EQ(pod.Get({"metadata", "managedFields"}).size(), 2u);
  ASSERT_EQ(Ask("PATCH", path + "/p/status", R"({"status":{"startTime":null}})").code, 200);
  EXPECT_EQ(Ask("GET", path + "/p").Get({"status"}).Find("startTime"), nullptr);
}

// The kind of an object within another is not on the wire: who reads the stored bytes must see it all the same.
TEST_F(EmptyFieldsTest, TemplatesOfClaimsKeepTheirKind) {
  const std::string path = "/apis/apps/v1/namespaces/default/statefulsets";
  ASSERT_EQ(Ask("POST", path, R"({"metadata":{"name":"s","finalizers":["example.com/f"]},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},)"
                              R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}},"volumeClaimTemplates":[)"
                              R"({"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}})").code,
            201);
  EXPECT_EQ(Ask("DELETE", path + "/s").Get({"spec", "volumeClaimTemplates"}).At(0).Get("kind").AsString(), "PersistentVolumeClaim");
}

TEST_F(EmptyFieldsTest, FaultsOfCopiedPartsComeInTheirOrder) {
  const std::string path = "/api/v1/namespaces/default/services";
  ASSERT_EQ(Ask("POST", path, R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})").code, 201);
  TestAnswer answer = Ask("PATCH", path + "/s?fieldValidation=Strict", R"([{"op":"copy","from":"/spec/ports/0","path":"/metadata"}])",
                          {"Content-Type: application/json-patch+json"});
  EXPECT_NE(answer.message().find("unknown field \"metadata.protocol\", unknown field \"metadata.port\", unknown field \"metadata.targetPort\""),
            std::string::npos)
      << answer.message();
}

}  // namespace
}  // namespace homeostat::server
