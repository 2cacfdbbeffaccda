#include "homeostat/sdk/client.h"

#include <gtest/gtest.h>

#include "sdk/fake_api_test.h"
#include "sdk/internal/frames.h"
#include "sdk/internal/watch_stream.h"

namespace homeostat::sdk {
namespace {

using api::core::v1::ConfigMap;
using api::core::v1::ConfigMapBuilder;

object::DocumentPtr Map(std::string_view name) {
  ConfigMapBuilder map;
  map.mutable_metadata().set_namespace("default").set_name(name);
  map.set_data("key", "<value>");
  return map.Freeze();
}

// Runs a task to its end.
template <class T>
std::optional<T> Complete(SimulatedRuntime& runtime, Task<T> task) {
  std::optional<T> result;
  auto keep = [](std::optional<T>& out, Task<T> inner) -> Task<void> { out.emplace(co_await inner); };
  TaskGroup group(runtime);
  group.Spawn(keep(result, std::move(task)));
  runtime.RunUntil([&] { return result.has_value(); }, std::chrono::hours(1));
  return result;
}

// Answers with what it was given and remembers what it was asked.
class Scripted : public http::Handler {
 public:
  Task<http::Response> Handle(http::Request request) override {
    requests.push_back(std::move(request));
    http::Response response = std::move(answers.front());
    answers.erase(answers.begin());
    co_return response;
  }
  void Answer(int code, std::string body, http::Headers headers = {}) {
    http::Response response;
    response.code = code;
    response.headers = std::move(headers);
    response.body.push_back(std::move(body));
    answers.push_back(std::move(response));
  }
  std::vector<http::Request> requests;
  std::vector<http::Response> answers;
};

TEST(ClientTest, WritesAndReadsInEitherEncoding) {
  for (bool protobuf : {true, false}) {
    auto runtime = SimulatedRuntime::Make(1);
    auto api = std::make_shared<FakeApi>(*runtime);
    api->protobuf = protobuf;
    Client client(api);
    auto created = Complete(*runtime, client.Create<ConfigMap>("default", Object<ConfigMap>(Map("a"))));
    ASSERT_TRUE(created && *created) << (*created).error().message();
    EXPECT_EQ((**created)->data().Get("key"), "<value>");
    EXPECT_EQ((**created)->kind(), "ConfigMap");
    auto again = Complete(*runtime, client.Create<ConfigMap>("default", Object<ConfigMap>(Map("a"))));
    ASSERT_TRUE(again && !*again);
    EXPECT_TRUE(again->error().IsAlreadyExists());
    EXPECT_EQ(again->error().message(), "configmaps \"a\" already exists");
    auto list = Complete(*runtime, client.List<ConfigMap>("default"));
    ASSERT_TRUE(list && *list);
    ASSERT_EQ((*list)->size(), 1u);
    EXPECT_EQ((**list)[0]->metadata().uid(), (**created)->metadata().uid());
    EXPECT_EQ((**list)[0]->api_version(), "v1") << "items of lists know their kind";
    EXPECT_EQ(api->requests, protobuf ? 3 : 4) << "one more where protobuf is refused, and only once";
  }
}

TEST(ClientTest, BuildsRequests) {
  auto runtime = SimulatedRuntime::Make(1);
  auto handler = std::make_shared<Scripted>();
  Client client(handler, {.user_agent = "test", .bearer_token = "secret", .field_manager = "me", .impersonate_user = "alice"});
  handler->Answer(200, R"({"kind":"Status","apiVersion":"v1","status":"Success"})");
  DeleteOptions options;
  options.grace_period_seconds = 0;
  options.propagation_policy = "Foreground";
  options.precondition_uid = "u\"1";
  auto deleted = Complete(*runtime, client.Delete<ConfigMap>("ns", "a b", options));
  ASSERT_TRUE(deleted && *deleted);
  const http::Request& request = handler->requests[0];
  EXPECT_EQ(request.method, "DELETE");
  EXPECT_EQ(request.path, "/api/v1/namespaces/ns/configmaps/a%20b");
  EXPECT_EQ(request.headers.Get("User-Agent"), "test");
  EXPECT_EQ(request.headers.Get("Authorization"), "Bearer secret");
  EXPECT_EQ(request.headers.Get("Impersonate-User"), "alice");
  object::Arena arena;
  auto body = object::ParseJson(arena, request.body.view());
  ASSERT_TRUE(body);
  EXPECT_EQ(body->Get("gracePeriodSeconds").AsInt(-1), 0);
  EXPECT_EQ(body->Get("propagationPolicy").AsString(), "Foreground");
  EXPECT_EQ(body->Path({"preconditions", "uid"}).AsString(), "u\"1");

  handler->Answer(200, R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l"}})");
  auto patched = Complete(*runtime, client.Patch(api::coordination::v1::Lease::SchemaKind(), "kube-system", "l", PatchType::kApply, "{}",
                                            "", {.field_manager = "you", .force = true}));
  ASSERT_TRUE(patched && *patched);
  EXPECT_EQ(handler->requests[1].path, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l");
  EXPECT_EQ(handler->requests[1].query, "fieldManager=you&force=true");
  EXPECT_EQ(handler->requests[1].headers.Get("Content-Type"), "application/apply-patch+yaml");
}

TEST(ClientTest, ErrorsKeepTheirDetails) {
  auto runtime = SimulatedRuntime::Make(1);
  auto handler = std::make_shared<Scripted>();
  Client client(handler);
  handler->Answer(422, R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"m","reason":"Invalid","code":422,
    "details":{"name":"a","kind":"ConfigMap","causes":[{"reason":"FieldValueRequired","message":"Required value","field":"metadata.name"}]}})");
  auto invalid = Complete(*runtime, client.Get<ConfigMap>("default", "a"));
  ASSERT_TRUE(invalid && !*invalid);
  EXPECT_EQ(invalid->error().reason(), "Invalid");
  ASSERT_EQ(invalid->error().details().causes.size(), 1u);
  EXPECT_EQ(invalid->error().details().causes[0].field, "metadata.name");

  // What is no Status becomes one.
  handler->Answer(502, "<html>bad gateway</html>\n");
  auto gateway = Complete(*runtime, client.Get<ConfigMap>("default", "a"));
  ASSERT_TRUE(gateway && !*gateway);
  EXPECT_EQ(gateway->error().code(), 502);
  EXPECT_EQ(gateway->error().message(), "<html>bad gateway</html>");
}

TEST(ClientTest, ComesBackWhenAskedTo) {
  auto runtime = SimulatedRuntime::Make(1);
  auto handler = std::make_shared<Scripted>();
  Client client(handler, {.runtime = runtime.get()});
  for (int i = 0; i < 3; ++i) handler->Answer(429, "later", {{"Retry-After", "7"}});
  handler->Answer(200, R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}})");
  MonotonicTime begun = runtime->Now();
  auto got = Complete(*runtime, client.Get<ConfigMap>("default", "a"));
  ASSERT_TRUE(got && *got);
  EXPECT_EQ(runtime->Now() - begun, std::chrono::seconds(21));

  for (int i = 0; i < 10; ++i) handler->Answer(429, "later", {{"Retry-After", "1"}});
  auto refused = Complete(*runtime, client.Get<ConfigMap>("default", "a"));
  ASSERT_TRUE(refused && !*refused);
  EXPECT_EQ(refused->error().code(), 429);
  EXPECT_TRUE(handler->answers.empty()) << "ten attempts, not more";
}

TEST(FrameBufferTest, FramesInAnyPieces) {
  std::string stream("\0\0\0\3abc\0\0\0\1d\0\0\0\0\0\0\0\2ef", 22);
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameBuffer frames(FrameBuffer::Framing::kLength);
    std::vector<std::string> found;
    for (size_t at = 0; at < stream.size(); at += piece) {
      frames.Add(Bytes(stream.substr(at, piece)));
      while (true) {
        auto frame = frames.Take();
        ASSERT_TRUE(frame);
        if (!*frame) break;
        found.push_back((*frame)->str());
      }
    }
    EXPECT_EQ(found, (std::vector<std::string>{"abc", "d", "ef"})) << piece;
    EXPECT_EQ(frames.pending(), 0u);
  }
  FrameBuffer lines(FrameBuffer::Framing::kLines);
  lines.Add("{\"a\"");
  EXPECT_FALSE(*lines.Take());
  lines.Add(":1}\n{}\n{");
  EXPECT_EQ((*lines.Take())->view(), "{\"a\":1}");
  EXPECT_EQ((*lines.Take())->view(), "{}");
  EXPECT_FALSE(*lines.Take());
  EXPECT_EQ(lines.pending(), 1u);
  FrameBuffer huge(FrameBuffer::Framing::kLength);
  huge.Add(Bytes(std::string("\xff\xff\xff\xff", 4)));
  EXPECT_FALSE(huge.Take());
}

TEST(WatchStreamTest, ABodyCutWithinAnEventIsAnError) {
  auto runtime = SimulatedRuntime::Make(1);
  for (auto [body, fine] : {std::pair{"", true}, std::pair{"{\"type\":\"ADD", false}, std::pair{"not json\n", false}}) {
    http::Response response;
    response.headers.Set("Content-Type", "application/json");
    response.body.push_back(std::string(body));
    auto stream = WatchResponse({ConfigMap::SchemaKind().type, ConfigMap::SchemaKind().gvk}, std::move(response));
    auto next = Complete(*runtime, stream->Next());
    ASSERT_TRUE(next);
    EXPECT_EQ(next->has_value(), fine) << body;
  }
}

}  // namespace
}  // namespace homeostat::sdk
