// DefaultPreemption: finds a node where pods of lower priority can make room.
#include <algorithm>
#include <tuple>

#include "scheduler/decision.h"

namespace homeostat::scheduler {
namespace {

struct Candidate {
  std::string node;
  std::vector<PodInfoPtr> victims;  // the most important first
  int64_t violations = 0;
};

std::string_view StartOf(const PodInfo& pod) { return pod.start_time.empty() ? pod.creation_time : pod.start_time; }

// Higher priority first, then the one that runs for longer.
bool MoreImportant(const PodInfoPtr& a, const PodInfoPtr& b) {
  if (a->priority != b->priority) return a->priority > b->priority;
  return std::pair(StartOf(*a), std::string_view(a->uid)) < std::pair(StartOf(*b), std::string_view(b->uid));
}

bool Fits(NodeTable& table, const VolumeTable& volumes, const PodInfo& pod, size_t slot, Refusal& refusal) {
  Cycle cycle;
  if (Prefilter(cycle, pod, table, volumes).message) return false;
  return FilterWithNominated(cycle, slot, refusal) == 0;
}

// Splits the pods into those whose budget would be broken by removing them, and the others; keeps their order.
std::pair<std::vector<PodInfoPtr>, std::vector<PodInfoPtr>> SplitByBudget(const std::vector<PodInfoPtr>& pods,
                                                                          std::vector<DisruptionBudget> budgets) {
  std::vector<PodInfoPtr> violating, others;
  for (const PodInfoPtr& pod : pods) {
    bool violates = false;
    for (DisruptionBudget& budget : budgets) {
      if (budget.ns != pod->ns || budget.selector.IsEverything() || !budget.selector.Matches(pod->labels)) continue;
      if (--budget.allowed < 0) violates = true;
    }
    (violates ? violating : others).push_back(pod);
  }
  return {std::move(violating), std::move(others)};
}

// The victims on one node, found by taking away every less important pod and putting back what may stay.
std::optional<Candidate> TryNode(NodeTable& table, const VolumeTable& volumes, const PodInfo& pod, size_t slot,
                                 const std::vector<DisruptionBudget>& budgets, Refusal& refusal) {
  Candidate candidate;
  candidate.node = table.slots()[slot].name;
  std::vector<PodInfoPtr> removed;
  for (const PodInfoPtr& other : table.slots()[slot].pods) {
    if (other->priority < pod.priority) removed.push_back(other);
  }
  if (removed.empty()) {
    refusal.Because("No preemption victims found for incoming pod");
    return std::nullopt;
  }
  std::ranges::sort(removed, MoreImportant);
  for (const PodInfoPtr& other : removed) table.RemovePod(other->uid);
  bool possible = Fits(table, volumes, pod, slot, refusal);
  if (possible) {
    auto [violating, others] = SplitByBudget(removed, budgets);
    auto reprieve = [&](const PodInfoPtr& other) {
      table.AddPod(other, candidate.node);
      Refusal ignored;
      if (Fits(table, volumes, pod, slot, ignored)) return true;
      table.RemovePod(other->uid);
      candidate.victims.push_back(other);
      return false;
    };
    for (const PodInfoPtr& other : violating) candidate.violations += reprieve(other) ? 0 : 1;
    for (const PodInfoPtr& other : others) reprieve(other);
    std::ranges::sort(candidate.victims, MoreImportant);
  }
  for (const PodInfoPtr& other : removed) table.AddPod(other, candidate.node);
  if (!possible) return std::nullopt;
  return candidate;
}

// What makes one node's victims a lesser loss than another's.
auto Loss(const Candidate& candidate) {
  int64_t sum = 0;
  int32_t highest = candidate.victims.empty() ? 0 : candidate.victims.front()->priority;
  std::string_view earliest;
  for (const PodInfoPtr& victim : candidate.victims) {
    // Shifted, so that many pods of negative priority don't weigh less than one.
    sum += static_cast<int64_t>(victim->priority) + (int64_t{1} << 31);
    if (victim->priority == highest && (earliest.empty() || StartOf(*victim) < earliest)) earliest = StartOf(*victim);
  }
  return std::tuple(candidate.violations, highest, sum, candidate.victims.size(), earliest);
}

bool LesserLoss(const Candidate& a, const Candidate& b) {
  auto [violations_a, highest_a, sum_a, count_a, earliest_a] = Loss(a);
  auto [violations_b, highest_b, sum_b, count_b, earliest_b] = Loss(b);
  // Of the last, the later start is the lesser loss.
  return std::tie(violations_a, highest_a, sum_a, count_a, earliest_b) <
         std::tie(violations_b, highest_b, sum_b, count_b, earliest_a);
}

bool VictimsAreLeaving(const NodeTable& table, const PodInfo& pod) {
  size_t slot = pod.nominated_node.empty() ? NodeTable::kNone : table.Find(pod.nominated_node);
  if (slot == NodeTable::kNone) return false;
  return std::ranges::any_of(table.slots()[slot].pods, [&](const PodInfoPtr& other) {
    return other->terminating && other->priority < pod.priority;
  });
}

}  // namespace

std::optional<Preemption> FindPreemption(NodeTable& table, const VolumeTable& volumes, const PodInfoPtr& pod,
                                         const std::vector<DisruptionBudget>& budgets, Failure& failure) {
  if (failure.nodes == 0) return std::nullopt;
  if (pod->never_preempts) {
    failure.preemption_message = "preemption: not eligible due to preemptionPolicy=Never.";
    return std::nullopt;
  }
  if (VictimsAreLeaving(table, *pod)) {
    failure.preemption_message = "preemption: not eligible due to a terminating pod on the nominated node.";
    return std::nullopt;
  }
  Failure outcome;
  outcome.nodes = failure.nodes;
  size_t limit = std::max<size_t>(failure.nodes / 10, 100), looked_at = 0;
  std::optional<Candidate> best;
  size_t found = 0;
  for (size_t slot : failure.resolvable) {
    if (found >= limit) break;
    ++looked_at;
    Refusal refusal;
    std::optional<Candidate> candidate = TryNode(table, volumes, *pod, slot, budgets, refusal);
    if (!candidate) {
      for (const std::string& reason : refusal.reasons) ++outcome.reasons[reason];
      continue;
    }
    ++found;
    if (!best || LesserLoss(*candidate, *best)) best = std::move(candidate);
  }
  if (best) return Preemption{std::move(best->node), std::move(best->victims)};
  if (looked_at < failure.nodes)
    outcome.reasons["Preemption is not helpful for scheduling"] = failure.nodes - looked_at;
  failure.preemption_message = "preemption: " + outcome.Message();
  return std::nullopt;
}

}  // namespace homeostat::scheduler
