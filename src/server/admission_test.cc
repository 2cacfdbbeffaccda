// What admission does to requests that pass the whole server.
#include <gtest/gtest.h>

#include <optional>

#include "base/await_for_tests.h"
#include "homeostat/base/runtime.h"
#include "server/control_plane.h"

namespace homeostat::server {
namespace {

class ServerAdmissionTest : public testing::Test {
 protected:
  void Begin(admission::PluginChoice choice = {}) {
    ControlPlaneOptions options;
    options.engine = store::MakeMemoryEngine(*runtime_);
    options.admission_plugins = std::move(choice);
    control_plane_ = std::make_unique<ControlPlane>(*runtime_, std::move(options));
    started_ = Await(control_plane_->Start());
    transport_ = control_plane_->TransportFor("admin", {"system:masters"});
  }

  template <class T>
  T Await(Task<T> task) {
    return homeostat::Await(*runtime_, std::move(task), std::chrono::minutes(1));
  }

  // Code and body of the answer.
  std::pair<int, std::string> Ask(std::string method, std::string path, std::string body = {}) {
    http::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.headers.Set("Content-Type", "application/json");
    request.body = Bytes(std::move(body));
    http::Response response = Await(transport_->Handle(std::move(request)));
    std::string text;
    for (const Bytes& piece : response.body) text += piece.view();
    return {response.code, text};
  }

  std::unique_ptr<SimulatedRuntime> runtime_ = SimulatedRuntime::Make(1);
  std::unique_ptr<ControlPlane> control_plane_;
  std::shared_ptr<http::Handler> transport_;
  Result<void> started_;
};

TEST_F(ServerAdmissionTest, ClassesOfTheSystemAreNotDeleted) {
  Begin();
  for (std::string name : {"system-node-critical", "system-cluster-critical"}) {
    auto [code, body] = Ask("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/" + name);
    EXPECT_EQ(code, 403);
    EXPECT_NE(body.find("this is a system priority class and cannot be deleted"), std::string::npos) << body;
  }
}

TEST_F(ServerAdmissionTest, AQuotaIsChargedWithWhatIsStored) {
  Begin();
  const std::string quotas = "/api/v1/namespaces/default/resourcequotas", secrets = "/api/v1/namespaces/default/secrets";
  ASSERT_EQ(Ask("POST", quotas, R"({"metadata":{"name":"q"},"spec":{"hard":{"count/secrets":"1"}}})").first, 201);
  // Until the controller has counted, nothing is refused.
  EXPECT_EQ(Ask("POST", secrets, R"({"metadata":{"name":"a"}})").first, 201);
  ASSERT_EQ(Ask("PUT", quotas + "/q/status",
                R"({"metadata":{"name":"q"},"status":{"hard":{"count/secrets":"2"},"used":{"count/secrets":"1"}}})").first, 200);
  EXPECT_EQ(Ask("POST", secrets + "?dryRun=All", R"({"metadata":{"name":"b"}})").first, 201);
  EXPECT_EQ(Ask("POST", secrets, R"({"metadata":{"name":"b"}})").first, 201);
  auto [code, body] = Ask("POST", secrets, R"({"metadata":{"name":"c"}})");
  EXPECT_EQ(code, 403);
  EXPECT_NE(body.find("exceeded quota: q, requested: count/secrets=1, used: count/secrets=2, limited: count/secrets=2"), std::string::npos) << body;
}

TEST_F(ServerAdmissionTest, DefaultsFollowWhatAdmissionChanged) {
  Begin();
  ASSERT_TRUE(started_.has_value());
  Ask("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  ASSERT_EQ(Ask("POST", "/api/v1/namespaces/default/limitranges",
                R"({"metadata":{"name":"r"},"spec":{"limits":[{"type":"Container","defaultRequest":{"cpu":"100m"}}]}})").first, 201);
  auto [code, body] = Ask("POST", "/api/v1/namespaces/default/pods",
                          R"({"metadata":{"name":"p"},"spec":{"resources":{"limits":{"memory":"2Gi"}},"containers":[{"name":"c","image":"x"}]}})");
  EXPECT_EQ(code, 201) << body;
  EXPECT_NE(body.find(R"("resources":{"limits":{"memory":"2Gi"},"requests":{"cpu":"100m","memory":"2Gi"}})"), std::string::npos) << body;
}

TEST_F(ServerAdmissionTest, ANodeGetsTokensForItsPodsOnly) {
  Begin({{"NodeRestriction"}, {}});
  const std::string accounts = "/api/v1/namespaces/default/serviceaccounts";
  ASSERT_EQ(Ask("POST", accounts, R"({"metadata":{"name":"a"}})").first, 201);
  // Of the masters too, so that it is admission that is asked.
  transport_ = control_plane_->TransportFor("system:node:here", {"system:nodes", "system:masters"});
  auto [code, body] = Ask("POST", accounts + "/a/token", R"({"spec":{"audiences":[]}})");
  EXPECT_EQ(code, 403);
  EXPECT_NE(body.find("node requested token not bound to a pod"), std::string::npos) << body;
}

TEST_F(ServerAdmissionTest, UnknownPluginsKeepItFromStarting) {
  Begin({{"Nonesuch"}, {}});
  ASSERT_FALSE(started_);
  EXPECT_EQ(started_.error().message(), "enable-admission-plugins plugin \"Nonesuch\" is unknown");
}

TEST_F(ServerAdmissionTest, PluginsCanBeLeftOut) {
  Begin({{}, {"NamespaceLifecycle", "ResourceQuota"}});
  ASSERT_TRUE(started_);
  EXPECT_EQ(Ask("POST", "/api/v1/namespaces/nowhere/configmaps", R"({"metadata":{"name":"a"}})").first, 201);
}

// A node that may ask for a service account's tokens gets those of its own pods, as they were asked for.
TEST_F(ServerAdmissionTest, NodesGetTokensOfTheirPodsOnly) {
  Begin({.enable = {"NodeRestriction"}});
  ASSERT_TRUE(runtime_->RunUntil([&] { return control_plane_->tokens().key() != nullptr; }, std::chrono::minutes(1)));
  ASSERT_EQ(Ask("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})").first, 201);
  ASSERT_EQ(Ask("POST", "/api/v1/namespaces/default/pods",
                R"({"metadata":{"name":"p"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}})").first, 201);
  std::string uid(control_plane_->objects().Get("", "pods", "default", "p")->root().Path({"metadata", "uid"}).AsString());
  transport_ = control_plane_->TransportFor("system:node:n1", {"system:nodes"});
  const std::string tokens = "/api/v1/namespaces/default/serviceaccounts/default/token";
  auto [refused, why] = Ask("POST", tokens, "{}");
  EXPECT_EQ(refused, 403);
  EXPECT_NE(why.find("node requested token not bound to a pod"), std::string::npos) << why;
  auto [given, token] = Ask("POST", tokens, R"({"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p","uid":")" + uid + R"("}}})");
  EXPECT_EQ(given, 201) << token;
}

}  // namespace
}  // namespace homeostat::server
