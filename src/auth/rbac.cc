#include "auth/rbac.h"

#include <algorithm>

#include "homeostat/base/text.h"

namespace homeostat::auth {
namespace {

using api::rbac::v1::ClusterRole;
using api::rbac::v1::ClusterRoleBinding;
using api::rbac::v1::Role;
using api::rbac::v1::Subject;

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";
constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";

template <class List>
bool Has(const List& list, std::string_view wanted) {
  for (std::string_view item : list) if (item == "*" || item == wanted) return true;
  return false;
}

template <class List>
bool HasExactly(const List& list, std::string_view wanted) {
  for (std::string_view item : list) if (item == wanted) return true;
  return false;
}

// "pods/log" is matched by itself, by "*" and by "*/log".
bool ResourceMatches(const PolicyRule& rule, const Attributes& attributes) {
  std::string combined = attributes.resource;
  if (!attributes.subresource.empty()) combined += "/" + attributes.subresource;
  std::string any_with_subresource = "*/" + attributes.subresource;
  for (std::string_view resource : rule.resources()) {
    if (resource == "*" || resource == combined) return true;
    if (!attributes.subresource.empty() && resource == any_with_subresource) return true;
  }
  return false;
}

bool PathMatches(const PolicyRule& rule, std::string_view path) {
  for (std::string_view url : rule.non_resource_urls()) {
    if (url == "*" || url == path) return true;
    if (url.ends_with('*') && path.starts_with(url.substr(0, url.size() - 1))) return true;
  }
  return false;
}

bool SubjectIs(const Subject& subject, const User& user, std::string_view binding_namespace) {
  if (subject.kind() == "User") return subject.name() == user.name;
  if (subject.kind() == "Group") return user.InGroup(subject.name());
  if (subject.kind() != "ServiceAccount" || !user.name.starts_with(kServiceAccountPrefix)) return false;
  std::string_view ns = subject.namespace_().empty() ? binding_namespace : subject.namespace_();
  if (ns.empty()) return false;
  return user.name == std::string(kServiceAccountPrefix) + std::string(ns) + ":" + std::string(subject.name());
}

std::string Describe(const Subject& subject, std::string_view binding_namespace) {
  if (subject.kind() != "ServiceAccount") return std::string(subject.kind()) + " " + GoQuote(subject.name());
  std::string_view ns = subject.namespace_().empty() ? binding_namespace : subject.namespace_();
  return "ServiceAccount " + GoQuote(std::string(subject.name()) + "/" + std::string(ns));
}

// A rule broken up into its smallest parts: one verb, one group, one resource, at most one name; or one verb, one path.
struct Part {
  std::string verb, group, resource, name, url;
  bool has_name = false;
};

std::vector<Part> BreakUp(const PolicyRule& rule) {
  std::vector<Part> parts;
  for (std::string_view verb : rule.verbs()) {
    for (std::string_view group : rule.api_groups()) {
      for (std::string_view resource : rule.resources()) {
        Part part{std::string(verb), std::string(group), std::string(resource), "", "", false};
        if (rule.resource_names().empty()) parts.push_back(part);
        for (std::string_view name : rule.resource_names()) {
          part.name = name;
          part.has_name = true;
          parts.push_back(part);
        }
      }
    }
    for (std::string_view url : rule.non_resource_urls()) parts.push_back(Part{std::string(verb), "", "", "", std::string(url), false});
  }
  return parts;
}

bool UrlCovered(const PolicyRule& rule, std::string_view url) {
  for (std::string_view owned : rule.non_resource_urls()) {
    if (owned == "*" || owned == url) return true;
    if (owned.ends_with('*') && url.starts_with(owned.substr(0, owned.size() - 1))) return true;
  }
  return false;
}

bool ResourceCovered(const PolicyRule& rule, std::string_view resource) {
  if (Has(rule.resources(), resource)) return true;
  size_t slash = resource.find('/');
  return slash != resource.npos && HasExactly(rule.resources(), "*" + std::string(resource.substr(slash)));
}

bool Covers(const PolicyRule& rule, const Part& part) {
  if (!Has(rule.verbs(), part.verb)) return false;
  if (!part.url.empty()) return UrlCovered(rule, part.url);
  if (!Has(rule.api_groups(), part.group) || !ResourceCovered(rule, part.resource)) return false;
  if (rule.resource_names().empty()) return true;
  return part.has_name && HasExactly(rule.resource_names(), part.name);
}

// Parts that differ in nothing but the verb are told as one.
std::vector<std::string> Compact(const std::vector<Part>& parts) {
  std::vector<std::pair<std::string, std::vector<std::string>>> grouped;
  for (const Part& part : parts) {
    std::string key = part.url.empty() ? "APIGroups:[" + GoQuote(part.group) + "], Resources:[" + GoQuote(part.resource) + "]"
                                       : "NonResourceURLs:[" + GoQuote(part.url) + "]";
    if (part.has_name) key += ", ResourceNames:[" + GoQuote(part.name) + "]";
    auto found = std::ranges::find_if(grouped, [&](const auto& entry) { return entry.first == key; });
    if (found == grouped.end()) found = grouped.insert(grouped.end(), {key, {}});
    found->second.push_back(GoQuote(part.verb));
  }
  std::vector<std::string> texts;
  for (const auto& [key, verbs] : grouped) {
    std::string joined;
    for (const std::string& verb : verbs) joined += (joined.empty() ? "" : " ") + verb;
    texts.push_back("{" + key + ", Verbs:[" + joined + "]}");
  }
  std::ranges::sort(texts);
  return texts;
}

template <class List>
std::vector<std::string> Strings(const List& list) {
  std::vector<std::string> strings;
  for (std::string_view item : list) strings.emplace_back(item);
  return strings;
}

}  // namespace

bool RuleAllows(const PolicyRule& rule, const Attributes& attributes) {
  if (!Has(rule.verbs(), attributes.verb)) return false;
  if (!attributes.resource_request) return PathMatches(rule, attributes.path);
  if (!Has(rule.api_groups(), attributes.group) || !ResourceMatches(rule, attributes)) return false;
  return rule.resource_names().empty() || HasExactly(rule.resource_names(), attributes.name);
}

std::vector<std::string> UncoveredRules(const std::vector<PolicyRule>& owner, const std::vector<PolicyRule>& needed) {
  std::vector<Part> uncovered;
  for (const PolicyRule& rule : needed) {
    for (Part& part : BreakUp(rule)) {
      bool covered = std::ranges::any_of(owner, [&](const PolicyRule& owned) { return Covers(owned, part); });
      if (!covered) uncovered.push_back(std::move(part));
    }
  }
  return Compact(uncovered);
}

std::pair<object::DocumentPtr, std::vector<PolicyRule>> RbacAuthorizer::RulesOf(std::string_view role_kind, std::string_view ns,
                                                                                std::string_view name) const {
  bool cluster = role_kind == "ClusterRole";
  object::DocumentPtr role = objects_.Get(kGroup, cluster ? "clusterroles" : "roles", cluster ? std::string_view() : ns, name);
  std::vector<PolicyRule> rules;
  if (!role) return {nullptr, rules};
  if (cluster) {
    for (PolicyRule rule : ClusterRole(role->root()).rules()) rules.push_back(rule);
  } else {
    for (PolicyRule rule : Role(role->root()).rules()) rules.push_back(rule);
  }
  return {role, rules};
}

bool RbacAuthorizer::VisitBinding(const User& user, const object::DocumentPtr& document, std::string_view binding_kind,
                                  std::string_view ns, const std::function<bool(const AppliedRule&)>& visit) const {
  // Both kinds of binding have the same fields at the same places.
  ClusterRoleBinding binding(document->root());
  std::string subject_text;
  bool applies = false;
  for (Subject subject : binding.subjects()) {
    if (!SubjectIs(subject, user, ns)) continue;
    applies = true;
    subject_text = Describe(subject, ns);
    break;
  }
  if (!applies) return true;
  auto [role, rules] = RulesOf(binding.role_ref().kind(), ns, binding.role_ref().name());
  std::string name(binding.metadata().name());
  if (!ns.empty()) name += "/" + std::string(ns);
  std::string source = std::string(binding_kind) + " " + GoQuote(name) + " of " + std::string(binding.role_ref().kind()) + " " +
                       GoQuote(binding.role_ref().name()) + " to " + subject_text;
  for (const PolicyRule& rule : rules) {
    if (!visit(AppliedRule{rule, role, source})) return false;
  }
  return true;
}

void RbacAuthorizer::VisitRules(const User& user, std::string_view ns, const std::function<bool(const AppliedRule&)>& visit) const {
  for (const object::DocumentPtr& binding : objects_.List(kGroup, "clusterrolebindings", "")) {
    if (!VisitBinding(user, binding, "ClusterRoleBinding", "", visit)) return;
  }
  if (ns.empty()) return;
  for (const object::DocumentPtr& binding : objects_.List(kGroup, "rolebindings", ns)) {
    if (!VisitBinding(user, binding, "RoleBinding", ns, visit)) return;
  }
}

Verdict RbacAuthorizer::Authorize(const Attributes& attributes) {
  Verdict verdict;
  VisitRules(*attributes.user, attributes.resource_request ? std::string_view(attributes.ns) : std::string_view(),
             [&](const AppliedRule& applied) {
               if (!RuleAllows(applied.rule, attributes)) return true;
               verdict.decision = Decision::kAllow;
               verdict.reason = "RBAC: allowed by " + applied.source;
               return false;
             });
  return verdict;
}

void RbacAuthorizer::RulesFor(const User& user, std::string_view ns, std::vector<ResourceRule>& resource_rules,
                              std::vector<NonResourceRule>& non_resource_rules, std::vector<std::string>&) {
  VisitRules(user, ns, [&](const AppliedRule& applied) {
    const PolicyRule& rule = applied.rule;
    if (!rule.resources().empty()) {
      resource_rules.push_back({Strings(rule.verbs()), Strings(rule.api_groups()), Strings(rule.resources()), Strings(rule.resource_names())});
    }
    if (!rule.non_resource_urls().empty()) non_resource_rules.push_back({Strings(rule.verbs()), Strings(rule.non_resource_urls())});
    return true;
  });
}

Verdict MastersAuthorizer::Authorize(const Attributes& attributes) {
  Verdict verdict;
  if (attributes.user->InGroup(kGroupMasters)) verdict.decision = Decision::kAllow;
  return verdict;
}

Verdict UnionAuthorizer::Authorize(const Attributes& attributes) {
  Verdict joined;
  for (Authorizer* authorizer : authorizers_) {
    Verdict verdict = authorizer->Authorize(attributes);
    if (verdict.decision != Decision::kNoOpinion) return verdict;
    if (verdict.reason.empty()) continue;
    if (!joined.reason.empty()) joined.reason += "\n";
    joined.reason += verdict.reason;
  }
  return joined;
}

}  // namespace homeostat::auth
