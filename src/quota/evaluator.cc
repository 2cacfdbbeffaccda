#include "quota/evaluator.h"

#include <algorithm>

#include "quota/internal/evaluators.h"

namespace homeostat::quota {
namespace {

using object::Quantity;

std::string CountName(std::string_view group, std::string_view plural) {
  std::string name = "count/" + std::string(plural);
  if (!group.empty()) name.append(".").append(group);
  return name;
}

// What was counted before every resource could be.
constexpr std::string_view kAliased[] = {"configmaps", "resourcequotas", "replicationcontrollers", "secrets"};

class ObjectCount : public Evaluator {
 public:
  explicit ObjectCount(Names names) : names_(std::move(names)) {}
  Names Matching(const Names& hard, const Surroundings&) const override { return internal::Intersection(hard, names_); }
  Amounts Usage(const Value&, const Surroundings&) const override {
    Amounts usage;
    for (const std::string& name : names_) usage.emplace(name, Quantity::Of(1));
    return usage;
  }

 private:
  Names names_;
};

struct Ignored {
  std::string_view group, plural;
};
constexpr Ignored kIgnored[] = {
    {"", "bindings"}, {"", "componentstatuses"}, {"authentication.k8s.io", "tokenreviews"}, {"authentication.k8s.io", "selfsubjectreviews"},
    {"authorization.k8s.io", "subjectaccessreviews"}, {"authorization.k8s.io", "selfsubjectaccessreviews"},
    {"authorization.k8s.io", "localsubjectaccessreviews"}, {"authorization.k8s.io", "selfsubjectrulesreviews"},
    {"", "events"}, {"events.k8s.io", "events"},
};

class ServiceEvaluator : public Evaluator {
 public:
  bool Handles(const Attempt& attempt) const override { return attempt.subresource.empty(); }

  Names Matching(const Names& hard, const Surroundings&) const override {
    static const Names kNames{"count/services", "services", "services.nodeports", "services.loadbalancers"};
    return internal::Intersection(hard, kNames);
  }

  Amounts Usage(const Value& service, const Surroundings&) const override {
    Value spec = service.Get("spec"), ports = spec.Get("ports");
    std::string_view type = spec.Get("type").AsString();
    bool balanced = type == "LoadBalancer";
    int64_t node_ports = type == "NodePort" || balanced ? static_cast<int64_t>(ports.size()) : 0;
    // Ports that are yet to be given count as well, unless none will be.
    if (balanced && !spec.Get("allocateLoadBalancerNodePorts").AsBool(true)) {
      node_ports = std::ranges::count_if(ports.items(), [](const Value& port) { return port.Get("nodePort").AsInt() != 0; });
    }
    return {{"count/services", Quantity::Of(1)},
            {"services", Quantity::Of(1)},
            {"services.loadbalancers", Quantity::Of(balanced ? 1 : 0)},
            {"services.nodeports", Quantity::Of(node_ports)}};
  }
};

}  // namespace

namespace internal {

Names Intersection(const Names& a, const Names& b) {
  Names both;
  for (const std::string& name : a) if (b.contains(name)) both.insert(name);
  return both;
}

bool MatchesNames(const ScopeRequirement& requirement, const std::vector<std::string_view>& names) {
  auto listed = [&](std::string_view name) {
    return std::ranges::any_of(requirement.values.items(), [&](const Value& value) { return value.AsString() == name; });
  };
  if (requirement.op == "Exists") return !names.empty();
  if (requirement.op == "DoesNotExist") return names.empty();
  if (names.empty()) return requirement.op == "NotIn";
  return std::ranges::any_of(names, [&](std::string_view name) { return listed(name) == (requirement.op == "In"); });
}

}  // namespace internal

std::vector<ScopeRequirement> ScopesOf(const Value& quota) {
  std::vector<ScopeRequirement> requirements;
  Value spec = quota.Get("spec");
  for (const Value& scope : spec.Get("scopes").items()) requirements.push_back({scope.AsString(), "Exists", Value()});
  for (const Value& item : spec.Get("scopeSelector").Get("matchExpressions").items()) {
    requirements.push_back({item.Get("scopeName").AsString(), item.Get("operator").AsString(), item.Get("values")});
  }
  return requirements;
}

bool Evaluator::IsInScopes(std::span<const ScopeRequirement> requirements, const Value& object) const {
  return std::ranges::all_of(requirements, [&](const ScopeRequirement& requirement) { return IsInScope(requirement, object); });
}

std::unique_ptr<const Evaluator> MakeEvaluator(std::string_view group, std::string_view plural) {
  for (const Ignored& ignored : kIgnored) if (ignored.group == group && ignored.plural == plural) return nullptr;
  if (group.empty()) {
    if (plural == "pods") return internal::MakePodEvaluator();
    if (plural == "services") return std::make_unique<ServiceEvaluator>();
    if (plural == "persistentvolumeclaims") return internal::MakeVolumeClaimEvaluator();
  }
  if (group == "resource.k8s.io" && plural == "resourceclaims") return internal::MakeResourceClaimEvaluator();
  Names names{CountName(group, plural)};
  if (group.empty() && std::ranges::find(kAliased, plural) != std::end(kAliased)) names.emplace(plural);
  return std::make_unique<ObjectCount>(std::move(names));
}

std::vector<GroupResource> ResourcesWithEvaluators() {
  std::vector<GroupResource> resources{{"", "pods"}, {"", "services"}, {"", "persistentvolumeclaims"}, {"resource.k8s.io", "resourceclaims"}};
  for (std::string_view plural : kAliased) resources.push_back({"", std::string(plural)});
  return resources;
}

GroupResource CountedResource(std::string_view name) {
  constexpr std::string_view kPrefix = "count/";
  if (!name.starts_with(kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {"", std::string(name)};
  return {std::string(name.substr(dot + 1)), std::string(name.substr(0, dot))};
}

Amounts CalculateUsage(const Evaluator& evaluator, const Names& names, std::span<const ScopeRequirement> scopes,
                       std::span<const object::DocumentPtr> objects, const Surroundings& around) {
  Amounts used;
  for (const std::string& name : names) used.emplace(name, Quantity());
  for (const object::DocumentPtr& document : objects) {
    const Value& object = document->root();
    if (evaluator.IsInScopes(scopes, object)) AddTo(used, evaluator.Usage(object, around));
  }
  return Mask(used, names);
}

}  // namespace homeostat::quota
