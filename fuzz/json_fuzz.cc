// JSON: whatever is read comes back from what it is written as, compact or indented.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "homeostat/object/json.h"

using namespace homeostat::object;  // NOLINT: a program of one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Arena arena;
  std::vector<std::string> duplicates;
  auto value = ParseJson(arena, {reinterpret_cast<const char*>(data), size}, &duplicates);
  if (!value) {
    if (value.error().message().empty() || value.error().code() != 400) std::abort();
    return 0;
  }
  for (JsonStyle style : {JsonStyle{}, JsonStyle{.pretty = true}, JsonStyle{.sort_names = true}}) {
    // Deep trees are too long indented.
    if (style.pretty && size > 4096) continue;
    // A negative zero comes back as the integer 0: the second writing is the one that stays.
    Arena first, second;
    auto text = WriteJson(*ParseJson(first, *WriteJson(*value, style)), style);
    auto back = ParseJson(second, *text);
    if (!back || *WriteJson(*back, style) != *text) std::abort();
  }
  return 0;
}
