// A server whose users have webhooks: one that answers as a test says, on the simulated network.
#pragma once

#include <map>

#include "base/certificates_for_tests.h"
#include "homeostat/base/net.h"
#include "homeostat/base/text.h"
#include "http/server.h"
#include "server/internal/test_server.h"

namespace homeostat::server::internal {

using object::Value;

// Answers each review with what is set for its path: members of the response without uid.
class Hook : public http::Handler {
 public:
  explicit Hook(Runtime& runtime) : runtime_(runtime) {}
  Task<http::Response> Handle(http::Request request) override {
    std::string path = request.path;
    queries[path] = request.query;
    if (delays.contains(path)) {
      auto pause = Sleep(runtime_, delays[path]);
      co_await std::move(pause);
    }
    auto review = object::ParseJsonDocument(request.body);
    reviews[path].push_back(*review);
    Value root = (*review)->root(), asked = root.Get("request");
    std::string response = answers[path];
    if (root.Get("kind").AsString() == "ConversionReview" && response.empty()) response = Convert(asked);
    http::Response out;
    out.body.emplace_back(R"({"kind":)" + object::JsonText(root.Get("kind")) + R"(,"apiVersion":)" + object::JsonText(root.Get("apiVersion")) +
                          R"(,"response":{"uid":)" + object::JsonText(asked.Get("uid")) + "," + response + "}}");
    co_return out;
  }
  // v1 has spec.address, v2 spec.host.
  static std::string Convert(const Value& request) {
    std::string objects;
    std::string to(request.Get("desiredAPIVersion").AsString());
    for (const Value& object : request.Get("objects").items()) {
      object::Arena arena;
      Value text = object.Path({"spec", "address"}) ? object.Path({"spec", "address"}) : object.Path({"spec", "host"});
      object::ObjectBuilder spec(arena);
      if (text) spec.Append(to.ends_with("v1") ? "address" : "host", text);
      object::ObjectBuilder changed(arena, object);
      changed.Set("spec", spec.Build());
      changed.Set("apiVersion", Value::StringRef(to));
      objects += (objects.empty() ? "" : ",") + object::JsonText(changed.Build());
    }
    return R"("convertedObjects":[)" + objects + R"(],"result":{"status":"Success"})";
  }

  std::map<std::string, std::string> answers, queries;  // queries: of the last review
  std::map<std::string, Duration> delays;
  std::map<std::string, std::vector<std::shared_ptr<object::Document>>> reviews;

 private:
  Runtime& runtime_;
};

inline std::string PatchAnswer(std::string_view operations) {
  return R"("allowed":true,"patchType":"JSONPatch","patch":")" + Base64Encode(operations) + "\"";
}

class WebhookTest : public TestServer {
 protected:
  WebhookTest()
      : now(std::chrono::duration_cast<std::chrono::seconds>(runtime->WallNow().time_since_epoch()).count()),
        authority({.common_name = "authority", .ca = true, .now = now}),
        certificate({.common_name = "hook", .alternative_names = "IP:127.0.0.1", .usage = "serverAuth", .now = now}, &authority) {
    TlsServerOptions tls{certificate.certificate(), certificate.key(), ""};
    tls.clock = runtime.get();
    auto listener = runtime->network().Listen("127.0.0.1:0");
    hook_server = std::make_unique<http::Server>(*runtime, *std::move(listener), TlsServer::Make(tls).value(), hook);
    hook_server->Start();
  }

  std::string Client(std::string_view path) {
    return R"({"url":"https://)" + hook_server->address() + std::string(path) + R"(","caBundle":")" + Base64Encode(authority.certificate()) + "\"}";
  }
  // A configuration with one webhook; more: further members, each with a comma before it.
  void Configure(std::string_view kind, std::string_view name, std::string_view path, std::string_view rules, std::string_view more = "") {
    std::string plural = kind == "Mutating" ? "mutatingwebhookconfigurations" : "validatingwebhookconfigurations";
    std::string body = R"({"metadata":{"name":")" + std::string(name) + R"("},"webhooks":[{"name":")" + std::string(name) +
                       R"(.example.com","clientConfig":)" + Client(path) + R"(,"rules":[)" + std::string(rules) +
                       R"(],"sideEffects":"None","admissionReviewVersions":["v1"])" + std::string(more) + "}]}";
    TestAnswer made = Ask("POST", "/apis/admissionregistration.k8s.io/v1/" + plural, body);
    EXPECT_EQ(made.code, 201) << made.message();
  }
  static std::string Rule(std::string_view group, std::string_view version, std::string_view resource, std::string_view operation = "*") {
    return R"({"apiGroups":[")" + std::string(group) + R"("],"apiVersions":[")" + std::string(version) + R"("],"resources":[")" +
           std::string(resource) + R"("],"operations":[")" + std::string(operation) + R"("]})";
  }
  void Define(std::string_view path, bool v1_stored) {
    auto version = [](std::string_view name, bool stored, std::string_view field) {
      return R"({"name":")" + std::string(name) + R"(","served":true,"storage":)" + (stored ? "true" : "false") +
             R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{")" + std::string(field) +
             R"(":{"type":"string"}}}}}}})";
    };
    std::string body = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"ports.example.com"},"spec":{"group":"example.com",
      "scope":"Namespaced","names":{"plural":"ports","kind":"Port"},"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],
      "clientConfig":)" + Client(path) + R"(}},"versions":[)" + version("v1", v1_stored, "address") + "," + version("v2", !v1_stored, "host") + "]}}";
    std::string target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    TestAnswer made = Ask("POST", target, body);
    if (made.code == 409) made = Ask("PATCH", target + "/ports.example.com", body);
    EXPECT_LT(made.code, 300) << made.message();
  }
  static std::string Port(std::string_view name, std::string_view version, std::string_view spec) {
    return R"({"apiVersion":"example.com/)" + std::string(version) + R"(","kind":"Port","metadata":{"name":")" + std::string(name) +
           R"("},"spec":)" + std::string(spec) + "}";
  }

  static constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";
  const std::string v1 = "/apis/example.com/v1/namespaces/default/ports", v2 = "/apis/example.com/v2/namespaces/default/ports";
  time_t now;
  testing::TestCertificate authority, certificate;
  Hook hook{*runtime};
  std::unique_ptr<http::Server> hook_server;
};

}  // namespace homeostat::server::internal
