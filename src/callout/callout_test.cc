// Calls to servers of every sort, honest and hostile, on a simulated network.
#include <gtest/gtest.h>

#include <map>

#include "base/certificates_for_tests.h"
#include "callout/caller.h"
#include "homeostat/api/registry.h"
#include "homeostat/base/net.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "http/server.h"

namespace homeostat::callout {
namespace {

using namespace std::chrono_literals;
using object::Value;
using testing::TestCertificate;

class Objects : public kinds::ObjectReader {
 public:
  object::DocumentPtr Get(std::string_view, std::string_view plural, std::string_view ns, std::string_view name) const override {
    auto found = objects.find(std::string(plural) + "/" + std::string(ns) + "/" + std::string(name));
    return found == objects.end() ? nullptr : found->second;
  }
  std::vector<object::DocumentPtr> List(std::string_view, std::string_view plural, std::string_view ns) const override {
    std::vector<object::DocumentPtr> list;
    for (const auto& [key, object] : objects) {
      if (key.starts_with(std::string(plural) + "/" + std::string(ns) + "/")) list.push_back(object);
    }
    return list;
  }
  void Put(std::string key, const schema::Type& type, std::string_view json) {
    auto document = std::make_shared<object::Document>();
    schema::ConformReport report;
    document->set_root(*schema::Conform(document->arena(), *object::ParseJson(document->arena(), json), type, report));
    objects[std::move(key)] = document;
  }
  std::map<std::string, object::DocumentPtr> objects;
};

// Never ends.
class Endless : public http::BodyReader {
 public:
  Task<Result<Bytes>> Read() override { co_return Bytes(std::string(64 * 1024, 'x')); }
};

// Answers by path.
class Webhook : public http::Handler {
 public:
  explicit Webhook(Runtime& runtime) : runtime_(runtime) {}
  Task<http::Response> Handle(http::Request request) override {
    last = request;
    ++calls;
    http::Response response;
    response.headers.Set("Content-Type", "application/json");
    if (request.path == "/hang") {
      auto pause = Sleep(runtime_, 1h);
      co_await pause;
    }
    if (request.path == "/endless") response.stream = std::make_unique<Endless>();
    if (request.path == "/redirect") {
      response.code = 307;
      response.headers.Set("Location", "https://169.254.169.254/secret");
    }
    if (request.path == "/broken") {
      response.code = 500;
      response.headers.Set("Content-Type", "text/plain");
      response.body.emplace_back(std::string(" out of paper\n"));
    }
    if (request.path == "/missing") response.code = 404;
    if (request.path == "/status") {
      response.code = 403;
      response.body.emplace_back(std::string(R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"go away","code":403})"));
    }
    if (request.path == "/ok") response.body.emplace_back(std::string("{}"));
    co_return response;
  }
  http::Request last;
  int calls = 0;

 private:
  Runtime& runtime_;
};

class CalloutTest : public ::testing::Test {
 protected:
  CalloutTest()
      : runtime(SimulatedRuntime::Make(1)),
        now(std::chrono::duration_cast<std::chrono::seconds>(runtime->WallNow().time_since_epoch()).count()),
        authority({.common_name = "authority", .ca = true, .now = now}),
        certificate({.common_name = "webhook", .alternative_names = "IP:127.0.0.1,DNS:hook.shop.svc", .usage = "serverAuth", .now = now},
                    &authority),
        webhook(*runtime),
        caller(std::make_unique<Caller>(*runtime, objects)) {
    TlsServerOptions tls{certificate.certificate(), certificate.key(), ""};
    tls.clock = runtime.get();
    auto listener = runtime->network().Listen("127.0.0.1:0");
    server = std::make_unique<http::Server>(*runtime, *std::move(listener), TlsServer::Make(tls).value(), webhook);
    server->Start();
  }

  Target TargetAt(std::string path) {
    object::Arena arena;
    object::ObjectBuilder config(arena);
    std::string url = "https://" + server->address() + path;
    config.Append("url", Value::String(arena, url));
    config.Append("caBundle", Value::BytesCopy(arena, authority.certificate()));
    return ReadClientConfig(config.Build()).value();
  }

  static Task<void> Ask(Caller* caller, Target target, PostOptions options, std::optional<Result<Bytes>>* out) {
    auto post = caller->Post(std::move(target), Bytes(std::string("{}")), options);
    *out = co_await post;
  }
  Result<Bytes> Post(Target target, PostOptions options = {.timeout = 10s}) {
    std::optional<Result<Bytes>> out;
    TaskGroup group(*runtime);
    group.Spawn(Ask(caller.get(), std::move(target), options, &out));
    runtime->RunUntil([&] { return out.has_value(); }, 10min);
    return out ? *out : Fail(SystemError("the call never ended"));
  }

  std::unique_ptr<SimulatedRuntime> runtime;
  time_t now;
  TestCertificate authority, certificate;
  Objects objects;
  Webhook webhook;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<Caller> caller;
};

TEST_F(CalloutTest, PostsAndKeepsTheConnection) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Post(TargetAt("/ok")).value().view(), "{}");
  EXPECT_EQ(server->counters().connections_accepted, 1u);
  EXPECT_EQ(webhook.last.query, "timeout=10s");
  EXPECT_EQ(webhook.last.headers.Get("Content-Type"), "application/json");
  EXPECT_EQ(webhook.last.headers.Get("Host"), server->address());
}

TEST_F(CalloutTest, FaultsAreWordedAsUpstream) {
  std::string url = "https://" + server->address();
  struct Case {
    std::string path, message;
  };
  for (const Case& test : std::vector<Case>{
           {"/hang", "Post \"" + url + "/hang?timeout=10s\": context deadline exceeded"},
           {"/redirect", "the server responded with the status code 307 but did not return more information"},
           {"/broken", "an error on the server (\"out of paper\") has prevented the request from succeeding"},
           {"/missing", "the server could not find the requested resource"},
           {"/status", "go away"},
           {"/endless", "unexpected error when reading response body. Please retry. Original error: Internal error occurred: the response body "
                        "is longer than the 16777216 bytes that are read of it"},
       }) {
    auto answer = Post(TargetAt(test.path));
    ASSERT_FALSE(answer) << test.path;
    EXPECT_EQ(answer.error().message(), test.message);
  }
  // A redirect is not followed, nothing is sent twice.
  EXPECT_EQ(webhook.calls, 6);
}

TEST_F(CalloutTest, NobodyThereAndStrangers) {
  Target target = TargetAt("/ok");
  target.authority = "127.0.0.1:1";
  EXPECT_TRUE(Post(target).error().message().starts_with("Post \"https://127.0.0.1:1/ok?timeout=10s\": dial tcp 127.0.0.1:1: connect: "))
      << Post(target).error().message();
  TestCertificate stranger({.common_name = "stranger", .ca = true, .now = now});
  target = TargetAt("/ok");
  target.ca = stranger.certificate();
  EXPECT_EQ(Post(target).error().message(), "Post \"" + target.Url() + "?timeout=10s\": tls: failed to verify certificate: x509: certificate signed by unknown authority");
  target = TargetAt("/ok");
  target.server_name = "other.shop.svc";
  EXPECT_TRUE(Post(target).error().message().contains("x509: certificate is ")) << Post(target).error().message();
  EXPECT_EQ(webhook.calls, 0);
}

TEST_F(CalloutTest, ServicesLeadToTheirEndpoints) {
  auto service = [&](int port) {
    Target target = TargetOfService({"shop", "hook", port}, "ok//");
    target.ca = authority.certificate();
    return target;
  };
  EXPECT_EQ(Post(service(443)).error().message(), R"(Post "https://hook.shop.svc:443/ok?timeout=10s": service "hook" not found)");
  objects.Put("services/shop/hook", *api::FindKind("", "v1", "Service")->type,
              R"({"metadata":{"name":"hook","namespace":"shop"},"spec":{"type":"ClusterIP","ports":[{"name":"tls","port":443}]}})");
  EXPECT_EQ(Post(service(8443)).error().message(),
            R"(Post "https://hook.shop.svc:8443/ok?timeout=10s": no service port 8443 found for service "hook")");
  EXPECT_EQ(Post(service(443)).error().message(),
            R"(Post "https://hook.shop.svc:443/ok?timeout=10s": no endpoints available for service "hook")");
  std::string port = server->address().substr(server->address().rfind(':') + 1);
  objects.Put("endpointslices/shop/hook-1", *api::FindKind("discovery.k8s.io", "v1", "EndpointSlice")->type, R"({"metadata":{"labels":{"kubernetes.io/service-name":"hook"}},"addressType":"IPv4",
    "endpoints":[{"addresses":["10.0.0.9"],"conditions":{"ready":false}},{"addresses":["127.0.0.1"],"conditions":{"ready":true}}],
    "ports":[{"name":"tls","port":)" + port + "}]}");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Post(service(443)).value().view(), "{}");
  EXPECT_EQ(webhook.last.headers.Get("Host"), "hook.shop.svc:443");
}

TEST(CalloutTargetTest, ReadsConfigurations) {
  struct Case {
    std::string_view config, url, server_name;
  };
  for (const Case& test : std::vector<Case>{
           {R"({"url":"https://example.com"})", "https://example.com/", "example.com"},
           {R"({"url":"https://example.com:8443/a/../b/"})", "https://example.com:8443/b", "example.com"},
           {R"({"url":"https://[::1]:9/x"})", "https://[::1]:9/x", "::1"},
           {R"({"service":{"name":"s","namespace":"n"}})", "https://s.n.svc:443/", "s.n.svc"},
           {R"({"service":{"name":"s","namespace":"n","port":99,"path":"/convert"}})", "https://s.n.svc:99/convert", "s.n.svc"},
       }) {
    object::Arena arena;
    auto target = ReadClientConfig(*object::ParseJson(arena, test.config));
    ASSERT_TRUE(target) << test.config;
    EXPECT_EQ(target->Url(), test.url);
    EXPECT_EQ(target->server_name, test.server_name);
  }
  for (std::string_view bad : {"{}", R"({"url":"http://example.com"})", R"({"url":"https:///x"})"}) {
    object::Arena arena;
    EXPECT_FALSE(ReadClientConfig(*object::ParseJson(arena, bad))) << bad;
  }
}

}  // namespace
}  // namespace homeostat::callout
