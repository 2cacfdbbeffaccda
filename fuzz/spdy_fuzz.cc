// A container runtime's side of SPDY, which may say anything: the session ends when its peer has, without a crash or a leak.
#include "fuzz_stream.h"
#include "node/spdy.h"

namespace {

using namespace homeostat;
using namespace homeostat::node;

Task<void> ReadAll(SpdySession* session, bool* done) {
  auto open = session->Open({{"streamtype", "stdout"}});
  Result<uint32_t> stream = co_await open;
  while (stream) {
    auto receive = session->Receive();
    auto data = co_await receive;
    if (!data || !*data) break;
  }
  *done = true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto runtime = SimulatedRuntime::Make(1);
  SpdySession session(*runtime, std::make_unique<fuzz::FuzzStream>(std::string_view(reinterpret_cast<const char*>(data), size)));
  bool done = false;
  TaskGroup group(*runtime);
  group.Spawn(ReadAll(&session, &done));
  if (!runtime->RunUntil([&] { return done; }, std::chrono::hours(1))) __builtin_trap();
  return 0;
}
