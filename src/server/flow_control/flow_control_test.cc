#include "server/flow_control/flow_control.h"

#include <deque>

#include "homeostat/object/yaml.h"
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

using internal::TestAnswer;

class Configuration : public kinds::ObjectReader {
 public:
  std::map<std::string, std::vector<object::DocumentPtr>> objects;

  void Add(const std::string& plural, const std::string& text) {
    auto document = std::make_shared<object::Document>();
    document->set_root(*object::ParseYaml(document->arena(), text, nullptr));
    objects[plural].push_back(document);
  }
  object::DocumentPtr Get(std::string_view, std::string_view plural, std::string_view, std::string_view name) const override {
    for (const object::DocumentPtr& document : List("", plural, "")) {
      if (document->root().Path({"metadata", "name"}).AsString() == name) return document;
    }
    return nullptr;
  }
  std::vector<object::DocumentPtr> List(std::string_view, std::string_view plural, std::string_view) const override {
    auto found = objects.find(std::string(plural));
    return found == objects.end() ? std::vector<object::DocumentPtr>() : found->second;
  }
};

struct FlowControlTest : ::testing::Test {
  FlowControlTest() {
    user.name = "somebody";
    user.groups = {"system:authenticated"};
    master.name = "root";
    master.groups = {"system:masters"};
    info.resource_request = true;
    info.verb = "get";
    info.resource = "pods";
    info.ns = "n";
  }
  // A level of `seats` seats whose only queue takes `length`, for everybody.
  void Configure(int length) {
    configuration.Add("prioritylevelconfigurations",
                      "{metadata: {name: l, uid: lu}, spec: {type: Limited, limited: {nominalConcurrencyShares: 5, limitResponse: {type: Queue, "
                      "queuing: {queues: 1, handSize: 1, queueLengthLimit: " + std::to_string(length) + "}}}}}");
    configuration.Add("flowschemas",
                      "{metadata: {name: s, uid: su}, spec: {matchingPrecedence: 50, priorityLevelConfiguration: {name: l}, rules: [{subjects: "
                      "[{kind: User, user: {name: '*'}}], resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], "
                      "clusterScope: true}]}]}}");
    configuration.Add("flowschemas",
                      "{metadata: {name: dangling, uid: du}, spec: {matchingPrecedence: 2, priorityLevelConfiguration: {name: none}, rules: "
                      "[{subjects: [{kind: User, user: {name: '*'}}], resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], "
                      "namespaces: ['*'], clusterScope: true}]}]}}");
  }
  std::unique_ptr<SimulatedRuntime> runtime = SimulatedRuntime::Make(1);
  Configuration configuration;
  User user, master;
  RequestInfo info;
};

Task<void> Keep(Task<bool> wait, std::optional<bool>* out) { out->emplace(co_await std::move(wait)); }

TEST_F(FlowControlTest, WithoutConfigurationThereIsACatchAll) {
  FlowControl control(*runtime, configuration, {.seats = 3});
  std::deque<FlowControl::Pass> passes;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(passes.emplace_back(&control).Enter(user, info));
  FlowControl::Pass refused(&control), exempt(&control);
  EXPECT_FALSE(refused.Enter(user, info));
  std::optional<bool> let_in;
  TaskGroup group(*runtime);
  group.Spawn(Keep(refused.Wait(), &let_in));
  runtime->RunUntil([&] { return let_in.has_value(); }, std::chrono::seconds(1));
  EXPECT_EQ(let_in, std::optional(false));
  EXPECT_EQ(refused.retry_after(), 1);
  EXPECT_TRUE(exempt.Enter(master, info));
  passes.pop_front();
  FlowControl::Pass next(&control);
  EXPECT_TRUE(next.Enter(user, info));
}

TEST_F(FlowControlTest, WaitsForItsTurnAndNoLonger) {
  Configure(2);
  FlowControl control(*runtime, configuration, {.seats = 2, .longest_wait = std::chrono::seconds(15)});
  auto running = std::make_unique<FlowControl::Pass>(&control);
  EXPECT_TRUE(running->Enter(user, info));
  http::Headers headers;
  running->Describe(headers);
  EXPECT_EQ(headers.Get("X-Kubernetes-PF-FlowSchema-UID"), "su");
  EXPECT_EQ(headers.Get("X-Kubernetes-PF-PriorityLevel-UID"), "lu");
  // The other of the two seats is catch-all's.
  std::optional<bool> first_in, second_in;
  TaskGroup group(*runtime);
  FlowControl::Pass borrower(&control), first(&control), second(&control), third(&control);
  EXPECT_TRUE(borrower.Enter(user, info));
  EXPECT_FALSE(first.Enter(user, info));
  EXPECT_FALSE(second.Enter(user, info));
  EXPECT_FALSE(third.Enter(user, info));
  group.Spawn(Keep(first.Wait(), &first_in));
  group.Spawn(Keep(second.Wait(), &second_in));
  EXPECT_NE(control.DumpRequests(true).find("somebody"), std::string::npos);
  runtime->RunFor(std::chrono::seconds(5));
  EXPECT_FALSE(first_in.has_value());
  running.reset();
  runtime->RunFor(std::chrono::seconds(1));
  EXPECT_EQ(first_in, std::optional(true));
  EXPECT_FALSE(second_in.has_value());
  runtime->RunFor(std::chrono::seconds(10));
  EXPECT_EQ(second_in, std::optional(false));
  EXPECT_NE(control.DumpLevels().find("l,"), std::string::npos);
}

TEST_F(FlowControlTest, WhoLeavesTheQueueHoldsNobodyUp) {
  Configure(5);
  FlowControl control(*runtime, configuration, {.seats = 1});
  auto running = std::make_unique<FlowControl::Pass>(&control);
  ASSERT_TRUE(running->Enter(user, info));
  auto bored = std::make_unique<FlowControl::Pass>(&control);
  FlowControl::Pass patient(&control);
  ASSERT_FALSE(bored->Enter(user, info));
  ASSERT_FALSE(patient.Enter(user, info));
  std::optional<bool> in;
  TaskGroup group(*runtime);
  group.Spawn(Keep(patient.Wait(), &in));
  runtime->RunFor(std::chrono::milliseconds(1));
  bored.reset();
  running.reset();
  runtime->RunFor(std::chrono::milliseconds(1));
  EXPECT_EQ(in, std::optional(true));
}

TEST_F(FlowControlTest, AChangedConfigurationIsFollowed) {
  FlowControl control(*runtime, configuration, {.seats = 1});
  EXPECT_EQ(control.DumpLevels().find("\nl,"), std::string::npos);
  Configure(5);
  control.Refresh();
  control.Refresh();
  runtime->RunFor(std::chrono::milliseconds(1));
  EXPECT_NE(control.DumpLevels().find("\nl,"), std::string::npos);
  FlowControl::Pass pass(&control);
  ASSERT_TRUE(pass.Enter(user, info));
  configuration.objects.clear();
  control.Refresh();
  runtime->RunFor(std::chrono::milliseconds(1));
  // It is not forgotten while a request of it runs.
  EXPECT_NE(control.DumpLevels().find("\nl,"), std::string::npos);
}

class FlowControlServer : public internal::TestServer {};

TEST_F(FlowControlServer, AnswersSayWhatTheyWereTakenFor) {
  auto uid = [&](std::string path) { return Ask("GET", "/apis/flowcontrol.apiserver.k8s.io/v1/" + path).Text({"metadata", "uid"}); };
  std::string global = uid("flowschemas/global-default"), level = uid("prioritylevelconfigurations/global-default");
  ASSERT_FALSE(global.empty());
  runtime->RunFor(std::chrono::seconds(1));
  TestAnswer answer = AskAs("somebody", {}, "GET", "/api/v1/pods");
  EXPECT_EQ(answer.code, 403);
  EXPECT_EQ(answer.headers.Get("X-Kubernetes-PF-FlowSchema-UID"), global);
  EXPECT_EQ(answer.headers.Get("X-Kubernetes-PF-PriorityLevel-UID"), level);
}

}  // namespace
}  // namespace homeostat::server
