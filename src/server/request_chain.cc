#include "server/request_chain.h"

#include <algorithm>

#include "homeostat/base/text.h"

namespace homeostat::server {
namespace {

constexpr std::string_view kImpersonateUser = "Impersonate-User";
constexpr std::string_view kImpersonateGroup = "Impersonate-Group";
constexpr std::string_view kImpersonateUid = "Impersonate-Uid";
constexpr std::string_view kImpersonateExtra = "impersonate-extra-";
constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// The user that the headers describe; nullopt without such headers.
std::optional<User> AskedUser(const http::Request& request) {
  User asked;
  asked.name = request.headers.Get(kImpersonateUser);
  asked.uid = request.headers.Get(kImpersonateUid);
  for (std::string_view group : request.headers.GetAll(kImpersonateGroup)) asked.groups.emplace_back(group);
  for (const auto& [name, value] : request.headers.lines()) {
    std::string lower = Lower(name);
    if (!lower.starts_with(kImpersonateExtra)) continue;
    std::string key = http::PercentDecode(std::string_view(lower).substr(kImpersonateExtra.size()), false);
    auto found = std::ranges::find_if(asked.extra, [&](const auto& entry) { return entry.first == key; });
    if (found == asked.extra.end()) found = asked.extra.insert(asked.extra.end(), {key, {}});
    found->second.push_back(value);
  }
  if (asked.name.empty() && asked.uid.empty() && asked.groups.empty() && asked.extra.empty()) return std::nullopt;
  return asked;
}

auth::Attributes ImpersonateAttributes(const User& user, std::string group, std::string resource, std::string name) {
  auth::Attributes attributes;
  attributes.user = &user;
  attributes.verb = "impersonate";
  attributes.resource_request = true;
  attributes.group = std::move(group);
  attributes.version = "v1";
  attributes.resource = std::move(resource);
  attributes.name = std::move(name);
  return attributes;
}

// Every right that becoming `asked` needs.
std::vector<auth::Attributes> NeededRights(const User& user, const User& asked) {
  std::vector<auth::Attributes> needed;
  if (asked.name.starts_with(kServiceAccountPrefix)) {
    std::string_view rest = std::string_view(asked.name).substr(kServiceAccountPrefix.size());
    size_t colon = rest.find(':');
    auth::Attributes attributes = ImpersonateAttributes(
        user, "", "serviceaccounts", std::string(colon == rest.npos ? std::string_view() : rest.substr(colon + 1)));
    attributes.ns = rest.substr(0, colon);
    needed.push_back(std::move(attributes));
  } else {
    needed.push_back(ImpersonateAttributes(user, "", "users", asked.name));
  }
  for (const std::string& group : asked.groups) needed.push_back(ImpersonateAttributes(user, "", "groups", group));
  if (!asked.uid.empty()) needed.push_back(ImpersonateAttributes(user, "authentication.k8s.io", "uids", asked.uid));
  for (const auto& [key, values] : asked.extra) {
    for (const std::string& value : values) {
      auth::Attributes attributes = ImpersonateAttributes(user, "authentication.k8s.io", "userextras", value);
      attributes.subresource = key;
      needed.push_back(std::move(attributes));
    }
  }
  return needed;
}

// The groups that go without saying.
void AddImpliedGroups(User& user) {
  if (user.name.starts_with(kServiceAccountPrefix) && user.groups.empty()) {
    std::string_view rest = std::string_view(user.name).substr(kServiceAccountPrefix.size());
    user.groups.emplace_back("system:serviceaccounts");
    user.groups.push_back("system:serviceaccounts:" + std::string(rest.substr(0, rest.find(':'))));
  }
  if (user.name == kUserAnonymous) {
    if (!user.InGroup(kGroupUnauthenticated)) user.groups.emplace_back(kGroupUnauthenticated);
  } else if (!user.InGroup(kGroupAuthenticated) && !user.InGroup(kGroupUnauthenticated)) {
    user.groups.emplace_back(kGroupAuthenticated);
  }
}

std::string GoStringList(const std::vector<std::string>& list) {
  if (list.empty()) return "[]string(nil)";
  std::string text = "[]string{";
  for (size_t i = 0; i < list.size(); ++i) text += (i > 0 ? ", " : "") + GoQuote(list[i]);
  return text + "}";
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

Result<User> Impersonate(auth::Authorizer& authorizer, const http::Request& request, const RequestInfo& info, User user) {
  std::optional<User> asked = AskedUser(request);
  if (!asked) return user;
  if (asked->name.empty()) {
    return Fail(BadRequestError("requested &user.DefaultInfo{Name:\"\", UID:" + GoQuote(asked->uid) + ", Groups:" +
                                GoStringList(asked->groups) + ", Extra:map[string][]string(nil)} without impersonating a user name"));
  }
  for (const auth::Attributes& attributes : NeededRights(user, *asked)) {
    if (authorizer.Authorize(attributes).decision == auth::Decision::kAllow) continue;
    // The refusal is worded as upstream's constrained impersonation words it: about the request that was to be made.
    auth::Attributes refused = AttributesOf(info, user);
    refused.verb = "impersonate-on:user-info:" + refused.verb;
    std::string what = refused.resource_request ? QualifiedResource(refused.group, refused.resource) + " is forbidden: " : "forbidden: ";
    return Fail(Status(403, "Forbidden", what + ForbiddenMessage(refused)).WithDetails(DetailsOf(refused)));
  }
  AddImpliedGroups(*asked);
  return *asked;
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

Result<void> AuthorizeRequest(auth::Authorizer& authorizer, const auth::Attributes& attributes) {
  auth::Verdict verdict = authorizer.Authorize(attributes);
  if (verdict.decision == auth::Decision::kAllow) return {};
  std::string message = ForbiddenMessage(attributes);
  if (!verdict.reason.empty()) message += ": " + verdict.reason;
  if (!attributes.resource_request) {
    return Fail(Status(403, "Forbidden", "forbidden: " + message).WithDetails(DetailsOf(attributes)));
  }
  return Fail(ForbiddenError(attributes.group, attributes.resource, attributes.name, message));
}

}  // namespace homeostat::server
