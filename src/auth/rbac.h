// RBAC: who may do what, by Roles, ClusterRoles and their bindings. Also what a user may do at all, for reviews and for the
// check that nobody grants more than they have. Source: rbac.authorization.k8s.io/v1 and upstream's rule matching.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/authorizer.h"
#include "homeostat/api/rbac/v1.h"
#include "homeostat/object/value.h"
#include "kinds/behaviour.h"

namespace homeostat::auth {

using api::rbac::v1::PolicyRule;

// True if the rule lets the request through.
bool RuleAllows(const PolicyRule& rule, const Attributes& attributes);

// The rules of `owner` that `needed` asks for and does not get, broken up as upstream prints them; empty: all are covered.
std::vector<std::string> UncoveredRules(const std::vector<PolicyRule>& owner, const std::vector<PolicyRule>& needed);

// One rule that applies to a user, and where it comes from.
struct AppliedRule {
  PolicyRule rule;
  object::DocumentPtr keep;
  std::string source;   // ClusterRoleBinding "x" of ClusterRole "y" to User "z"
};

// Reads roles and bindings as they are now. Loop only.
class RbacAuthorizer : public Authorizer, public RuleResolver {
 public:
  explicit RbacAuthorizer(const kinds::ObjectReader& objects) : objects_(objects) {}

  Verdict Authorize(const Attributes& attributes) override;
  void RulesFor(const User& user, std::string_view ns, std::vector<ResourceRule>& resource_rules,
                std::vector<NonResourceRule>& non_resource_rules, std::vector<std::string>& errors) override;

  // Every rule that applies to the user in a namespace ("": cluster-wide ones only), until the visitor says false.
  void VisitRules(const User& user, std::string_view ns, const std::function<bool(const AppliedRule&)>& visit) const;
  // The rules of a role that a reference names; null document if there is none.
  std::pair<object::DocumentPtr, std::vector<PolicyRule>> RulesOf(std::string_view role_kind, std::string_view ns,
                                                                  std::string_view name) const;

 private:
  bool VisitBinding(const User& user, const object::DocumentPtr& binding, std::string_view binding_kind, std::string_view ns,
                    const std::function<bool(const AppliedRule&)>& visit) const;

  const kinds::ObjectReader& objects_;
};

// system:masters may do everything, whatever the roles say.
class MastersAuthorizer : public Authorizer {
 public:
  Verdict Authorize(const Attributes& attributes) override;
};

// Asks several in order: the first that allows or denies decides. Reasons of those without opinion are joined.
class UnionAuthorizer : public Authorizer {
 public:
  explicit UnionAuthorizer(std::vector<Authorizer*> authorizers) : authorizers_(std::move(authorizers)) {}
  Verdict Authorize(const Attributes& attributes) override;

 private:
  std::vector<Authorizer*> authorizers_;
};

}  // namespace homeostat::auth
