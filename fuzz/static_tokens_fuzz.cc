// The reader of token files.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "auth/static_tokens.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)homeostat::auth::StaticTokens::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
