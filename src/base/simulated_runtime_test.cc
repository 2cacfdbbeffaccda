#include <gtest/gtest.h>

#include "homeostat/base/ids.h"
#include "homeostat/base/net.h"
#include "homeostat/base/runtime.h"

namespace homeostat {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

Task<void> Worker(Runtime& runtime, int number, std::string& trace) {
  for (int i = 0; i < 4; ++i) {
    trace += static_cast<char>('a' + number);
    if (runtime.Random() % 2 == 0) {
      auto turn = Yield(runtime);
      co_await turn;
    } else {
      auto pause = Sleep(runtime, milliseconds(runtime.Random() % 3));
      co_await pause;
    }
  }
}

std::string TraceOf(uint64_t seed) {
  auto runtime = SimulatedRuntime::Make(seed);
  TaskGroup group(*runtime);
  std::string trace;
  for (int i = 0; i < 6; ++i) group.Spawn(Worker(*runtime, i, trace));
  runtime->RunFor(seconds(1));
  EXPECT_EQ(group.size(), 0u);
  return trace + NewUuid(*runtime);
}

TEST(SimulatedRuntime, TheSeedDecidesTheRun) {
  std::set<std::string> traces;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(TraceOf(seed), TraceOf(seed));
    traces.insert(TraceOf(seed));
  }
  EXPECT_EQ(traces.size(), 20u);
}

TEST(SimulatedRuntime, AYearTakesNoTime) {
  auto runtime = SimulatedRuntime::Make(1);
  WallTime begin = runtime->WallNow();
  int fired = 0;
  std::function<void()> again = [&] {
    ++fired;
    runtime->After(hours(1), again);
  };
  again();
  runtime->RunFor(hours(24 * 365));
  EXPECT_EQ(fired, 24 * 365 + 1);
  EXPECT_EQ(runtime->WallNow() - begin, hours(24 * 365));
}

TEST(SimulatedRuntime, TimersFireInOrderAndNotAfterCancel) {
  auto runtime = SimulatedRuntime::Make(1);
  std::string out;
  std::vector<TimerId> timers;
  for (int i = 0; i < 26; ++i) {
    // In an order that is neither rising nor falling.
    int letter = i * 11 % 26;
    timers.push_back(runtime->After(milliseconds(letter + 1), [&out, letter] { out += static_cast<char>('a' + letter); }));
  }
  for (int i = 0; i < 26; i += 2) runtime->CancelTimer(timers[static_cast<size_t>(i)]);
  std::string expected;
  for (int i = 1; i < 26; i += 2) expected += static_cast<char>('a' + i * 11 % 26);
  std::sort(expected.begin(), expected.end());
  runtime->RunFor(seconds(1));
  EXPECT_EQ(out, expected);
  for (TimerId timer : timers) runtime->CancelTimer(timer);  // harmless
  int fired = 0;
  TimerId reused = runtime->After(seconds(1), [&] { ++fired; });
  for (TimerId timer : timers) runtime->CancelTimer(timer);  // must not hit a slot that is used again
  runtime->RunFor(seconds(2));
  EXPECT_EQ(fired, 1);
  runtime->CancelTimer(reused);
}

TEST(SimulatedRuntime, RunUntilStopsAtTheCondition) {
  auto runtime = SimulatedRuntime::Make(1);
  int count = 0;
  for (int i = 1; i <= 10; ++i) runtime->After(seconds(i), [&] { ++count; });
  EXPECT_TRUE(runtime->RunUntil([&] { return count == 3; }, hours(1)));
  EXPECT_EQ(runtime->Now().time_since_epoch(), seconds(3));
  EXPECT_FALSE(runtime->RunUntil([&] { return count == 11; }, hours(1)));
  EXPECT_FALSE(runtime->Step());
}

TEST(SimulatedRuntime, BlockingWorkIsALaterTurn) {
  auto runtime = SimulatedRuntime::Make(1);
  std::string out;
  runtime->RunBlocking([&] { out += "work "; }, [&] { out += "done"; });
  EXPECT_EQ(out, "");
  runtime->RunFor(seconds(0));
  EXPECT_EQ(out, "work done");
}

TEST(SimulatedRuntime, MayEndBeforeWhatWaits) {
  auto runtime = SimulatedRuntime::Make(1);
  auto kept = std::make_shared<Wakeup>();
  kept->After(*runtime, seconds(1));
  Wakeup ready;
  ready.Later(*runtime);
  runtime->Post([kept] {});
  runtime.reset();
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_FALSE(ready.due());
}

Task<Result<void>> Echo(std::unique_ptr<Stream> stream) {
  std::array<char, 1000> buffer;
  while (true) {
    auto read = stream->Read(buffer);
    CO_TRY_ASSIGN(size_t count, co_await read);
    if (count == 0) break;
    std::vector<Bytes> parts;
    parts.push_back(Bytes::Copy(std::string_view(buffer.data(), count)));
    auto write = stream->Write(std::move(parts));
    CO_TRY(co_await write);
  }
  stream->CloseWrite();
  co_return Result<void>();
}
Task<void> EchoServer(std::unique_ptr<Listener> listener) {
  auto accept = listener->Accept();
  auto stream = co_await accept;
  if (!stream) co_return;
  auto echo = Echo(std::move(*stream));
  co_await echo;
}
Task<void> Send(Stream& stream, std::string text) {
  std::vector<Bytes> parts;
  for (size_t i = 0; i < text.size(); i += 777) parts.push_back(Bytes::Copy(text.substr(i, 777)));
  auto write = stream.Write(std::move(parts));
  auto written = co_await write;
  EXPECT_TRUE(written) << written.error().message();
  stream.CloseWrite();
}
Task<void> EchoClient(Runtime& runtime, std::string address, std::string text, std::string& out) {
  auto connect = runtime.network().Connect(address);
  auto stream = co_await connect;
  if (!stream) {
    out = stream.error().message();
    co_return;
  }
  TaskGroup sending(runtime);
  sending.Spawn(Send(**stream, std::move(text)));
  std::array<char, 4096> buffer;
  while (true) {
    auto read = (*stream)->Read(buffer);
    auto count = co_await read;
    if (!count || *count == 0) break;
    out.append(buffer.data(), *count);
  }
}

TEST(SimulatedNetwork, CarriesBytesInOrder) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    auto runtime = SimulatedRuntime::Make(seed);
    if (seed % 2 == 1) runtime->SetNetworkLatency(milliseconds(1), milliseconds(50));
    TaskGroup group(*runtime);
    auto listener = runtime->network().Listen("10.0.0.1:80");
    ASSERT_TRUE(listener);
    EXPECT_EQ((*listener)->address(), "10.0.0.1:80");
    std::string text;
    for (int i = 0; text.size() < 600'000; ++i) text += std::to_string(i);  // more than a pipe holds
    std::string out;
    group.Spawn(EchoServer(std::move(*listener)));
    group.Spawn(EchoClient(*runtime, "10.0.0.1:80", text, out));
    EXPECT_TRUE(runtime->RunUntil([&] { return group.size() == 0; }, hours(1)));
    EXPECT_TRUE(out == text);
  }
}

TEST(SimulatedNetwork, AddressesAndRefusals) {
  auto runtime = SimulatedRuntime::Make(1);
  Network& network = runtime->network();
  auto any = network.Listen("127.0.0.1:0");
  auto other = network.Listen("127.0.0.1:0");
  ASSERT_TRUE(any && other);
  EXPECT_NE((*any)->address(), (*other)->address());
  auto wildcard = network.Listen(":6443");
  ASSERT_TRUE(wildcard);
  auto again = network.Listen("[::]:6443");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message(), "listen [::]:6443: address already in use");
  TaskGroup group(*runtime);
  std::string refused, out;
  group.Spawn(EchoClient(*runtime, "127.0.0.1:1", "x", refused));
  group.Spawn(EchoClient(*runtime, "192.168.7.7:6443", "hello", out));
  group.Spawn(EchoServer(std::move(*wildcard)));
  runtime->RunFor(seconds(1));
  EXPECT_EQ(refused, "dial tcp 127.0.0.1:1: connect: connection refused");
  EXPECT_EQ(out, "hello");
  EXPECT_TRUE(network.Listen("0.0.0.0:6443")) << "free again after the listener has gone";
}

Task<void> AcceptOne(Listener& listener, std::unique_ptr<Stream>& out) {
  auto accept = listener.Accept();
  auto stream = co_await accept;
  if (stream) out = std::move(*stream);
}
Task<void> ConnectOne(Runtime& runtime, std::string address, std::unique_ptr<Stream>& out) {
  auto connect = runtime.network().Connect(address);
  auto stream = co_await connect;
  if (stream) out = std::move(*stream);
}
Task<void> ReadOne(Stream& stream, std::string& out) {
  std::array<char, 16> buffer;
  auto read = stream.Read(buffer);
  auto count = co_await read;
  out = count ? std::to_string(*count) : count.error().message();
}
Task<void> WriteOne(Stream& stream, std::string& out) {
  std::vector<Bytes> parts;
  parts.emplace_back("text");
  auto write = stream.Write(std::move(parts));
  auto written = co_await write;
  out = written ? "written" : written.error().message();
}

TEST(SimulatedNetwork, ClosingEndsBothSides) {
  auto runtime = SimulatedRuntime::Make(1);
  TaskGroup group(*runtime);
  auto listener = *runtime->network().Listen("a:1");
  std::unique_ptr<Stream> server, client;
  group.Spawn(AcceptOne(*listener, server));
  group.Spawn(ConnectOne(*runtime, "a:1", client));
  runtime->RunFor(seconds(1));
  ASSERT_TRUE(server && client);
  std::string pending, peer, after;
  group.Spawn(ReadOne(*server, pending));
  runtime->RunFor(seconds(1));
  server->Close();
  group.Spawn(ReadOne(*client, peer));
  group.Spawn(WriteOne(*client, after));
  runtime->RunFor(seconds(1));
  EXPECT_NE(pending.find("use of closed connection"), std::string::npos);
  EXPECT_EQ(peer, "0");
  EXPECT_EQ(after, "write a:1: broken pipe");
}

}  // namespace
}  // namespace homeostat
