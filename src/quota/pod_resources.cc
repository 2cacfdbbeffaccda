#include "quota/pod_resources.h"

#include <functional>

namespace homeostat::quota {
namespace {

constexpr std::string_view kRequests = "requests", kLimits = "limits";

bool IsPodLevelResource(std::string_view name) { return name == "cpu" || name == "memory" || name.starts_with("hugepages-"); }

bool NamesPodLevel(const Value& list) {
  for (const object::Member& entry : list.members()) if (IsPodLevelResource(entry.name())) return true;
  return false;
}

bool IsSidecar(const Value& container) { return container.Get("restartPolicy").AsString() == "Always"; }

bool IsResizeInfeasible(const Value& status) {
  for (const Value& condition : status.Get("conditions").items()) {
    if (condition.Get("type").AsString() == "PodResizePending") return condition.Get("reason").AsString() == "Infeasible";
  }
  return false;
}

Value StatusOf(const Value& status, std::string_view name) {
  Value found;
  for (std::string_view list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Value& entry : status.Get(list).items()) if (entry.Get("name").AsString() == name) found = entry;
  }
  return found;
}

// What one container counts while it is being resized. Init containers that end don't change.
Amounts Effective(const Value& pod_status, const Value& container, std::string_view which, bool init) {
  Amounts asked = ParseAmounts(container.Get("resources").Get(which));
  if (init && !IsSidecar(container)) return asked;
  Value status = StatusOf(pod_status, container.Get("name").AsString());
  if (!status.Get("resources")) return asked;
  Amounts effective = IsResizeInfeasible(pod_status) ? Amounts() : std::move(asked);
  RaiseTo(effective, ParseAmounts(status.Get("resources").Get(which)));
  if (which == kRequests) RaiseTo(effective, ParseAmounts(status.Get("allocatedResources")));
  return effective;
}

using OfContainer = std::function<Amounts(const Value& container, bool init)>;

Amounts Sum(const Value& pod_spec, const OfContainer& amounts_of) {
  Amounts running, sidecars, peak;
  for (const Value& container : pod_spec.Get("containers").items()) AddTo(running, amounts_of(container, false));
  for (const Value& container : pod_spec.Get("initContainers").items()) {
    Amounts own = amounts_of(container, true);
    if (IsSidecar(container)) {
      AddTo(running, own);
      AddTo(sidecars, own);
      RaiseTo(peak, sidecars);
    } else {
      AddTo(own, sidecars);
      RaiseTo(peak, own);
    }
  }
  RaiseTo(running, peak);
  return running;
}

Amounts Sum(const Value& pod, std::string_view which, bool use_status) {
  Value spec = pod.Get("spec"), status = pod.Get("status");
  Amounts sum = use_status ? Sum(spec, [&](const Value& container, bool init) { return Effective(status, container, which, init); })
                           : SumOfContainers(spec, which);
  for (const auto& [name, amount] : ParseAmounts(spec.Get("resources").Get(which))) {
    if (IsPodLevelResource(name)) sum.insert_or_assign(name, amount);
  }
  return sum;
}

// Amounts of cpu and memory above zero: what quality of service goes by.
Amounts Compute(const Value& list) {
  Amounts amounts = ParseAmounts(list);
  std::erase_if(amounts, [](const auto& entry) {
    return (entry.first != "cpu" && entry.first != "memory") || entry.second.Sign() <= 0;
  });
  return amounts;
}

std::string_view Classify(const Amounts& requests, const Amounts& limits, bool all_limited) {
  if (requests.empty() && limits.empty()) return "BestEffort";
  return all_limited && IsEqual(requests, limits) ? "Guaranteed" : "Burstable";
}

}  // namespace

Amounts SumOfContainers(const Value& pod_spec, std::string_view which) {
  return Sum(pod_spec, [which](const Value& container, bool) { return ParseAmounts(container.Get("resources").Get(which)); });
}

Amounts PodRequests(const Value& pod, PodResourceOptions options) {
  Amounts sum = Sum(pod, kRequests, options.use_status);
  if (options.overhead) AddTo(sum, ParseAmounts(pod.Get("spec").Get("overhead")));
  return sum;
}

Amounts PodLimits(const Value& pod, PodResourceOptions options) {
  Amounts sum = Sum(pod, kLimits, options.use_status);
  if (!options.overhead) return sum;
  // Only what is limited at all is limited to more.
  for (const auto& [name, amount] : ParseAmounts(pod.Get("spec").Get("overhead"))) {
    if (auto limit = sum.find(name); limit != sum.end() && !limit->second.IsZero()) limit->second.Add(amount);
  }
  return sum;
}

bool HasPodLevelResources(const Value& pod) {
  Value resources = pod.Get("spec").Get("resources");
  return NamesPodLevel(resources.Get(kRequests)) || NamesPodLevel(resources.Get(kLimits));
}

std::string_view QosClass(const Value& pod) {
  std::string_view known = pod.Get("status").Get("qosClass").AsString();
  return known.empty() ? QosClassOfSpec(pod.Get("spec")) : known;
}

std::string_view QosClassOfSpec(const Value& spec) {
  if (Value resources = spec.Get("resources")) {
    Amounts limits = Compute(resources.Get(kLimits));
    bool all_limited = resources.Get(kLimits).empty() || limits.size() == 2;
    return Classify(Compute(resources.Get(kRequests)), limits, all_limited);
  }
  Amounts requests, limits;
  bool all_limited = true;
  for (std::string_view list : {"containers", "initContainers"}) {
    for (const Value& container : spec.Get(list).items()) {
      Amounts own = Compute(container.Get("resources").Get(kLimits));
      all_limited = all_limited && own.size() == 2;
      AddTo(requests, Compute(container.Get("resources").Get(kRequests)));
      AddTo(limits, own);
    }
  }
  return Classify(requests, limits, all_limited);
}

}  // namespace homeostat::quota
