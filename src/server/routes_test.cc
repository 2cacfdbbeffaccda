// Which requests are refused before anything is asked of what they name, and options that don't fit.
#include "server/routes.h"

#include "server/internal/test_server.h"

namespace homeostat::server::internal {
namespace {

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kNoMethod = "the server does not allow this method on the requested resource";
constexpr const char* kNoResource = "the server could not find the requested resource";

class RoutesTest : public TestServer {};

struct Refusal {
  std::string method, target;
  int code;
  std::string message;  // of a Status; "" for a page of text
  std::string body = "";
  std::string header = "";
};

TEST_F(RoutesTest, UrlsAndMethods) {
  Ask("POST", kMaps, R"({"metadata":{"name":"m"}})");
  const Refusal kCases[] = {
      {"HEAD", "/api/v1/namespaces/default/configmaps/m", 405, kNoMethod},
      {"HEAD", kMaps, 405, kNoMethod},
      {"OPTIONS", kMaps, 405, kNoMethod},
      // Kinds at paths of the other scope.
      {"GET", "/api/v1/configmaps/m", 404, kNoResource},
      {"PUT", "/api/v1/configmaps/m", 404, kNoResource, "{}"},
      {"PATCH", "/apis/apps/v1/deployments/m?fieldManager=a", 404, kNoResource, "{}"},
      {"DELETE", "/api/v1/configmaps/m", 404, kNoResource},
      {"GET", "/api/v1/pods/m/log", 404, kNoResource},
      {"GET", "/apis/apps/v1/deployments/m/scale", 404, kNoResource},
      {"POST", "/api/v1/configmaps", 405, kNoMethod, "{}"},
      {"DELETE", "/api/v1/configmaps", 405, kNoMethod},
      {"GET", "/api/v1/namespaces//nodes", 404, kNoResource},
      {"GET", "/api/v1/namespaces//configmaps/m", 400, "Namespace parameter required."},
      {"PUT", "/api/v1/namespaces//configmaps/m", 400, "Namespace parameter required.", R"({"metadata":{"name":"m"}})"},
      {"DELETE", "/api/v1/namespaces//configmaps/m", 400, "Namespace parameter required."},
      {"DELETE", "/api/v1/namespaces//configmaps?fieldSelector=metadata.name%3Dm", 400, "Namespace parameter required."},
      {"GET", "/apis/apps/v1/namespaces//deployments/m/scale", 400, "Namespace parameter required."},
      {"GET", "/apis/apps/v1/namespaces//deployments/m/status", 400, "Namespace parameter required."},
      {"POST", "/api/v1/namespaces//configmaps", 422, "ConfigMap \"n\" is invalid: metadata.namespace: Required value", R"({"metadata":{"name":"n"}})"},
      {"GET", "/api/v1/namespaces/default/nodes", 404, kNoResource},
      {"GET", "/api/v1/namespaces/default/nodes/x", 404, kNoResource},
      {"GET", "/api/v1/namespaces/default/namespaces/x", 404, kNoResource},
      {"POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/none/clusterroles", 404, kNoResource, "{}"},
      {"DELETE", "/apis/storage.k8s.io/v1/namespaces/x/csinodes", 404, kNoResource},
      {"GET", "/api/v1/namespaces/default/pods/x/status/y", 404, kNoResource},
      {"GET", "/api/v1/proxy/nodes/x", 404, kNoResource},
      {"GET", "/apis/apps/v1/watch/deployments/x", 404, kNoResource},
      {"POST", "/apis/apps/v1/watch/deployments", 405, kNoMethod, "{}"},
      {"GET", "/api/v1/bindings", 404, kNoResource},
      {"GET", "/apis/authentication.k8s.io/v1/tokenreviews", 405, kNoMethod},
      {"GET", "/apis/authentication.k8s.io/v1/tokenreviews/x", 404, kNoResource},
      {"GET", "/api/v1/bogus", 404, kNoResource},
      {"GET", "/apis/apps/v1/namespaces/a/DEPLOYMENTS/b", 404, kNoResource},
      {"GET", "/apis/apps/bogus/x/y", 404, kNoResource},
      {"GET", "/api/v2/x", 404, kNoResource},
      {"GET", "/apis/apps/v9/foo", 404, kNoResource},
      {"GET", "/version/x", 404, kNoResource},
      {"GET", "/apis/bogus/x", 404, ""},
      {"GET", "//api/v1/configmaps", 404, ""},
      {"POST", "/api", 405, kNoMethod},
      {"POST", "/api/", 405, kNoMethod},
      {"PUT", "/api/v1", 405, kNoMethod},
      {"PUT", "/apis/apps/v1/", 405, kNoMethod},
      {"POST", "/version", 405, kNoMethod},
      {"POST", "/openid/v1/jwks", 405, kNoMethod},
      // The type of a patch counts more than what the client takes, and what is no patch is told of nothing else.
      {"PATCH", "/api/v1/namespaces/default/endpoints/x", 415, "415: Unsupported Media Type", "{}", "Content-Type: text/plain"},
      {"PUT", "/api/v1/namespaces/default/configmaps/..", 400, "Name parameter invalid: \"..\": may not be '..'",
       R"({"metadata":{"name":".."}})"},
      {"GET", "/api/v1/namespaces/default/configmaps/..", 400, "Name parameter invalid: \"..\": may not be '..'"},
  };
  for (const Refusal& wanted : kCases) {
    std::vector<std::string> headers;
    if (!wanted.header.empty()) headers = {wanted.header, "Accept: text/plain"};
    TestAnswer answer = Ask(wanted.method, wanted.target, wanted.body, headers);
    EXPECT_EQ(answer.code, wanted.code) << wanted.method << " " << wanted.target;
    ASSERT_EQ(answer.document != nullptr, !wanted.message.empty()) << wanted.method << " " << wanted.target;
    if (answer.document) { EXPECT_EQ(answer.message(), wanted.message) << wanted.method << " " << wanted.target; }
    EXPECT_FALSE(answer.headers.Has("Warning"));
  }
  for (const char* served : {"/apis", "/apis/", "/apis/apps"}) EXPECT_EQ(Ask("POST", served).code, 200) << served;
  for (const char* served : {"/api/v1/namespaces//configmaps", "/api/v1/configmaps", "/api/v1/configmaps?fieldSelector=metadata.name%3Dx",
                             "/api/v1/namespaces/default", "/api/v1/namespaces/default/status"}) {
    EXPECT_EQ(Ask("GET", served).code, 200) << served;
  }
}

TEST_F(RoutesTest, OptionsThatDontFit) {
  Ask("POST", kMaps, R"({"metadata":{"name":"m"}})");
  const std::string maps = kMaps, not_known = "invalid continue token: continue key is not valid: ";
  const std::string number = R"(strconv.ParseInt: parsing "": invalid syntax)", list = "ListOptions.meta.k8s.io \"\" is invalid: ";
  const Refusal kCases[] = {
      {"GET", maps + "?limit=", 400, number},
      {"GET", maps + "?limit=x&timeoutSeconds=", 400, number},
      {"DELETE", maps + "/m?gracePeriodSeconds=", 400, number},
      {"GET", maps + "?timeout=1", 400, R"(invalid timeout specified in the request URL - time: missing unit in duration "1")"},
      {"GET", maps + "?timeout=x", 400, R"(invalid timeout specified in the request URL - time: invalid duration "x")"},
      {"GET", maps + "?continue=a%25", 400, not_known + "illegal base64 data at input byte 1"},
      {"GET", maps + "?continue=abcde&resourceVersion=5", 400, not_known + "illegal base64 data at input byte 4"},
      {"GET", maps + "?continue=abcde&fieldSelector=metadata.name%3Dm", 400, not_known + "illegal base64 data at input byte 4"},
      {"GET", maps + "?continue=e30", 400, not_known + "server does not recognize this encoded version "},
      {"GET", maps + "?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", 400, not_known + "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"},
      {"GET", maps + "?watch=1&sendInitialEvents=true", 422,
       list + "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"},
      {"GET", "/api/v1/watch/namespaces/default/configmaps/m?fieldSelector=metadata.name%3Dn", 400, "fieldSelector metadata.name doesn't match requested name"},
      {"GET", "/api/v1/watch/namespaces/default/configmaps/m?fieldSelector=metadata.namespace%3Ddefault", 400, "fieldSelector metadata.name doesn't match requested name"},
      {"GET", maps + "?watch=1&resourceVersionMatch=x", 422,
       list + "[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, "
              "resourceVersionMatch: Unsupported value: \"x\": supported values: \"NotOlderThan\"]"},
      // Of a collection the selection is looked at first, and the body then.
      {"DELETE", maps + "?labelSelector=_a", 400, "unable to parse requirement: ", "x", "Content-Type: text/plain"},
      {"DELETE", maps + "/m?resourceVersion=1", 409, "Operation cannot be fulfilled on ConfigMap \"m\": the ResourceVersion in the precondition (1) "},
      {"DELETE", maps + "/m", 400, "yaml: line 1: did not find expected node content", "{", "Content-Type: application/yaml"},
  };
  for (const Refusal& wanted : kCases) {
    std::vector<std::string> headers;
    if (!wanted.header.empty()) headers = {wanted.header};
    TestAnswer answer = Ask(wanted.method, wanted.target, wanted.body, headers);
    EXPECT_EQ(answer.code, wanted.code) << wanted.target;
    ASSERT_TRUE(answer.document) << wanted.target;
    EXPECT_TRUE(answer.message().starts_with(wanted.message)) << wanted.target << ": " << answer.message();
  }
}

TEST_F(RoutesTest, PatchesThatCantBeRead) {
  Ask("POST", kMaps, R"({"metadata":{"name":"m"}})");
  struct Case {
    const char* type;
    const char* query;
    const char* body;
    std::string message;
  };
  const std::string end = "unexpected end of JSON input";
  const Case kCases[] = {
      {"application/merge-patch+json", "", "{", "error decoding patch: " + end},
      {"application/merge-patch+json", "?fieldValidation=Ignore", "{", "Invalid JSON Patch"},
      {"application/merge-patch+json", "", "null", "Invalid JSON Patch"},
      {"application/strategic-merge-patch+json", "", "{", end},
      {"application/strategic-merge-patch+json", "?fieldValidation=Ignore", "5", "json: cannot unmarshal number into Go value of type map[string]interface {}"},
      {"application/apply-patch+yaml", "?fieldManager=m", "- a", "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}"},
      {"application/json-patch+json", "", "{}", "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"},
      {"application/json-patch+json", "?fieldValidation=Ignore", "{}", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"},
  };
  for (const Case& wanted : kCases) {
    const std::string type = std::string("Content-Type: ") + wanted.type;
    TestAnswer answer = Ask("PATCH", std::string(kMaps) + "/m" + wanted.query, wanted.body, {type});
    EXPECT_EQ(answer.code, 400) << wanted.type << wanted.query;
    EXPECT_EQ(answer.message(), wanted.message) << wanted.type << wanted.query;
    bool makes = std::string_view(wanted.type).contains("apply");
    EXPECT_EQ(Ask("PATCH", std::string(kMaps) + "/none" + wanted.query, wanted.body, {type}).code, makes ? 400 : 404) << wanted.type;
  }
}

TEST_F(RoutesTest, FormsOfAnswers) {
  Ask("POST", kMaps, R"({"metadata":{"name":"m"}})");
  const std::string maps = kMaps, list = "Accept: application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
  EXPECT_TRUE(Ask("GET", maps + "?labelSelector=a", "", {list}).Get({"items"}).IsNull());
  EXPECT_EQ(Ask("GET", maps, "", {list}).Get({"items"}).size(), 1u);
  // Errors come in no other form, and then as JSON.
  TestAnswer none = Ask("GET", maps + "/none", "", {"Accept: application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"});
  ASSERT_TRUE(none.document);
  EXPECT_EQ(none.Text({"reason"}), "NotFound");
  EXPECT_TRUE(none.text.starts_with("{\n  \"kind\"")) << "indented where nothing was agreed on: " << none.text;
  EXPECT_TRUE(Ask("GET", maps + "/none").text.starts_with("{\"kind\""));
  EXPECT_EQ(Ask("GET", "/apis/events.k8s.io/v1/events", "", {"Accept: application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}).message(),
            "you requested PartialObjectMetadata, but the requested object is a list (*core.EventList)");
  EXPECT_EQ(Ask("GET", maps + "/m?export=1").message(), "the export parameter, deprecated since v1.14, is no longer supported");
  EXPECT_EQ(Ask("GET", maps + "/m?resourceVersion=x").code, 500);
  EXPECT_EQ(Ask("GET", "/api/v1/namespaces/default/events/none?resourceVersion=x").code, 400);
  // A refusal of the form alone still tells what is deprecated.
  const std::string endpoints = "/api/v1/namespaces/default/endpoints";
  EXPECT_TRUE(Ask("GET", endpoints, "", {"Accept: application/json;as=Bogus;v=v1;g=meta.k8s.io"}).headers.Has("Warning"));
  EXPECT_FALSE(Ask("GET", endpoints, "", {"Accept: text/html"}).headers.Has("Warning"));
  EXPECT_EQ(Ask("GET", endpoints, "", {"Accept: application/json;as=Bogus;v=v1;g=meta.k8s.io"}).message(),
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf");
}

TEST_F(RoutesTest, MediaTypesAreTakenLetterByLetter) {
  Ask("POST", kMaps, R"({"metadata":{"name":"m"}})");
  const std::string unknown = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf",
                    unfit = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
  const std::pair<std::string, std::string> cases[] = {
      {"APPLICATION/JSON", unknown}, {"application/*", unknown}, {"*", unknown}, {"text/html, Application/json", unknown},
      {"application/json;AS=Table;v=v1;g=meta.k8s.io", unfit}, {"application/json;v=v1", unfit}, {"application/json;stream=Watch", unfit},
      {"application/yaml;stream=watch", unfit}, {"application/json;sv=v2", unfit}, {"application/json;as=;v=;g=", ""}, {"application/json ; q=1", ""},
      {"*/*", ""}, {"text/html,*/*;q=0.1", ""}, {"application/json;sv=v1", ""}};
  for (const auto& [accept, message] : cases) EXPECT_EQ(Ask("GET", std::string(kMaps) + "/m", "", {"Accept: " + accept}).message(), message) << accept;
  EXPECT_EQ(Ask("GET", "/api/v1", "", {"Accept: application/*"}).message(), unknown);
  EXPECT_EQ(Ask("GET", "/apis/apps", "", {"Accept: application/*"}).Text({"kind"}), "APIGroup");
}

TEST_F(RoutesTest, TablesOfSubresources) {
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  Ask("POST", deployments, R"({"metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
                               "spec":{"containers":[{"name":"c","image":"x"}]}}}})");
  const std::string table = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io";
  TestAnswer scale = Ask("GET", deployments + "/d/scale", "", {table});
  ASSERT_EQ(scale.code, 200);
  EXPECT_EQ(object::JsonText(scale.Get({"rows"}).At(0).Get("cells")), R"(["d",2,0,"0s"])");
  EXPECT_EQ(Ask("GET", deployments + "/d/status", "", {table}).Text({"kind"}), "Table");
  Ask("POST", "/api/v1/namespaces/default/pods", R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x"}]}})");
  EXPECT_EQ(Ask("GET", "/api/v1/namespaces/default/pods/p/resize", "", {table}).code, 406);
  const std::string accounts = "/api/v1/namespaces/default/serviceaccounts/default/token";
  EXPECT_EQ(Ask("POST", accounts, "{}", {table}).code, 406);
  TestAnswer partial = Ask("POST", accounts, "{}", {"Accept: application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"});
  EXPECT_EQ(partial.Text({"kind"}), "PartialObjectMetadata");
  EXPECT_EQ(object::JsonText(partial.Get({"metadata", "managedFields"}).At(0).Get("fieldsV1")), R"({"f:spec":{"f:expirationSeconds":{}}})");
  EXPECT_EQ(Ask("POST", accounts, R"({"spec":{"boundObjectRef":{"kind":"Secret","apiVersion":"v1","name":""}}})").message(), "Name parameter required.");
}

TEST_F(RoutesTest, AScaleOfAnotherLife) {
  const std::string sets = "/apis/apps/v1/namespaces/default/replicasets";
  Ask("POST", sets, R"({"metadata":{"name":"r"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
                        "spec":{"containers":[{"name":"c","image":"x"}]}}}})");
  std::string message = Ask("PATCH", sets + "/r/scale", R"({"metadata":{"uid":"x"}})").message();
  EXPECT_TRUE(message.starts_with("Operation cannot be fulfilled on replicasets/scale.apps \"r\": Precondition failed: UID in precondition: x, UID in object meta: "))
      << message;
}

TEST_F(RoutesTest, ANamespaceIsMarkedBeforeItGoes) {
  Ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"empty"}})");
  Ask("PUT", "/api/v1/namespaces/empty/finalize", R"({"metadata":{"name":"empty"},"spec":{"finalizers":[]}})");
  EXPECT_EQ(Ask("DELETE", "/api/v1/namespaces/empty").Text({"status", "phase"}), "Terminating");
  EXPECT_EQ(Ask("GET", "/api/v1/namespaces/empty").code, 200);
  Ask("DELETE", "/api/v1/namespaces/empty");
  EXPECT_EQ(Ask("GET", "/api/v1/namespaces/empty").code, 404);
}

TEST_F(RoutesTest, BodiesOfOtherKinds) {
  struct Case {
    const char* body;
    const char* why;
  };
  const Case kCases[] = {
      {R"({"kind":"Status","apiVersion":"v1"})", "Status in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Status) to (core.ConfigMap): unknown conversion"},
      {R"({"kind":"Scale","apiVersion":"autoscaling/v1"})", "Scale in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Scale) to (core.ConfigMap): unknown conversion"},
      {R"({"kind":"DeleteOptions","apiVersion":"apps/v1"})", "DeleteOptions in version \"v1\" cannot be handled as a ConfigMap: converting (v1.DeleteOptions) to (core.ConfigMap): unknown conversion"},
      {R"({"kind":"ConfigMap","apiVersion":"/v9"})", "ConfigMap in version \"v9\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"v9\" in scheme \"pkg/runtime/scheme.go:111\""},
  };
  for (const Case& wanted : kCases) EXPECT_EQ(Ask("POST", kMaps, wanted.body).message(), wanted.why);
  // What upstream's servers know of each other, and in which versions there are options.
  struct Head {
    const char* path;
    const char* kind;
    const char* version;
    const char* package;  // null: not known
  };
  const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", services = "/apis/apiregistration.k8s.io/v1/apiservices";
  const Head kHeads[] = {
      {kMaps, "DeleteOptions", "bogus/v1", nullptr}, {kMaps, "DeleteOptions", "apps/v9", nullptr}, {kMaps, "DeleteOptions", "apps/v1beta2", "v1"},
      {kMaps, "CreateOptions", "autoscaling/v2", "v1"}, {kMaps, "WatchEvent", "apps/v1", "v1"}, {kMaps, "DeleteOptions", "autoscaling/v2beta1", nullptr},
      {kMaps, "Table", "meta.k8s.io/v1", nullptr}, {kMaps, "DeleteOptions", "meta.k8s.io/v1", nullptr}, {kMaps, "Status", "bogus/v1", "v1"},
      {kMaps, "APIService", "apiregistration.k8s.io/v1", nullptr}, {kMaps, "CustomResourceDefinition", "apiextensions.k8s.io/v1beta1", nullptr},
      {kMaps, "ImageReview", "imagepolicy.k8s.io/v1alpha1", "v1alpha1"}, {definitions.c_str(), "Pod", "v1", nullptr}, {definitions.c_str(), "Status", "v1", "v1"},
      {definitions.c_str(), "ConversionReview", "apiextensions.k8s.io/v1", "v1"}, {definitions.c_str(), "DeleteOptions", "apps/v1", nullptr},
      {services.c_str(), "APIServiceList", "apiregistration.k8s.io/v1beta1", "v1beta1"}, {services.c_str(), "List", "v1", nullptr},
      {services.c_str(), "DeleteOptions", "apiregistration.k8s.io/v1", "v1"}, {services.c_str(), "GetOptions", "v1", "v1"},
  };
  for (const Head& head : kHeads) {
    std::string body = std::string(R"({"kind":")") + head.kind + R"(","apiVersion":")" + head.version + "\"}", message = Ask("POST", head.path, body).message();
    std::string why = head.package == nullptr ? std::string("no kind \"") + head.kind + "\" is registered for version \"" + head.version + "\""
                                              : std::string("converting (") + head.package + "." + head.kind + ")";
    EXPECT_NE(message.find(why), message.npos) << head.path << " " << body << ": " << message;
  }
}

}  // namespace
}  // namespace homeostat::server::internal
