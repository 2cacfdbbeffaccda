// The server's HTTP/1 connection fed with anything: it ends when its peer has, without a crash or a leak.
#include "fuzz_stream.h"
#include "http/internal/server_context.h"

namespace {

using namespace homeostat;
using namespace homeostat::http;

class Echo : public Handler {
 public:
  Task<Response> Handle(Request request) override {
    Response response;
    for (const auto& [name, value] : request.headers.lines()) response.headers.Add(name, value);
    response.body.push_back(request.path);
    response.body.push_back(request.body);
    co_return std::move(response);
  }
};

Task<void> Serve(internal::ServerConnection* connection, bool* done) {
  auto run = connection->Run();
  co_await run;
  *done = true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto runtime = SimulatedRuntime::Make(1);
  Echo handler;
  ServerOptions options;
  options.header_bytes = 16 * 1024;
  options.body_bytes = 16 * 1024;
  ServerCounters counters;
  internal::ServerContext context(*runtime, handler, options, counters);
  std::string input(reinterpret_cast<const char*>(data), size);
  auto stream = std::make_unique<fuzz::FuzzStream>(input);
  auto connection = internal::MakeHttp1Connection(context, std::move(stream));
  bool done = false;
  TaskGroup group(*runtime);
  group.Spawn(Serve(connection.get(), &done));
  if (!runtime->RunUntil([&] { return done; }, std::chrono::hours(1))) __builtin_trap();
  return 0;
}
