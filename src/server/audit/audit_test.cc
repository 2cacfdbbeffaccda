// What the audit log says of requests to a whole server.
#include <filesystem>
#include <fstream>

#include "server/internal/test_server.h"

namespace homeostat::server::audit {
namespace {

using internal::TestAnswer;
using internal::TestServer;
using object::Value;

std::filesystem::path Folder() { return std::filesystem::path(testing::TempDir()) / ("audit-server-" + std::to_string(getpid())); }

ControlPlaneOptions WithAudit(std::string_view rules) {
  std::filesystem::remove_all(Folder());
  std::filesystem::create_directories(Folder());
  ControlPlaneOptions options;
  options.audit.policy_file = Folder() / "policy.yaml";
  options.audit.log.path = Folder() / "audit.log";
  std::ofstream(options.audit.policy_file) << "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: " << rules << "}";
  return options;
}

constexpr std::string_view kRules =
    "[{level: None, userGroups: [system:masters], users: [system:apiserver]}, {level: None, users: [quiet]}, {level: RequestResponse, omitManagedFields: true, "
    "resources: [{group: '', resources: [configmaps]}]}, {level: Metadata, omitStages: [RequestReceived]}]";

class AuditTest : public TestServer {
 protected:
  AuditTest() : TestServer(WithAudit(kRules)) { Events(); }
  ~AuditTest() override { std::filesystem::remove_all(Folder()); }

  // Those that were written since the last call.
  std::vector<object::DocumentPtr> Events() {
    runtime->RunFor(std::chrono::milliseconds(1));
    std::ifstream file(Folder() / "audit.log");
    file.seekg(read_);
    std::vector<object::DocumentPtr> events;
    for (std::string line; std::getline(file, line);) {
      read_ += static_cast<std::streamoff>(line.size()) + 1;
      auto parsed = object::ParseJsonDocument(line);
      EXPECT_TRUE(parsed) << line;
      if (parsed) events.push_back(*parsed);
    }
    return events;
  }
  static std::string At(const object::DocumentPtr& event, std::initializer_list<std::string_view> path) {
    Value found = event->root().Path(path);
    return found ? object::JsonText(found) : "none";
  }

  static constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";
  std::streamoff read_ = 0;
};

TEST_F(AuditTest, AWriteHasTwoEvents) {
  Ask("POST", std::string(kMaps) + "?pretty=true", R"({"metadata":{"generateName":"a-"},"data":{"x":"y"}})", {"User-Agent: test/1", "Audit-Id: the-id"});
  auto events = Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(At(events[0], {"stage"}), "\"RequestReceived\"");
  EXPECT_EQ(At(events[0], {"requestReceivedTimestamp"}), At(events[0], {"stageTimestamp"}));
  EXPECT_EQ(At(events[0], {"responseStatus"}), "none");
  const object::DocumentPtr& event = events[1];
  struct Case {
    std::initializer_list<std::string_view> path;
    std::string_view value;
  };
  for (const Case& test : std::initializer_list<Case>{
           {{"kind"}, "\"Event\""}, {{"apiVersion"}, "\"audit.k8s.io/v1\""}, {{"level"}, "\"RequestResponse\""}, {{"auditID"}, "\"the-id\""},
           {{"stage"}, "\"ResponseComplete\""}, {{"requestURI"}, "\"/api/v1/namespaces/default/configmaps?pretty=true\""}, {{"verb"}, "\"create\""},
           {{"user"}, R"({"username":"admin","groups":["system:masters","system:authenticated"]})"}, {{"userAgent"}, "\"test/1\""},
           {{"responseStatus"}, R"({"metadata":{},"code":201})"},
           {{"requestObject"}, R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"generateName":"a-"},"data":{"x":"y"}})"},
           {{"responseObject", "data"}, R"({"x":"y"})"}, {{"responseObject", "metadata", "managedFields"}, "none"},
           {{"annotations", "authorization.k8s.io/decision"}, "\"allow\""},
       }) {
    EXPECT_EQ(At(event, test.path), test.value);
  }
  EXPECT_EQ(At(event, {"objectRef"}), R"({"resource":"configmaps","namespace":"default","apiVersion":"v1"})");
}

TEST_F(AuditTest, PatchesErrorsAndStrangers) {
  Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"}})");
  Events();
  Ask("PATCH", std::string(kMaps) + "/a", R"({"data":{"x":"y"}})");
  auto events = Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(At(events[1], {"requestObject"}), R"({"data":{"x":"y"}})");
  Ask("GET", std::string(kMaps) + "/none");
  events = Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(At(events[1], {"responseStatus"}),
            R"({"metadata":{},"status":"Failure","message":"configmaps \"none\" not found","reason":"NotFound","details":{"name":"none","kind":"configmaps"},"code":404})");
  AskAs("mira", {}, "GET", "/api/v1/nodes");
  events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(At(events[0], {"level"}), "\"Metadata\"");
  EXPECT_EQ(At(events[0], {"annotations", "authorization.k8s.io/decision"}), "\"forbid\"");
  EXPECT_EQ(At(events[0], {"responseObject"}), "none");
  EXPECT_EQ(At(events[0], {"responseStatus", "code"}), "403");
  AskAs("quiet", {}, "GET", "/api/v1/nodes");
  EXPECT_TRUE(Events().empty());
  Ask("GET", "/api/v1/nodes", "", {"Impersonate-User: mira", "Impersonate-Group: devs"});
  events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(At(events[0], {"user", "username"}), "\"admin\"");
  EXPECT_EQ(At(events[0], {"impersonatedUser"}), R"({"username":"mira","groups":["devs","system:authenticated"]})");
  http::Request unknown;
  unknown.path = "/api/v1/nodes";
  unknown.headers.Set("Authorization", "Bearer x");
  EXPECT_EQ(Await(control_plane->server().Handle(std::move(unknown))).code, 401);
  events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(At(events[0], {"stage"}), "\"ResponseStarted\"");
  EXPECT_EQ(At(events[0], {"responseStatus"}), R"({"metadata":{},"message":"Authentication failed, attempted: bearer","code":401})");
}

TEST_F(AuditTest, EncodingsOfAnswersAreJson) {
  Ask("POST", std::string(kMaps), R"({"metadata":{"name":"a"},"data":{"x":"y"}})");
  Events();
  for (std::string_view accept : {"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}) {
    http::Request request;
    request.path = kMaps;
    request.headers.Set("Accept", accept);
    auto transport = control_plane->TransportFor(user, groups);
    Await(transport->Handle(std::move(request)));
    auto events = Events();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[1]->root().Path({"responseObject", "items"}).At(0).Path({"data", "x"}).AsString(), "y") << accept;
  }
}

TEST_F(AuditTest, AWatchIsFollowedToItsEnd) {
  http::Request request;
  request.path = kMaps;
  request.query = "watch=true";
  auto transport = control_plane->TransportFor(user, groups);
  http::Response response = Await(transport->Handle(std::move(request)));
  auto events = Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(At(events[1], {"stage"}), "\"ResponseStarted\"");
  response.stream.reset();
  events = Events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(At(events[0], {"stage"}), "\"ResponseComplete\"");
  EXPECT_EQ(At(events[0], {"verb"}), "\"watch\"");
}

TEST(AuditOptionsTest, WrongPoliciesKeepTheServerFromStarting) {
  auto runtime = SimulatedRuntime::Make(1);
  ControlPlaneOptions options = WithAudit("[]");
  options.engine = store::MakeMemoryEngine(*runtime);
  ControlPlane control_plane(*runtime, std::move(options));
  std::optional<Result<void>> result;
  TaskGroup group(*runtime);
  auto keep = [](Task<Result<void>> inner, std::optional<Result<void>>* out) -> Task<void> { out->emplace(co_await inner); };
  group.Spawn(keep(control_plane.Start(), &result));
  ASSERT_TRUE(runtime->RunUntil([&] { return result.has_value(); }, std::chrono::minutes(1)));
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().message(),
            "loading audit policy file: loaded illegal policy with 0 rules: from file " + (Folder() / "policy.yaml").string());
  std::filesystem::remove_all(Folder());
}

TEST(AuditEventTest, SourceAddresses) {
  struct Case {
    std::string_view forwarded, real, peer;
    std::vector<std::string> addresses;
  };
  for (const Case& test : std::vector<Case>{
           {"", "", "127.0.0.1:4711", {"127.0.0.1"}},
           {"10.0.0.1, 10.0.0.2", "10.0.0.3", "[::1]:80", {"10.0.0.1", "10.0.0.2", "10.0.0.3", "::1"}},
           {"10.0.0.1,,<script>", "10.0.0.1", "10.0.0.1:5", {"10.0.0.1"}},
           {"", "", "", {}},
       }) {
    EXPECT_EQ(SourceAddresses(test.forwarded, test.real, test.peer), test.addresses) << test.peer;
  }
}

}  // namespace
}  // namespace homeostat::server::audit
