// PodTopologySpread: keeps a group's pods spread over zones, nodes or other domains.
#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/plugins.h"

namespace homeostat::scheduler {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname", kZone = "topology.kubernetes.io/zone";
constexpr int64_t kMaxScore = 100;

// Whether a node's pods count for a constraint.
bool Counts(const SpreadConstraint& constraint, const PodInfo& pod, const NodeInfo& node) {
  if (constraint.honor_node_affinity && !MatchesNodeAffinity(pod, node)) return false;
  return !constraint.honor_node_taints || !HasUntoleratedTaint(pod, node);
}

bool HasAll(const std::vector<const Topology*>& topologies, size_t slot) {
  return std::ranges::all_of(topologies, [&](const Topology* topology) { return topology->domain_of[slot] >= 0; });
}

std::vector<SpreadConstraint> DefaultConstraints(const PodInfo& pod, const DefaultSelector& selector_of) {
  std::vector<SpreadConstraint> constraints;
  std::optional<object::LabelSelector> selector = selector_of ? selector_of(pod) : std::nullopt;
  if (!selector || selector->IsEverything() || selector->IsNothing()) return constraints;
  SpreadConstraint constraint;
  constraint.hard = false;
  constraint.matcher.parts.push_back({{pod.ns}, std::nullopt, *std::move(selector)});
  constraint.matcher.count_terminating = false;
  constraint.matcher.MakeKey();
  constraint.topology_key = kHostname;
  constraint.max_skew = 3;
  constraints.push_back(constraint);
  constraint.topology_key = kZone;
  constraint.max_skew = 5;
  constraints.push_back(std::move(constraint));
  return constraints;
}

// Adds one soft constraint's score of each slot that is not ignored.
void AddScores(const Cycle& cycle, const SpreadConstraint& constraint, const Topology& topology,
               const std::vector<const Topology*>& required, std::span<const size_t> slots,
               const std::vector<bool>& ignored, std::vector<double>& sums) {
  const std::vector<int32_t>& pods = cycle.table->Counts(constraint.matcher);
  size_t scored = 0, domains = 0;
  std::vector<int64_t> counts(topology.domains, -1);  // -1: no candidate is in this domain
  for (size_t i = 0; i < slots.size(); ++i) {
    if (ignored[i]) continue;
    ++scored;
    int32_t domain = topology.domain_of[slots[i]];
    if (domain < 0 || counts[domain] == 0) continue;
    counts[domain] = 0;
    ++domains;
  }
  bool by_node = constraint.topology_key == kHostname;
  if (!by_node) {
    const std::vector<NodeInfo>& nodes = cycle.table->slots();
    for (size_t slot = 0; slot < nodes.size(); ++slot) {
      int32_t domain = topology.domain_of[slot];
      if (domain < 0 || counts[domain] < 0 || pods[slot] == 0) continue;
      if (HasAll(required, slot) && Counts(constraint, *cycle.pod, nodes[slot])) counts[domain] += pods[slot];
    }
  }
  double weight = std::log(static_cast<double>((by_node ? scored : domains) + 2));
  for (size_t i = 0; i < slots.size(); ++i) {
    int32_t domain = topology.domain_of[slots[i]];
    if (ignored[i] || domain < 0) continue;
    int64_t count = by_node ? pods[slots[i]] : counts[domain];
    sums[i] += static_cast<double>(count) * weight + static_cast<double>(constraint.max_skew - 1);
  }
}

// The fewer the better, from 0 to 100.
void Normalize(const std::vector<double>& sums, const std::vector<bool>& ignored, std::vector<int64_t>& scores) {
  int64_t least = std::numeric_limits<int64_t>::max(), most = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (ignored[i]) continue;
    scores[i] = std::llround(sums[i]);
    least = std::min(least, scores[i]);
    most = std::max(most, scores[i]);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    if (ignored[i]) {
      scores[i] = 0;
    } else {
      scores[i] = most == 0 ? kMaxScore : kMaxScore * (most + least - scores[i]) / most;
    }
  }
}

}  // namespace

void PrefilterPodTopologySpread(Cycle& cycle) {
  std::vector<const SpreadConstraint*> constraints;
  for (const SpreadConstraint& constraint : cycle.pod->spread) {
    if (constraint.hard) constraints.push_back(&constraint);
  }
  if (constraints.empty()) return;
  std::vector<const Topology*> topologies;
  for (const SpreadConstraint* constraint : constraints)
    topologies.push_back(&cycle.table->TopologyOf(constraint->topology_key));
  const std::vector<NodeInfo>& nodes = cycle.table->slots();
  for (size_t i = 0; i < constraints.size(); ++i) {
    const SpreadConstraint& constraint = *constraints[i];
    HardSpread spread;
    spread.topology = topologies[i];
    spread.max_skew = constraint.max_skew;
    spread.matches_self = constraint.matches_self;
    std::vector<int64_t> counts(topologies[i]->domains, -1);
    const std::vector<int32_t>& pods = cycle.table->Counts(constraint.matcher);
    for (size_t slot = 0; slot < nodes.size(); ++slot) {
      if (!nodes[slot].present || !HasAll(topologies, slot) || !Counts(constraint, *cycle.pod, nodes[slot])) continue;
      int64_t& count = counts[topologies[i]->domain_of[slot]];
      count = std::max<int64_t>(count, 0) + pods[slot];
    }
    int64_t eligible = 0;
    // Without any domain that counts, no skew is too great.
    spread.least = std::numeric_limits<int32_t>::max();
    for (int64_t& count : counts) {
      if (count < 0) {
        count = 0;
        continue;
      }
      ++eligible;
      spread.least = std::min(spread.least, count);
    }
    if (eligible < constraint.min_domains) spread.least = 0;
    spread.counts = std::move(counts);
    cycle.spread.push_back(std::move(spread));
  }
}

bool FilterPodTopologySpread(const Cycle& cycle, size_t slot, Refusal& refusal) {
  for (const HardSpread& spread : cycle.spread) {
    if (spread.topology->domain_of[slot] < 0) {
      return refusal.Because("node(s) didn't match pod topology spread constraints (missing required label)");
    }
    int64_t skew = spread.At(slot) + (spread.matches_self ? 1 : 0) - spread.least;
    if (skew > spread.max_skew) return refusal.Because("node(s) didn't match pod topology spread constraints", true);
  }
  return true;
}

bool ScorePodTopologySpread(const Cycle& cycle, const DefaultSelector& selector, std::span<const size_t> slots,
                            std::vector<int64_t>& scores) {
  std::vector<SpreadConstraint> constraints;
  bool own = !cycle.pod->spread.empty();
  if (own) {
    for (const SpreadConstraint& constraint : cycle.pod->spread) {
      if (!constraint.hard) constraints.push_back(constraint);
    }
  } else {
    constraints = DefaultConstraints(*cycle.pod, selector);
  }
  if (constraints.empty()) return false;
  std::vector<const Topology*> topologies, required;
  for (const SpreadConstraint& constraint : constraints)
    topologies.push_back(&cycle.table->TopologyOf(constraint.topology_key));
  // Nodes need every label only where someone asked for the constraints.
  if (own) required = topologies;
  std::vector<bool> ignored(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) ignored[i] = !HasAll(required, slots[i]);
  std::vector<double> sums(slots.size());
  for (size_t i = 0; i < constraints.size(); ++i) {
    AddScores(cycle, constraints[i], *topologies[i], required, slots, ignored, sums);
  }
  scores.assign(slots.size(), 0);
  Normalize(sums, ignored, scores);
  return true;
}

}  // namespace homeostat::scheduler
