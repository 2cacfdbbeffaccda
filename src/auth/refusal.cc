#include "auth/refusal.h"

#include "homeostat/base/text.h"

namespace homeostat::auth {
namespace {

// Nothing in a message looks like HTML.
std::string Sanitized(std::string_view text) {
  std::string clean;
  for (char c : text) {
    if (c == '&') clean += "&amp;"; else if (c == '<') clean += "&lt;"; else if (c == '>') clean += "&gt;"; else clean += c;
  }
  return clean;
}

StatusDetails DetailsOf(const Attributes& attributes) {
  StatusDetails details;
  details.shown = true;
  if (!attributes.resource_request) return details;
  details.group = attributes.group;
  details.kind = attributes.resource;
  details.name = attributes.name;
  return details;
}

}  // namespace

std::string ForbiddenMessage(const Attributes& attributes) {
  std::string message = "User " + GoQuote(attributes.user->name) + " cannot " + attributes.verb;
  if (!attributes.resource_request) return message + " path " + GoQuote(attributes.path);
  std::string resource = attributes.resource;
  if (!attributes.subresource.empty()) resource += "/" + attributes.subresource;
  message += " resource " + GoQuote(resource) + " in API group " + GoQuote(attributes.group);
  if (attributes.ns.empty()) return message + " at the cluster scope";
  return message + " in the namespace " + GoQuote(attributes.ns);
}

Status Refusal(const Attributes& attributes, std::string_view reason) {
  std::string message = Sanitized(ForbiddenMessage(attributes));
  if (!reason.empty()) message += ": " + std::string(reason);
  if (!attributes.resource_request) {
    return Status(403, "Forbidden", "forbidden: " + message).WithDetails(DetailsOf(attributes));
  }
  return ForbiddenError(attributes.group, attributes.resource, attributes.name, message);
}

}  // namespace homeostat::auth
