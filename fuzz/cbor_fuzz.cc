// CBOR: whatever is read comes back from what it is written as.
#include <cstdlib>
#include <string>
#include <string_view>

#include "homeostat/object/cbor.h"

using namespace homeostat::object;  // NOLINT: a program of one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Arena arena;
  auto value = ParseCbor(arena, {reinterpret_cast<const char*>(data), size});
  if (!value) return 0;
  std::string written;
  if (!AppendCbor(written, *value)) std::abort();
  Arena again;
  auto back = ParseCbor(again, written);
  if (!back || !Equal(*back, *value)) std::abort();
  return 0;
}
