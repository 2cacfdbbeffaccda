#include "node/spdy.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace homeostat::node {
namespace {

TEST(Spdy, TheDictionaryIsTheProtocols) {
  // Its size and checksum, as zlib names a dictionary in a stream's header.
  EXPECT_EQ(spdy::Dictionary().size(), 1423u);
  uLong sum = adler32(adler32(0, nullptr, 0), reinterpret_cast<const Bytef*>(spdy::Dictionary().data()),
                      static_cast<uInt>(spdy::Dictionary().size()));
  EXPECT_EQ(sum, 0xe3c6a7c2u);
}

TEST(Spdy, FramesAreAsOnTheWire) {
  EXPECT_EQ(spdy::DataFrame(5, "ab", true), std::string("\0\0\0\5\1\0\0\2ab", 10));
  EXPECT_EQ(spdy::HeaderBlock({{"StreamType", "stdin"}}), std::string("\0\0\0\1\0\0\0\12streamtype\0\0\0\5stdin", 27));
}

// One end of a pipe in simulated time: a server that reads frames and answers.
TEST(Spdy, OpensSendsAndReceives) {
  auto runtime = SimulatedRuntime::Make(1);
  auto listener = runtime->network().Listen("127.0.0.1:0");
  ASSERT_TRUE(listener);
  TaskGroup group(*runtime);
  std::string heard;
  bool checked = false;
  auto serve = [](Listener* at, std::string* out) -> Task<void> {
    auto accept = at->Accept();
    auto stream = co_await std::move(accept);
    std::array<char, 4096> buffer;
    while (out->size() < 12 || !out->ends_with("hello")) {
      auto read = (*stream)->Read(buffer);
      auto got = co_await std::move(read);
      if (!got || *got == 0) co_return;
      out->append(buffer.data(), *got);
    }
    std::vector<Bytes> answer;
    answer.emplace_back(std::string("\x80\3\0\6\0\0\0\4\0\0\0\2", 12));                      // ping 2
    answer.emplace_back(spdy::DataFrame(1, "world", false) + spdy::DataFrame(1, "", true));
    auto write = (*stream)->Write(std::move(answer));
    (void)co_await std::move(write);
    auto read = (*stream)->Read(buffer);
    auto got = co_await std::move(read);
    if (got) *out = std::string(buffer.data(), *got);
  };
  auto ask = [](Runtime* loop, std::string address, bool* done) -> Task<void> {
    auto connect = loop->network().Connect(address);
    auto stream = co_await std::move(connect);
    SpdySession session(*loop, std::move(*stream));
    SpdyHeaders headers = {{"streamtype", "stdin"}};
    auto open = session.Open(headers);
    auto id = co_await std::move(open);
    EXPECT_EQ(*id, 1u);
    auto send = session.Send(1, "hello", false);
    (void)co_await std::move(send);
    auto receive = session.Receive();
    auto data = co_await std::move(receive);
    EXPECT_EQ((*data)->data.view(), "world");
    auto again = session.Receive();
    data = co_await std::move(again);
    EXPECT_TRUE((*data)->fin);
    *done = true;
    co_await Sleep(*loop, std::chrono::seconds(1));
  };
  group.Spawn(serve(listener->get(), &heard));
  group.Spawn(ask(runtime.get(), (*listener)->address(), &checked));
  EXPECT_TRUE(runtime->RunUntil([&] { return checked && heard.size() == 12; }, std::chrono::seconds(10)));
  EXPECT_EQ(heard, std::string("\x80\3\0\6\0\0\0\4\0\0\0\2", 12)) << "the ping comes back";
}

}  // namespace
}  // namespace homeostat::node
