// RBAC: who may do what, by Roles, ClusterRoles and their bindings. Also what a user may do at all, for reviews and for the
// check that nobody grants more than they have. Source: rbac.authorization.k8s.io/v1 and upstream's rule matching.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/authorizer.h"
#include "auth/rbac_index.h"
#include "auth/rule_cover.h"
#include "homeostat/object/value.h"
#include "kinds/behaviour.h"

namespace homeostat::auth {

// Goes by the roles and bindings there are. Loop only.
class RbacAuthorizer : public Authorizer, public RuleResolver {
 public:
  explicit RbacAuthorizer(const kinds::ObjectReader& objects) : index_(objects) {}

  Verdict Authorize(const Attributes& attributes) override;
  RuleList RulesFor(const User& user, std::string_view ns) override;

  // Must be told of every write to roles, clusterroles, rolebindings and clusterrolebindings.
  void Forget(std::string_view plural, std::string_view ns, std::string_view name) { index_.Forget(plural, ns, name); }

  // Nothing if the user has every one of the rules in that namespace; else upstream's text with those that are missing. A bound
  // role that is missing is named as one of `asked`.
  std::optional<std::string> Lacking(const User& user, std::string_view ns, const object::Value& rules, std::string_view asked);

 private:
  // Every role that applies to the user; those that are missing go to `missing` with their kind and name.
  void Visit(const User& user, std::string_view ns, const std::function<bool(const AppliedBinding&, const RbacIndex::Rules&)>& visit,
             const std::function<void(std::string_view kind, std::string_view name)>& missing);

  RbacIndex index_;
};

// system:masters may do everything, whatever the roles say.
class MastersAuthorizer : public Authorizer {
 public:
  Verdict Authorize(const Attributes& attributes) override;
};

// Everybody may do everything: for tests, and where something in front of the server decides.
class AlwaysAllowAuthorizer : public Authorizer, public RuleResolver {
 public:
  Verdict Authorize(const Attributes& attributes) override;
  RuleList RulesFor(const User& user, std::string_view ns) override;
};

// Asks several in order: the first that allows or denies decides. Reasons of those without opinion are joined.
class UnionAuthorizer : public Authorizer {
 public:
  explicit UnionAuthorizer(std::vector<Authorizer*> authorizers) : authorizers_(std::move(authorizers)) {}
  Verdict Authorize(const Attributes& attributes) override;

 private:
  std::vector<Authorizer*> authorizers_;
};

// The rules of several, in order.
class UnionRuleResolver : public RuleResolver {
 public:
  explicit UnionRuleResolver(std::vector<RuleResolver*> resolvers) : resolvers_(std::move(resolvers)) {}
  RuleList RulesFor(const User& user, std::string_view ns) override;

 private:
  std::vector<RuleResolver*> resolvers_;
};

// What writers may do beside their writes, for kinds' rules: any authorizer's word, and RBAC's rules.
class UserRights : public kinds::Rights {
 public:
  UserRights(Authorizer& authorizer, RbacAuthorizer& rbac) : authorizer_(authorizer), rbac_(rbac) {}
  bool May(const User& user, std::string_view verb, std::string_view group, std::string_view resource, std::string_view ns,
           std::string_view name) const override;
  std::optional<std::string> Refusal(const User& user, const kinds::AskedRight& asked) const override;
  std::optional<std::string> Lacking(const User& user, std::string_view ns, const object::Value& rules,
                                     std::string_view asked) const override {
    return rbac_.Lacking(user, ns, rules, asked);
  }

 private:
  Authorizer& authorizer_;
  RbacAuthorizer& rbac_;
};

}  // namespace homeostat::auth
