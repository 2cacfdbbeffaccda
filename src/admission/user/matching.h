// What a policy, a binding or a webhook is for: rules of operations on resources, and selectors of namespaces and objects.
//
// Source of the rules: apiserver's admission/plugin/policy/matching and webhook/{generic,predicates}.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/user/attributes.h"
#include "homeostat/object/selectors.h"

namespace homeostat::admission {

// A RuleWithOperations, or a NamedRuleWithOperations. Texts are those of the tree it was made of, which must outlive it.
class OperationRule {
 public:
  explicit OperationRule(const object::Value& rule);
  // Its operations, resources and names, which a request and its equivalents have in common.
  bool IsAbout(const Attributes& attributes) const;
  // resource: the request's, or an equivalent one.
  bool Matches(const Attributes& attributes, const ResourceName& resource) const;

 private:
  std::vector<std::string_view> groups_, versions_, operations_, names_;
  std::vector<std::pair<std::string_view, std::string_view>> resources_;  // resource and subresource, each may be *
  std::string_view scope_;
};

// Made once from a configuration, used for every request. Texts are those of the tree, which must outlive it.
class MatchCriteria {
 public:
  // MatchResources of a policy or binding. Without rules everything matches.
  static MatchCriteria OfPolicy(const object::Value& match_resources);
  // A webhook of a configuration. Without rules nothing matches.
  static MatchCriteria OfWebhook(const object::Value& webhook);

  // The place at which the request is what they are for, one of the attributes'; null: it is none of theirs. An error is a fault
  // of a selector or a missing namespace, and only comes when everything else matches.
  Result<const Place*> Match(Attributes& attributes, const kinds::ObjectReader& objects) const;

 private:
  using Selector = Result<object::LabelSelector>;
  static Selector ReadSelector(const object::Value& selector);
  Result<bool> MatchesNamespace(const Attributes& attributes, const kinds::ObjectReader& objects) const;
  Result<bool> MatchesObject(const Attributes& attributes) const;
  const Place* FindPlace(const std::vector<OperationRule>& rules, Attributes& attributes) const;

  std::vector<OperationRule> rules_, excluded_;
  bool equivalent_ = false;
  bool everything_without_rules_ = false;
  Selector namespaces_, of_objects_;
};

}  // namespace homeostat::admission
