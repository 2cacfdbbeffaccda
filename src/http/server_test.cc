// The HTTP/1.1 side of the server, spoken to in raw bytes over the simulated network.
#include "http/server.h"

#include "http/internal/test_support.h"

namespace homeostat::http {
namespace {

using test::Feed;
using test::Text;
using test::World;
using namespace std::chrono_literals;

// "METHOD path?query body=… protocol"
Task<Response> Echo(Request request) {
  std::string text = request.method + " " + request.path + "?" + request.query + " body=" + request.body.str();
  if (request.body_too_large) text += " too large";
  co_return Text(text + " " + request.protocol);
}

std::string Get(std::string_view path, std::string_view more = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + std::string(more) + "\r\n";
}

TEST(ServerTest, AnswersWithLengthAndDate) {
  World world(Echo);
  World::Raw raw(world);
  raw.Send(Get("/a", "X: y\r\n"));
  world.Settle();
  std::string answer = raw.Take();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: ")) << answer;
  EXPECT_NE(answer.find(" GMT\r\nContent-Length: 22\r\n\r\nGET /a? body= HTTP/1.1"), std::string::npos) << answer;
  EXPECT_FALSE(raw.ended());
}

TEST(ServerTest, KeepAliveInAnySplit) {
  std::string two =
      Get("/1") + "POST /2?q HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
  for (size_t at = 1; at < two.size(); ++at) {
    World world(Echo, World::Security::kPlain, {}, at);
    World::Raw raw(world);
    raw.Send(two.substr(0, at));
    world.Settle();
    raw.Send(two.substr(at));
    std::string answers = raw.Expect("POST /2?q body=abc");
    EXPECT_NE(answers.find("GET /1? body="), std::string::npos) << at;
  }
}

TEST(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  World* there = nullptr;
  World world([&](Request request) -> Task<Response> {
    struct Slow {
      static Task<Response> Run(Runtime& runtime, Request request) {
        auto sleep = Sleep(runtime, request.path == "/0" ? 3s : 0s);
        co_await sleep;
        co_return Text("<" + request.path + ">");
      }
    };
    return Slow::Run(there->runtime(), std::move(request));
  });
  there = &world;
  World::Raw raw(world);
  raw.Send(Get("/0") + Get("/1") + Get("/2"));
  std::string answers = raw.Expect("</2>");
  EXPECT_LT(answers.find("</0>"), answers.find("</1>"));
  EXPECT_LT(answers.find("</1>"), answers.find("</2>"));
}

TEST(ServerTest, HowConnectionsEnd) {
  struct Case {
    std::string request;
    bool ends;
    std::string_view says;
  };
  const Case kCases[] = {
      {Get("/"), false, "Content-Length"},
      {Get("/", "Connection: close\r\n"), true, "Connection: close\r\n"},
      {"GET / HTTP/1.0\r\n\r\n", true, "Connection: close\r\n"},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false, "Connection: keep-alive\r\n"},
      {"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", false, "Content-Length: 22\r\n\r\n"},
      {"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", false, "OPTIONS *?"},
  };
  for (const Case& wanted : kCases) {
    World world(Echo);
    World::Raw raw(world);
    raw.Send(wanted.request);
    world.Settle(1s);
    EXPECT_NE(raw.received().find(wanted.says), std::string::npos) << wanted.request << raw.received();
    EXPECT_EQ(raw.ended(), wanted.ends) << wanted.request;
    bool body_follows = !raw.received().ends_with("\r\n\r\n");
    EXPECT_EQ(body_follows, !wanted.request.starts_with("HEAD")) << raw.received();
  }
}

TEST(ServerTest, MalformedRequestsAreRefusedAndTheConnectionCloses) {
  const std::pair<std::string, std::string_view> kCases[] = {
      {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
      {"nonsense\r\n\r\n", "HTTP/1.1 400 "},
      {"GET / HTTP/3.0\r\n\r\n", "HTTP/1.1 505 "},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET /x "
       "HTTP/1.1\r\nHost: h\r\n\r\n",
       "HTTP/1.1 400 "},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + Get("/smuggled"), "HTTP/1.1 400 "},
      {Get("/", "X: " + std::string(1 << 20, 'x') + "\r\n"), "HTTP/1.1 431 "},
  };
  for (const auto& [request, says] : kCases) {
    World world(Echo);
    World::Raw raw(world);
    raw.Send(request);
    EXPECT_TRUE(raw.ExpectEnd()) << request.substr(0, 100);
    EXPECT_TRUE(raw.received().starts_with(says)) << raw.received();
    EXPECT_EQ(raw.received().find("HTTP/1.1", 1), std::string::npos) << "a second answer: " << raw.received();
    EXPECT_EQ(world.server().counters().requests, 0u);
  }
}

TEST(ServerTest, ContinueIsSaidWhenTheBodyIsWanted) {
  World world(Echo);
  World::Raw raw(world);
  raw.Send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(raw.Expect("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  raw.Send("ok");
  raw.Expect("PUT /? body=ok");
  // Not when it is too large anyway.
  raw.Send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(raw.Expect("too large").starts_with("HTTP/1.1 200 OK"));
  EXPECT_TRUE(raw.ExpectEnd());
}

TEST(ServerTest, BodyLimit) {
  ServerOptions options;
  options.body_bytes = 10;
  struct Case {
    std::string rest, says;
  };
  const Case kCases[] = {
      {"Content-Length: 10\r\n\r\n0123456789", "body=0123456789 HTTP"},
      {"Content-Length: 11\r\n\r\n0123456789a", "body= too large"},
      {"Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n", "body=0123456789 HTTP"},
      {"Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n1\r\na\r\n0\r\n\r\n", "body= too large"},
  };
  for (const Case& wanted : kCases) {
    World world(Echo, World::Security::kPlain, options);
    World::Raw raw(world);
    raw.Send("POST / HTTP/1.1\r\nHost: h\r\n" + wanted.rest);
    raw.Expect(wanted.says);
  }
}

TEST(ServerTest, BodiesShareOneBudget) {
  ServerOptions options;
  options.buffered_body_bytes = 100;
  World world(Echo, World::Security::kPlain, options);
  World::Raw first(world), second(world);
  first.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 90\r\n\r\n" + std::string(80, 'x'));
  world.Settle();
  second.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\n\r\n" + std::string(50, 'y'));
  std::string refused = second.Expect("429 Too Many Requests\r\n");
  EXPECT_NE(refused.find("Retry-After: 1\r\n"), std::string::npos) << refused;
  first.Send(std::string(10, 'x'));
  first.Expect("body=xxx");
  World::Raw third(world);
  third.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\n\r\n" + std::string(50, 'y'));
  third.Expect("body=yyy");
}

Task<Response> Streamed(Feed feed) {
  Response response;
  response.stream = feed.Reader();
  co_return std::move(response);
}

TEST(ServerTest, StreamedPiecesGoOutAtOnce) {
  std::optional<Feed> feed;
  World world([&](Request) { return Streamed(*feed); });
  feed.emplace(world.runtime());
  World::Raw raw(world);
  raw.Send(Get("/watch"));
  EXPECT_NE(raw.Expect("\r\n\r\n").find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  feed->Put("one\n");
  EXPECT_EQ(raw.Expect("one\n\r\n"), "4\r\none\n\r\n");
  feed->Put("two\n");
  EXPECT_EQ(raw.Expect("two\n\r\n"), "4\r\ntwo\n\r\n");
  feed->End();
  EXPECT_EQ(raw.Expect("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_EQ(feed->readers(), 0);
  raw.Send(Get("/again"));  // the connection goes on
  raw.Expect("200 OK");
}

TEST(ServerTest, StreamToHttp10EndsWithTheConnection) {
  std::optional<Feed> feed;
  World world([&](Request) { return Streamed(*feed); });
  feed.emplace(world.runtime());
  World::Raw raw(world);
  raw.Send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  feed->Put("piece");
  feed->End();
  EXPECT_TRUE(raw.ExpectEnd());
  EXPECT_TRUE(raw.received().ends_with("Connection: close\r\n\r\npiece")) << raw.received();
}

TEST(ServerTest, SlowReaderHoldsTheBodyBack) {
  std::optional<Feed> feed;
  World world([&](Request) { return Streamed(*feed); });
  feed.emplace(world.runtime());
  feed->SetEndless(std::string(10000, 'x'));
  World::Raw raw(world);
  raw.StopReading();
  raw.Send(Get("/"));
  world.Settle(60s);
  EXPECT_LT(feed->read(), 2u << 20);
  EXPECT_EQ(feed->readers(), 1);
  world.Settle(11min);  // the write limit
  EXPECT_EQ(feed->readers(), 0);
}

TEST(ServerTest, DisconnectDestroysTheHandlerAndTheReader) {
  int alive = 0;
  std::optional<Feed> feed;
  World* there = nullptr;
  struct Hang {
    static Task<Response> Run(Runtime& runtime, int* alive) {
      test::Alive guard(alive);
      auto sleep = Sleep(runtime, 24h);
      co_await sleep;
      co_return Text("late");
    }
  };
  World world(
      [&](Request request) { return request.path == "/hang" ? Hang::Run(there->runtime(), &alive) : Streamed(*feed); });
  there = &world;
  feed.emplace(world.runtime());
  World::Raw hanging(world), watching(world);
  hanging.Send(Get("/hang"));
  watching.Send(Get("/watch"));
  ASSERT_TRUE(world.Until([&] { return alive == 1 && feed->readers() == 1; }));
  hanging.Close();
  watching.Close();
  world.Settle();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(feed->readers(), 0);
  EXPECT_EQ(world.server().open_connections(), 0u);
}

TEST(ServerTest, FailedBodyIsCutOff) {
  class Failing : public BodyReader {
   public:
    explicit Failing(bool throws) : throws_(throws) {}
    Task<Result<Bytes>> Read() override {
      if (!std::exchange(read_, true)) co_return Bytes("part");
      if (throws_) throw std::runtime_error("a bug");
      co_return Fail(InternalError("lost"));
    }

   private:
    bool throws_;
    bool read_ = false;
  };
  struct Make {
    static Task<Response> Run(bool throws) {
      Response response;
      response.stream = std::make_unique<Failing>(throws);
      co_return std::move(response);
    }
  };
  for (bool throws : {false, true}) {
    World world([=](Request) { return Make::Run(throws); });
    World::Raw raw(world);
    raw.Send(Get("/"));
    EXPECT_TRUE(raw.ExpectEnd());
    EXPECT_TRUE(raw.received().ends_with("4\r\npart\r\n"))
        << raw.received();  // no last chunk: the peer sees that it is cut
    EXPECT_EQ(world.server().counters().handler_exceptions, throws ? 1u : 0u);
  }
}

TEST(ServerTest, TimeLimits) {
  struct Case {
    std::string send;
    Duration ends;
  };
  const Case kCases[] = {
      {"", 32s},
      {"GET / HTT", 32s},
      {Get("/"), 90s},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab", 60s},
  };
  for (const Case& wanted : kCases) {
    World world(Echo);
    World::Raw raw(world);
    if (!wanted.send.empty()) raw.Send(wanted.send);
    world.Settle(wanted.ends - 1s);
    EXPECT_FALSE(raw.ended()) << wanted.send;
    world.Settle(2s);
    EXPECT_TRUE(raw.ended()) << wanted.send;
    EXPECT_EQ(world.server().open_connections(), 0u) << wanted.send;
  }
}

TEST(ServerTest, DrippedHeaderIsNotWaitedFor) {
  World world(Echo);
  World::Raw raw(world);
  std::string request = Get("/" + std::string(100, 'x'));
  MonotonicTime begin = world.runtime().Now();
  for (size_t at = 0; at < request.size() && !raw.ended(); ++at) {
    raw.Send(request.substr(at, 1));
    world.Settle(1s);
  }
  EXPECT_TRUE(raw.ended());
  EXPECT_LE(world.runtime().Now() - begin, 33s);
}

TEST(ServerTest, SilentTlsClientIsDropped) {
  World world(Echo, World::Security::kTls);
  World::Raw raw(world);
  world.Settle(31s);
  EXPECT_FALSE(raw.ended());
  world.Settle(2s);
  EXPECT_TRUE(raw.ended());
  EXPECT_EQ(world.server().counters().handshakes_failed, 1u);
}

TEST(ServerTest, ConnectionLimits) {
  ServerOptions options;
  options.connections_per_client = 3;
  World world(Echo, World::Security::kPlain, options);
  std::vector<std::unique_ptr<World::Raw>> open;
  for (int i = 0; i < 3; ++i) open.push_back(std::make_unique<World::Raw>(world));
  World::Raw refused(world);
  EXPECT_TRUE(refused.ExpectEnd());
  open[0]->Send(Get("/still"));
  open[0]->Expect("/still");
  EXPECT_EQ(world.server().counters().connections_refused, 1u);
  open.pop_back();
  world.Settle();
  World::Raw welcome(world);
  welcome.Send(Get("/new"));
  welcome.Expect("/new");
}

TEST(ServerTest, HandlersExceptionFailsItsRequestOnly) {
  std::string seen;
  ServerOptions options;
  options.on_handler_exception = [&](std::string_view what) { seen = what; };
  struct Throw {
    static Task<Response> Run() {
      throw std::runtime_error("a bug");
      co_return Text("");
    }
  };
  World world([](Request request) { return request.path == "/bug" ? Throw::Run() : Echo(std::move(request)); },
              World::Security::kPlain, options);
  World::Raw raw(world), other(world);
  raw.Send(Get("/bug"));
  raw.Expect("HTTP/1.1 500 ");
  EXPECT_EQ(seen, "a bug");
  other.Send(Get("/fine"));
  other.Expect("/fine");
}

TEST(ServerTest, HeadersCannotStartNewOnes) {
  struct Make {
    static Task<Response> Run() {
      Response response = Text("body");
      response.headers.Add("X-Bad", "a\r\nInjected: yes");
      response.headers.Add("Bad Name", "x");
      response.headers.Add("Content-Length", "1");
      response.headers.Add("Transfer-Encoding", "chunked");
      co_return std::move(response);
    }
  };
  World world([](Request) { return Make::Run(); });
  World::Raw raw(world);
  raw.Send(Get("/"));
  std::string answer = raw.Expect("body");
  EXPECT_NE(answer.find("X-Bad: a  Injected: yes\r\n"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("Bad Name"), std::string::npos);
  EXPECT_EQ(answer.find("chunked"), std::string::npos);
  EXPECT_NE(answer.find("Content-Length: 4\r\n"), std::string::npos) << answer;
}

TEST(ServerTest, ShutdownIsQuickAndEndsWatchesCleanly) {
  std::optional<Feed> feed;
  World* there = nullptr;
  struct Slow {
    static Task<Response> Run(Runtime& runtime) {
      auto sleep = Sleep(runtime, 20ms);
      co_await sleep;
      co_return Text("finished");
    }
  };
  World world([&](Request request) { return request.path == "/slow" ? Slow::Run(there->runtime()) : Streamed(*feed); });
  there = &world;
  feed.emplace(world.runtime());
  World::Raw watching(world), slow(world), idle(world);
  watching.Send(Get("/watch"));
  feed->Put("event");
  watching.Expect("event\r\n");
  slow.Send(Get("/slow"));
  world.Settle(1ms);
  MonotonicTime begin = world.runtime().Now();
  ASSERT_TRUE(world.Run(world.server().Shutdown(30s)));
  EXPECT_LE(world.runtime().Now() - begin, 100ms);
  world.Settle();
  EXPECT_EQ(watching.received(), "0\r\n\r\n");
  EXPECT_NE(slow.received().find("Connection: close\r\n\r\nfinished"), std::string::npos) << slow.received();
  EXPECT_TRUE(watching.ended() && slow.ended() && idle.ended());
  EXPECT_EQ(feed->readers(), 0);
}

TEST(ServerTest, ShutdownDropsWhatDoesNotFinish) {
  int alive = 0;
  World* there = nullptr;
  struct Hang {
    static Task<Response> Run(Runtime& runtime, int* alive) {
      test::Alive guard(alive);
      auto sleep = Sleep(runtime, 24h);
      co_await sleep;
      co_return Text("late");
    }
  };
  World world([&](Request) { return Hang::Run(there->runtime(), &alive); });
  there = &world;
  World::Raw raw(world);
  raw.Send(Get("/"));
  ASSERT_TRUE(world.Until([&] { return alive == 1; }));
  MonotonicTime begin = world.runtime().Now();
  ASSERT_TRUE(world.Run(world.server().Shutdown(5s)));
  EXPECT_GE(world.runtime().Now() - begin, 5s);
  EXPECT_LE(world.runtime().Now() - begin, 6s);
  EXPECT_EQ(alive, 0);
}

TEST(ServerTest, RawUpgradeHandsOverTheConnection) {
  struct Make {
    static Task<void> Use(std::unique_ptr<Stream> stream) {
      std::vector<char> buffer(64);
      while (true) {
        std::span<char> space(buffer);
        auto read = stream->Read(space);
        Result<size_t> count = co_await read;
        if (!count || *count == 0) co_return;
        std::vector<Bytes> parts;
        parts.push_back("<" + std::string(buffer.data(), *count) + ">");
        auto write = stream->Write(std::move(parts));
        co_await write;
      }
    }
    static Task<Response> Run() {
      Response response;
      response.code = 101;
      response.upgrade = "SPDY/3.1";
      response.headers.Add("X-Stream-Protocol-Version", "v4.channel.k8s.io");
      response.on_stream = &Make::Use;
      co_return std::move(response);
    }
  };
  World world([](Request) { return Make::Run(); });
  World::Raw raw(world);
  raw.Send(Get("/exec", "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n") + "early");
  std::string answer = raw.Expect("y>");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 101 Switching Protocols\r\nX-Stream-Protocol-Version: v4")) << answer;
  EXPECT_NE(answer.find("Upgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n<"), std::string::npos) << answer;
  raw.Send("late");
  raw.Expect(">");
  raw.CloseWrite();
  EXPECT_TRUE(raw.ExpectEnd());
  // Not to one who didn't ask for it.
  World::Raw other(world);
  other.Send(Get("/exec"));
  EXPECT_TRUE(other.Expect("\r\n\r\n").starts_with("HTTP/1.1 400 "));
}

// As a proxy does it: who answers the handshake is on the other side.
TEST(ServerTest, AWebSocketIsPassedOnUnread) {
  struct Make {
    static Task<void> Use(std::unique_ptr<Stream> stream) {
      std::vector<Bytes> parts;
      parts.push_back("theirs");
      auto write = stream->Write(std::move(parts));
      co_await write;
    }
    static Task<Response> Run() {
      Response response;
      response.code = 101;
      response.upgrade = "websocket";
      response.headers.Add("Sec-WebSocket-Accept", "also theirs");
      response.on_stream = &Make::Use;
      co_return std::move(response);
    }
  };
  World world([](Request) { return Make::Run(); });
  World::Raw raw(world);
  raw.Send(Get("/", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"));
  EXPECT_NE(raw.Expect("\r\n\r\ntheirs").find("Sec-WebSocket-Accept: also theirs\r\n"), std::string::npos);
}

}  // namespace
}  // namespace homeostat::http
