// How it is said that a user may not do something.
#pragma once

#include <string>
#include <string_view>

#include "auth/authorizer.h"
#include "homeostat/base/status.h"

namespace homeostat::auth {

// The 403 of a refused request; reason may be empty.
Status Refusal(const Attributes& attributes, std::string_view reason);
// `User "x" cannot list resource "pods" in API group "" in the namespace "y"`.
std::string ForbiddenMessage(const Attributes& attributes);

}  // namespace homeostat::auth
