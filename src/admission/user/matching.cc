#include "admission/user/matching.h"

#include <algorithm>

namespace homeostat::admission {
namespace {

using object::Value;

std::vector<std::string_view> Texts(const Value& list) {
  std::vector<std::string_view> texts;
  for (const Value& item : list.items()) texts.push_back(item.AsString());
  return texts;
}

bool HasOrAny(const std::vector<std::string_view>& list, std::string_view wanted) {
  return std::ranges::any_of(list, [&](std::string_view item) { return item == "*" || item == wanted; });
}

std::vector<OperationRule> Rules(const Value& list) {
  std::vector<OperationRule> rules;
  for (const Value& rule : list.items()) rules.emplace_back(rule);
  return rules;
}

}  // namespace

OperationRule::OperationRule(const Value& rule)
    : groups_(Texts(rule.Get("apiGroups"))),
      versions_(Texts(rule.Get("apiVersions"))),
      operations_(Texts(rule.Get("operations"))),
      names_(Texts(rule.Get("resourceNames"))),
      scope_(rule.Get("scope").AsString()) {
  for (std::string_view text : Texts(rule.Get("resources"))) {
    size_t slash = text.find('/');
    resources_.emplace_back(text.substr(0, slash), slash == text.npos ? std::string_view() : text.substr(slash + 1));
  }
}

bool OperationRule::IsAbout(const Attributes& attributes) const {
  std::string_view resource = attributes.place().resource.resource;
  return HasOrAny(operations_, attributes.operation()) && std::ranges::any_of(resources_, [&](const auto& entry) {
           return (entry.first == "*" || entry.first == resource) && (entry.second == "*" || entry.second == attributes.subresource());
         }) && (names_.empty() || std::ranges::find(names_, attributes.name()) != names_.end());
}

bool OperationRule::Matches(const Attributes& attributes, const ResourceName& resource) const {
  if (!scope_.empty() && scope_ != "*") {
    bool cluster = resource == ResourceName{"", "v1", "namespaces"} || attributes.ns().empty();
    if (scope_ != "Namespaced" && scope_ != "Cluster") return false;
    if (cluster != (scope_ == "Cluster")) return false;
  }
  return HasOrAny(groups_, resource.group) && HasOrAny(versions_, resource.version) && IsAbout(attributes);
}

MatchCriteria::Selector MatchCriteria::ReadSelector(const Value& selector) {
  if (!selector) return object::LabelSelector();  // such configurations are not admitted: they have their default, everything
  return object::LabelSelector::FromLabelSelector(selector);
}

MatchCriteria MatchCriteria::OfPolicy(const Value& match) {
  MatchCriteria criteria;
  criteria.rules_ = Rules(match.Get("resourceRules"));
  criteria.excluded_ = Rules(match.Get("excludeResourceRules"));
  criteria.equivalent_ = match.Get("matchPolicy").AsString() == "Equivalent";
  criteria.everything_without_rules_ = true;
  criteria.namespaces_ = ReadSelector(match.Get("namespaceSelector"));
  criteria.of_objects_ = ReadSelector(match.Get("objectSelector"));
  return criteria;
}

MatchCriteria MatchCriteria::OfWebhook(const Value& webhook) {
  MatchCriteria criteria;
  criteria.rules_ = Rules(webhook.Get("rules"));
  criteria.equivalent_ = webhook.Get("matchPolicy").AsString() == "Equivalent";
  criteria.namespaces_ = ReadSelector(webhook.Get("namespaceSelector"));
  criteria.of_objects_ = ReadSelector(webhook.Get("objectSelector"));
  return criteria;
}

Result<bool> MatchCriteria::MatchesNamespace(const Attributes& attributes, const kinds::ObjectReader& objects) const {
  bool namespaces = attributes.place().resource.resource == "namespaces";
  if (attributes.ns().empty() && !namespaces) return true;
  if (!namespaces_) return Fail(InternalError(namespaces_.error().message()));
  if (namespaces_->IsEverything()) return true;
  const Request& request = attributes.request();
  if (namespaces && attributes.subresource().empty() && (request.creates() || request.updates())) {
    return namespaces_->Matches(request.object.Path({"metadata", "labels"}));
  }
  object::DocumentPtr ns = objects.Get("", "namespaces", "", attributes.ns());
  if (!ns) return Fail(NotFoundError("", "namespaces", attributes.ns()));
  return namespaces_->Matches(ns->root().Path({"metadata", "labels"}));
}

Result<bool> MatchCriteria::MatchesObject(const Attributes& attributes) const {
  if (!of_objects_) return Fail(InternalError(of_objects_.error().message()));
  if (of_objects_->IsEverything()) return true;
  const schema::Type* type = attributes.place().type;
  if (type == nullptr || type->FindField("metadata") == nullptr) return false;  // options of a connection have no labels
  auto matches = [&](const Value& object) { return object && of_objects_->Matches(object.Path({"metadata", "labels"})); };
  return matches(attributes.request().object) || matches(attributes.request().old_object);
}

const Place* MatchCriteria::FindPlace(const std::vector<OperationRule>& rules, Attributes& attributes) const {
  const Place& asked = attributes.place();
  for (const OperationRule& rule : rules) if (rule.Matches(attributes, asked.resource)) return &asked;
  if (!equivalent_ || std::ranges::none_of(rules, [&](const OperationRule& rule) { return rule.IsAbout(attributes); })) return nullptr;
  const std::deque<Place>& others = attributes.equivalents();
  for (const OperationRule& rule : rules) {
    for (const Place& place : others) if (rule.Matches(attributes, place.resource)) return &place;
  }
  return nullptr;
}

Result<const Place*> MatchCriteria::Match(Attributes& attributes, const kinds::ObjectReader& objects) const {
  // The rules first: they leave most requests alone at once, and need nothing looked up.
  const Place* place = rules_.empty() && everything_without_rules_ ? &attributes.place() : FindPlace(rules_, attributes);
  if (place == nullptr || FindPlace(excluded_, attributes) != nullptr) return nullptr;
  Result<bool> in_namespace = MatchesNamespace(attributes, objects);
  if (in_namespace && !*in_namespace) return nullptr;
  Result<bool> selected = MatchesObject(attributes);
  if (selected && !*selected) return nullptr;
  // Only what applies otherwise may fail.
  if (!in_namespace) return Fail(in_namespace.error());
  if (!selected) return Fail(selected.error());
  return place;
}

}  // namespace homeostat::admission
