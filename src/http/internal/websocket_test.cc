#include "http/internal/websocket.h"

#include "http/internal/test_support.h"

namespace homeostat::http {
namespace {

using test::Text;
using test::World;
using namespace std::chrono_literals;

// What the server's side of the sockets has seen.
struct Seen {
  int open = 0;
  std::optional<Status> error;
  bool closed = false;
};

// Echoes until the peer closes; "close me" makes it close by itself, "hold" makes it stop receiving.
struct EchoSocket {
  static Task<void> Run(Runtime* runtime, Seen* seen, std::unique_ptr<WebSocket> socket) {
    test::Alive guard(&seen->open);
    while (true) {
      auto receive = socket->Receive();
      auto message = co_await receive;
      if (!message) seen->error = message.error();
      if (message && !*message) seen->closed = true;
      if (!message || !*message) co_return;
      if ((*message)->data.view() == "close me") {
        auto close = socket->Close(4001, "as you like");
        co_await close;
        co_return;
      }
      if ((*message)->data.view() == "hold") {
        auto sleep = Sleep(*runtime, 1h);
        co_await sleep;
      }
      auto send = socket->Send(*std::move(*message));
      Result<void> sent = co_await send;
      if (!sent) co_return;
    }
  }
  static Task<Response> Answer(Runtime* runtime, Seen* seen, Request request) {
    if (request.path == "/forbidden") co_return Text("not you", 403);
    Response response;
    response.code = 101;
    response.upgrade = "websocket";
    if (request.headers.Get("Sec-WebSocket-Protocol").find("v5.channel.k8s.io") != std::string_view::npos) {
      response.subprotocol = "v5.channel.k8s.io";
    }
    response.on_websocket = [runtime, seen](std::unique_ptr<WebSocket> socket) {
      return Run(runtime, seen, std::move(socket));
    };
    co_return std::move(response);
  }
};

class WebSocketTest : public ::testing::Test {
 protected:
  explicit WebSocketTest(World::Security security = World::Security::kPlain)
      : world_([this](Request request) { return EchoSocket::Answer(&world_.runtime(), &seen_, std::move(request)); },
               security),
        client_(world_.runtime(), world_.MakeClientOptions()) {}

  Result<std::unique_ptr<WebSocket>> Connect(std::string path = "/", std::vector<std::string> subprotocols = {}) {
    struct Do {
      static Task<void> Run(Client* client, std::string path, std::vector<std::string> subprotocols,
                            Result<std::unique_ptr<WebSocket>>* result) {
        Request request;
        request.path = path;
        auto connect = client->ConnectWebSocket(std::move(request), std::move(subprotocols));
        *result = co_await connect;
      }
    };
    Result<std::unique_ptr<WebSocket>> result = Fail(InternalError("not finished"));
    EXPECT_TRUE(world_.Run(Do::Run(&client_, path, subprotocols, &result)));
    return result;
  }
  // What comes next: "text:…", "binary:…", "closed" or "error: …".
  std::string Receive(WebSocket& socket) {
    struct Do {
      static Task<void> Run(WebSocket* socket, std::string* got) {
        auto receive = socket->Receive();
        auto message = co_await receive;
        if (!message) {
          *got = "error: " + message.error().message();
        } else if (!*message) {
          *got = "closed";
        } else {
          *got = ((*message)->text ? "text:" : "binary:") + (*message)->data.str();
        }
      }
    };
    std::string got = "nothing";
    EXPECT_TRUE(world_.Run(Do::Run(&socket, &got)));
    return got;
  }
  bool Send(WebSocket& socket, std::string text, bool is_text = false) {
    struct Do {
      static Task<void> Run(WebSocket* socket, WebSocketMessage message, bool* sent) {
        auto send = socket->Send(std::move(message));
        Result<void> result = co_await send;
        *sent = result.has_value();
      }
    };
    bool sent = false;
    EXPECT_TRUE(world_.Run(Do::Run(&socket, {is_text, std::move(text)}, &sent)));
    return sent;
  }
  void Close(WebSocket& socket, uint16_t code) { EXPECT_TRUE(world_.Run(socket.Close(code, "bye"))); }

  Seen seen_;
  World world_;
  Client client_;
};

TEST_F(WebSocketTest, Echo) {
  auto socket = Connect();
  ASSERT_TRUE(socket) << socket.error().message();
  EXPECT_EQ((*socket)->subprotocol(), "");
  for (size_t size : {0, 1, 125, 126, 127, 65535, 65536, 1 << 20}) {
    std::string data(size, 'd');
    ASSERT_TRUE(Send(**socket, data)) << size;
    EXPECT_TRUE(Receive(**socket) == "binary:" + data) << size;
  }
  ASSERT_TRUE(Send(**socket, "caf\xc3\xa9", true));
  EXPECT_EQ(Receive(**socket), "text:caf\xc3\xa9");
  Close(**socket, 1000);
  world_.Settle();
  EXPECT_TRUE(seen_.closed);
  EXPECT_EQ(seen_.open, 0);
  EXPECT_FALSE(Send(**socket, "late"));
  EXPECT_EQ(world_.server().open_connections(), 0u);
}

TEST_F(WebSocketTest, ServerCloses) {
  auto socket = Connect();
  ASSERT_TRUE(socket);
  ASSERT_TRUE(Send(**socket, "close me"));
  EXPECT_EQ(Receive(**socket), "closed");
  EXPECT_EQ(Receive(**socket), "closed");
  world_.Settle();
  EXPECT_EQ(seen_.open, 0);
}

TEST_F(WebSocketTest, SubprotocolIsTheHandlersChoice) {
  auto socket = Connect("/", {"v4.channel.k8s.io", "v5.channel.k8s.io"});
  ASSERT_TRUE(socket);
  EXPECT_EQ((*socket)->subprotocol(), "v5.channel.k8s.io");
}

TEST_F(WebSocketTest, RefusalIsAnErrorWithItsCodeAndText) {
  auto socket = Connect("/forbidden");
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code(), 403);
  EXPECT_EQ(socket.error().message(), "not you");
}

TEST_F(WebSocketTest, DestroyingOneSideEndsTheOther) {
  auto socket = Connect();
  ASSERT_TRUE(socket);
  world_.Settle();
  EXPECT_EQ(seen_.open, 1);
  socket->reset();
  world_.Settle();
  EXPECT_EQ(seen_.open, 0);
  EXPECT_TRUE(seen_.error);
}

TEST_F(WebSocketTest, ShutdownSaysGoingAway) {
  auto socket = Connect();
  ASSERT_TRUE(socket);
  MonotonicTime begin = world_.runtime().Now();
  ASSERT_TRUE(world_.Run(world_.server().Shutdown(30s)));
  EXPECT_LE(world_.runtime().Now() - begin, 100ms);
  EXPECT_EQ(Receive(**socket), "closed");
  EXPECT_EQ(seen_.open, 0);
}

TEST_F(WebSocketTest, HeldReceiverHoldsTheSenderBack) {
  auto socket = Connect();
  ASSERT_TRUE(socket);
  ASSERT_TRUE(Send(**socket, "hold"));
  struct Flood {
    static Task<void> Run(WebSocket* socket, size_t* sent) {
      while (true) {
        auto send = socket->Send({false, std::string(100000, 'x')});
        Result<void> result = co_await send;
        if (!result) co_return;
        *sent += 100000;
      }
    }
  };
  size_t sent = 0;
  TaskGroup flood(world_.runtime());
  flood.Spawn(Flood::Run(socket->get(), &sent));
  world_.Settle(10s);
  EXPECT_LT(sent, 4u << 20);
}

// Raw frames to the server: first byte, payload, masked or not.
std::string Frame(unsigned char first, const std::string& payload, bool masked = true) {
  std::string frame(1, static_cast<char>(first));
  unsigned char mask = masked ? 0x80 : 0;
  if (payload.size() < 126) {
    frame += static_cast<char>(mask | payload.size());
  } else if (payload.size() < 65536) {
    frame += {static_cast<char>(mask | 126), static_cast<char>(payload.size() >> 8),
              static_cast<char>(payload.size() & 255)};
  } else {
    frame += static_cast<char>(mask | 127);
    for (int shift = 56; shift >= 0; shift -= 8) frame += static_cast<char>((payload.size() >> shift) & 255);
  }
  if (masked) frame += "mask";
  for (size_t i = 0; i < payload.size(); ++i)
    frame += masked ? static_cast<char>(payload[i] ^ "mask"[i % 4]) : payload[i];
  return frame;
}

constexpr std::string_view kHandshake =
    "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

TEST_F(WebSocketTest, HandshakeOnTheWire) {
  World::Raw raw(world_);
  raw.Send(std::string(kHandshake));
  std::string answer = raw.Expect("\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_NE(answer.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Upgrade: websocket\r\nConnection: Upgrade\r\n"), std::string::npos) << answer;
}

TEST_F(WebSocketTest, BadHandshakes) {
  auto without = [](std::string_view line, std::string_view instead) {
    std::string text(kHandshake);
    return text.replace(text.find(line), line.size(), instead);
  };
  const std::string kBad[] = {
      without("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 8"),
      without("dGhlIHNhbXBsZSBub25jZQ==", "short"),
      without("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ""),
      without("Connection: Upgrade\r\n", ""),
      without("GET ", "POST "),
  };
  for (const std::string& request : kBad) {
    World::Raw raw(world_);
    raw.Send(request);
    EXPECT_TRUE(raw.Expect("\r\n\r\n").starts_with("HTTP/1.1 400 ")) << request;
  }
}

TEST_F(WebSocketTest, Frames) {
  std::string too_big(1 << 20, 'x');
  struct Case {
    std::string sends, answers;  // what comes back, and "!" if the connection ends after it
  };
  auto code = [](uint16_t number, const std::string& reason = "") {
    std::string payload = {static_cast<char>(number >> 8), static_cast<char>(number & 255)};
    return payload + reason;
  };
  const Case kCases[] = {
      {Frame(0x82, "abc"), Frame(0x82, "abc", false)},
      {Frame(0x02, "ab") + Frame(0x00, "c") + Frame(0x89, "p") + Frame(0x80, "d"),
       Frame(0x8a, "p", false) + Frame(0x82, "abcd", false)},  // fragments, a ping between them
      {Frame(0x89, "ping"), Frame(0x8a, "ping", false)},
      {Frame(0x8a, "pong that nobody asked for") + Frame(0x82, "x"), Frame(0x82, "x", false)},
      {Frame(0x88, code(1000, "bye")), Frame(0x88, code(1000, "bye"), false) + "!"},
      {Frame(0x88, ""), Frame(0x88, "", false) + "!"},
      {Frame(0x82, "abc", false), Frame(0x88, code(1002), false) + "!"},  // a client must mask
      {Frame(0xc2, "abc"), Frame(0x88, code(1002), false) + "!"},         // a reserved bit
      {Frame(0x83, "abc"), Frame(0x88, code(1002), false) + "!"},         // a reserved opcode
      {Frame(0x80, "abc"), Frame(0x88, code(1002), false) + "!"},         // continues nothing
      {Frame(0x09, "fragmented ping"), Frame(0x88, "", false) + "!"},
      {Frame(0x81, "\xff\xfe"), Frame(0x88, code(1007), false) + "!"},  // text that is not UTF-8
      {Frame(0x82, too_big + "y"), Frame(0x88, code(1009), false) + "!"},
      {Frame(0x02, too_big) + Frame(0x80, "y"), Frame(0x88, code(1009), false) + "!"},
      {Frame(0x88, code(1005)), Frame(0x88, code(1002), false) + "!"},  // never sent in a frame
  };
  for (const Case& wanted : kCases) {
    World::Raw raw(world_);
    raw.Send(std::string(kHandshake));
    raw.Expect("\r\n\r\n");
    raw.Send(wanted.sends);
    world_.Settle(100ms);
    std::string got = raw.Take() + (raw.ended() ? "!" : "");
    // What a close frame says beside its code is for people.
    if (wanted.answers[0] == '\x88' && got.size() > 4)
      got[1] = wanted.answers[1], got = got.substr(0, 4) + wanted.answers.substr(4);
    EXPECT_EQ(got, wanted.answers) << testing::PrintToString(wanted.sends.substr(0, 40));
    world_.Settle(3s);
  }
  world_.Settle();
  EXPECT_EQ(seen_.open, static_cast<int>(world_.server().open_connections()));
}

TEST_F(WebSocketTest, FloodOfPingsIsNotHoarded) {
  World::Raw raw(world_);
  raw.Send(std::string(kHandshake));
  raw.Expect("\r\n\r\n");
  raw.StopReading();
  struct Flood {
    static Task<void> Run(World::Raw* raw, size_t* sent) {
      std::string pings;
      for (int i = 0; i < 100; ++i) pings += Frame(0x89, std::string(125, 'p'));
      while (true) {
        auto write = raw->WriteAsync(pings);
        co_await write;
        *sent += pings.size();
      }
    }
  };
  size_t sent = 0;
  TaskGroup flood(world_.runtime());
  flood.Spawn(Flood::Run(&raw, &sent));
  world_.Settle(10s);
  EXPECT_LT(sent, 2u << 20);
}

class TlsWebSocketTest : public WebSocketTest {
 protected:
  TlsWebSocketTest() : WebSocketTest(World::Security::kTls) {}
};

TEST_F(TlsWebSocketTest, EchoBesideHttp2) {
  auto socket = Connect();
  ASSERT_TRUE(socket) << socket.error().message();
  ASSERT_TRUE(Send(**socket, "over TLS", true));
  EXPECT_EQ(Receive(**socket), "text:over TLS");
}

}  // namespace
}  // namespace homeostat::http
