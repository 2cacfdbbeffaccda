#include "node/internal/status_records.h"
#include "node/values.h"

namespace homeostat::node::internal {

namespace {

struct Condition {
  bool status = true;
  std::string reason, message;
};

constexpr std::string_view kOurs[] = {
    core::kPodConditionTypePodReadyToStartContainers, core::kPodConditionTypeInitialized, core::kPodConditionTypeReady,
    core::kPodConditionTypeContainersReady, core::kPodConditionTypePodScheduled};

core::PodCondition Find(core::PodStatus status, std::string_view type) {
  for (core::PodCondition condition : status.conditions()) {
    if (condition.type() == type) return condition;
  }
  return {};
}

// As Go prints a list of strings: [a b].
std::string ShownList(const std::vector<std::string>& names) {
  std::string out = "[";
  for (const std::string& name : names) out += (out.size() > 1 ? " " : "") + name;
  return out + "]";
}

std::optional<Condition> AtTerminalPhase(std::string_view phase) {
  if (phase == core::kPodPhaseFailed) return Condition{false, "PodFailed", ""};
  if (phase == core::kPodPhaseSucceeded) return Condition{false, "PodCompleted", ""};
  return std::nullopt;
}

Condition ContainersReady(const std::vector<ContainerRecord>& records, std::string_view phase) {
  if (auto terminal = AtTerminalPhase(phase)) return *terminal;
  std::vector<std::string> unready;
  for (const ContainerRecord& record : records) {
    bool counts = record.spec.kind == ContainerKind::kRegular || record.spec.restartable_init();
    if (counts && !record.ready) unready.emplace_back(record.spec.container.name());
  }
  if (unready.empty()) return {};
  return {false, "ContainersNotReady", "containers with unready status: " + ShownList(unready)};
}

Condition Ready(const StatusInput& input, const Condition& containers_ready) {
  if (!containers_ready.status) return containers_ready;
  std::string missing;
  for (core::PodReadinessGate gate : input.pod.spec().readiness_gates()) {
    core::PodCondition found = Find(input.pod.status(), gate.condition_type());
    if (found && found.status() == core::kConditionStatusTrue) continue;
    if (!missing.empty()) missing += ", ";
    std::string type = "\"" + std::string(gate.condition_type()) + "\"";
    if (!found) {
      missing += "corresponding condition of pod readiness gate " + type + " does not exist.";
    } else {
      missing += "the status of pod readiness gate " + type + " is not \"True\", but " + std::string(found.status());
    }
  }
  if (missing.empty()) return {};
  return {false, "ReadinessGatesNotReady", missing};
}

Condition Initialized(const std::vector<ContainerRecord>& records, std::string_view phase) {
  std::vector<std::string> incomplete;
  bool begun = false;
  for (const ContainerRecord& record : records) {
    if (record.spec.kind == ContainerKind::kRegular && record.state != ContainerRecord::State::kWaiting) begun = true;
    if (record.spec.kind != ContainerKind::kInit) continue;
    bool done = record.spec.restartable_init() ? record.started : record.ready;
    if (!done) incomplete.emplace_back(record.spec.container.name());
  }
  if (phase == core::kPodPhaseSucceeded) return {true, "PodCompleted", ""};
  if (begun || incomplete.empty()) return {};
  return {false, "ContainersNotInitialized", "containers with incomplete status: " + ShownList(incomplete)};
}

void Write(const StatusInput& input, std::string_view type, const Condition& condition, core::PodStatusBuilder& status) {
  core::PodCondition before = Find(input.old, type);
  if (!before) before = Find(input.pod.status(), type);
  std::string_view value = condition.status ? core::kConditionStatusTrue : core::kConditionStatusFalse;
  core::PodConditionBuilder out = status.add_conditions();
  out.set_type(type).set_status(value).set_observed_generation(input.pod.metadata().generation());
  bool same = before && before.status() == value && before.has_last_transition_time();
  out.set_last_transition_time(same ? std::string(before.last_transition_time()) : FormatTime(input.now));
  if (!condition.reason.empty()) out.set_reason(condition.reason);
  if (!condition.message.empty()) out.set_message(condition.message);
}

}  // namespace

void WriteConditions(const StatusInput& input, const std::vector<ContainerRecord>& records, std::string_view phase,
                     core::PodStatusBuilder& status) {
  for (core::PodCondition condition : input.pod.status().conditions()) {
    if (std::find(std::begin(kOurs), std::end(kOurs), condition.type()) == std::end(kOurs)) status.add_conditions(condition);
  }
  bool has_sandbox = !NeedsSandbox(input.pod, *input.runtime);
  Condition containers_ready = ContainersReady(records, phase);
  Write(input, core::kPodConditionTypePodReadyToStartContainers, {has_sandbox, "", ""}, status);
  Write(input, core::kPodConditionTypeInitialized, Initialized(records, phase), status);
  Write(input, core::kPodConditionTypeReady, Ready(input, containers_ready), status);
  Write(input, core::kPodConditionTypeContainersReady, containers_ready, status);
  Write(input, core::kPodConditionTypePodScheduled, {}, status);
}

}  // namespace homeostat::node::internal
