// Deciding: one pod, one answer. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/plugins.h"

namespace homeostat::scheduler {

// Why a pod got no node.
struct Failure {
  size_t nodes = 0;
  std::string prefilter_message;          // set: no node was looked at
  std::map<std::string, size_t> reasons;  // how many nodes for each reason
  std::vector<size_t> resolvable;         // slots where removing pods may help
  PluginSet plugins = 0;
  std::string preemption_message;
  // "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). preemption: …"
  std::string Message() const;
};

struct Decision {
  std::string node;  // empty: see failure
  std::optional<Failure> failure;
  VolumePlan volumes;
};

// Chooses among equals by a sequence that the seed determines.
class Decider {
 public:
  Decider(NodeTable& table, const VolumeTable& volumes, DefaultSelector default_selector, uint64_t seed)
      : table_(table), volumes_(volumes), default_selector_(std::move(default_selector)), random_(seed | 1) {}
  Decision Decide(const PodInfo& pod);

 private:
  // Slots that can run the pod; why the others can't goes to failure.
  std::vector<size_t> FindFeasible(const PodInfo& pod, Cycle& cycle, Failure& failure);
  size_t Best(const Cycle& cycle, const std::vector<size_t>& slots);
  uint64_t NextRandom();

  NodeTable& table_;
  const VolumeTable& volumes_;
  DefaultSelector default_selector_;
  uint64_t random_;
};

// Whether the slot can run the pod, also with pods of no lower priority that are nominated to it counted in.
PluginSet FilterWithNominated(const Cycle& cycle, size_t slot, Refusal& refusal);

// The pods to remove so that `pod` fits on a node. Needs are counted exactly: of the pods of lower priority as few and
// as unimportant ones as can be. Sets failure.preemption_message where there is no such node.
struct Preemption {
  std::string node;
  std::vector<PodInfoPtr> victims;
};
// How many more pods a PodDisruptionBudget lets go, by the pods it covers; for choosing victims.
struct DisruptionBudget {
  std::string ns;
  object::LabelSelector selector;
  int64_t allowed = 0;
};
std::optional<Preemption> FindPreemption(NodeTable& table, const VolumeTable& volumes, const PodInfoPtr& pod,
                                         const std::vector<DisruptionBudget>& budgets, Failure& failure);

}  // namespace homeostat::scheduler
