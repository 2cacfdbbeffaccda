// The scores that look at one node and the pod.
#include <algorithm>
#include <cmath>

#include "scheduler/plugins.h"

namespace homeostat::scheduler {
namespace {

constexpr int64_t kMaxScore = 100;
constexpr int64_t kMegabyte = 1024 * 1024;
// Images smaller than this are pulled soon enough; more than a gigabyte a container makes no further difference.
constexpr int64_t kLeastImageBytes = 23 * kMegabyte, kMostImageBytes = 1000 * kMegabyte;

const NodeInfo& NodeAt(const Cycle& cycle, size_t slot) { return cycle.table->slots()[slot]; }

// To 0…100 by the greatest; reverse: the less the better.
void NormalizeByMost(std::vector<int64_t>& scores, bool reverse) {
  int64_t most = scores.empty() ? 0 : std::ranges::max(scores);
  for (int64_t& score : scores) {
    score = most == 0 ? 0 : kMaxScore * score / most;
    if (reverse) score = kMaxScore - score;
  }
}

// How evenly cpu and memory would be used, from 50 to 100.
int64_t Balance(const Resources& used, const Resources& allocatable) {
  if (allocatable.milli_cpu == 0 || allocatable.memory == 0) return kMaxScore;
  double cpu = std::min(1.0, static_cast<double>(used.milli_cpu) / static_cast<double>(allocatable.milli_cpu));
  double memory = std::min(1.0, static_cast<double>(used.memory) / static_cast<double>(allocatable.memory));
  return static_cast<int64_t>((1 - std::abs(cpu - memory) / 2) * kMaxScore);
}

int64_t FreeShare(int64_t used, int64_t allocatable) {
  return used > allocatable ? 0 : (allocatable - used) * kMaxScore / allocatable;
}

}  // namespace

bool ScoreTaintToleration(const Cycle& cycle, const DefaultSelector&, std::span<const size_t> slots,
                          std::vector<int64_t>& scores) {
  scores.assign(slots.size(), 0);
  bool any = false;
  for (size_t i = 0; i < slots.size(); ++i) {
    for (const Taint& taint : NodeAt(cycle, slots[i]).taints) {
      if (taint.effect != "PreferNoSchedule" || Tolerated(cycle.pod->tolerations, taint)) continue;
      ++scores[i];
      any = true;
    }
  }
  if (any) NormalizeByMost(scores, true);
  return any;
}

bool ScoreNodeAffinity(const Cycle& cycle, const DefaultSelector&, std::span<const size_t> slots,
                       std::vector<int64_t>& scores) {
  if (cycle.pod->node_preferences.empty()) return false;
  scores.assign(slots.size(), 0);
  for (size_t i = 0; i < slots.size(); ++i) {
    const NodeInfo& node = NodeAt(cycle, slots[i]);
    for (const WeightedNodeTerm& preference : cycle.pod->node_preferences) {
      if (preference.term.Matches(node.name, node.labels)) scores[i] += preference.weight;
    }
  }
  NormalizeByMost(scores, false);
  return true;
}

bool ScoreLeastAllocated(const Cycle& cycle, const DefaultSelector&, std::span<const size_t> slots,
                         std::vector<int64_t>& scores) {
  scores.assign(slots.size(), 0);
  const Resources& asked = cycle.pod->requests.non_zero;
  for (size_t i = 0; i < slots.size(); ++i) {
    const NodeInfo& node = NodeAt(cycle, slots[i]);
    int64_t sum = 0, weights = 0;
    auto add = [&](int64_t used, int64_t allocatable) {
      if (allocatable == 0) return;
      sum += FreeShare(used, allocatable);
      ++weights;
    };
    add(node.requested_non_zero.milli_cpu + asked.milli_cpu, node.allocatable.milli_cpu);
    add(node.requested_non_zero.memory + asked.memory, node.allocatable.memory);
    scores[i] = weights == 0 ? 0 : sum / weights;
  }
  return true;
}

bool ScoreBalancedAllocation(const Cycle& cycle, const DefaultSelector&, std::span<const size_t> slots,
                             std::vector<int64_t>& scores) {
  const Resources& asked = cycle.pod->requests.exact;
  if (asked.milli_cpu == 0 && asked.memory == 0) return false;
  scores.assign(slots.size(), 0);
  for (size_t i = 0; i < slots.size(); ++i) {
    const NodeInfo& node = NodeAt(cycle, slots[i]);
    Resources with;
    with.milli_cpu = node.requested.milli_cpu + asked.milli_cpu;
    with.memory = node.requested.memory + asked.memory;
    // What matters is whether the pod makes the balance better or worse.
    int64_t gain = Balance(with, node.allocatable) - Balance(node.requested, node.allocatable);
    scores[i] = kMaxScore / 2 + (kMaxScore / 2 + gain) / 2;
  }
  return true;
}

bool ScoreImageLocality(const Cycle& cycle, const DefaultSelector&, std::span<const size_t> slots,
                        std::vector<int64_t>& scores) {
  const PodInfo& pod = *cycle.pod;
  std::vector<std::pair<const std::string*, double>> known;  // with the share of nodes that have it
  for (const std::string& image : pod.images) {
    size_t nodes = cycle.table->NodesWithImage(image);
    if (nodes > 0) known.emplace_back(&image, static_cast<double>(nodes) / static_cast<double>(cycle.table->size()));
  }
  if (known.empty()) return false;
  scores.assign(slots.size(), 0);
  int64_t most = kMostImageBytes * static_cast<int64_t>(pod.image_containers);
  for (size_t i = 0; i < slots.size(); ++i) {
    const NodeInfo& node = NodeAt(cycle, slots[i]);
    int64_t sum = 0;
    for (const auto& [image, share] : known) {
      auto at = node.images.find(*image);
      if (at != node.images.end()) sum += static_cast<int64_t>(static_cast<double>(at->second) * share);
    }
    scores[i] = kMaxScore * (std::clamp(sum, kLeastImageBytes, most) - kLeastImageBytes) / (most - kLeastImageBytes);
  }
  return true;
}

std::span<const ScorePlugin> ScorePlugins() {
  static constexpr ScorePlugin kPlugins[] = {
      {"TaintToleration", 3, ScoreTaintToleration},   {"NodeAffinity", 2, ScoreNodeAffinity},
      {"NodeResourcesFit", 1, ScoreLeastAllocated},   {"PodTopologySpread", 2, ScorePodTopologySpread},
      {"InterPodAffinity", 2, ScoreInterPodAffinity}, {"NodeResourcesBalancedAllocation", 1, ScoreBalancedAllocation},
      {"ImageLocality", 1, ScoreImageLocality},
  };
  return kPlugins;
}

}  // namespace homeostat::scheduler
