// The client against servers that behave in every way: ours, and scripted ones that speak raw bytes.
#include "http/client.h"

#include "http/internal/test_support.h"

namespace homeostat::http {
namespace {

using test::Answer;
using test::Ask;
using test::Make;
using test::Text;
using test::World;
using namespace std::chrono_literals;

Task<Response> Echo(Request request) { co_return Text(request.method + " " + request.path + " " + request.body.str()); }

TEST(ClientTest, ConnectionsAreUsedAgain) {
  World world(Echo);
  Client client(world.runtime(), world.MakeClientOptions());
  for (int i = 0; i < 10; ++i) {
    Answer answer;
    ASSERT_TRUE(world.Run(Ask(&client, Make("POST", "/x", std::string(i * 50000, 'b')), &answer)));
    EXPECT_EQ(answer.body.size(), std::string("POST /x ").size() + i * 50000) << i;
  }
  EXPECT_EQ(world.server().counters().connections_accepted, 1u);
}

TEST(ClientTest, RequestsAtOnceTakeConnectionsUpToTheLimit) {
  struct Slow {
    static Task<Response> Run(Runtime& runtime) {
      auto sleep = Sleep(runtime, 1s);
      co_await sleep;
      co_return Text("slept");
    }
  };
  World* there = nullptr;
  World world([&](Request) { return Slow::Run(there->runtime()); });
  there = &world;
  ClientOptions options = world.MakeClientOptions();
  options.http1_connections = 3;
  Client client(world.runtime(), options);
  std::vector<Answer> answers(9);
  for (Answer& answer : answers) world.tasks().Spawn(Ask(&client, Make("GET", "/"), &answer));
  MonotonicTime begin = world.runtime().Now();
  ASSERT_TRUE(world.Until([&] { return std::all_of(answers.begin(), answers.end(), [](auto& a) { return a.done; }); }));
  EXPECT_GE(world.runtime().Now() - begin, 3s);
  EXPECT_EQ(world.server().counters().connections_accepted, 3u);
  for (Answer& answer : answers) EXPECT_EQ(answer.body, "slept");
}

TEST(ClientTest, CancelledRequestClosesItsConnection) {
  int alive = 0;
  struct Hang {
    static Task<Response> Run(Runtime& runtime, int* alive) {
      test::Alive guard(alive);
      auto sleep = Sleep(runtime, 24h);
      co_await sleep;
      co_return Text("late");
    }
  };
  World* there = nullptr;
  World world([&](Request) { return Hang::Run(there->runtime(), &alive); });
  there = &world;
  Client client(world.runtime(), world.MakeClientOptions());
  auto group = std::make_unique<TaskGroup>(world.runtime());
  Answer never;
  group->Spawn(Ask(&client, Make("GET", "/"), &never));
  ASSERT_TRUE(world.Until([&] { return alive == 1; }));
  group.reset();
  world.Settle();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(client.open_connections(), 0u);
}

TEST(ClientTest, TimeLimitOfTheHead) {
  for (auto security : {World::Security::kPlain, World::Security::kTls}) {
    struct Hang {
      static Task<Response> Run(Runtime& runtime) {
        auto sleep = Sleep(runtime, 24h);
        co_await sleep;
        co_return Text("late");
      }
    };
    World* there = nullptr;
    World world([&](Request) { return Hang::Run(there->runtime()); }, security);
    there = &world;
    ClientOptions options = world.MakeClientOptions();
    options.head_time = 3s;
    Client client(world.runtime(), options);
    Answer answer;
    MonotonicTime begin = world.runtime().Now();
    ASSERT_TRUE(world.Run(Ask(&client, Make("GET", "/"), &answer)));
    ASSERT_TRUE(answer.error);
    EXPECT_EQ(answer.error->code(), 504);
    EXPECT_EQ(world.runtime().Now() - begin, 3s);
  }
}

TEST(ClientTest, NobodyThere) {
  World world(Echo);
  ClientOptions options = world.MakeClientOptions();
  options.address = "127.0.0.1:1";
  Client client(world.runtime(), options);
  Answer answer;
  ASSERT_TRUE(world.Run(Ask(&client, Make("GET", "/"), &answer)));
  ASSERT_TRUE(answer.error);
  EXPECT_NE(answer.error->message().find("127.0.0.1:1"), std::string::npos) << answer.error->message();
  struct Transport {
    static Task<void> Run(Client* client, int* code) {
      auto handle = client->Handle(Make("GET", "/"));
      Response response = co_await handle;
      *code = response.code;
    }
  };
  int code = 0;
  ASSERT_TRUE(world.Run(Transport::Run(&client, &code)));
  EXPECT_EQ(code, answer.error->code());
}

TEST(ClientTest, HeadersCannotBeSmuggled) {
  World world(Echo);
  Client client(world.runtime(), world.MakeClientOptions());
  Request bad[] = {Make("GET", "/a b"), Make("G ET", "/"), Make("GET", "/"), Make("GET", "/"), Make("GET", "/")};
  bad[2].query = "a\r\nX: y";
  bad[3].headers.Add("X", "a\r\nY: b");
  bad[4].headers.Add("X\r\nY", "a");
  for (const Request& request : bad) {
    Answer answer;
    ASSERT_TRUE(world.Run(Ask(&client, request, &answer)));
    EXPECT_TRUE(answer.error);
  }
  EXPECT_EQ(world.server().counters().requests + world.server().counters().requests_refused, 0u);
}

// A server that accepts connections one after the other and plays a script on each: what it says once it has read
// something.
class Scripted {
 public:
  explicit Scripted(uint64_t seed = World::DefaultSeed()) : runtime_(SimulatedRuntime::Make(seed)), group_(*runtime_) {
    listener_ = *runtime_->network().Listen("127.0.0.1:0");
    group_.Spawn(Accept(this));
  }
  SimulatedRuntime& runtime() { return *runtime_; }
  void Say(std::string text, bool close) { scripts_.push_back({std::move(text), close}); }
  Answer Ask(Client& client, Request request) {
    Answer answer;
    group_.Spawn(http::Ask(&client, std::move(request), &answer));
    EXPECT_TRUE(runtime_->RunUntil([&] { return answer.done; }, 5min));
    return answer;
  }
  ClientOptions MakeOptions() {
    ClientOptions options;
    options.address = listener_->address();
    return options;
  }
  int accepted() const { return accepted_; }
  const std::string& heard() const { return heard_; }

 private:
  struct Script {
    std::string text;
    bool close;
  };
  static Task<void> Accept(Scripted* self) {
    while (true) {
      auto accept = self->listener_->Accept();
      auto stream = co_await accept;
      ++self->accepted_;
      self->group_.Spawn(Play(self, *std::move(stream)));
    }
  }
  static Task<void> Play(Scripted* self, std::unique_ptr<Stream> stream) {
    std::vector<char> buffer(1 << 16);
    while (true) {
      std::span<char> space(buffer);
      auto read = stream->Read(space);
      Result<size_t> count = co_await read;
      if (!count || *count == 0) co_return;
      self->heard_.append(buffer.data(), *count);
      if (self->heard_.find("\r\n\r\n") == std::string::npos || self->scripts_.empty()) continue;
      Script script = self->scripts_.front();
      self->scripts_.erase(self->scripts_.begin());
      std::vector<Bytes> parts;
      parts.push_back(script.text);
      auto write = stream->Write(std::move(parts));
      co_await write;
      if (script.close) co_return;
    }
  }

  std::unique_ptr<SimulatedRuntime> runtime_;
  std::unique_ptr<Listener> listener_;
  std::vector<Script> scripts_;
  int accepted_ = 0;
  std::string heard_;
  TaskGroup group_;
};

TEST(ClientTest, ResponsesOfAllShapes) {
  struct Case {
    std::string text;
    bool close;
    int code;  // 0: an error
    std::string body;
    bool body_fails = false;
  };
  const Case kCases[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", false, 200, "abc"},
      {"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", false, 404, "abc"},
      {"HTTP/1.1 200 OK\r\n\r\nuntil the end", true, 200, "until the end"},
      {"HTTP/1.0 200 OK\r\n\r\nuntil the end", true, 200, "until the end"},
      {"HTTP/1.1 204 No Content\r\n\r\n", false, 204, ""},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
       "1\r\n\r\nx",
       false, 200, "x"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", true, 200, "", true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", true, 200, "", true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", true, 200, "", true},
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", true, 0, ""},
      {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", true, 0, ""},
      {"garbage\r\n\r\n", true, 0, ""},
      {"", true, 0, ""},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(2 << 20, 'x') + "\r\n\r\n", true, 0, ""},
  };
  for (const Case& wanted : kCases) {
    Scripted server;
    server.Say(wanted.text, wanted.close);
    Client client(server.runtime(), server.MakeOptions());
    Answer answer = server.Ask(client, Make("PUT", "/x", "y"));
    EXPECT_EQ(answer.code, wanted.code) << wanted.text.substr(0, 100);
    EXPECT_EQ(answer.body, wanted.body) << wanted.text.substr(0, 100);
    EXPECT_EQ(answer.error.has_value(), wanted.code == 0 || wanted.body_fails) << wanted.text.substr(0, 100);
    server.runtime().RunFor(1ms);
    EXPECT_EQ(client.open_connections(), wanted.close ? 0u : 1u) << wanted.text.substr(0, 100);
  }
}

TEST(ClientTest, RequestOnTheWire) {
  Scripted server;
  server.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false);
  ClientOptions options = server.MakeOptions();
  options.host = "example.test";
  Client client(server.runtime(), options);
  Request request = Make("PATCH", "/a%20b", "body");
  request.query = "q=1";
  request.headers.Add("Accept", "x");
  request.headers.Add("Content-Length", "999");
  server.Ask(client, request);
  EXPECT_EQ(server.heard(),
            "PATCH /a%20b?q=1 HTTP/1.1\r\nHost: example.test\r\nAccept: x\r\nContent-Length: 4\r\n\r\nbody");
}

TEST(ClientTest, ReadsAreSentAgainWhenAnIdleConnectionTurnsOutDead) {
  for (std::string method : {"GET", "POST"}) {
    Scripted server;
    server.Say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1", false);
    server.Say("", true);  // on the same connection: it closes without an answer
    server.Say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2", false);
    Client client(server.runtime(), server.MakeOptions());
    EXPECT_EQ(server.Ask(client, Make("GET", "/")).body, "1");
    Answer second = server.Ask(client, Make(method, "/", method == "GET" ? "" : "b"));
    if (method == "GET") {
      EXPECT_EQ(second.body, "2");
    } else {
      EXPECT_TRUE(second.error) << "a write must not be sent twice";
    }
    EXPECT_EQ(server.accepted(), method == "GET" ? 2 : 1);
  }
}

TEST(ClientTest, ConnectionsThatTheServerClosedAreNotUsed) {
  Scripted server;
  server.Say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1", true);
  server.Say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2", true);
  Client client(server.runtime(), server.MakeOptions());
  EXPECT_EQ(server.Ask(client, Make("POST", "/", "a")).body, "1");
  server.runtime().RunFor(1ms);
  EXPECT_EQ(server.Ask(client, Make("POST", "/", "b")).body, "2");
}

TEST(ClientTest, AnswerBeforeTheRequestIsRead) {
  Scripted server;
  server.Say("HTTP/1.1 413 Request Entity Too Large\r\nContent-Length: 3\r\n\r\nbig", false);
  Client client(server.runtime(), server.MakeOptions());
  Answer answer = server.Ask(client, Make("PUT", "/", std::string(5 << 20, 'x')));
  EXPECT_EQ(answer.code, 413);
  EXPECT_EQ(answer.body, "big");
  EXPECT_EQ(client.open_connections(), 0u);  // the rest of the request would be read as the next one
}

TEST(ClientTest, RawUpgrade) {
  for (bool accepted : {true, false}) {
    Scripted server;
    server.Say(accepted ? "HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\nfirst"
                        : "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
               false);
    Client client(server.runtime(), server.MakeOptions());
    struct Do {
      static Task<void> Run(Client* client, std::string* got, int* code) {
        Request request = Make("POST", "/exec");
        request.headers.Add("Upgrade", "SPDY/3.1");
        auto upgrade = client->Upgrade(std::move(request));
        auto upgraded = co_await upgrade;
        if (!upgraded) co_return;
        *code = upgraded->response.code;
        if (!upgraded->stream) {
          auto read = ReadAll(std::move(upgraded->response), 100);
          Result<Bytes> body = co_await read;
          *got = body->str();
          co_return;
        }
        char buffer[16];
        while (got->size() < 5) {
          auto read = upgraded->stream->Read(buffer);
          Result<size_t> count = co_await read;
          got->append(buffer, *count);
        }
      }
    };
    std::string got;
    int code = 0;
    TaskGroup group(server.runtime());
    group.Spawn(Do::Run(&client, &got, &code));
    server.runtime().RunFor(1s);
    EXPECT_EQ(got, accepted ? "first" : "no");
    EXPECT_EQ(code, accepted ? 101 : 403);
    EXPECT_NE(server.heard().find("Upgrade: SPDY/3.1\r\nConnection: Upgrade\r\n"), std::string::npos) << server.heard();
  }
}

}  // namespace
}  // namespace homeostat::http
