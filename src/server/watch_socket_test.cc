// Watches over WebSocket: the handshake, one message an event, and how they end.
#include "server/watch_socket.h"

#include "homeostat/object/wire.h"
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

using std::chrono_literals::operator""s;

// The client's end: keeps what it is sent, says nothing, and leaves when told to.
struct Peer {
  explicit Peer(Runtime& runtime) : left(runtime) {}
  std::vector<http::WebSocketMessage> messages;
  bool gone = false;
  uint16_t closed = 0;
  Signal left;
};

class Socket : public http::WebSocket {
 public:
  explicit Socket(Peer& peer) : peer_(peer) {}
  std::string_view subprotocol() const override { return ""; }
  Task<Result<std::optional<http::WebSocketMessage>>> Receive() override {
    while (!peer_.gone) {
      auto wait = peer_.left.Wait();
      co_await wait;
    }
    co_return std::optional<http::WebSocketMessage>();
  }
  Task<Result<void>> Send(http::WebSocketMessage message) override {
    peer_.messages.push_back(std::move(message));
    co_return Result<void>();
  }
  Task<void> Close(uint16_t code, std::string) override {
    peer_.closed = code;
    co_return;
  }

 private:
  Peer& peer_;
};

class WatchSocketTest : public internal::TestServer {
 protected:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  http::Response Open(std::string query, Headers headers, std::string path = "/api/v1/namespaces/default/configmaps") {
    http::Request request;
    request.path = std::move(path);
    request.query = "watch=true" + query;
    request.headers.Add("Connection", "keep-alive, Upgrade");
    request.headers.Add("Upgrade", "WebSocket");
    for (const auto& [name, value] : headers) request.headers.Add(name, value);
    auto transport = control_plane->TransportFor(user, groups);
    return Await(transport->Handle(std::move(request)));
  }
  // Runs the socket of an answer until `done`.
  void Run(http::Response& response, Peer& peer, std::function<bool()> done) {
    auto run = [](Task<void> inner, bool* ended) -> Task<void> {
      co_await inner;
      *ended = true;
    };
    if (!group_) {
      group_ = std::make_unique<TaskGroup>(*runtime);
      group_->Spawn(run(response.on_websocket(std::make_unique<Socket>(peer)), &ended_));
    }
    EXPECT_TRUE(runtime->RunUntil(std::move(done), 60s));
  }
  static object::DocumentPtr Parse(const http::WebSocketMessage& message) { return object::ParseJsonDocument(message.data.view()).value(); }

  std::unique_ptr<TaskGroup> group_;
  bool ended_ = false;
};

TEST_F(WatchSocketTest, EveryEventIsATextMessage) {
  Ask("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"a","labels":{"x":"y"}}})");
  Ask("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"b","labels":{"x":"y"}}})");
  http::Response response = Open("&labelSelector=x%3Dy", {{"Origin", "https://127.0.0.1:6443"}});
  ASSERT_EQ(response.code, 101);
  EXPECT_EQ(response.upgrade, "websocket");
  Peer peer(*runtime);
  Run(response, peer, [&] { return peer.messages.size() == 2; });
  Ask("PATCH", "/api/v1/namespaces/default/configmaps/a", R"({"data":{"k":"v"}})");
  Ask("DELETE", "/api/v1/namespaces/default/configmaps/b");
  Run(response, peer, [&] { return peer.messages.size() == 4; });
  std::string seen;
  for (const http::WebSocketMessage& message : peer.messages) {
    EXPECT_TRUE(message.text);
    object::DocumentPtr event = Parse(message);
    seen += std::string(event->root().Get("type").AsString()) + " " + std::string(event->root().Path({"object", "metadata", "name"}).AsString()) + ";";
  }
  EXPECT_EQ(seen, "ADDED a;ADDED b;MODIFIED a;DELETED b;");
  EXPECT_FALSE(ended_);
  peer.gone = true;
  peer.left.Notify();
  Run(response, peer, [&] { return ended_; });
}

TEST_F(WatchSocketTest, ProtobufIsBinaryWithoutALength) {
  Ask("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"a","labels":{"x":"y"}}})");
  http::Response response =
      Open("&labelSelector=x%3Dy", {{"Origin", "null:"}, {"Accept", "application/vnd.kubernetes.protobuf;stream=watch"}});
  ASSERT_EQ(response.code, 101);
  Peer peer(*runtime);
  Run(response, peer, [&] { return peer.messages.size() == 1; });
  EXPECT_FALSE(peer.messages[0].text);
  // A WatchEvent: its first field is the type.
  EXPECT_TRUE(peer.messages[0].data.view().starts_with("\x0a\x05" "ADDED")) << peer.messages[0].data.view();
}

TEST_F(WatchSocketTest, ABookmarkOfACustomKindSaysWhatItIs) {
  ASSERT_EQ(Ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com",)"
                R"("scope":"Cluster","names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,)"
                R"("additionalPrinterColumns":[{"name":"K","type":"string","jsonPath":".kind"}],"schema":{"openAPIV3Schema":{"type":"object"}}}]}})").code, 201);
  http::Response response = Open("&allowWatchBookmarks=true&timeoutSeconds=1", {{"Origin", "https://x"}, {"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}},
                                 "/apis/example.com/v1/widgets");
  ASSERT_EQ(response.code, 101);
  Peer peer(*runtime);
  Run(response, peer, [&] { return ended_; });
  ASSERT_EQ(peer.messages.size(), 1u);
  EXPECT_EQ(Parse(peer.messages[0])->root().Path({"object", "rows"}).At(0).Get("cells").At(1).AsString(), "Widget");
}

// Who names no version to go on from gets what there is, and the bookmark that ends it, as if sendInitialEvents were set.
TEST_F(WatchSocketTest, ABookmarkEndsWhatIsThereAlready) {
  Ask("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"a","labels":{"x":"y"}}})");
  struct Case {
    const char* query;
    size_t marks;
  };
  for (const Case& wanted : {Case{"&allowWatchBookmarks=true", 1}, Case{"&allowWatchBookmarks=true&resourceVersion=0", 1}, Case{"", 0},
                             Case{"&allowWatchBookmarks=true&resourceVersion=00", 0}}) {
    http::Response response = Open(std::string("&timeoutSeconds=1&labelSelector=x%3Dy") + wanted.query, {{"Origin", "https://x"}});
    ASSERT_EQ(response.code, 101);
    Peer peer(*runtime);
    Run(response, peer, [&] { return ended_; });
    ASSERT_EQ(peer.messages.size(), 1 + wanted.marks) << wanted.query;
    EXPECT_EQ(Parse(peer.messages[0])->root().Get("type").AsString(), "ADDED");
    if (wanted.marks == 1) {
      object::DocumentPtr mark = Parse(peer.messages[1]);
      EXPECT_EQ(mark->root().Path({"object", "metadata", "annotations", "k8s.io/initial-events-end"}).AsString(), "true") << wanted.query;
    }
    group_.reset();
    ended_ = false;
  }
}

TEST_F(WatchSocketTest, EventsAreNoLists) {
  Ask("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"a","labels":{"x":"y"}}})");
  http::Response response = Open("&timeoutSeconds=50&labelSelector=x%3Dy",
                                 {{"Origin", "https://x"}, {"Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}});
  Peer peer(*runtime);
  MonotonicTime start = runtime->Now();
  Run(response, peer, [&] { return ended_; });
  EXPECT_LT(runtime->Now() - start, 1s);
  EXPECT_TRUE(peer.messages.empty());
}

TEST_F(WatchSocketTest, ClosesWhenItsTimeIsOver) {
  http::Response response = Open("&timeoutSeconds=5&labelSelector=none", {{"Origin", "https://x"}});
  Peer peer(*runtime);
  Run(response, peer, [&] { return ended_; });
  EXPECT_EQ(peer.closed, 1000);
  EXPECT_TRUE(peer.messages.empty());
}

TEST_F(WatchSocketTest, Handshakes) {
  struct Case {
    Headers headers;
    int code;
    std::string subprotocol;
  };
  const std::pair<std::string, std::string> origin = {"Origin", "https://x"};
  const std::string token = "base64url.bearer.authorization.k8s.io.YWJj";
  for (const Case& c : {
           Case{{}, 403, ""},
           Case{{{"Origin", "null"}}, 403, ""},
           Case{{origin}, 101, ""},
           Case{{origin, {"Sec-WebSocket-Protocol", "base64.binary.k8s.io"}}, 101, "base64.binary.k8s.io"},
           Case{{origin, {"Sec-WebSocket-Protocol", token + ", base64.binary.k8s.io"}}, 101, "base64.binary.k8s.io"},
           Case{{origin, {"Sec-WebSocket-Protocol", "one, two"}}, 400, ""},
       }) {
    http::Response response = Open("", c.headers);
    EXPECT_EQ(response.code, c.code);
    EXPECT_EQ(response.subprotocol, c.subprotocol);
  }
  // What is wrong with the watch itself is said as ever.
  EXPECT_EQ(Open("&labelSelector=%3D%3D", {origin}).code, 400);
}

}  // namespace
}  // namespace homeostat::server
