// Data files that are part of the program (src/server/data/).
#pragma once

#include <string_view>

namespace homeostat::server {

// A JSON list of the objects that a new cluster has.
std::string_view BootstrapObjects();

}  // namespace homeostat::server
