#include "auth/rule_cover.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "homeostat/base/text.h"

namespace homeostat::auth {
namespace {

// A rule is a product of lists: a small one may stand for billions of parts.
constexpr size_t kMostParts = 50'000;

template <class List>
bool HasExactly(const List& list, std::string_view wanted) {
  for (std::string_view item : list) if (item == wanted) return true;
  return false;
}

template <class List>
bool Has(const List& list, std::string_view wanted) {
  for (std::string_view item : list) if (item == "*" || item == wanted) return true;
  return false;
}

// "pods/log" is matched by itself, by "*" and by "*/log".
bool ResourceMatches(const PolicyRule& rule, const Attributes& attributes) {
  const std::string& resource = attributes.resource;
  const std::string& subresource = attributes.subresource;
  for (std::string_view own : rule.resources()) {
    if (own == "*") return true;
    if (subresource.empty()) {
      if (own == resource) return true;
      continue;
    }
    size_t slash = own.find('/');
    if (slash == own.npos || own.substr(slash + 1) != subresource) continue;
    if (own.substr(0, slash) == "*" || own.substr(0, slash) == resource) return true;
  }
  return false;
}

// `wanted` may itself end in an asterisk when rules are compared.
bool PathCovers(std::string_view own, std::string_view wanted) {
  if (own == wanted) return true;
  if (!own.ends_with('*')) return false;
  while (own.ends_with('*')) own.remove_suffix(1);
  return wanted.starts_with(own);
}

bool PathMatches(const PolicyRule& rule, std::string_view path) {
  for (std::string_view url : rule.non_resource_urls()) {
    if (url == "*" || PathCovers(url, path)) return true;
  }
  return false;
}

// A rule broken up into its smallest parts: one verb, one group, one resource, at most one name; or one verb, one path.
struct Part {
  std::string_view verb, group, resource, name, url;
  bool is_url = false, has_name = false;
};

// Gives each part of the rule to the visitor, until that says false.
bool VisitParts(const PolicyRule& rule, const std::function<bool(const Part&)>& visit) {
  for (std::string_view group : rule.api_groups()) {
    for (std::string_view resource : rule.resources()) {
      for (std::string_view verb : rule.verbs()) {
        if (rule.resource_names().empty() && !visit({verb, group, resource})) return false;
        for (std::string_view name : rule.resource_names()) {
          if (!visit({verb, group, resource, name, "", false, true})) return false;
        }
      }
    }
  }
  for (std::string_view url : rule.non_resource_urls()) {
    for (std::string_view verb : rule.verbs()) {
      if (!visit({verb, "", "", "", url, true})) return false;
    }
  }
  return true;
}

bool ResourceCovered(const PolicyRule& rule, std::string_view resource) {
  if (Has(rule.resources(), resource)) return true;
  size_t slash = resource.find('/');
  return slash != resource.npos && HasExactly(rule.resources(), "*" + std::string(resource.substr(slash)));
}

bool Covers(const PolicyRule& rule, const Part& part) {
  if (!Has(rule.verbs(), part.verb)) return false;
  if (part.is_url) {
    if (!rule.resource_names().empty()) return false;
    for (std::string_view own : rule.non_resource_urls()) if (PathCovers(own, part.url)) return true;
    return false;
  }
  if (!Has(rule.api_groups(), part.group) || !ResourceCovered(rule, part.resource)) return false;
  return rule.resource_names().empty() || (part.has_name && HasExactly(rule.resource_names(), part.name));
}

std::string Listed(std::string_view name, std::string_view item) { return std::string(name) + ":[" + GoQuote(item) + "]"; }

// Whether one rule covers the other as it stands: what spares breaking up a rule that its owner holds entirely.
bool CoversWhole(const PolicyRule& own, const PolicyRule& rule) {
  if (!rule.non_resource_urls().empty()) return false;
  auto all = [](const auto& list, const auto& is_covered) {
    for (std::string_view item : list) if (!is_covered(item)) return false;
    return true;
  };
  return own.resource_names().empty() && all(rule.verbs(), [&](std::string_view verb) { return Has(own.verbs(), verb); }) &&
         all(rule.api_groups(), [&](std::string_view group) { return Has(own.api_groups(), group); }) &&
         all(rule.resources(), [&](std::string_view resource) { return ResourceCovered(own, resource); });
}

// Parts of resources that differ in nothing but the verb are told as one.
class Teller {
 public:
  void Add(const Part& part) {
    if (part.is_url) {
      texts_.push_back("{" + Listed("NonResourceURLs", part.url) + ", Verbs:[" + GoQuote(part.verb) + "]}");
      return;
    }
    std::string text = Listed("APIGroups", part.group) + ", " + Listed("Resources", part.resource);
    if (part.has_name) text += ", " + Listed("ResourceNames", part.name);
    std::string& verbs = verbs_[std::move(text)];
    verbs += (verbs.empty() ? "" : " ") + GoQuote(part.verb);
  }
  void AddText(std::string text) { texts_.push_back(std::move(text)); }
  std::vector<std::string> Tell() && {
    for (const auto& [text, verbs] : verbs_) texts_.push_back("{" + text + ", Verbs:[" + verbs + "]}");
    std::ranges::sort(texts_);
    texts_.erase(std::ranges::unique(texts_).begin(), texts_.end());
    return std::move(texts_);
  }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::string> verbs_;  // by all but the verbs
};

}  // namespace

bool RuleAllows(const PolicyRule& rule, const Attributes& attributes) {
  if (!Has(rule.verbs(), attributes.verb)) return false;
  if (!attributes.resource_request) return PathMatches(rule, attributes.path);
  if (!Has(rule.api_groups(), attributes.group) || !ResourceMatches(rule, attributes)) return false;
  return rule.resource_names().empty() || HasExactly(rule.resource_names(), attributes.name);
}

std::vector<std::string> UncoveredRules(const std::vector<PolicyRule>& owned, const std::vector<PolicyRule>& needed) {
  Teller teller;
  size_t parts = 0;
  for (const PolicyRule& rule : needed) {
    if (std::ranges::any_of(owned, [&](const PolicyRule& own) { return CoversWhole(own, rule); })) continue;
    bool whole = VisitParts(rule, [&](const Part& part) {
      if (++parts > kMostParts) return false;
      if (!std::ranges::any_of(owned, [&](const PolicyRule& own) { return Covers(own, part); })) teller.Add(part);
      return true;
    });
    if (whole) continue;
    teller.AddText("{more than " + std::to_string(kMostParts) + " combinations, which are not compared one by one}");
    break;
  }
  return std::move(teller).Tell();
}

std::vector<object::Value> UncoveredParts(object::Arena& arena, const std::vector<PolicyRule>& owned, const std::vector<PolicyRule>& needed) {
  std::vector<object::Value> uncovered;
  auto list = [&arena](std::string_view item) {
    object::ListBuilder builder(arena);
    builder.Append(object::Value::String(arena, item));
    return builder.Build();
  };
  size_t parts = 0;
  for (const PolicyRule& rule : needed) {
    VisitParts(rule, [&](const Part& part) {
      if (++parts > kMostParts) return false;
      if (std::ranges::any_of(owned, [&](const PolicyRule& own) { return Covers(own, part); })) return true;
      object::ObjectBuilder made(arena);
      made.Set("verbs", list(part.verb));
      if (part.is_url) {
        made.Set("nonResourceURLs", list(part.url));
      } else {
        made.Set("apiGroups", list(part.group));
        made.Set("resources", list(part.resource));
        if (part.has_name) made.Set("resourceNames", list(part.name));
      }
      uncovered.push_back(made.Build());
      return true;
    });
  }
  return uncovered;
}

}  // namespace homeostat::auth
