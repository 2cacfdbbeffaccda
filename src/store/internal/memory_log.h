// A log in memory only, for tests and throw-away clusters.
#pragma once

#include <memory>

#include "store/internal/log.h"

namespace homeostat::store::internal {

std::unique_ptr<LogStore> MakeMemoryLog();

}  // namespace homeostat::store::internal
