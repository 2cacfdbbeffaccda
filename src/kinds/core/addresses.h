// Addresses that traffic may be sent to.
#pragma once

#include "kinds/checks.h"

namespace homeostat::kinds {

// Not one that means this machine, a neighbour or nobody.
void CheckEndpointIp(std::string_view ip, const FieldPath& path, FieldErrors& errors);

}  // namespace homeostat::kinds
