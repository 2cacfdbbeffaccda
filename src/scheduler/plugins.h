// Plugins: the rules of which node can run a pod and which would be best, each a function of its own, under the names
// that Kubernetes gives them. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/node_table.h"
#include "scheduler/volume_table.h"

namespace homeostat::scheduler {

// Bits, so that a pod can remember which plugins refused it.
enum Plugin : uint32_t {
  kNodeUnschedulable = 1 << 0,
  kNodeName = 1 << 1,
  kTaintToleration = 1 << 2,
  kNodeAffinity = 1 << 3,
  kNodePorts = 1 << 4,
  kNodeResourcesFit = 1 << 5,
  kVolumeRestrictions = 1 << 6,
  kVolumeBinding = 1 << 7,
  kPodTopologySpread = 1 << 8,
  kInterPodAffinity = 1 << 9,
  kVolumeZone = 1 << 10,
};
using PluginSet = uint32_t;

// Why a node can't run the pod.
struct Refusal {
  // Removing pods from the node may help. Otherwise preemption does not look at it.
  bool resolvable = false;
  std::vector<std::string> reasons;
  bool Because(std::string reason, bool may_be_resolved = false) {
    reasons.push_back(std::move(reason));
    resolvable = may_be_resolved;
    return false;
  }
};

// A rule that pods in the same domain as counted ones are judged by.
struct DomainCounts {
  const Topology* topology = nullptr;
  std::vector<int64_t> counts;  // by domain
  int64_t At(size_t slot) const {
    int32_t domain = topology->domain_of[slot];
    return domain < 0 ? 0 : counts[domain];
  }
};

struct HardSpread : DomainCounts {
  int64_t max_skew = 1, least = 0;
  bool matches_self = false;
};

// One decision: the pod, and what plugins work out about it once for all nodes. Valid until the table changes.
struct Cycle {
  const PodInfo* pod = nullptr;
  NodeTable* table = nullptr;
  const VolumeTable* volumes = nullptr;
  std::vector<HardSpread> spread;
  std::vector<DomainCounts> affinity, anti_affinity, existing_anti_affinity;
  bool affinity_matches_self = false;  // the first of a group that wants to be together may go anywhere
  VolumeNeeds volume_needs;
};

// Fills in the cycle. With a message: no node can run the pod, and why.
struct Prefiltered {
  std::optional<std::string> message;
  PluginSet plugin = 0;
};
Prefiltered Prefilter(Cycle& cycle, const PodInfo& pod, NodeTable& table, const VolumeTable& volumes);

struct FilterPlugin {
  Plugin plugin;
  std::string_view name;
  // True: the node will do. Otherwise the refusal says why not.
  bool (*filter)(const Cycle& cycle, size_t slot, Refusal& refusal);
};
// In the order in which they are asked; the first refusal counts.
std::span<const FilterPlugin> FilterPlugins();

// Asks all plugins; the one that refused, or 0.
PluginSet Filter(const Cycle& cycle, size_t slot, Refusal& refusal);
// Only those that look at nothing but the node and the pod: whether a change of this node is worth another try.
bool PassesNodeItself(const PodInfo& pod, const NodeInfo& node);

// A pod's selector for the spread that holds by default: of the Services and the controller it belongs to.
using DefaultSelector = std::function<std::optional<object::LabelSelector>(const PodInfo& pod)>;

struct ScorePlugin {
  std::string_view name;
  int64_t weight;
  // Scores from 0 to 100 for the slots given, in the same order; false: has no opinion about this pod.
  bool (*score)(const Cycle& cycle, const DefaultSelector& selector, std::span<const size_t> slots,
                std::vector<int64_t>& scores);
};
std::span<const ScorePlugin> ScorePlugins();

// --- the plugins, one by one; what they do and say is upstream's.
bool FilterNodeUnschedulable(const Cycle& cycle, size_t slot, Refusal& refusal);
bool FilterNodeName(const Cycle& cycle, size_t slot, Refusal& refusal);
bool FilterTaintToleration(const Cycle& cycle, size_t slot, Refusal& refusal);
bool FilterNodeAffinity(const Cycle& cycle, size_t slot, Refusal& refusal);
bool FilterNodePorts(const Cycle& cycle, size_t slot, Refusal& refusal);
bool FilterNodeResourcesFit(const Cycle& cycle, size_t slot, Refusal& refusal);
bool FilterVolumeRestrictions(const Cycle& cycle, size_t slot, Refusal& refusal);
bool FilterVolumeBinding(const Cycle& cycle, size_t slot, Refusal& refusal);
bool FilterVolumeZone(const Cycle& cycle, size_t slot, Refusal& refusal);
bool FilterPodTopologySpread(const Cycle& cycle, size_t slot, Refusal& refusal);
bool FilterInterPodAffinity(const Cycle& cycle, size_t slot, Refusal& refusal);
void PrefilterPodTopologySpread(Cycle& cycle);
void PrefilterInterPodAffinity(Cycle& cycle);

bool ScoreTaintToleration(const Cycle&, const DefaultSelector&, std::span<const size_t> slots,
                          std::vector<int64_t>& scores);
bool ScoreNodeAffinity(const Cycle&, const DefaultSelector&, std::span<const size_t> slots,
                       std::vector<int64_t>& scores);
bool ScoreLeastAllocated(const Cycle&, const DefaultSelector&, std::span<const size_t> slots,
                         std::vector<int64_t>& scores);
bool ScoreBalancedAllocation(const Cycle&, const DefaultSelector&, std::span<const size_t> slots,
                             std::vector<int64_t>& scores);
bool ScorePodTopologySpread(const Cycle&, const DefaultSelector&, std::span<const size_t> slots,
                            std::vector<int64_t>& scores);
bool ScoreInterPodAffinity(const Cycle&, const DefaultSelector&, std::span<const size_t> slots,
                           std::vector<int64_t>& scores);
bool ScoreImageLocality(const Cycle&, const DefaultSelector&, std::span<const size_t> slots,
                        std::vector<int64_t>& scores);

// nodeSelector and required node affinity.
bool MatchesNodeAffinity(const PodInfo& pod, const NodeInfo& node);
// A NoSchedule or NoExecute taint that the pod doesn't tolerate.
bool HasUntoleratedTaint(const PodInfo& pod, const NodeInfo& node);

}  // namespace homeostat::scheduler
