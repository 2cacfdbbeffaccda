#include "auth/rbac.h"

#include <algorithm>

#include "auth/refusal.h"
#include "homeostat/base/go_text.h"
#include "homeostat/base/text.h"

namespace homeostat::auth {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

template <class List>
std::vector<std::string> Strings(const List& list) {
  std::vector<std::string> strings;
  for (std::string_view item : list) strings.emplace_back(item);
  return strings;
}

Attributes AttributesOf(const User& user, const kinds::AskedRight& asked) {
  Attributes attributes;
  attributes.user = &user;
  attributes.verb = asked.verb;
  attributes.resource_request = true;
  attributes.group = asked.group;
  attributes.version = "*";
  attributes.resource = asked.resource;
  attributes.subresource = asked.subresource;
  attributes.ns = asked.ns;
  attributes.name = asked.name;
  return attributes;
}

std::vector<PolicyRule> RulesIn(const object::Value& list) {
  std::vector<PolicyRule> rules;
  for (const object::Value& rule : list.items()) rules.emplace_back(rule);
  return rules;
}

// role.rbac.authorization.k8s.io "x" not found; an unknown kind is a fault of its own.
std::string MissingRole(std::string_view kind, std::string_view name, std::string_view resource) {
  if (kind != "Role" && kind != "ClusterRole") return "unsupported role reference kind: " + GoQuote(kind);
  return NotFoundError(kGroup, resource, name).message();
}

std::string_view Singular(std::string_view kind) { return kind == "ClusterRole" ? "clusterrole" : "role"; }

std::string QuotedList(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : " ") + GoQuote(text);
  return "[" + list + "]";
}

}  // namespace

void RbacAuthorizer::Visit(const User& user, std::string_view ns,
                           const std::function<bool(const AppliedBinding&, const RbacIndex::Rules&)>& visit,
                           const std::function<void(std::string_view kind, std::string_view name)>& missing) {
  auto visit_binding = [&](const AppliedBinding& applied) {
    RbacIndex::Rules rules = index_.RulesOf(applied.role_kind(), applied.ns, applied.role_name());
    if (rules.role) return visit(applied, rules);
    missing(applied.role_kind(), applied.role_name());
    return true;
  };
  if (index_.Visit(user, "", visit_binding) && !ns.empty()) index_.Visit(user, ns, visit_binding);
}

Verdict RbacAuthorizer::Authorize(const Attributes& attributes) {
  Verdict verdict;
  std::vector<std::string> faults;
  Visit(
      *attributes.user, attributes.ns,
      [&](const AppliedBinding& applied, const RbacIndex::Rules& rules) {
        for (const object::Value& rule : rules.list.items()) {
          if (!RuleAllows(PolicyRule(rule), attributes)) continue;
          verdict.decision = Decision::kAllow;
          verdict.reason = "RBAC: allowed by " + applied.Source();
          return false;
        }
        return true;
      },
      [&](std::string_view kind, std::string_view name) { faults.push_back(MissingRole(kind, name, Singular(kind))); });
  if (verdict.decision == Decision::kNoOpinion && !faults.empty()) verdict.reason = "RBAC: " + AggregateText(faults);
  return verdict;
}

RuleList RbacAuthorizer::RulesFor(const User& user, std::string_view ns) {
  RuleList list;
  Visit(
      user, ns,
      [&](const AppliedBinding&, const RbacIndex::Rules& rules) {
        for (const PolicyRule& rule : RulesIn(rules.list)) {
          if (!rule.resources().empty()) {
            list.resources.push_back(
                {Strings(rule.verbs()), Strings(rule.api_groups()), Strings(rule.resources()), Strings(rule.resource_names())});
          }
          if (!rule.non_resource_urls().empty()) list.paths.push_back({Strings(rule.verbs()), Strings(rule.non_resource_urls())});
        }
        return true;
      },
      [&](std::string_view kind, std::string_view name) { list.faults.push_back(MissingRole(kind, name, Singular(kind))); });
  if (!list.faults.empty()) list.faults = {AggregateText(list.faults)};
  return list;
}

std::optional<std::string> RbacAuthorizer::Lacking(const User& user, std::string_view ns, const object::Value& needed,
                                                   std::string_view asked) {
  std::vector<PolicyRule> owned;
  std::vector<object::DocumentPtr> keep;
  std::vector<std::string> faults;
  Visit(
      user, ns,
      [&](const AppliedBinding&, const RbacIndex::Rules& rules) {
        keep.push_back(rules.role);
        for (const PolicyRule& rule : RulesIn(rules.list)) owned.push_back(rule);
        return true;
      },
      [&](std::string_view kind, std::string_view name) { faults.push_back(MissingRole(kind, name, asked)); });
  std::vector<std::string> uncovered = UncoveredRules(owned, RulesIn(needed));
  if (uncovered.empty()) return std::nullopt;
  std::string text = "user " + GoQuote(user.name) + " (groups=" + QuotedList(user.groups) +
                     ") is attempting to grant RBAC permissions not currently held:";
  for (const std::string& rule : uncovered) text += "\n" + rule;
  if (!faults.empty()) text += "; resolution errors: [" + AggregateText(faults) + "]";
  return text;
}

Verdict MastersAuthorizer::Authorize(const Attributes& attributes) {
  Verdict verdict;
  if (attributes.user->InGroup(kGroupMasters)) verdict.decision = Decision::kAllow;
  return verdict;
}

Verdict AlwaysAllowAuthorizer::Authorize(const Attributes&) { return {Decision::kAllow, "", ""}; }

RuleList AlwaysAllowAuthorizer::RulesFor(const User&, std::string_view) {
  RuleList all;
  all.resources.push_back({{"*"}, {"*"}, {"*"}, {}});
  all.paths.push_back({{"*"}, {"*"}});
  return all;
}

Verdict UnionAuthorizer::Authorize(const Attributes& attributes) {
  Verdict joined;
  std::vector<std::string> faults;
  for (Authorizer* authorizer : authorizers_) {
    Verdict verdict = authorizer->Authorize(attributes);
    if (verdict.decision != Decision::kNoOpinion) return verdict;
    if (!verdict.evaluation_error.empty()) faults.push_back(verdict.evaluation_error);
    if (!verdict.reason.empty()) joined.reason += (joined.reason.empty() ? "" : "\n") + verdict.reason;
  }
  if (!faults.empty()) joined.evaluation_error = AggregateText(faults);
  return joined;
}

RuleList UnionRuleResolver::RulesFor(const User& user, std::string_view ns) {
  RuleList joined;
  for (RuleResolver* resolver : resolvers_) {
    RuleList list = resolver->RulesFor(user, ns);
    std::ranges::move(list.resources, std::back_inserter(joined.resources));
    std::ranges::move(list.paths, std::back_inserter(joined.paths));
    std::ranges::move(list.faults, std::back_inserter(joined.faults));
    joined.incomplete = joined.incomplete || list.incomplete;
  }
  return joined;
}

bool UserRights::May(const User& user, std::string_view verb, std::string_view group, std::string_view resource, std::string_view ns,
                     std::string_view name) const {
  return authorizer_.Authorize(AttributesOf(user, {verb, group, resource, "", ns, name})).decision == Decision::kAllow;
}

std::optional<std::string> UserRights::Refusal(const User& user, const kinds::AskedRight& asked) const {
  Attributes attributes = AttributesOf(user, asked);
  Verdict verdict = authorizer_.Authorize(attributes);
  if (verdict.decision == Decision::kAllow) return std::nullopt;
  return std::string(auth::Refusal(attributes, verdict.reason).message());
}

}  // namespace homeostat::auth
