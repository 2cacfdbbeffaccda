// The links of the chain before the verbs: authentication and authorization (impersonation.h stands between them); each a function of the request.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/authenticator.h"
#include "auth/authorizer.h"
#include "auth/refusal.h"
#include "homeostat/base/http.h"
#include "kinds/audit_annotations.h"
#include "server/request_info.h"

namespace homeostat::server {

// Asks each in order; anonymous when none knows the request and that is allowed; 401 otherwise. An error of one is
// remembered and answered only if no other knows the user.
Result<User> AuthenticateRequest(const std::vector<auth::Authenticator*>& authenticators, const http::Request& request,
                                 bool anonymous);

// The groups that go without saying: system:authenticated or system:unauthenticated.
void AddImpliedGroups(User& user);

auth::Attributes AttributesOf(const RequestInfo& info, const User& user);
// 403 with upstream's words unless allowed. What decided is noted for the audit log, if there is one.
Result<void> AuthorizeRequest(auth::Authorizer& authorizer, const auth::Attributes& attributes, kinds::AuditAnnotations* annotations = nullptr);
using auth::ForbiddenMessage;
using auth::Refusal;

}  // namespace homeostat::server
