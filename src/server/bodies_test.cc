// What bodies say they are, and what is looked at first.
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

using internal::TestAnswer;

class BodiesTest : public internal::TestServer {
 protected:
  static constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments";
  static std::string Deployment(const std::string& version, const std::string& more = "") {
    return R"({"apiVersion":")" + version + R"(","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},)"
           R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}})" + more + "}";
  }
};

TEST_F(BodiesTest, OldVersionsAreReadAndRefused) {
  for (const char* version : {"extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"}) {
    std::string where = std::string("the API version in the data (") + version + ") does not match the expected API version (apps/v1)";
    EXPECT_EQ(Ask("POST", kDeployments, Deployment(version)).message(), where);
    EXPECT_EQ(Ask("PUT", std::string(kDeployments) + "/d", Deployment(version)).message(), where);
    std::string in = std::string("Deployment in version \"") + (std::string_view(version) == "apps/v1beta2" ? "v1beta2" : "v1beta1") + "\"";
    EXPECT_EQ(Ask("POST", std::string(kDeployments) + "?fieldValidation=Strict", Deployment(version, ",\"bogus\":1")).message(),
              in + " cannot be handled as a Deployment: strict decoding error: unknown field \"bogus\"");
  }
  EXPECT_EQ(Ask("POST", kDeployments, Deployment("apps/v2")).message(),
            "Deployment in version \"v2\" cannot be handled as a Deployment: no kind \"Deployment\" is registered for version \"apps/v2\""
            " in scheme \"pkg/runtime/scheme.go:111\"");
  EXPECT_EQ(Ask("POST", "/api/v1/namespaces/default/configmaps", Deployment("extensions/v1beta1")).message(),
            "Deployment in version \"v1beta1\" cannot be handled as a ConfigMap: converting (v1beta1.Deployment) to (core.ConfigMap): unknown conversion");
  // Kinds that have moved, and those of two groups.
  EXPECT_EQ(Ask("POST", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
                R"({"apiVersion":"extensions/v1beta1","kind":"NetworkPolicy","metadata":{"name":"n"}})").message(),
            "the API version in the data (extensions/v1beta1) does not match the expected API version (networking.k8s.io/v1)");
  EXPECT_EQ(Ask("POST", "/api/v1/namespaces/default/events", R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"n"}})").message(),
            "the API version in the data (events.k8s.io/v1) does not match the expected API version (v1)");
}

TEST_F(BodiesTest, OldVersionsHadFieldsOfTheirOwn) {
  const std::string path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses?fieldValidation=Strict";
  auto ingress = [](const std::string& spec) { return R"({"apiVersion":"extensions/v1beta1","kind":"Ingress","metadata":{"name":"i"},"spec":)" + spec + "}"; };
  std::string rules = R"([{"http":{"paths":[{"backend":{"serviceName":"s","servicePort":80}}]}}])";
  EXPECT_EQ(Ask("POST", path, ingress(R"({"backend":{"serviceName":"s","servicePort":"http"},"rules":)" + rules + "}")).message(),
            "the API version in the data (extensions/v1beta1) does not match the expected API version (networking.k8s.io/v1)");
  EXPECT_EQ(Ask("POST", path, ingress(R"({"defaultBackend":{}})")).message(),
            "Ingress in version \"v1beta1\" cannot be handled as a Ingress: strict decoding error: unknown field \"spec.defaultBackend\"");
}

TEST_F(BodiesTest, AnOldScaleHadAMapForASelector) {
  ASSERT_EQ(Ask("POST", kDeployments, Deployment("apps/v1")).code, 201);
  std::string scale = std::string(kDeployments) + "/d/scale";
  EXPECT_NE(Ask("PATCH", scale, R"({"apiVersion":"extensions/v1beta1","spec":{"replicas":2}})")
                .message().find("json: cannot unmarshal string into Go struct field ScaleStatus.status.selector of type map[string]string"),
            std::string::npos);
  EXPECT_EQ(Ask("PUT", scale, R"({"apiVersion":"extensions/v1beta1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":2}})").message(),
            "the API version in the data (extensions/v1beta1) does not match the expected API version (autoscaling/v1)");
  // Numbers that don't fit are cut where what is applied becomes a Scale.
  EXPECT_EQ(Ask("PATCH", scale + "?fieldManager=m&force=true", R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":2147483648}})",
                {"Content-Type: application/apply-patch+yaml"}).message(),
            "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -2147483648: must be greater than or equal to 0");
}

TEST_F(BodiesTest, TheContentTypeComesBeforeTheOptions) {
  for (const char* path : {"/api/v1/namespaces/default/configmaps?dryRun=x", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews?fieldValidation=x"}) {
    EXPECT_EQ(Ask("POST", path, "{}", {"Content-Type: text/plain"}).code, 415) << path;
    EXPECT_EQ(Ask("POST", path, "{}").code, 422) << path;
  }
}

TEST_F(BodiesTest, NoListIsNotAnEmptyOne) {
  TestAnswer answer = Ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                          R"({"spec":{"user":"u","extra":{"a":null,"b":[]},"resourceAttributes":{"verb":"get","resource":"pods"}}})");
  EXPECT_TRUE(answer.Get({"spec", "extra", "a"}).IsNull());
  EXPECT_TRUE(answer.Get({"spec", "extra", "b"}).IsList());
}

TEST_F(BodiesTest, ReviewsLoseTheirNamespace) {
  TestAnswer answer = Ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                          R"({"metadata":{"namespace":"other"},"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})");
  EXPECT_EQ(answer.code, 201) << answer.message();
  EXPECT_NE(Ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                R"({"metadata":{"generateName":"g-"},"spec":{"resourceAttributes":{"verb":"get"}}})").message().find(R"("fieldsV1":{"f:metadata")"),
            std::string::npos);
}

TEST_F(BodiesTest, BindingsOfTheirOwnHaveNoUid) {
  ASSERT_EQ(Ask("POST", "/api/v1/namespaces/default/pods", R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})").code, 201);
  std::string body = R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p","uid":"x"},"target":{"name":"n1"}})";
  EXPECT_EQ(Ask("POST", "/api/v1/namespaces/default/pods/p/binding", body).code, 409);
  EXPECT_EQ(Ask("POST", "/api/v1/namespaces/default/bindings", body).code, 201);
}

}  // namespace
}  // namespace homeostat::server
