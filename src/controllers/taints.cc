#include "controllers/taints.h"

#include <algorithm>

#include "homeostat/api/core/v1_builders.h"

namespace homeostat::controllers {

using api::core::v1::Node;
using api::core::v1::NodeBuilder;
using api::core::v1::Pod;
using api::core::v1::Taint;
using api::core::v1::Toleration;

namespace {

constexpr std::string_view kNoSchedule = "NoSchedule", kNoExecute = "NoExecute";
constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";

// A condition whose state has a taint.
struct Rule {
  std::string_view condition, status, taint;
};
constexpr Rule kRules[] = {
    {"Ready", "False", kNotReadyTaint},
    {"Ready", "Unknown", kUnreachableTaint},
    {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure"},
    {"DiskPressure", "True", "node.kubernetes.io/disk-pressure"},
    {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"},
    {"PIDPressure", "True", "node.kubernetes.io/pid-pressure"},
};

std::string_view StatusOf(const Node& node, std::string_view type) {
  for (auto condition : node.status().conditions()) {
    if (condition.type() == type) return condition.status();
  }
  return {};
}

void Want(const Node& node, const TaintName& taint, bool wanted, TaintChange& change) {
  bool has = HasTaint(node, taint);
  if (wanted && !has) change.add.push_back(taint);
  if (!wanted && has) change.remove.push_back(taint);
}

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect().empty() && toleration.effect() != taint.effect()) return false;
  if (!toleration.key().empty() && toleration.key() != taint.key()) return false;
  std::string_view op = toleration.operator_();
  if (op == "Exists") return true;
  return (op.empty() || op == "Equal") && !toleration.key().empty() && toleration.value() == taint.value();
}

}  // namespace

bool HasTaint(const Node& node, const TaintName& taint) {
  for (Taint other : node.spec().taints()) {
    if (other.key() == taint.key && other.effect() == taint.effect) return true;
  }
  return false;
}

std::string_view ReadyStatus(const Node& node) { return StatusOf(node, "Ready"); }

TaintChange NoScheduleChange(const Node& node) {
  TaintChange change;
  for (const Rule& rule : kRules) Want(node, {rule.taint, kNoSchedule}, StatusOf(node, rule.condition) == rule.status, change);
  Want(node, {kUnschedulableTaint, kNoSchedule}, node.spec().unschedulable(), change);
  return change;
}

TaintChange NoExecuteChange(const Node& node, bool may_add) {
  TaintChange change;
  std::string_view ready = ReadyStatus(node);
  TaintName not_ready{kNotReadyTaint, kNoExecute}, unreachable{kUnreachableTaint, kNoExecute};
  bool given_up = HasTaint(node, not_ready) || HasTaint(node, unreachable);
  if (ready.empty() || (ready != "True" && !given_up && !may_add)) return change;
  Want(node, not_ready, ready == "False", change);
  Want(node, unreachable, ready == "Unknown", change);
  return change;
}

object::DocumentPtr WithTaints(const object::DocumentPtr& document, const TaintChange& change, std::string_view now) {
  NodeBuilder next{schema::Subtree(document)};
  auto spec = next.mutable_spec();
  size_t index = 0;
  for (Taint taint : Node(document->root()).spec().taints()) {
    bool goes = std::ranges::find(change.remove, TaintName{taint.key(), taint.effect()}) != change.remove.end();
    if (goes) {
      spec.erase_taints(index);
    } else {
      ++index;
    }
  }
  for (const TaintName& taint : change.add) spec.add_taints().set_key(taint.key).set_effect(taint.effect).set_time_added(now);
  return next.Freeze();
}

std::vector<Taint> NoExecuteTaints(const Node& node) {
  std::vector<Taint> taints;
  for (Taint taint : node.spec().taints()) {
    if (taint.effect() == kNoExecute) taints.push_back(taint);
  }
  return taints;
}

Stay StayOf(const Pod& pod, const std::vector<Taint>& taints) {
  Stay stay{.forever = true};
  for (const Taint& taint : taints) {
    std::optional<Toleration> used;
    for (Toleration toleration : pod.spec().tolerations()) {
      if (!used && Tolerates(toleration, taint)) used = toleration;
    }
    if (!used) return {};
    if (!used->has_toleration_seconds()) continue;
    Duration time = std::chrono::seconds(std::max<int64_t>(0, used->toleration_seconds()));
    stay = {false, stay.forever ? time : std::min(stay.time, time)};
  }
  return stay;
}

}  // namespace homeostat::controllers
