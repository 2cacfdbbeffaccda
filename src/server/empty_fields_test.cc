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
