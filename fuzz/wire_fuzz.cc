// Protobuf's wire format: every field of any input can be read or passed over, nested ones too.
#include <cstdlib>
#include <string_view>

#include "homeostat/object/wire.h"

using namespace homeostat::object;  // NOLINT: a program of one file

namespace {

void Read(std::string_view bytes, int depth) {
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.type() == WireType::kLength) {
      std::string_view inner = reader.Bytes();
      if (depth > 0) Read(inner, depth - 1);
    } else {
      reader.Skip();
    }
  }
  if (reader.ok() != reader.status().has_value()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Read(bytes, 8);
  if (auto envelope = ParseProtobufEnvelope(bytes)) {
    std::string written;
    AppendProtobufEnvelope(written, *envelope);
    auto back = ParseProtobufEnvelope(written);
    if (!back || back->raw != envelope->raw || back->kind != envelope->kind) std::abort();
  }
  return 0;
}
