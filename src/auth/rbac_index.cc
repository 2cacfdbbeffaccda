#include "auth/rbac_index.h"

#include <algorithm>

#include "homeostat/api/rbac/v1.h"
#include "homeostat/base/text.h"

namespace homeostat::auth {
namespace {

using api::rbac::v1::ClusterRoleBinding;
using api::rbac::v1::Subject;

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";
// Namespaces and roles that are kept at a time; beyond it everything is made anew on demand.
constexpr size_t kMostScopes = 2'000, kMostRoles = 5'000;

std::string_view NamespaceOf(const Subject& subject, std::string_view binding_namespace) {
  return subject.namespace_().empty() ? binding_namespace : subject.namespace_();
}

std::string Describe(const Subject& subject, std::string_view binding_namespace) {
  if (subject.kind() != "ServiceAccount") return std::string(subject.kind()) + " " + GoQuote(subject.name());
  return "ServiceAccount " + GoQuote(std::string(subject.name()) + "/" + std::string(NamespaceOf(subject, binding_namespace)));
}

// Both kinds of binding have the same fields at the same places.
ClusterRoleBinding ViewOf(const object::DocumentPtr& binding) { return ClusterRoleBinding(binding->root()); }

}  // namespace

std::string_view AppliedBinding::role_kind() const { return ViewOf(binding).role_ref().kind(); }
std::string_view AppliedBinding::role_name() const { return ViewOf(binding).role_ref().name(); }

std::string AppliedBinding::Source() const {
  ClusterRoleBinding view = ViewOf(binding);
  std::string name(view.metadata().name());
  if (!ns.empty()) name += "/" + std::string(ns);
  return std::string(ns.empty() ? "ClusterRoleBinding " : "RoleBinding ") + GoQuote(name) + " of " + std::string(role_kind()) + " " +
         GoQuote(role_name()) + " to " + Describe(view.subjects()[subject], ns);
}

void RbacIndex::Forget(std::string_view plural, std::string_view ns, std::string_view name) {
  if (plural == "clusterrolebindings" || plural == "rolebindings") {
    scopes_.erase(std::string(ns));
  } else {
    roles_.erase(std::string(ns) + "/" + std::string(name));
  }
}

const RbacIndex::Scope& RbacIndex::ScopeOf(std::string_view ns) {
  auto found = scopes_.find(std::string(ns));
  if (found != scopes_.end()) return found->second;
  if (scopes_.size() >= kMostScopes) scopes_.clear();
  Scope& scope = scopes_[std::string(ns)];
  scope.bindings = objects_.List(kGroup, ns.empty() ? "clusterrolebindings" : "rolebindings", ns);
  for (uint32_t b = 0; b < scope.bindings.size(); ++b) {
    uint32_t s = 0;
    for (Subject subject : ViewOf(scope.bindings[b]).subjects()) {
      Place place{b, s++};
      std::string name(subject.name());
      if (subject.kind() == "User") scope.users[name].push_back(place);
      if (subject.kind() == "Group") scope.groups[name].push_back(place);
      if (subject.kind() != "ServiceAccount") continue;
      std::string_view account_namespace = NamespaceOf(subject, ns);
      if (account_namespace.empty()) continue;
      scope.users[std::string(kServiceAccountPrefix) + std::string(account_namespace) + ":" + name].push_back(place);
    }
  }
  return scope;
}

bool RbacIndex::Visit(const User& user, std::string_view ns, const std::function<bool(const AppliedBinding&)>& visit) {
  const Scope& scope = ScopeOf(ns);
  std::vector<Place> places;
  auto gather = [&](const auto& map, const std::string& name) {
    if (auto found = map.find(name); found != map.end()) places.insert(places.end(), found->second.begin(), found->second.end());
  };
  gather(scope.users, user.name);
  for (const std::string& group : user.groups) gather(scope.groups, group);
  std::ranges::sort(places);
  // A binding counts once, by its first subject that fits.
  places.erase(std::ranges::unique(places, {}, &Place::binding).begin(), places.end());
  for (const Place& place : places) {
    if (!visit(AppliedBinding{scope.bindings[place.binding], ns, place.subject})) return false;
  }
  return true;
}

RbacIndex::Rules RbacIndex::RulesOf(std::string_view role_kind, std::string_view ns, std::string_view name) {
  bool cluster = role_kind == "ClusterRole";
  if (!cluster && (role_kind != "Role" || ns.empty())) return {};
  std::string_view role_namespace = cluster ? std::string_view() : ns;
  std::string key = std::string(role_namespace) + "/" + std::string(name);
  auto found = roles_.find(key);
  if (found == roles_.end()) {
    if (roles_.size() >= kMostRoles) roles_.clear();
    object::DocumentPtr role = objects_.Get(kGroup, cluster ? "clusterroles" : "roles", role_namespace, name);
    if (!role) return {};
    found = roles_.emplace(std::move(key), std::move(role)).first;
  }
  return {found->second, found->second->root().Get("rules")};
}

}  // namespace homeostat::auth
