// HTTP/2 between our server and our client, over TLS in the simulated network.
#include "http/internal/test_support.h"

namespace homeostat::http {
namespace {

using test::Feed;
using test::Answer;
using test::Ask;
using test::Make;
using test::Text;
using test::World;
using namespace std::chrono_literals;

constexpr auto kTls = World::Security::kTls;

Task<Response> Echo(Request request) {
  std::string text = request.method + " " + request.path + "?" + request.query +
                     " host=" + std::string(request.headers.Get("Host")) + " body=" + request.body.str();
  if (request.body_too_large) text += " too large";
  Response response = Text(text + " " + request.protocol);
  response.headers.Add("X-Echo", request.headers.Get("X-Ask"));
  co_return std::move(response);
}

TEST(Http2Test, RequestAndAnswer) {
  World world(Echo, kTls);
  Client client(world.runtime(), world.MakeClientOptions());
  Answer answer;
  Request request = Make("POST", "/a", "hello");
  request.query = "x=1";
  request.headers.Add("X-Ask", "yes");
  request.headers.Add("Connection", "keep-alive");  // says nothing in HTTP/2, and must not be sent
  ASSERT_TRUE(world.Run(Ask(&client, request, &answer)));
  EXPECT_EQ(answer.code, 200);
  EXPECT_EQ(answer.body, "POST /a?x=1 host=" + world.address() + " body=hello HTTP/2.0");
  EXPECT_EQ(answer.headers.Get("X-Echo"), "yes");
  EXPECT_EQ(answer.headers.Get("Content-Length"), std::to_string(answer.body.size()));
  EXPECT_TRUE(answer.headers.Get("Date").ends_with(" GMT"));
}

TEST(Http2Test, HeadHasLengthAndNoBody) {
  World world(Echo, kTls);
  Client client(world.runtime(), world.MakeClientOptions());
  Answer answer;
  ASSERT_TRUE(world.Run(Ask(&client, Make("HEAD", "/"), &answer)));
  EXPECT_EQ(answer.code, 200);
  EXPECT_EQ(answer.body, "");
  EXPECT_NE(answer.headers.Get("Content-Length"), "0");
}

TEST(Http2Test, ManyRequestsShareOneConnection) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    World world(Echo, kTls, {}, seed);
    world.runtime().SetNetworkLatency(0ms, 3ms);
    Client client(world.runtime(), world.MakeClientOptions());
    std::vector<Answer> answers(90);
    for (size_t i = 0; i < answers.size(); ++i) {
      world.tasks().Spawn(Ask(&client, Make("GET", "/" + std::to_string(i)), &answers[i]));
    }
    ASSERT_TRUE(
        world.Until([&] { return std::all_of(answers.begin(), answers.end(), [](auto& a) { return a.done; }); }));
    for (size_t i = 0; i < answers.size(); ++i)
      EXPECT_TRUE(answers[i].body.starts_with("GET /" + std::to_string(i) + "?"));
    EXPECT_EQ(world.server().counters().connections_accepted, 1u);
  }
}

TEST(Http2Test, MoreStreamsThanAConnectionTakes) {
  std::optional<Feed> feed;
  struct Open {
    static Task<Response> Run(Feed feed) {
      Response response;
      response.stream = feed.Reader();
      co_return std::move(response);
    }
  };
  World world([&](Request) { return Open::Run(*feed); }, kTls);
  feed.emplace(world.runtime());
  Client client(world.runtime(), world.MakeClientOptions());
  std::vector<Answer> answers(250);
  for (Answer& answer : answers) world.tasks().Spawn(Ask(&client, Make("GET", "/watch"), &answer));
  ASSERT_TRUE(world.Until([&] { return feed->readers() == 250; }));
  EXPECT_EQ(world.server().counters().connections_accepted, 3u);
}

TEST(Http2Test, LargeBodiesBothWays) {
  std::string large;
  for (int i = 0; large.size() < (3 << 20); ++i) large += std::to_string(i) + ",";
  large.resize(3 << 20);
  struct Parts {
    static Task<Response> Run(Request request) {
      Response response;
      for (int copy = 0; copy < 4; ++copy) {
        for (size_t at = 0; at < request.body.size(); at += 70001)
          response.body.push_back(request.body.Slice(at, 70001));
      }
      co_return std::move(response);
    }
  };
  World world([](Request request) { return Parts::Run(std::move(request)); }, kTls);
  world.runtime().SetNetworkLatency(0ms, 1ms);
  Client client(world.runtime(), world.MakeClientOptions());
  Answer answer;
  ASSERT_TRUE(world.Run(Ask(&client, Make("PUT", "/", large), &answer)));
  EXPECT_TRUE(answer.body == large + large + large + large) << answer.body.size();
}

TEST(Http2Test, BodyTooLarge) {
  World world(Echo, kTls);
  Client client(world.runtime(), world.MakeClientOptions());
  Answer answer, after;
  ASSERT_TRUE(world.Run(Ask(&client, Make("PUT", "/", std::string((3 << 20) + 1, 'x')), &answer)));
  EXPECT_NE(answer.body.find("body= too large"), std::string::npos) << answer.body.substr(0, 100);
  ASSERT_TRUE(world.Run(Ask(&client, Make("GET", "/after"), &after)));
  EXPECT_EQ(after.code, 200);
  EXPECT_EQ(world.server().counters().connections_accepted, 1u);
}

Task<Response> Streamed(Feed feed) {
  Response response;
  response.stream = feed.Reader();
  co_return std::move(response);
}

// A watch that a test reads piece by piece.
struct Watch {
  explicit Watch(World& world) : world(world) {}
  bool Open(Client& client) { return world.Run(Start(this, &client)) && response && response->stream; }
  static Task<void> Start(Watch* watch, Client* client) {
    auto call = client->Do(Make("GET", "/watch"));
    watch->response = co_await call;
  }
  std::string Next() {
    last.reset();
    EXPECT_TRUE(world.Run(ReadOne(this)));
    if (!last) return "nothing";
    return *last ? (*last)->str() : "error: " + last->error().message();
  }
  static Task<void> ReadOne(Watch* watch) {
    auto read = watch->response->stream->Read();
    watch->last = co_await read;
  }
  World& world;
  Result<Response> response = Fail(InternalError("not asked"));
  std::optional<Result<Bytes>> last;
};

TEST(Http2Test, WatchPieceByPiece) {
  std::optional<Feed> feed;
  World world([&](Request) { return Streamed(*feed); }, kTls);
  feed.emplace(world.runtime());
  Client client(world.runtime(), world.MakeClientOptions());
  Watch watch(world);
  ASSERT_TRUE(watch.Open(client));
  feed->Put("one");
  EXPECT_EQ(watch.Next(), "one");
  feed->Put("two");
  EXPECT_EQ(watch.Next(), "two");
  feed->End();
  EXPECT_EQ(watch.Next(), "");
  EXPECT_EQ(watch.Next(), "");
  EXPECT_EQ(feed->readers(), 0);
}

TEST(Http2Test, SlowReaderHoldsItsStreamBackAndNoOther) {
  std::optional<Feed> feed;
  World world([&](Request request) { return request.path == "/watch" ? Streamed(*feed) : Echo(std::move(request)); },
              kTls);
  feed.emplace(world.runtime());
  feed->SetEndless(std::string(50000, 'x'));
  Client client(world.runtime(), world.MakeClientOptions());
  Watch watch(world);
  ASSERT_TRUE(watch.Open(client));
  world.Settle(60s);
  EXPECT_LT(feed->read(), 3u << 20);
  Answer other;
  ASSERT_TRUE(world.Run(Ask(&client, Make("GET", "/other"), &other)));
  EXPECT_EQ(other.code, 200);
  size_t before = feed->read();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(watch.Next().empty());
  world.Settle();
  EXPECT_GT(feed->read(), before);
  world.Settle(11min);  // nobody reads: the stream is given up
  EXPECT_EQ(feed->readers(), 0);
}

TEST(Http2Test, CancellingDestroysTheHandlerAndTheReader) {
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
      [&](Request request) { return request.path == "/hang" ? Hang::Run(there->runtime(), &alive) : Streamed(*feed); },
      kTls);
  there = &world;
  feed.emplace(world.runtime());
  Client client(world.runtime(), world.MakeClientOptions());
  auto watch = std::make_unique<Watch>(world);
  ASSERT_TRUE(watch->Open(client));
  auto calls = std::make_unique<TaskGroup>(world.runtime());
  Answer never;
  calls->Spawn(Ask(&client, Make("GET", "/hang"), &never));
  ASSERT_TRUE(world.Until([&] { return alive == 1 && feed->readers() == 1; }));
  watch.reset();
  world.Settle();
  EXPECT_EQ(feed->readers(), 0);
  EXPECT_EQ(alive, 1);
  calls.reset();
  world.Settle();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(world.server().open_connections(), 1u);
}

TEST(Http2Test, LostConnectionIsAnErrorOnOneSideAndAnEndOnTheOther) {
  std::optional<Feed> feed;
  World world([&](Request) { return Streamed(*feed); }, kTls);
  feed.emplace(world.runtime());
  auto client = std::make_unique<Client>(world.runtime(), world.MakeClientOptions());
  auto watch = std::make_unique<Watch>(world), other = std::make_unique<Watch>(world);
  ASSERT_TRUE(watch->Open(*client));
  ASSERT_TRUE(other->Open(*client));
  client.reset();  // bodies outlive it
  other.reset();
  world.Settle();
  feed->Put("still");
  EXPECT_EQ(watch->Next(), "still");
  world.StopServer();
  EXPECT_EQ(watch->Next(), "error: the HTTP/2 connection was lost");
  EXPECT_EQ(feed->readers(), 0);
}

TEST(Http2Test, StormOfResetsEndsTheConnection) {
  struct Hang {
    static Task<Response> Run(Runtime& runtime) {
      auto sleep = Sleep(runtime, 24h);
      co_await sleep;
      co_return Text("late");
    }
  };
  World* there = nullptr;
  World world([&](Request) { return Hang::Run(there->runtime()); }, kTls);
  there = &world;
  Client client(world.runtime(), world.MakeClientOptions());
  for (int i = 0; i < 2000 && world.server().counters().connections_abused == 0; ++i) {
    TaskGroup calls(world.runtime());
    Answer never;
    calls.Spawn(Ask(&client, Make("GET", "/"), &never));
    world.Settle(100us);
  }
  EXPECT_EQ(world.server().counters().connections_abused, 1u);
  EXPECT_GE(world.server().counters().requests, 400u);
  EXPECT_LE(world.server().counters().requests, 600u);
}

TEST(Http2Test, CancellingNowAndThenIsNoStorm) {
  std::optional<Feed> feed;
  World world([&](Request) { return Streamed(*feed); }, kTls);
  feed.emplace(world.runtime());
  Client client(world.runtime(), world.MakeClientOptions());
  for (int i = 0; i < 1500; ++i) {
    Watch watch(world);
    ASSERT_TRUE(watch.Open(client));
    world.Settle(50ms);
  }
  EXPECT_EQ(world.server().counters().connections_abused, 0u);
  EXPECT_EQ(world.server().counters().connections_accepted, 1u);
}

TEST(Http2Test, HeaderLimits) {
  World world(Echo, kTls);
  ClientOptions options = world.MakeClientOptions();
  options.header_bytes = 4 << 20;
  Client client(world.runtime(), options);
  Request large = Make("GET", "/");
  for (int i = 0; i < 25; ++i) large.headers.Add("X-" + std::to_string(i), std::string(50000, 'x'));
  Answer refused, after;
  ASSERT_TRUE(world.Run(Ask(&client, large, &refused)));
  // 431, or the connection's end if nghttp2 counts the frames first.
  EXPECT_TRUE(refused.code == 431 || refused.error) << refused.code;
  ASSERT_TRUE(world.Run(Ask(&client, Make("GET", "/after"), &after)));
  EXPECT_EQ(after.code, 200);
}

TEST(Http2Test, BadRequestsAreRefusedOneByOne) {
  World world(Echo, kTls);
  Client client(world.runtime(), world.MakeClientOptions());
  Request bad_host = Make("GET", "/");
  bad_host.headers.Add("Host", "a/b");
  Answer answer;
  ASSERT_TRUE(world.Run(Ask(&client, bad_host, &answer)));
  EXPECT_TRUE(answer.code == 400 || answer.error) << answer.code;
  Request bad_value = Make("GET", "/");
  bad_value.headers.Add("X", "a\r\nb");
  Answer not_sent;
  ASSERT_TRUE(world.Run(Ask(&client, bad_value, &not_sent)));
  ASSERT_TRUE(not_sent.error);
  EXPECT_EQ(not_sent.error->message(), "the header X can't be sent");
  Answer connect;
  ASSERT_TRUE(world.Run(Ask(&client, Make("CONNECT", "/"), &connect)));
  EXPECT_TRUE(connect.code == 405 || connect.error) << connect.code;
  EXPECT_EQ(world.server().counters().requests, 0u);
}

TEST(Http2Test, ConnectionCloseInAnAnswerIsGoAway) {
  std::optional<Feed> feed;
  struct Close {
    static Task<Response> Run() {
      Response response = Text("go");
      response.headers.Add("Connection", "close");
      co_return std::move(response);
    }
  };
  World world([&](Request request) { return request.path == "/watch" ? Streamed(*feed) : Close::Run(); }, kTls);
  feed.emplace(world.runtime());
  Client client(world.runtime(), world.MakeClientOptions());
  Watch watch(world);
  ASSERT_TRUE(watch.Open(client));
  Answer answer, second;
  ASSERT_TRUE(world.Run(Ask(&client, Make("GET", "/"), &answer)));
  EXPECT_EQ(answer.body, "go");
  EXPECT_FALSE(answer.headers.Has("Connection"));
  world.Settle();
  feed->Put("on");
  EXPECT_EQ(watch.Next(), "on");  // what is open goes on
  ASSERT_TRUE(world.Run(Ask(&client, Make("GET", "/"), &second)));
  EXPECT_EQ(second.body, "go");
  EXPECT_EQ(world.server().counters().connections_accepted, 2u);
}

TEST(Http2Test, IdleConnectionsEnd) {
  World world(Echo, kTls);
  ClientOptions options = world.MakeClientOptions();
  options.idle_time = 1h;
  Client client(world.runtime(), options);
  Answer first, second;
  ASSERT_TRUE(world.Run(Ask(&client, Make("GET", "/"), &first)));
  world.Settle(89s);
  EXPECT_EQ(world.server().open_connections(), 1u);
  world.Settle(2s);
  EXPECT_EQ(world.server().open_connections(), 0u);
  ASSERT_TRUE(world.Run(Ask(&client, Make("GET", "/"), &second)));
  EXPECT_EQ(second.code, 200);
}

TEST(Http2Test, SilentWatchStaysOpenThroughPings) {
  std::optional<Feed> feed;
  World world([&](Request) { return Streamed(*feed); }, kTls);
  feed.emplace(world.runtime());
  Client client(world.runtime(), world.MakeClientOptions());
  Watch watch(world);
  ASSERT_TRUE(watch.Open(client));
  world.Settle(30min);
  feed->Put("event");
  EXPECT_EQ(watch.Next(), "event");
}

TEST(Http2Test, ShutdownIsQuickAndEndsWatchesCleanly) {
  std::optional<Feed> feed;
  World* there = nullptr;
  struct Slow {
    static Task<Response> Run(Runtime& runtime) {
      auto sleep = Sleep(runtime, 20ms);
      co_await sleep;
      co_return Text("finished");
    }
  };
  World world([&](Request request) { return request.path == "/slow" ? Slow::Run(there->runtime()) : Streamed(*feed); },
              kTls);
  there = &world;
  feed.emplace(world.runtime());
  Client client(world.runtime(), world.MakeClientOptions());
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 20; ++i) {
    watches.push_back(std::make_unique<Watch>(world));
    ASSERT_TRUE(watches.back()->Open(client));
  }
  Answer slow;
  world.tasks().Spawn(Ask(&client, Make("GET", "/slow"), &slow));
  world.Settle(1ms);
  MonotonicTime begin = world.runtime().Now();
  ASSERT_TRUE(world.Run(world.server().Shutdown(30s)));
  EXPECT_LE(world.runtime().Now() - begin, 100ms);
  for (auto& watch : watches) EXPECT_EQ(watch->Next(), "");
  ASSERT_TRUE(world.Until([&] { return slow.done; }));
  EXPECT_EQ(slow.body, "finished");
  EXPECT_EQ(feed->readers(), 0);
}

// A peer that shakes hands and then says nothing.
struct Mute {
  static Task<void> Serve(Listener* listener, TlsServer* tls, std::unique_ptr<Stream>* held) {
    auto accept = listener->Accept();
    auto plain = co_await accept;
    auto handshake = tls->Accept(*std::move(plain));
    auto secured = co_await handshake;
    *held = *std::move(secured);
  }
  static Task<void> Connect(World* world, TlsClient* tls, std::unique_ptr<Stream>* held) {
    auto connect = world->runtime().network().Connect(world->address());
    auto plain = co_await connect;
    auto handshake = tls->Connect(*std::move(plain));
    auto secured = co_await handshake;
    *held = *std::move(secured);
  }
};

TEST(Http2Test, MuteServerIsGivenUp) {
  World world(Echo, kTls);
  auto listener = *world.runtime().network().Listen("127.0.0.1:0");
  TlsServerOptions tls_options{test::TestIdentity().certificate, test::TestIdentity().private_key, ""};
  tls_options.clock = &world.runtime();
  auto tls = *TlsServer::Make(tls_options);
  std::unique_ptr<Stream> held;
  world.tasks().Spawn(Mute::Serve(listener.get(), tls.get(), &held));
  ClientOptions options = world.MakeClientOptions();
  options.address = listener->address();
  Client client(world.runtime(), options);
  Answer answer;
  MonotonicTime begin = world.runtime().Now();
  ASSERT_TRUE(world.Run(Ask(&client, Make("POST", "/", "x"), &answer)));
  ASSERT_TRUE(answer.error);
  EXPECT_EQ(answer.error->message(), "the HTTP/2 connection was lost");
  EXPECT_EQ(world.runtime().Now() - begin, 45s);
}

TEST(Http2Test, MuteClientIsGivenUp) {
  World world(Echo, kTls);
  TlsClientOptions tls_options = *world.MakeClientOptions().tls;
  tls_options.protocols = {"h2"};
  auto tls = *TlsClient::Make(tls_options);
  std::unique_ptr<Stream> held;
  ASSERT_TRUE(world.Run(Mute::Connect(&world, tls.get(), &held)));
  world.Settle(31s);
  EXPECT_EQ(world.server().open_connections(), 1u);
  world.Settle(2s);
  EXPECT_EQ(world.server().open_connections(), 0u);
}

// Everything at once, with latency and short reads, under many seeds.
TEST(Http2Test, RandomTraffic) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::optional<Feed> feed;
    World world([&](Request request) { return request.path == "/watch" ? Streamed(*feed) : Echo(std::move(request)); },
                kTls, {}, seed);
    world.runtime().SetNetworkLatency(0ms, 5ms);
    feed.emplace(world.runtime());
    feed->SetEndless(std::string(3000, 'x'));
    Client client(world.runtime(), world.MakeClientOptions());
    std::vector<Answer> answers(40);
    std::vector<std::unique_ptr<TaskGroup>> groups;
    for (size_t i = 0; i < answers.size(); ++i) {
      groups.push_back(std::make_unique<TaskGroup>(world.runtime()));
      bool watches = world.runtime().Random() % 3 == 0;
      std::string body(world.runtime().Random() % 200000, 'b');
      groups[i]->Spawn(
          Ask(&client, watches ? Make("GET", "/watch") : Make("POST", "/" + std::to_string(i), body), &answers[i]));
      world.Settle(Duration(world.runtime().Random() % 1000000));
      if (world.runtime().Random() % 4 == 0) groups[world.runtime().Random() % groups.size()]->Cancel();
    }
    world.Settle(1s);
    groups.clear();
    world.Settle(1s);
    EXPECT_EQ(feed->readers(), 0) << "seed " << seed;
    Answer last;
    ASSERT_TRUE(world.Run(Ask(&client, Make("GET", "/last"), &last))) << "seed " << seed;
    EXPECT_EQ(last.code, 200) << "seed " << seed;
    EXPECT_EQ(world.server().counters().connections_accepted, 1u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace homeostat::http
