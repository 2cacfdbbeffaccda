// WebSocket frames of either side: the socket ends when its peer has, without a crash, a leak or an endless wait.
#include "fuzz_stream.h"
#include "http/internal/websocket.h"

namespace {

using namespace homeostat;
using namespace homeostat::http;

Task<void> Echo(std::unique_ptr<WebSocket> socket, bool* done) {
  while (true) {
    auto receive = socket->Receive();
    auto message = co_await receive;
    if (!message || !*message) break;
    auto send = socket->Send(*std::move(*message));
    Result<void> sent = co_await send;
    if (!sent) break;
  }
  auto close = socket->Close(1000, "end");
  co_await close;
  *done = true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (bool server : {true, false}) {
    auto runtime = SimulatedRuntime::Make(1);
    auto stream = std::make_unique<fuzz::FuzzStream>(std::string_view(reinterpret_cast<const char*>(data), size));
    bool done = false;
    TaskGroup group(*runtime);
    group.Spawn(Echo(internal::MakeWebSocket(*runtime, std::move(stream), {server, "", 4096}), &done));
    if (!runtime->RunUntil([&] { return done; }, std::chrono::hours(1))) __builtin_trap();
  }
  return 0;
}
