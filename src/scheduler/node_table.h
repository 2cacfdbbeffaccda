// NodeTable: every node with the pods that run or are about to run on it, and counts of pods that rules ask about, kept
// up to date pod by pod so that no decision has to walk over all pods. Pure; one thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/pod_info.h"

namespace homeostat::scheduler {

struct NodeInfo {
  bool present = false;  // false: pods name this node, but there is no such object (or the slot is free)
  std::string name;
  object::DocumentPtr document;
  object::Value labels;
  bool unschedulable = false;
  std::vector<Taint> taints;
  Resources allocatable, requested, requested_non_zero;
  int64_t allowed_pods = 0;
  std::vector<PodInfoPtr> pods;
  std::vector<HostPort> used_ports;
  std::unordered_map<std::string, int64_t> images;  // bytes by name
};

// The nodes by the value of one label; domains are numbered.
struct Topology {
  std::vector<int32_t> domain_of;  // by slot; -1: the node has no such label
  int32_t domains = 0;
};

class NodeTable {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  void SetNode(object::DocumentPtr node);
  void RemoveNode(std::string_view name);
  // Puts the pod on a node, away from where it was before. The same uid is the same pod.
  void AddPod(PodInfoPtr pod, std::string_view node);
  void RemovePod(std::string_view uid);
  // The node a pod is on; empty if it is on none.
  std::string_view NodeOf(std::string_view uid) const;
  void SetNamespace(std::string name, object::DocumentPtr object);
  void RemoveNamespace(std::string_view name);

  // A pod that waits for its victims to go counts on its node for pods of no higher priority.
  void Nominate(PodInfoPtr pod, std::string_view node);
  void Withdraw(std::string_view uid);
  const std::vector<PodInfoPtr>& NominatedTo(std::string_view node) const;

  // Slots; some may be free. A node keeps its slot.
  const std::vector<NodeInfo>& slots() const { return slots_; }
  size_t Find(std::string_view node) const;
  size_t size() const { return present_; }  // nodes present

  bool Matches(const PodMatcher& matcher, const PodInfo& pod) const;
  // How many pods match, by slot. Valid until the next call that changes the table.
  const std::vector<int32_t>& Counts(const PodMatcher& matcher);
  const Topology& TopologyOf(const std::string& key);
  // Pods with required anti-affinity; pods with any other affinity term. By uid.
  const std::map<std::string, std::pair<PodInfoPtr, size_t>, std::less<>>& anti_affinity_pods() const {
    return anti_affinity_pods_;
  }
  const std::map<std::string, std::pair<PodInfoPtr, size_t>, std::less<>>& affinity_pods() const {
    return affinity_pods_;
  }
  size_t NodesWithImage(const std::string& image) const;
  // How many pods on nodes use the claim (namespace/name).
  size_t ClaimUsers(const std::string& claim) const;

 private:
  struct Tracked {
    PodMatcher matcher;
    std::vector<int32_t> counts;
    uint64_t used = 0;
  };
  size_t SlotFor(std::string_view name);
  void Release(size_t slot);
  void CountPod(const PodInfo& pod, size_t slot, int32_t by);
  void ForgetOldestCount();

  std::vector<NodeInfo> slots_;
  std::vector<size_t> free_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<std::string, size_t> pod_slot_;
  size_t present_ = 0;
  std::unordered_map<std::string, std::vector<PodInfoPtr>> nominated_;
  std::unordered_map<std::string, std::string> nominated_node_;
  std::unordered_map<std::string, object::DocumentPtr> namespaces_;
  std::unordered_map<std::string, Tracked> tracked_;
  uint64_t uses_ = 0;
  std::unordered_map<std::string, Topology> topologies_;
  std::map<std::string, std::pair<PodInfoPtr, size_t>, std::less<>> anti_affinity_pods_, affinity_pods_;
  std::unordered_map<std::string, size_t> image_nodes_, claim_users_;
};

}  // namespace homeostat::scheduler
