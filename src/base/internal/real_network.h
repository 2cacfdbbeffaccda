// TCP and Unix sockets on the real runtime's loop.
#pragma once

#include <memory>

#include "homeostat/base/net.h"

namespace homeostat::base_internal {

// `runtime` must outlive it and everything it opens.
std::unique_ptr<Network> MakeRealNetwork(Runtime& runtime);

}  // namespace homeostat::base_internal
