// Impersonation: a request made as another user, for those who may. Source of the rules: KEP-5284 and apiserver's
// endpoints/filters/impersonation: the constrained modes are tried first (they also ask for the right to do this request as such a
// user), then the plain verb `impersonate`.
#pragma once

#include "auth/authorizer.h"
#include "homeostat/base/http.h"
#include "server/request_info.h"

namespace homeostat::server {

// The user that the Impersonate- headers ask to be, if the real one may; the same user without such headers. 400 for headers
// that name no user, 403 with the first refusal.
Result<User> Impersonate(auth::Authorizer& authorizer, const http::Request& request, const RequestInfo& info, User user);

}  // namespace homeostat::server
