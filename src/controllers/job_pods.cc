#include "controllers/job_pods.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "controllers/finalizers.h"
#include "controllers/pod_template.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {

using api::batch::v1::Job;
using api::core::v1::Pod;
using api::core::v1::PodBuilder;

namespace {

constexpr std::string_view kIndexAnnotation = "batch.kubernetes.io/job-completion-index";
constexpr std::string_view kFailuresAnnotation = "batch.kubernetes.io/job-index-failure-count";
constexpr std::string_view kIgnoredAnnotation = "batch.kubernetes.io/job-index-ignored-failure-count";
constexpr std::string_view kIndexVariable = "JOB_COMPLETION_INDEX";
constexpr size_t kGeneratedNameLength = 58;      // what is left of 63 for a generated name before its five letters
constexpr Duration kFirstPause = std::chrono::seconds(10), kLongestPause = std::chrono::minutes(10);

// Of an annotation; -1 if it is none, or negative.
int32_t NumberOf(const Pod& pod, std::string_view annotation) {
  std::string_view text = pod.metadata().annotations().Get(annotation);
  int32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool good = !text.empty() && error == std::errc() && end == text.data() + text.size() && number >= 0;
  return good ? number : -1;
}

std::optional<WallTime> ReadTime(std::string_view text) {
  if (text.empty()) return std::nullopt;
  auto time = object::ParseTime(text);
  return time ? std::optional(time->ToClock()) : std::nullopt;
}

// When the last container ended; nullopt if one of them has not, or does not say.
std::optional<WallTime> ContainersEnded(const Pod& pod) {
  std::optional<WallTime> latest;
  auto note = [&latest](auto status) {
    std::optional<WallTime> ended = ReadTime(status.state().terminated().finished_at());
    if (ended && (!latest || *latest < *ended)) latest = ended;
    return ended.has_value();
  };
  for (auto status : pod.status().container_statuses()) {
    if (!note(status)) return std::nullopt;
  }
  std::set<std::string_view> sidecars;
  for (auto container : pod.spec().init_containers()) {
    if (container.restart_policy() == "Always") sidecars.insert(container.name());
  }
  for (auto status : pod.status().init_container_statuses()) {
    if (sidecars.contains(status.name()) && !note(status)) return std::nullopt;
  }
  return latest;
}

template <class List, class Requirement>
std::optional<std::pair<std::string, int32_t>> ExitMatch(const List& statuses, const Requirement& requirement) {
  for (auto status : statuses) {
    auto ended = status.state().terminated();
    if (!ended || ended.exit_code() == 0) continue;
    if (requirement.has_container_name() && requirement.container_name() != status.name()) continue;
    auto values = requirement.values();
    bool listed = std::find(values.begin(), values.end(), ended.exit_code()) != values.end();
    bool fits = requirement.operator_() == "In" ? listed : requirement.operator_() == "NotIn" && !listed;
    if (fits) return std::pair(std::string(status.name()), ended.exit_code());
  }
  return std::nullopt;
}

// How the pod meets the rule, as a message names it; empty if it does not.
template <class Rule>
std::string MatchText(const Rule& rule, const Pod& pod) {
  std::string name = std::string(pod.metadata().namespace_()) + "/" + std::string(pod.metadata().name());
  if (auto codes = rule.on_exit_codes()) {
    auto match = ExitMatch(pod.status().container_statuses(), codes);
    if (!match) match = ExitMatch(pod.status().init_container_statuses(), codes);
    return match ? "Container " + match->first + " for pod " + name + " failed with exit code " + std::to_string(match->second) : "";
  }
  for (auto condition : pod.status().conditions()) {
    for (auto pattern : rule.on_pod_conditions()) {
      if (condition.type() == pattern.type() && condition.status() == pattern.status()) {
        return "Pod " + name + " has condition " + std::string(condition.type());
      }
    }
  }
  return "";
}

template <class ContainerBuilder>
void AddIndexVariable(ContainerBuilder container) {
  for (auto variable : container.View().env()) {
    if (variable.name() == kIndexVariable) return;
  }
  auto variable = container.add_env();
  variable.set_name(kIndexVariable);
  variable.mutable_value_from().mutable_field_ref().set_field_path("metadata.labels['" + std::string(kIndexAnnotation) + "']");
}

void SetIndex(PodBuilder& pod, const Job& job, int32_t index, const object::DocumentPtr& replaced) {
  std::string number = std::to_string(index), suffix = "-" + number + "-", name(job.metadata().name());
  auto metadata = pod.mutable_metadata();
  metadata.set_annotations(kIndexAnnotation, number).set_labels(kIndexAnnotation, number);
  metadata.set_generate_name(name.substr(0, kGeneratedNameLength - suffix.size()) + suffix);
  auto spec = pod.mutable_spec();
  spec.set_hostname(name + "-" + number);
  for (size_t i = 0; i < spec.init_containers_size(); ++i) AddIndexVariable(spec.mutable_init_containers(i));
  for (size_t i = 0; i < spec.containers_size(); ++i) AddIndexVariable(spec.mutable_containers(i));
  if (!HasLimitPerIndex(job)) return;
  int32_t failures = 0, ignored = 0;
  if (replaced) {
    Pod before(replaced->root());
    failures = FailuresBefore(before);
    ignored = AllFailuresBefore(before) - failures;
    ++(JudgeFailure(job, before).counts ? failures : ignored);
  }
  metadata.set_annotations(kFailuresAnnotation, std::to_string(failures));
  if (ignored > 0) metadata.set_annotations(kIgnoredAnnotation, std::to_string(ignored));
}

}  // namespace

bool IsIndexed(const Job& job) { return job.spec().completion_mode() == "Indexed"; }
bool HasLimitPerIndex(const Job& job) { return job.spec().has_backoff_limit_per_index(); }
bool IsSuspended(const Job& job) { return job.spec().suspend(); }
bool ReplacesOnlyFailed(const Job& job) { return job.spec().pod_replacement_policy() == "Failed" || job.spec().pod_failure_policy(); }

bool IsJobFinished(const Job& job) {
  return std::ranges::any_of(job.status().conditions(), [](auto condition) {
    return (condition.type() == "Complete" || condition.type() == "Failed") && condition.status() == "True";
  });
}

int32_t CompletionIndex(const Pod& pod) { return NumberOf(pod, kIndexAnnotation); }

bool CountsAsFailed(const Pod& pod, const Job& job) {
  if (pod.status().phase() == "Failed") return true;
  if (ReplacesOnlyFailed(job)) return false;
  return sdk::meta::IsDeleting(pod.Raw()) && pod.status().phase() != "Succeeded";
}

int32_t FailuresBefore(const Pod& pod) { return std::max(0, NumberOf(pod, kFailuresAnnotation)); }
int32_t AllFailuresBefore(const Pod& pod) { return FailuresBefore(pod) + std::max(0, NumberOf(pod, kIgnoredAnnotation)); }

WallTime FinishedAt(const Pod& pod) {
  if (auto time = ContainersEnded(pod)) return *time;
  for (auto condition : pod.status().conditions()) {
    if (condition.type() != "Ready" || condition.status() != "False") continue;
    if (auto time = ReadTime(condition.last_transition_time())) return *time;
  }
  if (auto time = ReadTime(pod.metadata().deletion_timestamp())) return *time - std::chrono::seconds(pod.metadata().deletion_grace_period_seconds());
  return ReadTime(pod.metadata().creation_timestamp()).value_or(WallTime());
}

FailureVerdict JudgeFailure(const Job& job, const Pod& pod) {
  auto rules = job.spec().pod_failure_policy().rules();
  for (size_t i = 0; i < rules.size(); ++i) {
    std::string match = MatchText(rules[i], pod);
    if (match.empty()) continue;
    std::string_view action = rules[i].action();
    if (action == "Ignore") return {.counts = false};
    if (action == "FailIndex") return {.fails_index = true};
    if (action == "Count") return {};
    if (action == "FailJob") return {.fails_job = match + " matching FailJob rule at index " + std::to_string(i)};
  }
  return {};
}

Duration RetryPause(int32_t failures, WallTime last, WallTime now) {
  if (failures <= 0) return Duration(0);
  Duration pause = kFirstPause;
  for (int32_t i = 1; i < failures && pause < kLongestPause; ++i) pause = std::min(pause * 2, kLongestPause);
  return std::max(Duration(0), pause - (now - last));
}

object::DocumentPtr JobPod(const Job& job, int32_t index, const object::DocumentPtr& replaced) {
  PodBuilder pod = PodFromTemplate(job.spec().template_(), Job::SchemaKind(), job.Raw());
  if (!HasFinalizer(pod.View().Raw(), kJobTrackingFinalizer)) pod.mutable_metadata().add_finalizers(kJobTrackingFinalizer);
  if (index >= 0) SetIndex(pod, job, index, replaced);
  return pod.Freeze();
}

}  // namespace homeostat::controllers
