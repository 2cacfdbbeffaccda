// Errors of the node agent: their text stands alone, as events and container states show it.
#pragma once

#include <string_view>

#include "homeostat/base/status.h"

namespace homeostat::node {

inline Status NodeError(std::string_view message) { return Status(500, "InternalError", message); }

}  // namespace homeostat::node
