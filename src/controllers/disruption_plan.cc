#include "controllers/disruption_plan.h"

#include <algorithm>

#include "controllers/pods.h"
#include "controllers/scaled_value.h"
#include "homeostat/object/time.h"
#include "homeostat/schema/diff.h"

namespace homeostat::controllers {

using api::core::v1::Pod;
using api::policy::v1::PodDisruptionBudget;
using api::policy::v1::PodDisruptionBudgetBuilder;

namespace {

constexpr std::string_view kAllowed = "DisruptionAllowed", kTarget = "DisruptionTarget";
// How long an evicted pod may take to be seen going.
constexpr Duration kDeletionTimeout = std::chrono::minutes(2);
constexpr Duration kStaleAfter = std::chrono::minutes(2);

std::string Text(WallTime time) { return object::FormatTime(object::Timestamp::FromClock(time)); }
std::optional<WallTime> ReadTime(std::string_view text) {
  auto time = object::ParseTime(text);
  return time ? std::optional(time->ToClock()) : std::nullopt;
}

void SetAllowed(PodDisruptionBudgetBuilder& budget, std::string_view status, std::string_view reason, std::string_view message, int64_t generation, WallTime now) {
  auto list = budget.View().status().conditions();
  auto target = budget.mutable_status();
  size_t at = 0;
  while (at < list.size() && list[at].type() != kAllowed) ++at;
  bool turned = at == list.size() || list[at].status() != status;
  auto condition = at == list.size() ? target.add_conditions() : target.mutable_conditions(at);
  condition.set_type(kAllowed).set_status(status).set_reason(reason).set_message(message).set_observed_generation(generation);
  if (turned) condition.set_last_transition_time(Text(now));
}

bool IsUpToDate(const PodDisruptionBudget& budget) {
  for (auto condition : budget.status().conditions()) {
    if (condition.type() != kAllowed) continue;
    bool allowed = budget.status().disruptions_allowed() > 0;
    return condition.status() == (allowed ? "True" : "False") && condition.reason() == (allowed ? "SufficientPods" : "InsufficientPods") &&
           condition.observed_generation() == budget.status().observed_generation();
  }
  return false;
}

}  // namespace

bool NeedsOwners(const PodDisruptionBudget& budget) {
  object::Value most = budget.spec().max_unavailable(), fewest = budget.spec().min_available();
  return static_cast<bool>(most) || fewest.IsString();
}

ExpectedPods ExpectedOf(const PodDisruptionBudget& budget, size_t pods, int64_t owners) {
  auto total = static_cast<int32_t>(std::clamp<int64_t>(owners, 0, INT32_MAX));
  if (object::Value most = budget.spec().max_unavailable()) return {total, std::max(0, total - ScaledValue(most, total, true))};
  object::Value fewest = budget.spec().min_available();
  if (fewest.IsString()) return {total, ScaledValue(fewest, total, true)};
  if (!fewest) return {};
  return {static_cast<int32_t>(pods), ScaledValue(fewest, 0, true)};
}

BudgetStatus JudgeBudget(const object::DocumentPtr& document, const std::vector<object::DocumentPtr>& pods, const ExpectedPods& expected, WallTime now) {
  PodDisruptionBudget budget(document->root());
  BudgetStatus judged;
  PodDisruptionBudgetBuilder next{schema::Subtree(document)};
  auto status = next.mutable_status();
  status.clear_disrupted_pods();
  int32_t healthy = 0;
  for (const object::DocumentPtr& one : pods) {
    Pod pod(one->root());
    if (sdk::meta::IsDeleting(pod.Raw())) continue;
    std::string name(pod.metadata().name());
    std::string_view since = budget.status().disrupted_pods().Get(name);
    std::optional<WallTime> told = since.empty() ? std::nullopt : ReadTime(since);
    bool waits = told && *told + kDeletionTimeout >= now;
    if (waits) {
      status.set_disrupted_pods(name, since);
      Duration left = *told + kDeletionTimeout - now;
      judged.again = std::min(left, judged.again.value_or(left));
    } else if (told) {
      judged.not_deleted.push_back(one);
    }
    if (!waits && IsPodReady(pod)) ++healthy;
  }
  int32_t allowed = expected.expected <= 0 ? 0 : std::max(0, healthy - expected.desired_healthy);
  status.set_current_healthy(healthy).set_desired_healthy(expected.desired_healthy).set_expected_pods(expected.expected);
  status.set_disruptions_allowed(allowed).set_observed_generation(budget.metadata().generation());
  if (!IsUpToDate(next.View())) {
    SetAllowed(next, allowed > 0 ? "True" : "False", allowed > 0 ? "SufficientPods" : "InsufficientPods", "", budget.metadata().generation(), now);
  }
  const schema::Type& type = decltype(budget.status())::SchemaType();
  judged.budget = schema::IsEqual(type, budget.status().Raw(), next.View().status().Raw()) ? document : next.Freeze();
  return judged;
}

object::DocumentPtr WithSyncFailure(const object::DocumentPtr& document, std::string_view message, WallTime now) {
  PodDisruptionBudgetBuilder next{schema::Subtree(document)};
  next.mutable_status().set_disruptions_allowed(0);
  SetAllowed(next, "False", "SyncFailed", message, PodDisruptionBudget(document->root()).status().observed_generation(), now);
  return next.Changed() ? next.Freeze() : document;
}

std::optional<Duration> UntilStale(const Pod& pod, WallTime now) {
  if (sdk::meta::IsDeleting(pod.Raw()) || IsPodTerminal(pod)) return std::nullopt;
  for (auto condition : pod.status().conditions()) {
    if (condition.type() != kTarget || condition.status() != "True" || condition.reason() == "TerminationByKubelet") continue;
    std::optional<WallTime> since = ReadTime(condition.last_transition_time());
    if (since) return std::max(Duration(0), *since + kStaleAfter - now);
  }
  return std::nullopt;
}

object::DocumentPtr WithoutDisruptionTarget(const object::DocumentPtr& document, WallTime now) {
  api::core::v1::PodBuilder next{schema::Subtree(document)};
  auto list = Pod(document->root()).status().conditions();
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].type() != kTarget) continue;
    auto condition = next.mutable_status().mutable_conditions(i);
    condition.set_status("False").set_last_transition_time(Text(now)).clear_reason().clear_message();
  }
  return next.Freeze();
}

}  // namespace homeostat::controllers
