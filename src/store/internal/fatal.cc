#include "store/internal/fatal.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace homeostat::store::internal {

void Fatal(std::string_view what) {
  std::string line = "fatal: the store cannot go on: " + std::string(what) + "\n";
  for (char& character : line) {
    if (character == '\n' && &character != &line.back()) character = ' ';
  }
  // Nothing can be done about a standard error that takes nothing.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  std::_Exit(kFatalExitStatus);
}

}  // namespace homeostat::store::internal
