// VolumeTable: what pods' claims need to know: claims, volumes and storage classes. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/node_table.h"

namespace homeostat::scheduler {

struct Claim {
  std::string key, uid, storage_class, volume, phase, selected_node;
  std::vector<std::string> access_modes;
  int64_t bytes = 0;
  bool bound = false;  // to its volume, in both directions
  bool terminating = false;
  std::optional<object::LabelSelector> selector;
  std::string volume_mode;
};

struct Volume {
  std::string name, storage_class, claim_key, claim_uid, phase, volume_mode;
  std::vector<std::string> access_modes;
  int64_t bytes = 0;
  std::optional<NodeSelector> node_affinity;
  object::DocumentPtr document;
  object::Value labels;
};

struct StorageClass {
  bool waits_for_consumer = false;
  bool provisions = true;  // false: kubernetes.io/no-provisioner
  // Any of these terms, if there are any: the label has one of the values.
  std::vector<std::vector<std::pair<std::string, std::vector<std::string>>>> topologies;
};

// What a pod's claims ask of a node.
struct VolumeNeeds {
  std::string refusal;  // set: the pod can run nowhere for now
  std::vector<const Volume*> bound;
  std::vector<const Claim*> waiting;  // to be bound once a node is chosen
  bool claim_in_use = false;          // a claim that is for one pod alone has one
  bool missing_volume = false;        // a claim names a volume that is not there
};

// What has to be done for a pod's waiting claims once its node is known.
struct VolumePlan {
  struct Binding {
    std::string claim_key, volume;
  };
  std::vector<Binding> bindings;        // to volumes that exist
  std::vector<std::string> provisions;  // keys of claims whose provisioner is told the node
};

class VolumeTable {
 public:
  void SetClaim(object::DocumentPtr claim);
  void RemoveClaim(std::string_view key) { claims_.erase(std::string(key)); }
  void SetVolume(object::DocumentPtr volume);
  void RemoveVolume(std::string_view name) { volumes_.erase(std::string(name)); }
  void SetClass(object::DocumentPtr storage_class);
  void RemoveClass(std::string_view name) { classes_.erase(std::string(name)); }

  const Claim* FindClaim(const std::string& key) const;
  VolumeNeeds NeedsOf(const PodInfo& pod, const NodeTable& table) const;
  // nullopt if the node has no volume for one of the waiting claims.
  std::optional<VolumePlan> Plan(const VolumeNeeds& needs, const NodeInfo& node) const;

 private:
  const Volume* MatchVolume(const Claim& claim, const NodeInfo& node, const VolumePlan& taken) const;

  std::unordered_map<std::string, Claim> claims_;
  std::unordered_map<std::string, Volume> volumes_;
  std::unordered_map<std::string, StorageClass> classes_;
};

}  // namespace homeostat::scheduler
