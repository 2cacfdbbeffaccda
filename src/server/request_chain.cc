#include "server/request_chain.h"

#include <algorithm>

#include "homeostat/base/text.h"

namespace homeostat::server {

Result<User> AuthenticateRequest(const std::vector<auth::Authenticator*>& authenticators, const http::Request& request,
                                 bool anonymous) {
  std::optional<Status> refusal;
  for (auth::Authenticator* authenticator : authenticators) {
    auto found = authenticator->Authenticate(request);
    if (!found) {
      refusal = found.error();
      continue;
    }
    if (!*found) continue;
    User user = **std::move(found);
    AddImpliedGroups(user);
    return user;
  }
  if (refusal || !anonymous) return Fail(UnauthorizedError());
  User user;
  user.name = kUserAnonymous;
  user.groups.emplace_back(kGroupUnauthenticated);
  return user;
}

void AddImpliedGroups(User& user) {
  std::string_view implied = user.name == kUserAnonymous ? kGroupUnauthenticated : kGroupAuthenticated;
  if (!user.InGroup(implied) && !user.InGroup(kGroupUnauthenticated)) user.groups.emplace_back(implied);
}

auth::Attributes AttributesOf(const RequestInfo& info, const User& user) {
  auth::Attributes attributes;
  attributes.user = &user;
  attributes.verb = info.verb;
  attributes.path = info.path;
  attributes.resource_request = info.resource_request;
  attributes.group = info.group;
  attributes.version = info.version;
  attributes.resource = info.resource;
  attributes.subresource = info.subresource;
  attributes.ns = info.ns;
  attributes.name = info.name;
  // What can't be parsed restricts nothing; the verb will refuse it.
  if (!info.field_selector.empty()) {
    if (auto selector = object::FieldSelector::Parse(info.field_selector)) attributes.field_selector = selector->requirements();
  }
  if (!info.label_selector.empty()) {
    if (auto selector = object::LabelSelector::Parse(info.label_selector)) attributes.label_selector = selector->requirements();
  }
  return attributes;
}

Result<void> AuthorizeRequest(auth::Authorizer& authorizer, const auth::Attributes& attributes, kinds::AuditAnnotations* annotations) {
  auth::Verdict verdict = authorizer.Authorize(attributes);
  if (annotations != nullptr) {
    annotations->Add("authorization.k8s.io/decision", verdict.decision == auth::Decision::kAllow ? "allow" : "forbid");
    annotations->Add("authorization.k8s.io/reason", verdict.reason);
  }
  if (verdict.decision == auth::Decision::kAllow) return {};
  return Fail(Refusal(attributes, verdict.reason));
}

}  // namespace homeostat::server
