// Logs that containers write: however they are cut into pieces, what is answered is the same.
#include <cstdlib>

#include "node/container_log.h"

using namespace homeostat::node;  // NOLINT: a program of one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  LogOptions options;
  options.timestamps = (data[0] & 1) != 0;
  if ((data[0] & 2) != 0) options.limit_bytes = data[0];
  std::string whole, pieces;
  LogFilter(options).Feed(text, whole);
  LogFilter filter(options);
  for (size_t piece = 1 + (data[0] >> 3); !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    if (!filter.Feed(text.substr(0, piece), pieces)) break;
  }
  if (whole != pieces) std::abort();
  TailOffset(std::string_view(reinterpret_cast<const char*>(data), size), data[0], true);
  return 0;
}
