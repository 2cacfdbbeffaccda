// Where a kind, or one object of it, is found on a server.
#pragma once

#include <string>
#include <string_view>

#include "homeostat/schema/kind.h"

namespace homeostat::sdk {

// "/apis/apps/v1/namespaces/default/deployments/web/status"; parts that are empty are left out. Names are escaped.
std::string ResourcePath(const schema::Kind& kind, std::string_view ns, std::string_view name = {},
                         std::string_view subresource = {});

}  // namespace homeostat::sdk
