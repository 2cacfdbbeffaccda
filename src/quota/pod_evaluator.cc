// Pods: their number, and what their containers request and are limited to.
#include <algorithm>

#include "homeostat/object/names.h"
#include "homeostat/object/time.h"
#include "quota/internal/evaluators.h"
#include "quota/pod_resources.h"

namespace homeostat::quota {

using object::Quantity;

namespace {

constexpr std::string_view kRequestsPrefix = "requests.", kHugePages = "hugepages-", kRequestsHugePages = "requests.hugepages-";
constexpr std::string_view kDeviceClassPrefix = "deviceclass.resource.kubernetes.io/", kRequestsDeviceClass = "requests.deviceclass.resource.kubernetes.io/";

const Names& PodNames() {
  static const Names kNames{"count/pods", "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
                            "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods"};
  return kNames;
}

// Who counts these demands that every container names them; a rule that upstream keeps though it regrets it.
const Names& DemandedNames() {
  static const Names kNames{"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"};
  return kNames;
}

bool IsNativeResource(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}

bool IsExtendedResource(std::string_view name) {
  if (name.starts_with(kDeviceClassPrefix)) return true;
  if (IsNativeResource(name) || name.starts_with(kRequestsPrefix)) return false;
  return object::IsQualifiedName(std::string(kRequestsPrefix) + std::string(name)).empty();
}

Amounts ComputeUsage(const Amounts& requests, const Amounts& limits) {
  Amounts usage{{"pods", Quantity::Of(1)}};
  for (const auto& [name, amount] : requests) {
    bool plain = name == "cpu" || name == "memory" || name == "ephemeral-storage" || name.starts_with(kHugePages);
    if (plain) usage.insert_or_assign(name, amount);
    if (plain || IsExtendedResource(name)) usage.insert_or_assign(std::string(kRequestsPrefix) + name, amount);
  }
  for (std::string_view name : {"cpu", "memory", "ephemeral-storage"}) {
    if (auto limit = limits.find(name); limit != limits.end()) usage.insert_or_assign("limits." + std::string(name), limit->second);
  }
  return usage;
}

bool CrossesNamespaces(const Value& term) { return !term.Get("namespaces").empty() || term.Get("namespaceSelector"); }

bool UsesCrossNamespaceAffinity(const Value& pod) {
  for (std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    Value affinity = pod.Get("spec").Get("affinity").Get(kind);
    for (const Value& term : affinity.Get("requiredDuringSchedulingIgnoredDuringExecution").items()) {
      if (CrossesNamespaces(term)) return true;
    }
    for (const Value& term : affinity.Get("preferredDuringSchedulingIgnoredDuringExecution").items()) {
      if (CrossesNamespaces(term.Get("podAffinityTerm"))) return true;
    }
  }
  return false;
}

class PodEvaluator : public Evaluator {
 public:
  bool Handles(const Attempt& attempt) const override {
    if (attempt.subresource == "resize") return attempt.update;
    if (!attempt.subresource.empty()) return false;
    return !attempt.update || IsPodTerminating(attempt.object) != IsPodTerminating(attempt.old_object);
  }

  Names Matching(const Names& hard, const Surroundings&) const override {
    Names matching = internal::Intersection(hard, PodNames());
    for (const std::string& name : hard) {
      if (name.starts_with(kHugePages) || name.starts_with(kRequestsHugePages) || internal::IsExtendedResourceForQuota(name)) matching.insert(name);
    }
    return matching;
  }

  Amounts Usage(const Value& pod, const Surroundings& around) const override {
    Amounts usage{{"count/pods", Quantity::Of(1)}};
    if (!IsPodCharged(pod, around.Now())) return usage;
    PodResourceOptions options{.use_status = true};
    AddTo(usage, ComputeUsage(PodRequests(pod, options), PodLimits(pod, options)));
    return usage;
  }

  std::string Fault(const Names& required, const Value& pod) const override {
    if (HasPodLevelResources(pod)) return {};
    Names demanded = internal::Intersection(required, DemandedNames());
    std::map<std::string, Names> missing;  // by resource: the containers that lack it
    for (std::string_view list : {"containers", "initContainers"}) {
      for (const Value& container : pod.Get("spec").Get(list).items()) {
        Value resources = container.Get("resources");
        Amounts named = ComputeUsage(ParseAmounts(resources.Get("requests")), ParseAmounts(resources.Get("limits")));
        for (const std::string& name : demanded) {
          if (!named.contains(name)) missing[name].emplace(container.Get("name").AsString());
        }
      }
    }
    if (missing.empty()) return {};
    std::string text;
    for (const auto& [name, containers] : missing) text += (text.empty() ? "must specify " : "; ") + name + " for: " + ToText(containers);
    return text;
  }

  bool IsInScope(const ScopeRequirement& requirement, const Value& pod) const override {
    std::string_view scope = requirement.scope;
    if (scope == "Terminating") return IsPodTerminating(pod);
    if (scope == "NotTerminating") return !IsPodTerminating(pod);
    if (scope == "BestEffort") return QosClass(pod) == "BestEffort";
    if (scope == "NotBestEffort") return QosClass(pod) != "BestEffort";
    if (scope == "CrossNamespacePodAffinity") return UsesCrossNamespaceAffinity(pod);
    if (scope != "PriorityClass") return false;
    std::vector<std::string_view> names;
    if (std::string_view name = pod.Get("spec").Get("priorityClassName").AsString(); !name.empty()) names.push_back(name);
    return internal::MatchesNames(requirement, names);
  }
};

}  // namespace

namespace internal {

bool IsExtendedResourceForQuota(std::string_view name) {
  return name.starts_with(kRequestsPrefix) && (!IsNativeResource(name) || name.starts_with(kRequestsDeviceClass));
}

std::unique_ptr<const Evaluator> MakePodEvaluator() { return std::make_unique<PodEvaluator>(); }

}  // namespace internal

bool IsPodTerminating(const Value& pod) {
  Value deadline = pod.Get("spec").Get("activeDeadlineSeconds");
  return deadline && deadline.AsInt() >= 0;
}

bool IsPodCharged(const Value& pod, WallTime now) {
  std::string_view phase = pod.Get("status").Get("phase").AsString();
  if (phase == "Failed" || phase == "Succeeded") return false;
  Value metadata = pod.Get("metadata"), period = metadata.Get("deletionGracePeriodSeconds");
  auto deletion = object::ParseTime(metadata.Get("deletionTimestamp").AsString());
  if (!deletion || !period) return true;
  // It may hang on a node that is gone: its successor is not to wait for that.
  return now <= deletion->ToClock() + std::chrono::seconds(period.AsInt());
}

}  // namespace homeostat::quota
