// The filters that look at one node and the pod.
#include <algorithm>

#include "scheduler/plugins.h"

namespace homeostat::scheduler {
namespace {

const NodeInfo& NodeAt(const Cycle& cycle, size_t slot) { return cycle.table->slots()[slot]; }

bool ToleratesUnschedulable(const PodInfo& pod) {
  return Tolerated(pod.tolerations, {"node.kubernetes.io/unschedulable", "", "NoSchedule"});
}

// A resource that is short even on an empty node can't be had by removing pods.
void CheckResource(std::string_view name, int64_t asked, int64_t used, int64_t allocatable, bool& fits,
                   bool& resolvable, Refusal& refusal) {
  if (asked <= 0 || asked <= allocatable - used) return;
  fits = false;
  if (asked > allocatable) resolvable = false;
  refusal.reasons.push_back("Insufficient " + std::string(name));
}

}  // namespace

bool MatchesNodeAffinity(const PodInfo& pod, const NodeInfo& node) {
  for (const auto& [key, value] : pod.node_labels) {
    object::Value label = node.labels.Get(key);
    if (!label || label.AsString() != value) return false;
  }
  return !pod.node_affinity || pod.node_affinity->Matches(node.name, node.labels);
}

bool HasUntoleratedTaint(const PodInfo& pod, const NodeInfo& node) {
  return std::ranges::any_of(node.taints, [&](const Taint& taint) {
    return (taint.effect == "NoSchedule" || taint.effect == "NoExecute") && !Tolerated(pod.tolerations, taint);
  });
}

bool FilterNodeUnschedulable(const Cycle& cycle, size_t slot, Refusal& refusal) {
  if (!NodeAt(cycle, slot).unschedulable || ToleratesUnschedulable(*cycle.pod)) return true;
  return refusal.Because("node(s) were unschedulable");
}

bool FilterNodeName(const Cycle& cycle, size_t slot, Refusal& refusal) {
  if (cycle.pod->node_name.empty() || cycle.pod->node_name == NodeAt(cycle, slot).name) return true;
  return refusal.Because("node(s) didn't match the requested node name");
}

bool FilterTaintToleration(const Cycle& cycle, size_t slot, Refusal& refusal) {
  if (!HasUntoleratedTaint(*cycle.pod, NodeAt(cycle, slot))) return true;
  return refusal.Because("node(s) had untolerated taint(s)");
}

bool FilterNodeAffinity(const Cycle& cycle, size_t slot, Refusal& refusal) {
  if (MatchesNodeAffinity(*cycle.pod, NodeAt(cycle, slot))) return true;
  return refusal.Because("node(s) didn't match Pod's node affinity/selector");
}

bool FilterNodePorts(const Cycle& cycle, size_t slot, Refusal& refusal) {
  for (const HostPort& wanted : cycle.pod->ports) {
    for (const HostPort& used : NodeAt(cycle, slot).used_ports) {
      if (wanted.Conflicts(used))
        return refusal.Because("node(s) didn't have free ports for the requested pod ports", true);
    }
  }
  return true;
}

bool FilterNodeResourcesFit(const Cycle& cycle, size_t slot, Refusal& refusal) {
  const NodeInfo& node = NodeAt(cycle, slot);
  const Resources& asked = cycle.pod->requests.exact;
  bool fits = true, resolvable = true;
  if (static_cast<int64_t>(node.pods.size()) + 1 > node.allowed_pods) {
    fits = false;
    refusal.reasons.push_back("Too many pods");
  }
  CheckResource("cpu", asked.milli_cpu, node.requested.milli_cpu, node.allocatable.milli_cpu, fits, resolvable,
                refusal);
  CheckResource("memory", asked.memory, node.requested.memory, node.allocatable.memory, fits, resolvable, refusal);
  CheckResource("ephemeral-storage", asked.ephemeral_storage, node.requested.ephemeral_storage,
                node.allocatable.ephemeral_storage, fits, resolvable, refusal);
  for (const auto& [name, value] : asked.others) {
    CheckResource(name, value, node.requested.Other(name), node.allocatable.Other(name), fits, resolvable, refusal);
  }
  refusal.resolvable = !fits && resolvable;
  return fits;
}

bool FilterVolumeRestrictions(const Cycle& cycle, size_t, Refusal& refusal) {
  if (!cycle.volume_needs.claim_in_use) return true;
  return refusal.Because(
      "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another "
      "pod",
      true);
}

bool FilterVolumeBinding(const Cycle& cycle, size_t slot, Refusal& refusal) {
  const VolumeNeeds& needs = cycle.volume_needs;
  const NodeInfo& node = NodeAt(cycle, slot);
  if (needs.missing_volume)
    return refusal.Because("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
  for (const Volume* volume : needs.bound) {
    if (volume->node_affinity && !volume->node_affinity->Matches(node.name, node.labels)) {
      return refusal.Because("node(s) didn't match PersistentVolume's node affinity");
    }
  }
  if (!needs.waiting.empty() && !cycle.volumes->Plan(needs, node)) {
    return refusal.Because("node(s) didn't find available persistent volumes to bind");
  }
  return true;
}

namespace {

// Labels of volumes and nodes that say where they are, and the one that stands for an old one.
constexpr std::pair<std::string_view, std::string_view> kPlaceLabels[] = {
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
};

// A volume that is in several zones has them all in its label, with "__" between them.
bool NamesPlace(std::string_view places, std::string_view place) {
  while (true) {
    size_t end = places.find("__");
    if (places.substr(0, end) == place) return true;
    if (end == places.npos) return false;
    places.remove_prefix(end + 2);
  }
}

}  // namespace

bool FilterVolumeZone(const Cycle& cycle, size_t slot, Refusal& refusal) {
  const object::Value& node = NodeAt(cycle, slot).labels;
  bool somewhere = std::ranges::any_of(kPlaceLabels, [&](const auto& label) { return static_cast<bool>(node.Get(label.first)); });
  if (!somewhere) return true;
  for (const Volume* volume : cycle.volume_needs.bound) {
    for (const auto& [label, stable] : kPlaceLabels) {
      object::Value places = volume->labels.Get(label);
      if (!places) continue;
      object::Value place = node.Get(label) ? node.Get(label) : node.Get(stable);
      if (!place || !NamesPlace(places.AsString(), place.AsString())) return refusal.Because("node(s) had no available volume zone");
    }
  }
  return true;
}

std::span<const FilterPlugin> FilterPlugins() {
  static constexpr FilterPlugin kPlugins[] = {
      {kNodeUnschedulable, "NodeUnschedulable", FilterNodeUnschedulable},
      {kNodeName, "NodeName", FilterNodeName},
      {kTaintToleration, "TaintToleration", FilterTaintToleration},
      {kNodeAffinity, "NodeAffinity", FilterNodeAffinity},
      {kNodePorts, "NodePorts", FilterNodePorts},
      {kNodeResourcesFit, "NodeResourcesFit", FilterNodeResourcesFit},
      {kVolumeRestrictions, "VolumeRestrictions", FilterVolumeRestrictions},
      {kVolumeBinding, "VolumeBinding", FilterVolumeBinding},
      {kVolumeZone, "VolumeZone", FilterVolumeZone},
      {kPodTopologySpread, "PodTopologySpread", FilterPodTopologySpread},
      {kInterPodAffinity, "InterPodAffinity", FilterInterPodAffinity},
  };
  return kPlugins;
}

PluginSet Filter(const Cycle& cycle, size_t slot, Refusal& refusal) {
  for (const FilterPlugin& plugin : FilterPlugins()) {
    if (!plugin.filter(cycle, slot, refusal)) return plugin.plugin;
  }
  return 0;
}

bool PassesNodeItself(const PodInfo& pod, const NodeInfo& node) {
  if (!node.present) return false;
  if (node.unschedulable && !ToleratesUnschedulable(pod)) return false;
  if (!pod.node_name.empty() && pod.node_name != node.name) return false;
  if (HasUntoleratedTaint(pod, node) || !MatchesNodeAffinity(pod, node)) return false;
  const Resources& asked = pod.requests.exact;
  auto short_of = [](int64_t wanted, int64_t used, int64_t all) { return wanted > 0 && wanted > all - used; };
  if (static_cast<int64_t>(node.pods.size()) + 1 > node.allowed_pods) return false;
  if (short_of(asked.milli_cpu, node.requested.milli_cpu, node.allocatable.milli_cpu)) return false;
  if (short_of(asked.memory, node.requested.memory, node.allocatable.memory)) return false;
  if (short_of(asked.ephemeral_storage, node.requested.ephemeral_storage, node.allocatable.ephemeral_storage))
    return false;
  return std::ranges::none_of(asked.others, [&](const auto& other) {
    return short_of(other.second, node.requested.Other(other.first), node.allocatable.Other(other.first));
  });
}

Prefiltered Prefilter(Cycle& cycle, const PodInfo& pod, NodeTable& table, const VolumeTable& volumes) {
  cycle = Cycle();
  cycle.pod = &pod;
  cycle.table = &table;
  cycle.volumes = &volumes;
  if (pod.pinned_nodes && pod.pinned_nodes->empty()) return {"pod affinity terms conflict", kNodeAffinity};
  if (!pod.claims.empty()) {
    cycle.volume_needs = volumes.NeedsOf(pod, table);
    if (!cycle.volume_needs.refusal.empty()) return {cycle.volume_needs.refusal, kVolumeBinding};
  }
  PrefilterPodTopologySpread(cycle);
  PrefilterInterPodAffinity(cycle);
  return {};
}

}  // namespace homeostat::scheduler
