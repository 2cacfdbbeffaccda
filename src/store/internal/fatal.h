// The end of the process when the store cannot keep its word.
#pragma once

#include <string_view>

namespace homeostat::store::internal {

// Exit status, sysexits.h EX_IOERR: input or output failed.
inline constexpr int kFatalExitStatus = 74;

// Writes one line to standard error and ends the process at once: no destructor runs, so nothing more is written to the
// disk. After a failed write or fsync the kernel may call lost pages clean, so that a second try would succeed falsely.
// Any thread.
[[noreturn]] void Fatal(std::string_view what);

}  // namespace homeostat::store::internal
