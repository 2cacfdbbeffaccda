#include "controllers/autoscaler_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "controllers/pods.h"
#include "homeostat/object/quantity.h"
#include "homeostat/object/time.h"
#include "quota/pod_resources.h"

namespace homeostat::controllers {

using api::autoscaling::v2::HorizontalPodAutoscaler;
using api::autoscaling::v2::HPAScalingRules;
using api::core::v1::Pod;

namespace {

constexpr Duration kCpuInitialization = std::chrono::minutes(5), kInitialReadiness = std::chrono::seconds(30);
constexpr Duration kDownscaleWindow = std::chrono::minutes(5);
constexpr double kScaleUpFactor = 2, kScaleUpMinimum = 4;

std::optional<WallTime> ReadTime(std::string_view text) {
  auto time = object::ParseTime(text);
  return text.empty() || !time ? std::nullopt : std::optional(time->ToClock());
}

// Whether a pod's numbers do not count yet: a new one works hard to get ready.
bool IsUnready(const Pod& pod, const PodMetric& metric, std::string_view resource, WallTime now) {
  if (resource != "cpu") return false;
  std::optional<WallTime> start = ReadTime(pod.status().start_time());
  for (auto condition : pod.status().conditions()) {
    if (condition.type() != "Ready") continue;
    std::optional<WallTime> turned = ReadTime(condition.last_transition_time());
    if (!start || !turned) return true;
    bool down = condition.status() == "False";
    if (*start + kCpuInitialization > now) return down || metric.at < *turned + metric.window;
    return down && *start + kInitialReadiness > *turned;
  }
  return true;
}

struct Groups {
  size_t ready = 0;
  std::set<std::string> unready, missing, ignored;
};
Groups Sort(const MetricView& view) {
  Groups groups;
  for (const object::DocumentPtr& document : view.pods) {
    Pod pod(document->root());
    std::string name(pod.metadata().name());
    auto metric = view.metrics.find(name);
    if (sdk::meta::IsDeleting(pod.Raw()) || pod.status().phase() == "Failed") {
      groups.ignored.insert(name);
    } else if (pod.status().phase() == "Pending") {
      groups.unready.insert(name);
    } else if (metric == view.metrics.end()) {
      groups.missing.insert(name);
    } else if (IsUnready(pod, metric->second, view.resource, view.now)) {
      groups.unready.insert(name);
    } else {
      ++groups.ready;
    }
  }
  return groups;
}

using Requests = std::map<std::string, int64_t>;
Result<Requests> RequestsOf(const MetricView& view) {
  Requests requests;
  for (const object::DocumentPtr& document : view.pods) {
    Pod pod(document->root());
    std::string name(pod.metadata().name());
    if (view.container.empty() && quota::HasPodLevelResources(pod.Raw())) {
      quota::Amounts amounts = quota::PodRequests(pod.Raw());
      auto amount = amounts.find(view.resource);
      if (amount == amounts.end()) return Fail(SystemError("missing pod-level request for " + view.resource + " in Pod " + name));
      requests[name] = amount->second.MilliValue();
      continue;
    }
    int64_t sum = 0;
    auto add = [&](auto container) -> Result<void> {
      if (!view.container.empty() && container.name() != view.container) return {};
      auto quantity = object::Quantity::Parse(container.resources().requests().Get(view.resource));
      if (!quantity) {
        return Fail(SystemError("missing request for " + view.resource + " in container " + std::string(container.name()) + " of Pod " + name));
      }
      sum += quantity->MilliValue();
      return {};
    };
    for (auto container : pod.spec().containers()) TRY(add(container));
    for (auto container : pod.spec().init_containers()) {
      if (container.restart_policy() == "Always") TRY(add(container));
    }
    requests[name] = sum;
  }
  return requests;
}

struct Ratio {
  double ratio = 0;
  int64_t average = 0;
  int32_t utilization = 0;
};

Result<Ratio> UtilizationRatio(const PodMetrics& metrics, const Requests& requests, int32_t target) {
  int64_t used = 0, asked = 0, count = 0;
  for (const auto& [name, metric] : metrics) {
    auto request = requests.find(name);
    if (request == requests.end()) continue;
    used += metric.value;
    asked += request->second;
    ++count;
  }
  if (asked == 0 || count == 0) return Fail(SystemError("no metrics returned matched known pods"));
  auto utilization = static_cast<int32_t>(used * 100 / asked);
  return Ratio{static_cast<double>(utilization) / target, used / count, utilization};
}

Ratio AverageRatio(const PodMetrics& metrics, int64_t target) {
  int64_t used = 0;
  for (const auto& [name, metric] : metrics) used += metric.value;
  int64_t average = metrics.empty() ? 0 : used / static_cast<int64_t>(metrics.size());
  return {static_cast<double>(average) / static_cast<double>(target), average, 0};
}

int32_t Ceiling(double replicas) { return static_cast<int32_t>(std::clamp(std::ceil(replicas), 0.0, double{INT32_MAX})); }

// The same for both ways of reckoning: `ratio` gives how far usage is from the target, `missing` what a pod without numbers
// would use for sure when it might have to shrink.
template <class RatioFunction, class MissingFunction>
Result<Proposal> Reckon(const MetricView& view, RatioFunction ratio_of, MissingFunction missing_value) {
  if (view.pods.empty()) return Fail(SystemError("no pods returned by selector while calculating replica count"));
  Groups groups = Sort(view);
  PodMetrics metrics = view.metrics;
  for (const std::string& name : groups.ignored) metrics.erase(name);
  for (const std::string& name : groups.unready) metrics.erase(name);
  if (metrics.empty()) return Fail(SystemError("did not receive metrics for targeted pods (pods might be unready)"));
  TRY_ASSIGN(Ratio ratio, ratio_of(metrics));
  Proposal proposal{view.current, ratio.average, ratio.utilization};
  bool grows_with_unready = !groups.unready.empty() && ratio.ratio > 1.0;
  if (!grows_with_unready && groups.missing.empty()) {
    if (!view.tolerances.Contain(ratio.ratio)) proposal.replicas = Ceiling(ratio.ratio * static_cast<double>(groups.ready));
    return proposal;
  }
  // The cautious reading: who says nothing is taken to use much before shrinking, and nothing before growing.
  for (const std::string& name : groups.missing) {
    if (ratio.ratio < 1.0) metrics[name].value = missing_value(name);
    if (ratio.ratio > 1.0) metrics[name].value = 0;
  }
  if (grows_with_unready) {
    for (const std::string& name : groups.unready) metrics[name].value = 0;
  }
  TRY_ASSIGN(Ratio second, ratio_of(metrics));
  bool turned = (ratio.ratio < 1.0 && second.ratio > 1.0) || (ratio.ratio > 1.0 && second.ratio < 1.0);
  if (view.tolerances.Contain(second.ratio) || turned) return proposal;
  int32_t replicas = Ceiling(second.ratio * static_cast<double>(metrics.size()));
  bool wrong_way = (second.ratio < 1.0 && replicas > view.current) || (second.ratio > 1.0 && replicas < view.current);
  if (!wrong_way) proposal.replicas = replicas;
  return proposal;
}

// --- Sizes.

int32_t LowestOf(const HorizontalPodAutoscaler& scaler) { return scaler.spec().has_min_replicas() ? scaler.spec().min_replicas() : 1; }

int32_t ChangeWithin(const std::vector<ScalingHistory::Entry>& entries, int32_t seconds, WallTime now) {
  int32_t total = 0;
  for (const auto& entry : entries) total += entry.at + std::chrono::seconds(seconds) > now ? entry.count : 0;
  return total;
}

// How far the rules let the size go in one direction.
int32_t LimitOf(const HPAScalingRules& rules, int32_t current, const ScalingHistory& history, bool up, WallTime now) {
  if (rules.select_policy() == "Disabled") return current;
  std::vector<int32_t> limits;
  for (auto policy : rules.policies()) {
    int32_t start = current - ChangeWithin(history.ups, policy.period_seconds(), now) + ChangeWithin(history.downs, policy.period_seconds(), now);
    int32_t change = policy.value();
    if (policy.type() == "Percent") {
      double share = static_cast<double>(change) / 100;
      limits.push_back(up ? Ceiling(start * (1 + share)) : static_cast<int32_t>(start * (1 - share)));
    } else {
      limits.push_back(up ? start + change : start - change);
    }
  }
  if (limits.empty()) return current;
  bool furthest = rules.select_policy() != "Min";
  auto [lowest, highest] = std::ranges::minmax(limits);
  return up == furthest ? highest : lowest;
}

int32_t WindowOf(const HPAScalingRules& rules, Duration usual) {
  return rules.has_stabilization_window_seconds() ? rules.stabilization_window_seconds() : static_cast<int32_t>(usual / std::chrono::seconds(1));
}

// Of the sizes recommended lately the one that changes least.
int32_t Stabilize(const HorizontalPodAutoscaler& scaler, int32_t current, int32_t proposed, ScalingHistory& history, SizeDecision& decision, WallTime now) {
  auto behavior = scaler.spec().behavior();
  Duration up = std::chrono::seconds(behavior ? WindowOf(behavior.scale_up(), Duration(0)) : 0);
  Duration down = std::chrono::seconds(behavior ? WindowOf(behavior.scale_down(), kDownscaleWindow) : kDownscaleWindow / std::chrono::seconds(1));
  int32_t lowest = proposed, highest = proposed;
  for (const auto& entry : history.recommendations) {
    if (entry.at + up > now) lowest = std::min(lowest, entry.count);
    if (entry.at + down > now) highest = std::max(highest, entry.count);
  }
  // Without a behaviour only shrinking waits.
  int32_t stable = behavior ? std::min(std::max(current, lowest), highest) : highest;
  std::erase_if(history.recommendations, [&](const auto& entry) { return entry.at + std::max(up, down) < now; });
  history.recommendations.push_back({now, proposed});
  bool grows = behavior && proposed >= current;
  decision.able_reason = stable == proposed ? "ReadyForNewScale" : grows ? "ScaleUpStabilized" : "ScaleDownStabilized";
  decision.able_message = stable == proposed ? "recommended size matches current size"
                          : grows ? "recent recommendations were lower than current one, applying the lowest recent recommendation"
                                  : "recent recommendations were higher than current one, applying the highest recent recommendation";
  return stable;
}

}  // namespace

PodMetrics ReadPodMetrics(const object::Value& list, std::string_view resource, std::string_view container) {
  PodMetrics metrics;
  for (const object::Value& item : list.Get("items").items()) {
    PodMetric metric;
    bool complete = false, fault = false;
    for (const object::Value& one : item.Get("containers").items()) {
      if (!container.empty() && one.Get("name").AsString() != container) continue;
      auto quantity = object::Quantity::Parse(one.Path({"usage"}).Get(resource).AsString());
      if (!quantity) {
        fault = true;
        continue;
      }
      metric.value += quantity->MilliValue();
      complete = true;
    }
    if (!complete || fault) continue;
    metric.at = ReadTime(item.Get("timestamp").AsString()).value_or(WallTime());
    auto window = object::ParseDuration(item.Get("window").AsString());
    metric.window = window ? Duration(*window) : Duration(std::chrono::minutes(1));
    metrics[std::string(item.Path({"metadata", "name"}).AsString())] = metric;
  }
  return metrics;
}

Tolerances TolerancesOf(const HorizontalPodAutoscaler& scaler) {
  Tolerances tolerances;
  auto read = [](std::string_view text, double& into) {
    if (auto quantity = object::Quantity::Parse(text); !text.empty() && quantity) into = quantity->AsApproximateDouble();
  };
  read(scaler.spec().behavior().scale_down().tolerance(), tolerances.down);
  read(scaler.spec().behavior().scale_up().tolerance(), tolerances.up);
  return tolerances;
}

Result<Proposal> ForUtilization(const MetricView& view, int32_t target) {
  TRY_ASSIGN(Requests requests, RequestsOf(view));
  auto ratio = [&](const PodMetrics& metrics) { return UtilizationRatio(metrics, requests, target); };
  int64_t fallback = std::max(100, target);
  return Reckon(view, ratio, [&](const std::string& name) { return requests[name] * fallback / 100; });
}

Result<Proposal> ForAverage(const MetricView& view, int64_t target) {
  auto ratio = [&](const PodMetrics& metrics) -> Result<Ratio> { return AverageRatio(metrics, target); };
  TRY_ASSIGN(Proposal proposal, Reckon(view, ratio, [&](const std::string&) { return target; }));
  proposal.utilization.reset();
  return proposal;
}

Result<Proposal> ForTotal(const MetricView& view, int64_t usage, int64_t target) {
  Proposal proposal{view.current, usage, {}};
  double ratio = static_cast<double>(usage) / static_cast<double>(target);
  if (view.tolerances.Contain(ratio)) return proposal;
  if (view.pods.empty()) {
    return Fail(SystemError("unable to calculate ready pods: no pods returned by selector while calculating replica count"));
  }
  auto ready = std::ranges::count_if(view.pods, [](const object::DocumentPtr& pod) {
    return Pod(pod->root()).status().phase() == "Running" && IsPodReady(Pod(pod->root()));
  });
  proposal.replicas = Ceiling(ratio * static_cast<double>(ready));
  return proposal;
}

Proposal ForShare(const Tolerances& tolerances, int64_t usage, int64_t target, int32_t replicas) {
  double used = static_cast<double>(usage), wanted = static_cast<double>(target);
  bool right = replicas > 0 && tolerances.Contain(used / (wanted * replicas));
  int64_t average = replicas > 0 && usage < INT64_MAX ? static_cast<int64_t>(std::ceil(used / replicas)) : usage;
  return {right ? replicas : Ceiling(used / wanted), average, {}};
}

SizeDecision DecideSize(const HorizontalPodAutoscaler& scaler, int32_t current, int32_t proposed, ScalingHistory& history, WallTime now) {
  SizeDecision decision;
  int32_t stable = Stabilize(scaler, current, proposed, history, decision, now);
  auto behavior = scaler.spec().behavior();
  int32_t lowest = LowestOf(scaler), highest = scaler.spec().max_replicas();
  bool by_rate_up = false, by_rate_down = false;
  int32_t up = behavior ? std::max(current, LimitOf(behavior.scale_up(), current, history, true, now))
                        : static_cast<int32_t>(std::max(kScaleUpFactor * current, kScaleUpMinimum));
  by_rate_up = highest > up && (!behavior || stable > current);
  if (by_rate_up) highest = up;
  if (behavior && stable < current) {
    int32_t down = std::min(current, LimitOf(behavior.scale_down(), current, history, false, now));
    by_rate_down = lowest < down;
    if (by_rate_down) lowest = down;
  }
  decision.replicas = stable < lowest ? lowest : std::min(stable, highest);
  decision.limited = decision.replicas != stable;
  if (!decision.limited) {
    decision.limited_reason = "DesiredWithinRange";
    decision.limited_message = "the desired count is within the acceptable range";
  } else if (stable < lowest) {
    decision.limited_reason = by_rate_down ? "ScaleDownLimit" : "TooFewReplicas";
    decision.limited_message = by_rate_down ? "the desired replica count is decreasing faster than the maximum scale rate"
                                            : "the desired replica count is less than the minimum replica count";
  } else {
    decision.limited_reason = by_rate_up ? "ScaleUpLimit" : "TooManyReplicas";
    decision.limited_message = by_rate_up ? "the desired replica count is increasing faster than the maximum scale rate"
                                          : "the desired replica count is more than the maximum replica count";
  }
  return decision;
}

void NoteScaling(const HorizontalPodAutoscaler& scaler, int32_t before, int32_t after, ScalingHistory& history, WallTime now) {
  auto behavior = scaler.spec().behavior();
  if (!behavior) return;
  auto note = [now](std::vector<ScalingHistory::Entry>& entries, const HPAScalingRules& rules, int32_t change) {
    int32_t longest = 0;
    for (auto policy : rules.policies()) longest = std::max(longest, policy.period_seconds());
    std::erase_if(entries, [&](const auto& entry) { return entry.at + std::chrono::seconds(longest) < now; });
    entries.push_back({now, change});
  };
  if (after > before) note(history.ups, behavior.scale_up(), after - before);
  if (after < before) note(history.downs, behavior.scale_down(), before - after);
}

}  // namespace homeostat::controllers
