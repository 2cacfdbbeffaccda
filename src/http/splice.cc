#include "http/splice.h"

#include <span>
#include <string>
#include <vector>

namespace homeostat::http {
namespace {

constexpr size_t kPiece = 32 * 1024;

// Copies one direction until its end.
Task<void> Pump(Stream* from, Stream* to, Signal* ended) {
  std::string buffer(kPiece, '\0');
  for (;;) {
    auto read = from->Read(std::span<char>(buffer.data(), buffer.size()));
    Result<size_t> got = co_await std::move(read);
    if (!got || *got == 0) break;
    std::vector<Bytes> parts;
    parts.emplace_back(std::string(buffer.data(), *got));
    auto write = to->Write(std::move(parts));
    Result<void> wrote = co_await std::move(write);
    if (!wrote) break;
  }
  ended->Notify();
}

}  // namespace

Task<void> SpliceBorrowed(Runtime& runtime, Stream* a, Stream* b) {
  Signal ended(runtime);
  auto wait = ended.Wait();
  TaskGroup group(runtime);
  group.Spawn(Pump(a, b, &ended));
  group.Spawn(Pump(b, a, &ended));
  co_await wait;
}

Task<void> Splice(Runtime& runtime, std::unique_ptr<Stream> a, std::unique_ptr<Stream> b) {
  auto splice = SpliceBorrowed(runtime, a.get(), b.get());
  co_await std::move(splice);
}

}  // namespace homeostat::http
