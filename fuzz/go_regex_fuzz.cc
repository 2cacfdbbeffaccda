// Patterns in Go's dialect: compiling and matching end within bounds, and what does not compile says why.
#include <cstdlib>

#include <re2/re2.h>

#include "object/go_regex.h"

using namespace homeostat::object;  // NOLINT: a program of one file

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size), pattern = text.substr(0, text.find('\n'));
  auto compiled = CompileGoRegex(pattern, 1 << 20);
  if (compiled->ok()) {
    re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled);
  } else if (GoRegexFault(*compiled, pattern).empty()) {
    std::abort();
  }
  return 0;
}
