#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "homeostat/base/ids.h"
#include "homeostat/base/net.h"
#include "homeostat/base/runtime.h"

namespace homeostat {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Runs a task to its end on a real loop.
Task<void> ThenStop(RealRuntime& runtime, Task<void> task) {
  co_await task;
  runtime.Stop();
}
void RunToEnd(RealRuntime& runtime, Task<void> task) {
  TaskGroup group(runtime);
  group.Spawn(ThenStop(runtime, std::move(task)));
  runtime.Run();
}

Task<void> SleepLetters(Runtime& runtime, std::string& out) {
  runtime.After(milliseconds(30), [&] { out += 'c'; });
  runtime.After(milliseconds(10), [&] { out += 'a'; });
  TimerId cancelled = runtime.After(milliseconds(15), [&] { out += 'x'; });
  runtime.CancelTimer(cancelled);
  auto begin = runtime.Now();
  auto pause = Sleep(runtime, milliseconds(20));
  co_await pause;
  out += 'b';
  auto rest = Sleep(runtime, milliseconds(20));
  co_await rest;
  EXPECT_GE(runtime.Now() - begin, milliseconds(40));
}

TEST(RealRuntime, TimersFireInOrderAndNeverEarly) {
  auto runtime = RealRuntime::Make();
  std::string out;
  RunToEnd(*runtime, SleepLetters(*runtime, out));
  EXPECT_EQ(out, "abc");
}

TEST(RealRuntime, PostFromOtherThreads) {
  auto runtime = RealRuntime::Make();
  constexpr int kThreads = 4, kPosts = 2000;
  int count = 0;  // only the loop touches it
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kPosts; ++k) {
        runtime->Post([&] {
          if (++count == kThreads * kPosts) runtime->Stop();
        });
      }
    });
  }
  runtime->Run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kPosts);
}

Task<void> BlockInPool(Runtime& runtime, std::thread::id& where, int& out) {
  std::move_only_function<int()> work = [&where] {
    where = std::this_thread::get_id();
    return 7;
  };
  auto call = RunOffLoop<int>(runtime, std::move(work));
  out = co_await call;
}

TEST(RealRuntime, BlockingWorkRunsOnAnotherThread) {
  auto runtime = RealRuntime::Make(2);
  std::thread::id where;
  int out = 0;
  RunToEnd(*runtime, BlockInPool(*runtime, where, out));
  EXPECT_EQ(out, 7);
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(RealRuntime, SignalsReachTheLoopEachTime) {
  auto runtime = RealRuntime::Make();
  int count = 0;
  runtime->OnSignal(SIGUSR1, [&] {
    if (++count == 3) return runtime->Stop();
    ::kill(::getpid(), SIGUSR1);
  });
  runtime->Post([] { ::kill(::getpid(), SIGUSR1); });
  runtime->Run();
  EXPECT_EQ(count, 3);
}

TEST(RealRuntime, CanRunAgainAfterStop) {
  auto runtime = RealRuntime::Make();
  int count = 0;
  for (int i = 0; i < 3; ++i) {
    runtime->Post([&] {
      ++count;
      runtime->Stop();
    });
    runtime->Run();
  }
  EXPECT_EQ(count, 3);
}

TEST(RealRuntime, RandomIdsDiffer) {
  auto runtime = RealRuntime::Make();
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    std::string id = NewUuid(*runtime);
    ASSERT_EQ(id.size(), 36u);
    EXPECT_EQ(id[14], '4');
    EXPECT_NE(std::string_view("89ab").find(id[19]), std::string_view::npos);
    seen.insert(id);
  }
  EXPECT_EQ(seen.size(), 1000u);
  std::string name = GenerateName(*runtime, std::string(70, 'x') + "-");
  EXPECT_EQ(name.size(), 63u);
  EXPECT_EQ(name.find_first_not_of("bcdfghjklmnpqrstvwxz2456789", 58), std::string::npos);
}

Task<void> SendAll(Stream& stream, std::string text) {
  std::vector<Bytes> parts;
  for (size_t i = 0; i < text.size(); i += 5000) parts.push_back(Bytes::Copy(text.substr(i, 5000)));
  parts.emplace_back();
  auto write = stream.Write(std::move(parts));
  auto written = co_await write;
  EXPECT_TRUE(written) << written.error().message();
  stream.CloseWrite();
}
Task<void> ReadAll(Stream& stream, std::string& out) {
  std::array<char, 8192> buffer;
  while (true) {
    auto read = stream.Read(buffer);
    auto count = co_await read;
    EXPECT_TRUE(count) << count.error().message();
    if (!count || *count == 0) co_return;
    out.append(buffer.data(), *count);
  }
}
struct Ends {
  std::unique_ptr<Stream> server, client;
};
Task<void> AcceptInto(Listener& listener, std::unique_ptr<Stream>& out) {
  auto accept = listener.Accept();
  auto stream = co_await accept;
  EXPECT_TRUE(stream) << stream.error().message();
  if (stream) out = std::move(*stream);
}
Task<void> Connect(Runtime& runtime, Listener& listener, Ends& ends) {
  TaskGroup group(runtime);
  group.Spawn(AcceptInto(listener, ends.server));
  auto connect = runtime.network().Connect(listener.address());
  auto stream = co_await connect;
  EXPECT_TRUE(stream) << stream.error().message();
  if (stream) ends.client = std::move(*stream);
  auto join = group.Join();
  co_await join;
}
Task<void> BothWays(Runtime& runtime, std::string address) {
  auto listener = runtime.network().Listen(address);
  EXPECT_TRUE(listener) << listener.error().message();
  if (!listener) co_return;
  Ends ends;
  auto connect = Connect(runtime, **listener, ends);
  co_await connect;
  if (!ends.client || !ends.server) co_return;
  std::string up(3'000'000, 'u'), down(3'000'000, 'd'), got_up, got_down;
  TaskGroup group(runtime);
  group.Spawn(SendAll(*ends.client, up));
  group.Spawn(SendAll(*ends.server, down));
  group.Spawn(ReadAll(*ends.client, got_down));
  group.Spawn(ReadAll(*ends.server, got_up));
  auto join = group.Join();
  co_await join;
  EXPECT_TRUE(got_up == up);
  EXPECT_TRUE(got_down == down);
}

TEST(RealNetwork, CarriesMegabytesBothWays) {
  auto runtime = RealRuntime::Make();
  std::string path = "/tmp/homeostat-test-" + std::to_string(::getpid()) + ".sock";
  for (const std::string& address : {std::string("127.0.0.1:0"), std::string("localhost:0"), "unix:" + path}) {
    SCOPED_TRACE(address);
    RunToEnd(*runtime, BothWays(*runtime, address));
  }
  struct stat about;
  EXPECT_NE(::stat(path.c_str(), &about), 0) << "the listener takes its socket file away";
}

TEST(RealNetwork, SaysWhyItCannotListen) {
  auto runtime = RealRuntime::Make();
  Network& network = runtime->network();
  auto first = network.Listen("127.0.0.1:0");
  ASSERT_TRUE(first);
  std::string address = (*first)->address();
  auto second = network.Listen(address);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message(), "listen " + address + ": address already in use");
  EXPECT_EQ(network.Listen("nonsense").error().message(), "listen: address nonsense: missing port in address");
  EXPECT_EQ(network.Listen("127.0.0.1:70000").error().message(), "listen: address 127.0.0.1:70000: invalid port");
  first->reset();
  EXPECT_TRUE(network.Listen(address)) << "the port is free at once";
}

TEST(RealNetwork, UnixSocketInUseAndStale) {
  auto runtime = RealRuntime::Make();
  std::string address = "unix:///tmp/homeostat-test-" + std::to_string(::getpid()) + "-stale.sock";
  {
    auto first = runtime->network().Listen(address);
    ASSERT_TRUE(first) << first.error().message();
    auto second = runtime->network().Listen(address);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message(), "listen " + address + ": address already in use");
  }
  EXPECT_EXIT(
      {
        auto left = runtime->network().Listen(address);
        ::_exit(left ? 0 : 1);  // as a crash leaves it
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_TRUE(runtime->network().Listen(address)) << "a socket file that nobody listens on is replaced";
}

Task<void> ExpectRefused(Runtime& runtime, std::string address, std::string message) {
  auto connect = runtime.network().Connect(address);
  auto stream = co_await connect;
  EXPECT_FALSE(stream);
  if (stream) co_return;
  EXPECT_EQ(stream.error().message(), message);
}

TEST(RealNetwork, SaysWhyItCannotConnect) {
  auto runtime = RealRuntime::Make();
  auto listener = runtime->network().Listen("127.0.0.1:0");
  std::string address = (*listener)->address();
  listener->reset();
  RunToEnd(*runtime, ExpectRefused(*runtime, address, "dial tcp " + address + ": connect: connection refused"));
  RunToEnd(*runtime, ExpectRefused(*runtime, "unix:/nowhere/x.sock",
                                   "dial unix:/nowhere/x.sock: connect: no such file or directory"));
}

Task<void> ReadResult(Stream& stream, std::string& out) {
  std::array<char, 16> buffer;
  auto read = stream.Read(buffer);
  auto count = co_await read;
  out = count ? std::string(buffer.data(), *count) : count.error().message();
}
Task<void> AbandonReads(Runtime& runtime) {
  auto listener = *runtime.network().Listen("127.0.0.1:0");
  Ends ends;
  auto connect = Connect(runtime, *listener, ends);
  co_await connect;
  std::string ignored, out;
  auto within = Within(runtime, milliseconds(5), ReadResult(*ends.server, ignored));
  bool in_time = co_await within;
  EXPECT_FALSE(in_time);
  std::vector<Bytes> parts;
  parts.emplace_back("later");
  auto write = ends.client->Write(std::move(parts));
  co_await write;
  auto read = ReadResult(*ends.server, out);
  co_await read;
  EXPECT_EQ(out, "later") << "an abandoned read loses nothing";

  TaskGroup group(runtime);
  group.Spawn(ReadResult(*ends.server, out));
  auto turn = Sleep(runtime, milliseconds(1));
  co_await turn;
  ends.server->Close();
  auto join = group.Join();
  co_await join;
  EXPECT_NE(out.find("use of closed connection"), std::string::npos) << out;
  std::string end;
  auto last = ReadResult(*ends.client, end);
  co_await last;
  EXPECT_EQ(end, "");
}

TEST(RealNetwork, ReadsCanBeAbandonedAndClosed) {
  auto runtime = RealRuntime::Make();
  RunToEnd(*runtime, AbandonReads(*runtime));
}

TEST(RealNetwork, StreamsMayEndBeforeTheirReaders) {
  auto runtime = RealRuntime::Make();
  auto listener = *runtime->network().Listen("127.0.0.1:0");
  Ends ends;
  RunToEnd(*runtime, Connect(*runtime, *listener, ends));
  std::string out;
  TaskGroup group(*runtime);
  group.Spawn(ReadResult(*ends.server, out));
  runtime->After(milliseconds(2), [&] { ends.server.reset(); });
  runtime->After(milliseconds(10), [&] { runtime->Stop(); });
  runtime->Run();
  EXPECT_EQ(group.size(), 1u) << "nobody is left to wake it";
}

}  // namespace
}  // namespace homeostat
