#include "scheduler/decision.h"

#include <algorithm>

namespace homeostat::scheduler {
namespace {

std::vector<size_t> Candidates(const NodeTable& table, const PodInfo& pod) {
  std::vector<size_t> slots;
  if (pod.pinned_nodes) {
    for (const std::string& name : *pod.pinned_nodes) {
      size_t slot = table.Find(name);
      if (slot != NodeTable::kNone && table.slots()[slot].present) slots.push_back(slot);
    }
    return slots;
  }
  slots.reserve(table.size());
  for (size_t slot = 0; slot < table.slots().size(); ++slot) {
    if (table.slots()[slot].present) slots.push_back(slot);
  }
  return slots;
}

}  // namespace

std::string Failure::Message() const {
  if (nodes == 0) return "no nodes available to schedule pods";
  std::string message = "0/" + std::to_string(nodes) + " nodes are available:";
  if (!prefilter_message.empty()) {
    message += " " + prefilter_message + ".";
  } else {
    std::vector<std::string> parts;
    for (const auto& [reason, count] : reasons) parts.push_back(std::to_string(count) + " " + reason);
    std::ranges::sort(parts);  // as text, counts first
    for (size_t i = 0; i < parts.size(); ++i) message += (i == 0 ? " " : ", ") + parts[i];
    if (!parts.empty()) message += ".";
  }
  if (!preemption_message.empty()) message += " " + preemption_message;
  return message;
}

PluginSet FilterWithNominated(const Cycle& cycle, size_t slot, Refusal& refusal) {
  NodeTable& table = *cycle.table;
  const std::string& node = table.slots()[slot].name;
  std::vector<PodInfoPtr> added;
  for (const PodInfoPtr& other : table.NominatedTo(node)) {
    if (other->uid != cycle.pod->uid && other->priority >= cycle.pod->priority && table.NodeOf(other->uid).empty()) {
      added.push_back(other);
    }
  }
  if (!added.empty()) {
    for (const PodInfoPtr& other : added) table.AddPod(other, node);
    Cycle with;
    Prefiltered prefiltered = Prefilter(with, *cycle.pod, table, *cycle.volumes);
    PluginSet refused = prefiltered.message ? prefiltered.plugin : Filter(with, slot, refusal);
    for (const PodInfoPtr& other : added) table.RemovePod(other->uid);
    if (refused != 0) return refused;
  }
  return Filter(cycle, slot, refusal);
}

uint64_t Decider::NextRandom() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_;
}

std::vector<size_t> Decider::FindFeasible(const PodInfo& pod, Cycle& cycle, Failure& failure) {
  std::vector<size_t> feasible;
  Prefiltered prefiltered = Prefilter(cycle, pod, table_, volumes_);
  if (prefiltered.message) {
    failure.prefilter_message = *prefiltered.message;
    failure.plugins = prefiltered.plugin;
    return feasible;
  }
  std::vector<size_t> candidates = Candidates(table_, pod);
  if (candidates.size() < table_.size()) {
    failure.reasons["node(s) didn't satisfy plugin(s) [NodeAffinity]"] = table_.size() - candidates.size();
    failure.plugins |= kNodeAffinity;
  }
  feasible.reserve(candidates.size());
  for (size_t slot : candidates) {
    Refusal refusal;
    PluginSet refused = FilterWithNominated(cycle, slot, refusal);
    if (refused == 0) {
      feasible.push_back(slot);
      continue;
    }
    failure.plugins |= refused;
    for (const std::string& reason : refusal.reasons) ++failure.reasons[reason];
    if (refusal.resolvable) failure.resolvable.push_back(slot);
  }
  return feasible;
}

size_t Decider::Best(const Cycle& cycle, const std::vector<size_t>& slots) {
  std::vector<int64_t> totals(slots.size()), scores;
  for (const ScorePlugin& plugin : ScorePlugins()) {
    if (!plugin.score(cycle, default_selector_, slots, scores)) continue;
    for (size_t i = 0; i < slots.size(); ++i) totals[i] += plugin.weight * scores[i];
  }
  size_t best = 0;
  uint64_t equals = 1;
  for (size_t i = 1; i < slots.size(); ++i) {
    if (totals[i] > totals[best]) {
      best = i;
      equals = 1;
    } else if (totals[i] == totals[best] && NextRandom() % ++equals == 0) {
      best = i;
    }
  }
  return slots[best];
}

Decision Decider::Decide(const PodInfo& pod) {
  Decision decision;
  Failure failure;
  failure.nodes = table_.size();
  Cycle cycle;
  std::vector<size_t> feasible;
  if (failure.nodes > 0) {
    // Where victims have made room, that node is taken without looking further.
    size_t nominated = pod.nominated_node.empty() ? NodeTable::kNone : table_.Find(pod.nominated_node);
    if (nominated != NodeTable::kNone && table_.slots()[nominated].present) {
      Refusal refusal;
      Prefiltered prefiltered = Prefilter(cycle, pod, table_, volumes_);
      if (!prefiltered.message && FilterWithNominated(cycle, nominated, refusal) == 0) feasible.push_back(nominated);
    }
    if (feasible.empty()) feasible = FindFeasible(pod, cycle, failure);
  }
  if (feasible.empty()) {
    decision.failure = std::move(failure);
    return decision;
  }
  size_t slot = feasible.size() == 1 ? feasible.front() : Best(cycle, feasible);
  const NodeInfo& node = table_.slots()[slot];
  decision.node = node.name;
  if (!cycle.volume_needs.waiting.empty()) decision.volumes = *volumes_.Plan(cycle.volume_needs, node);
  return decision;
}

}  // namespace homeostat::scheduler
