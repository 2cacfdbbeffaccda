// SimNodes: many nodes in one process that run nothing. Registers Node objects, renews their leases and gives the pods
// bound to them the life a kubelet would (see sim_pod.h). An idle node costs a lease renewal every ten seconds and no
// memory to speak of.
#pragma once

#include <bitset>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "homeostat/api/core/v1_builders.h"
#include "homeostat/base/log.h"
#include "homeostat/base/runtime.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/controller.h"
#include "homeostat/sdk/informer.h"
#include "node/sim/sim_pod.h"

namespace homeostat::node::sim {

// So many simulated nodes have addresses: each has 256 of 10.64.0.0 to 10.95.255.255 for its pods.
inline constexpr size_t kMostSimNodes = 8192;

// A client that acts as the node of that name, a fresh one for each call.
using NodeClients = std::function<sdk::Client(const std::string& node)>;

struct SimNodesOptions {
  size_t count = 0;  // at most kMostSimNodes
  std::string name_prefix = "sim-node-";
  // Capacity of each node, as quantities.
  std::string cpu = "4", memory = "16Gi", ephemeral_storage = "100Gi";
  int64_t pods = 110;  // at most 250
  size_t zones = 0;    // spread over so many values of topology.kubernetes.io/zone; 0: no such label
  std::string kubelet_version = "v1.36.3+homeostat.1";
  Duration start_delay = std::chrono::milliseconds(200);  // from a pod's arrival to its running
  Duration stop_delay = std::chrono::milliseconds(100);   // from its deletion to its end; less if its grace period is
  bool events = true;                                     // Pulled, Created, Started, Killing
  int workers = 16;
  // Beginnings of the full names of images that can be pulled, e.g. "registry.k8s.io/"; empty: all can.
  std::vector<std::string> images;
};

// Each node registers, renews its lease and writes of its pods under its own name. They share one informer of pods, instead of a
// watch for each, so that many fit into one process. Loop only. The runtime and the factory must outlive it. Make it before the
// factory is started.
class SimNodes {
 public:
  SimNodes(Runtime& runtime, NodeClients client_for, sdk::InformerFactory& informers, SimNodesOptions options);
  ~SimNodes();
  SimNodes(const SimNodes&) = delete;

  // Runs until destroyed.
  void Start();
  size_t registered() const { return registered_; }

 private:
  struct NodeState {
    std::string name, ip;
    std::optional<sdk::Client> client;  // acts as this node
    std::bitset<256> used_ips;  // the last octet of pods' addresses
    object::DocumentPtr lease;  // as last written
    std::string uid;
    int renewals = 0;
    std::unique_ptr<sdk::EventRecorder> events;  // made when first needed
  };
  struct PodState {
    std::string uid;
    size_t node = 0;
    SimStage stage = SimStage::kNew;
    MonotonicTime since;  // when it came into the stage
    std::optional<MonotonicTime> stopping_since;
    SimPodFacts facts;
    std::unordered_map<std::string, std::string> container_ids;
  };

  Task<void> Run();
  Task<void> RegisterFrom(size_t first, size_t step);
  Task<Result<void>> Register(size_t index);
  Task<void> RenewLeases();
  Task<void> Renew(size_t index);
  Task<Result<void>> RenewLease(size_t index);
  Task<Result<void>> Heartbeat(size_t index);
  object::DocumentPtr NodeObject(size_t index) const;
  object::DocumentPtr LeaseObject(size_t index) const;
  void SetConditions(api::core::v1::NodeBuilder& node) const;

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<sdk::ReconcileOutcome>> Advance(object::DocumentPtr pod, std::string key);
  Task<Result<sdk::ReconcileOutcome>> Stop(object::DocumentPtr pod, std::string key);
  // Writes the stage's status; the state has the stage once that is stored.
  Task<Result<void>> Enter(object::DocumentPtr pod, std::string key, SimStage stage);
  Task<Result<void>> EndRun(object::DocumentPtr pod, std::string key, int32_t code);
  void BeginRun(PodState& state);
  Task<Result<void>> WriteStatus(size_t node, object::DocumentPtr pod);
  // A new pod: refused, or its containers are being made.
  Task<Result<sdk::ReconcileOutcome>> Admit(object::DocumentPtr pod, std::string key);
  // When start_delay is over, or an image may have come: its containers run, or wait for their images.
  Task<Result<sdk::ReconcileOutcome>> Begin(object::DocumentPtr pod, std::string key);
  Task<Result<sdk::ReconcileOutcome>> GoOn(object::DocumentPtr pod, std::string key);
  // What others changed may have to show in the status: the generation, readiness gates.
  Task<Result<void>> Follow(object::DocumentPtr pod, std::string key);
  // Of the node's pods that have begun and not ended, but this one.
  std::vector<object::DocumentPtr> OthersOn(size_t node, const std::string& key) const;
  PodState& StateFor(const std::string& key, const api::core::v1::Pod& pod, size_t node);
  void Forget(const std::string& key);
  void AssignIp(PodState& state, const api::core::v1::Pod& pod);
  std::string PodIp(size_t node, size_t last) const;
  std::string Now() const;
  void Event(size_t node, const object::Value& pod, const std::string& field_path, std::string_view reason,
             std::string message, std::string_view type = "Normal");
  void StartedEvents(const PodState& state, const api::core::v1::Pod& pod);

  Runtime& runtime_;
  SimNodesOptions options_;
  Logger log_;
  sdk::Informer& pods_;
  std::vector<NodeState> nodes_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<std::string, PodState> states_;
  size_t registered_ = 0;
  sdk::Controller controller_;
  TaskGroup group_;
};

}  // namespace homeostat::node::sim
