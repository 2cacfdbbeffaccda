// PodInfo: a pod as the scheduler sees it, read once when the pod changes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/api/core/v1.h"
#include "homeostat/object/selectors.h"
#include "homeostat/object/value.h"
#include "scheduler/node_selector.h"
#include "scheduler/resources.h"

namespace homeostat::scheduler {

// Which pods a rule speaks of: pods that fit every part.
struct PodMatcher {
  struct Part {
    std::vector<std::string> namespaces;
    std::optional<object::LabelSelector> namespace_selector;  // in addition to the namespaces
    object::LabelSelector selector;
  };
  std::vector<Part> parts;
  bool count_terminating = true;
  std::string key;  // equal for equal matchers: under it counts are kept
  void MakeKey();
};

struct AffinityTerm {
  PodMatcher matcher;
  std::string topology_key;
  int64_t weight = 0;  // of a preference
};

struct SpreadConstraint {
  int64_t max_skew = 1;
  std::string topology_key;
  bool hard = true;  // DoNotSchedule
  PodMatcher matcher;
  bool matches_self = false;
  int64_t min_domains = 1;
  bool honor_node_affinity = true, honor_node_taints = false;
};

struct HostPort {
  std::string ip, protocol;
  int32_t port = 0;
  // A wildcard address takes the port on all addresses.
  bool Conflicts(const HostPort& other) const;
};

struct WeightedNodeTerm {
  int64_t weight = 0;
  NodeTerm term;
};

struct ClaimReference {
  std::string name;
  bool ephemeral = false;  // made for this pod by the ephemeral volume controller
};

struct PodInfo {
  object::DocumentPtr document;
  std::string uid, ns, name, node_name, nominated_node, scheduler_name;
  object::Value labels;  // lives in the document
  int32_t priority = 0;
  bool never_preempts = false, terminating = false, gated = false, ended = false;
  std::string creation_time, start_time;
  PodRequests requests;
  std::vector<HostPort> ports;
  std::vector<std::pair<std::string, std::string>> node_labels;  // spec.nodeSelector
  std::optional<NodeSelector> node_affinity;
  std::optional<std::vector<std::string>> pinned_nodes;  // by metadata.name in every term of it
  std::vector<WeightedNodeTerm> node_preferences;
  std::vector<Toleration> tolerations;
  std::vector<AffinityTerm> affinity, anti_affinity, affinity_preferences, anti_affinity_preferences;
  PodMatcher all_affinity;  // the terms of affinity together
  std::vector<SpreadConstraint> spread;
  std::vector<std::string> images;  // of init containers and containers, with a tag
  size_t image_containers = 0;
  std::vector<ClaimReference> claims;

  api::core::v1::Pod pod() const { return api::core::v1::Pod(document->root()); }
  std::string Key() const { return ns + "/" + name; }
  bool HasAffinityTerms() const {
    return !affinity.empty() || !affinity_preferences.empty() || !anti_affinity_preferences.empty();
  }
};
using PodInfoPtr = std::shared_ptr<const PodInfo>;

PodInfoPtr ReadPod(object::DocumentPtr pod);

// nginx → nginx:latest, as nodes name their images.
std::string WithTag(std::string_view image);

}  // namespace homeostat::scheduler
