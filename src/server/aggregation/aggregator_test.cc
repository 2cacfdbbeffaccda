// A server and an extension server behind it, over a simulated network.
#include "server/aggregation/aggregator.h"

#include "auth/pki.h"
#include "http/server.h"
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

using internal::TestAnswer;

constexpr std::string_view kName = "/apis/apiregistration.k8s.io/v1/apiservices/v1.wardle.example.com";
constexpr std::string_view kAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

// Remembers what it was asked.
class Extension : public http::Handler {
 public:
  Task<http::Response> Handle(http::Request request) override {
    http::Response response;
    std::string body = R"({"kind":"Answer"})";
    response.headers.Set("Content-Type", "application/json");
    if (request.path == "/apis") {
      response.headers.Set("Content-Type", kAggregated);
      body = R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"wardle.example.com"},
          "versions":[{"version":"v1","resources":[{"resource":"flunders","scope":"Namespaced","singularResource":"flunder","verbs":["get"]}]}]}]})";
    } else if (request.path == "/openapi/v3") {
      body = R"({"paths":{"apis/wardle.example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/wardle.example.com/v1?hash=X"}}})";
    } else if (request.path == "/openapi/v2") {
      body = R"({"paths":{"/apis/wardle.example.com/v1/flunders":{"get":{}}},"definitions":{}})";
    } else if (request.path.ends_with("/moved")) {
      response.code = 302;
      response.headers.Set("Location", "https://elsewhere/");
    }
    response.body = {Bytes(std::move(body))};
    last = std::move(request);
    co_return response;
  }
  http::Request last;
};

class AggregatorTest : public internal::TestServer {
 protected:
  // At 10.0.0.5:8443, with a certificate of its own authority.
  void StartExtension() {
    TlsServerOptions tls;
    auth::CertificateRequest names;
    names.common_name = "extension";
    names.dns_names = {"api.wardle.svc"};
    names.server = true;
    auth::KeyPair pair = auth::IssueCertificate(*runtime, authority, names).value();
    tls.certificate = pair.certificate;
    tls.private_key = pair.private_key;
    tls.clock = runtime.get();
    server = std::make_unique<http::Server>(*runtime, runtime->network().Listen("10.0.0.5:8443").value(), TlsServer::Make(tls).value(), extension);
    server->Start();
  }
  void CreateApiService() {
    std::string body = R"({"metadata":{"name":"v1.wardle.example.com"},"spec":{"group":"wardle.example.com","version":"v1",
        "groupPriorityMinimum":2000,"versionPriority":15,"service":{"namespace":"wardle","name":"api"},"caBundle":")" +
                       Base64(authority.certificate) + "\"}}";
    EXPECT_EQ(Ask("POST", "/apis/apiregistration.k8s.io/v1/apiservices", body).code, 201);
  }
  static std::string Base64(std::string_view text) {
    std::string out;
    object::AppendBase64(out, text);
    return out;
  }
  void CreateService() {
    Ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"wardle"}})");
    EXPECT_EQ(Ask("POST", "/api/v1/namespaces/wardle/services", R"({"metadata":{"name":"api"},"spec":{"ports":[{"name":"https","port":443}]}})").code, 201);
  }
  void CreateSlice() {
    std::string body = R"({"metadata":{"name":"api-1","labels":{"kubernetes.io/service-name":"api"}},"addressType":"IPv4",
        "ports":[{"name":"https","port":8443}],"endpoints":[{"addresses":["10.0.0.5"]}]})";
    EXPECT_EQ(Ask("POST", "/apis/discovery.k8s.io/v1/namespaces/wardle/endpointslices", body).code, 201);
  }
  std::string Reason() {
    const auto answer = Ask("GET", std::string(kName));
    for (const object::Value& condition : answer.Get({"status", "conditions"}).items()) {
      if (condition.Get("type").AsString() == "Available") return std::string(condition.Get("reason").AsString());
    }
    return "";
  }
  // Lets the aggregator have its turns.
  bool BecomesReason(std::string_view reason) {
    for (int i = 0; i < 100; ++i) {
      if (Reason() == reason) return true;
      runtime->RunFor(std::chrono::milliseconds(500));
    }
    return false;
  }

  auth::KeyPair authority = auth::MakeAuthority(*runtime, "extensions").value();
  Extension extension;
  std::unique_ptr<http::Server> server;
};

TEST_F(AggregatorTest, FindsOutWhetherAServiceCanBeAsked) {
  CreateApiService();
  EXPECT_TRUE(BecomesReason("ServiceNotFound"));
  EXPECT_EQ(Ask("GET", "/apis/wardle.example.com/v1/flunders").code, 503);
  CreateService();
  EXPECT_TRUE(BecomesReason("EndpointsNotFound"));
  CreateSlice();
  EXPECT_TRUE(BecomesReason("FailedDiscoveryCheck"));
  TestAnswer stale = Ask("GET", "/apis", "", {"Accept: " + std::string(kAggregated)});
  EXPECT_NE(object::JsonText(stale.document->root()).find(R"({"version":"v1","freshness":"Stale"})"), std::string::npos);
  StartExtension();
  EXPECT_TRUE(BecomesReason("Passed"));
  EXPECT_EQ(Ask("GET", "/apis/wardle.example.com/v1/flunders").Text({"kind"}), "Answer");
}

TEST_F(AggregatorTest, PassesRequestsOnUnderTheNameOfTheirSender) {
  StartExtension();
  CreateService();
  CreateSlice();
  CreateApiService();
  ASSERT_TRUE(BecomesReason("Passed"));
  TestAnswer answer = Ask("POST", "/apis/wardle.example.com/v1/namespaces/a/flunders?x=%20y", R"({"a":1})",
                          {"Authorization: Bearer secret", "X-Remote-User: somebody", "x-remote-group: system:nodes", "X-Other: kept"});
  EXPECT_EQ(answer.code, 200);
  const http::Request& seen = extension.last;
  EXPECT_EQ(seen.method + " " + seen.path + "?" + seen.query, "POST /apis/wardle.example.com/v1/namespaces/a/flunders?x=%20y");
  EXPECT_EQ(seen.body.view(), R"({"a":1})");
  EXPECT_EQ(seen.headers.GetAll("X-Remote-User"), std::vector<std::string_view>{"admin"});
  EXPECT_EQ(seen.headers.GetAll("X-Remote-Group"), (std::vector<std::string_view>{"system:masters", "system:authenticated"}));
  EXPECT_FALSE(seen.headers.Has("Authorization"));
  EXPECT_EQ(seen.headers.Get("X-Other"), "kept");
  EXPECT_EQ(seen.headers.Get("Audit-Id"), answer.headers.Get("Audit-Id"));
  EXPECT_EQ(Ask("GET", "/apis/wardle.example.com/v1/moved").code, 502);
  EXPECT_EQ(AskAs("nobody", {}, "GET", "/apis/wardle.example.com/v1/flunders").code, 403);
}

TEST_F(AggregatorTest, DiscoveryAndOpenApiShowWhatExtensionServersHave) {
  StartExtension();
  CreateService();
  CreateSlice();
  CreateApiService();
  ASSERT_TRUE(BecomesReason("Passed"));
  TestAnswer listed = Ask("GET", "/apis", "", {"Accept: " + std::string(kAggregated)});
  EXPECT_EQ(listed.Get({"items"}).At(listed.Get({"items"}).size() - 1).Path({"metadata", "name"}).AsString(), "wardle.example.com");
  EXPECT_NE(object::JsonText(listed.document->root()).find(R"("resource":"flunders")"), std::string::npos);
  EXPECT_EQ(listed.Get({"items"}).At(0).Path({"metadata", "name"}).AsString(), "apiregistration.k8s.io");
  EXPECT_EQ(Ask("GET", "/apis/wardle.example.com").Get({"preferredVersion", "version"}).AsString(), "v1");
  TestAnswer index = Ask("GET", "/openapi/v3");
  EXPECT_EQ(index.Text({"paths", "apis/wardle.example.com/v1", "serverRelativeURL"}), "/openapi/v3/apis/wardle.example.com/v1?hash=X");
  EXPECT_EQ(Ask("GET", "/openapi/v3/apis/wardle.example.com/v1").Text({"kind"}), "Answer");
  EXPECT_TRUE(Ask("GET", "/openapi/v2").Get({"paths", "/apis/wardle.example.com/v1/flunders"}));
  EXPECT_EQ(Ask("DELETE", std::string(kName)).code, 200);
  EXPECT_EQ(Ask("GET", "/apis/wardle.example.com").code, 404);
  EXPECT_EQ(Ask("GET", "/apis/wardle.example.com/v1/flunders").code, 404);
}

TEST_F(AggregatorTest, CustomGroupsHaveApiServicesOfTheirOwn) {
  auto code = [&] { return Ask("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com").code; };
  auto becomes = [&](int wanted) {
    for (int i = 0; i < 50 && code() != wanted; ++i) runtime->RunFor(std::chrono::milliseconds(100));
    return code() == wanted;
  };
  std::string definition = R"({"metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
      "names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})";
  const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  EXPECT_EQ(Ask("POST", definitions, definition).code, 201);
  ASSERT_TRUE(becomes(200));
  TestAnswer made = Ask("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com");
  EXPECT_EQ(made.Text({"metadata", "labels", "kube-aggregator.kubernetes.io/automanaged"}), "true");
  EXPECT_EQ(made.Get({"spec", "groupPriorityMinimum"}).AsInt(), 1000);
  EXPECT_EQ(made.Get({"spec", "versionPriority"}).AsInt(), 100);
  EXPECT_EQ(made.Get({"status", "conditions"}).At(0).Get("reason").AsString(), "Local");
  Ask("PATCH", "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com", R"({"spec":{"versionPriority":7}})");
  runtime->RunFor(std::chrono::seconds(1));
  made = Ask("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com");
  EXPECT_EQ(made.Get({"spec", "versionPriority"}).AsInt(), 100);
  EXPECT_EQ(Ask("DELETE", definitions + "/things.example.com").code, 200);
  EXPECT_TRUE(becomes(404));
}

}  // namespace
}  // namespace homeostat::server
