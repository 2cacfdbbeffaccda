#include "server/impersonation.h"

#include <algorithm>
#include <optional>

#include "homeostat/base/text.h"
#include "homeostat/object/names.h"
#include "server/request_chain.h"

namespace homeostat::server {
namespace {

constexpr std::string_view kImpersonateUser = "Impersonate-User";
constexpr std::string_view kImpersonateGroup = "Impersonate-Group";
constexpr std::string_view kImpersonateUid = "Impersonate-Uid";
constexpr std::string_view kImpersonateExtra = "impersonate-extra-";
constexpr std::string_view kNodePrefix = "system:node:";
constexpr std::string_view kNodeNameExtra = "authentication.kubernetes.io/node-name";
constexpr std::string_view kAuthenticationGroup = "authentication.k8s.io";
// From so many on, one right to all of them is asked for before the rights to each.
constexpr size_t kMany = 4;

std::string GoStringList(const std::vector<std::string>& list) {
  if (list.empty()) return "[]string(nil)";
  std::string text = "[]string{";
  for (size_t i = 0; i < list.size(); ++i) text += (i > 0 ? ", " : "") + GoQuote(list[i]);
  return text + "}";
}

// As Go prints the structure with %#v; maps in order of their keys.
std::string GoUser(const User& user) {
  std::string text = "&user.DefaultInfo{Name:\"\", UID:" + GoQuote(user.uid) + ", Groups:" + GoStringList(user.groups) + ", Extra:map[string][]string";
  if (user.extra.empty()) return text + "(nil)}";
  auto extra = user.extra;
  std::ranges::sort(extra);
  text += "{";
  for (size_t i = 0; i < extra.size(); ++i) text += (i > 0 ? ", " : "") + GoQuote(extra[i].first) + ":" + GoStringList(extra[i].second);
  return text + "}}";
}

// The user that the headers describe, as they are; nullopt without such headers.
Result<std::optional<User>> AskedUser(const http::Request& request) {
  User asked;
  asked.name = request.headers.Get(kImpersonateUser);
  asked.uid = request.headers.Get(kImpersonateUid);
  for (std::string_view group : request.headers.GetAll(kImpersonateGroup)) asked.groups.emplace_back(group);
  for (const auto& [name, value] : request.headers.lines()) {
    std::string lower = LowerCase(name);
    if (!lower.starts_with(kImpersonateExtra)) continue;
    std::string key = http::PercentDecode(std::string_view(lower).substr(kImpersonateExtra.size()), false);
    auto found = std::ranges::find_if(asked.extra, [&](const auto& entry) { return entry.first == key; });
    if (found == asked.extra.end()) found = asked.extra.insert(asked.extra.end(), {key, {}});
    found->second.push_back(value);
  }
  if (!asked.name.empty()) return asked;
  if (asked.uid.empty() && asked.groups.empty() && asked.extra.empty()) return std::nullopt;
  return Fail(BadRequestError("requested " + GoUser(asked) + " without impersonating a user name"));
}

struct ServiceAccountName {
  std::string_view ns, name;
};
std::optional<ServiceAccountName> ServiceAccountOf(std::string_view user) {
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  if (!user.starts_with(kPrefix)) return std::nullopt;
  user.remove_prefix(kPrefix.size());
  size_t colon = user.find(':');
  if (colon == user.npos || user.find(':', colon + 1) != user.npos) return std::nullopt;
  ServiceAccountName account{user.substr(0, colon), user.substr(colon + 1)};
  bool valid = object::NameIsDNSLabel(account.ns, false).empty() && object::NameIsDNSSubdomain(account.name, false).empty();
  return valid ? std::optional(account) : std::nullopt;
}

std::optional<std::string_view> NodeNameOf(std::string_view user) {
  if (!user.starts_with(kNodePrefix)) return std::nullopt;
  std::string_view name = user.substr(kNodePrefix.size());
  return object::NameIsDNSSubdomain(name, false).empty() ? std::optional(name) : std::nullopt;
}

bool OnlyNamed(const User& asked) { return asked.uid.empty() && asked.groups.empty() && asked.extra.empty(); }

// A service account whose token says it runs on the node that it wants to be.
bool RunsOn(const User& user, std::string_view node) {
  if (!ServiceAccountOf(user.name)) return false;
  for (const auto& [key, values] : user.extra) {
    if (key == kNodeNameExtra) return values.size() == 1 && values[0] == node;
  }
  return false;
}

// acme.io/path, as Kubernetes wants keys of extras.
bool IsDomainPrefixedPath(std::string_view key) {
  size_t slash = key.find('/');
  return slash != key.npos && slash + 1 < key.size() && object::IsDNS1123Subdomain(key.substr(0, slash)).empty();
}

// What is wrong with extras, in the constrained modes.
std::string FaultOf(const std::vector<std::pair<std::string, std::vector<std::string>>>& extra) {
  for (const auto& [key, values] : extra) {
    if (key.empty()) return "impersonating the empty string key in extra is not allowed";
    if (!IsDomainPrefixedPath(key)) {
      return "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: " + GoQuote(key) +
             ": must be a domain-prefixed path (such as \"acme.io/foo\")";
    }
    if (std::ranges::find(values, "") != values.end()) return "impersonating the empty string value in extra is not allowed";
  }
  return "";
}

// One way of becoming another user: the rights it asks for.
class Mode {
 public:
  // name "": the plain one.
  Mode(auth::Authorizer& authorizer, const User& user, std::string_view name)
      : authorizer_(authorizer), user_(user), name_(name), verb_(name.empty() ? "impersonate" : "impersonate:" + std::string(name)) {}

  // The user that results, or the first refusal.
  Result<User> Check(const RequestInfo& info, const User& asked) {
    if (constrained()) {
      auth::Attributes attributes = AttributesOf(info, user_);
      attributes.verb = "impersonate-on:" + std::string(name_) + ":" + attributes.verb;
      TRY(Ask(attributes));
    }
    User actual = asked;
    TRY(CheckName(asked, actual));
    if (!asked.uid.empty()) TRY(Ask(kAuthenticationGroup, "uids", "", asked.uid));
    TRY(CheckGroups(asked.groups));
    TRY(CheckExtra(asked.extra));
    AddImpliedGroups(actual);
    return actual;
  }

 private:
  bool constrained() const { return !name_.empty(); }
  // The group of users and groups: plain impersonation asks for those of the core group.
  std::string_view NamesGroup() const { return constrained() ? kAuthenticationGroup : std::string_view(); }

  auth::Attributes Make(std::string_view group, std::string_view resource, std::string_view subresource, std::string_view name) const {
    auth::Attributes attributes;
    attributes.user = &user_;
    attributes.verb = verb_;
    attributes.resource_request = true;
    attributes.group = group;
    attributes.version = "v1";
    attributes.resource = resource;
    attributes.subresource = subresource;
    attributes.name = name;
    return attributes;
  }
  // The association, not the node's name, is what the right is to.
  Result<void> Ask(auth::Attributes attributes) {
    if (name_ == "associated-node" && attributes.verb == verb_) attributes.name = "*";
    return AuthorizeRequest(authorizer_, attributes);
  }
  Result<void> Ask(std::string_view group, std::string_view resource, std::string_view subresource, std::string_view name) {
    return Ask(Make(group, resource, subresource, name));
  }
  bool MayAll(std::string_view group, std::string_view resource, std::string_view subresource) {
    return Ask(group, resource, subresource, "*").has_value();
  }

  Result<void> CheckName(const User& asked, User& actual) {
    auth::Attributes attributes = Make(NamesGroup(), "users", "", asked.name);
    auto node = NodeNameOf(asked.name);
    if (constrained() && node) {
      attributes.resource = "nodes";
      attributes.name = *node;
      actual.groups = {std::string(kGroupNodes)};
    }
    if (auto account = ServiceAccountOf(asked.name)) {
      attributes.resource = "serviceaccounts";
      attributes.ns = account->ns;
      attributes.name = account->name;
      if (asked.groups.empty()) actual.groups = {"system:serviceaccounts", "system:serviceaccounts:" + std::string(account->ns)};
    }
    return Ask(attributes);
  }

  Result<void> CheckGroups(const std::vector<std::string>& groups) {
    if (groups.empty()) return {};
    if (constrained()) {
      auto has = [&](std::string_view group) { return std::ranges::find(groups, group) != groups.end(); };
      if (has("")) return Fail(Refusal(Make(NamesGroup(), "groups", "", ""), "impersonating the empty string group is not allowed"));
      if (has(kGroupMasters)) {
        return Fail(Refusal(Make(NamesGroup(), "groups", "", kGroupMasters), "impersonating the system:masters group is not allowed"));
      }
      if (groups.size() >= kMany && MayAll(NamesGroup(), "groups", "")) return {};
    }
    for (const std::string& group : groups) TRY(Ask(NamesGroup(), "groups", "", group));
    return {};
  }

  Result<void> CheckExtra(const std::vector<std::pair<std::string, std::vector<std::string>>>& extra) {
    size_t values_count = 0;
    for (const auto& [key, values] : extra) values_count += values.size();
    if (constrained()) {
      if (std::string fault = FaultOf(extra); !fault.empty()) {
        return Fail(Refusal(Make(kAuthenticationGroup, "userextras", "", ""), fault));
      }
      if (values_count >= kMany && MayAll(kAuthenticationGroup, "userextras", "*")) return {};
    }
    for (const auto& [key, values] : extra) {
      for (const std::string& value : values) TRY(Ask(kAuthenticationGroup, "userextras", key, value));
    }
    return {};
  }

  auth::Authorizer& authorizer_;
  const User& user_;
  std::string_view name_;
  std::string verb_;
};

// The modes that a wish falls under, in the order they are tried.
std::vector<std::string_view> ModesFor(const User& user, const User& asked) {
  auto node = NodeNameOf(asked.name);
  bool account = ServiceAccountOf(asked.name).has_value();
  std::vector<std::string_view> modes;
  if (node && OnlyNamed(asked) && RunsOn(user, *node)) modes.push_back("associated-node");
  if (node && OnlyNamed(asked)) modes.push_back("arbitrary-node");
  if (account && OnlyNamed(asked)) modes.push_back("serviceaccount");
  if (!node && !account) modes.push_back("user-info");
  modes.push_back("");
  return modes;
}

}  // namespace

Result<User> Impersonate(auth::Authorizer& authorizer, const http::Request& request, const RequestInfo& info, User user) {
  TRY_ASSIGN(std::optional<User> asked, AskedUser(request));
  if (!asked) return user;
  std::optional<Status> first;
  for (std::string_view mode : ModesFor(user, *asked)) {
    auto became = Mode(authorizer, user, mode).Check(info, *asked);
    if (became) return became;
    if (!first) first = became.error();
  }
  return Fail(*first);
}

}  // namespace homeostat::server
