#include "server/request_chain.h"

#include <algorithm>

#include "homeostat/base/text.h"

namespace homeostat::server {
namespace {

// Nothing in a message looks like HTML.
std::string Sanitized(std::string_view text) {
  std::string clean;
  for (char c : text) {
    if (c == '&') clean += "&amp;"; else if (c == '<') clean += "&lt;"; else if (c == '>') clean += "&gt;"; else clean += c;
  }
  return clean;
}

StatusDetails DetailsOf(const auth::Attributes& attributes) {
  StatusDetails details;
  details.shown = true;
  if (!attributes.resource_request) return details;
  details.group = attributes.group;
  details.kind = attributes.resource;
  details.name = attributes.name;
  return details;
}

}  // namespace

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

std::string ForbiddenMessage(const auth::Attributes& attributes) {
  std::string message = "User " + GoQuote(attributes.user->name) + " cannot " + attributes.verb;
  if (!attributes.resource_request) return message + " path " + GoQuote(attributes.path);
  std::string resource = attributes.resource;
  if (!attributes.subresource.empty()) resource += "/" + attributes.subresource;
  message += " resource " + GoQuote(resource) + " in API group " + GoQuote(attributes.group);
  if (attributes.ns.empty()) return message + " at the cluster scope";
  return message + " in the namespace " + GoQuote(attributes.ns);
}

Status Refusal(const auth::Attributes& attributes, std::string_view reason) {
  std::string message = Sanitized(ForbiddenMessage(attributes));
  if (!reason.empty()) message += ": " + std::string(reason);
  if (!attributes.resource_request) {
    return Status(403, "Forbidden", "forbidden: " + message).WithDetails(DetailsOf(attributes));
  }
  return ForbiddenError(attributes.group, attributes.resource, attributes.name, message);
}

Result<void> AuthorizeRequest(auth::Authorizer& authorizer, const auth::Attributes& attributes) {
  auth::Verdict verdict = authorizer.Authorize(attributes);
  if (verdict.decision == auth::Decision::kAllow) return {};
  return Fail(Refusal(attributes, verdict.reason));
}

}  // namespace homeostat::server
