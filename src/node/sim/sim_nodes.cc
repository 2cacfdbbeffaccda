// The nodes: registration, leases, heartbeats. What happens to pods is in sim_pods.cc.
#include "node/sim/sim_nodes.h"

#include <algorithm>

#include "homeostat/api/coordination/v1.h"
#include "homeostat/api/coordination/v1_builders.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/object/time.h"

namespace homeostat::node::sim {
namespace {

using api::coordination::v1::Lease;
using api::core::v1::Node;
using api::core::v1::NodeBuilder;

constexpr std::string_view kLeaseNamespace = "kube-node-lease";
constexpr int32_t kLeaseSeconds = 40;
constexpr Duration kRenewPeriod = std::chrono::seconds(10);
// Renewals between two writes of a node's status: five minutes.
constexpr int kRenewalsPerHeartbeat = 30;
constexpr size_t kRegistrars = 8;
constexpr Duration kRetry = std::chrono::seconds(1);

std::string NodeIp(size_t index) {
  return "172.18." + std::to_string(index / 250) + "." + std::to_string(index % 250 + 1);
}

std::string Octets(size_t index) {
  return "10." + std::to_string(64 + index / 256) + "." + std::to_string(index % 256) + ".";
}

// A name-based identity, so that a node that comes back is the same machine.
std::string MachineId(const std::string& name, char salt) {
  std::string id;
  uint64_t hash = 1469598103934665603ULL ^ static_cast<uint64_t>(salt);
  for (int i = 0; i < 32; ++i) {
    for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ULL;
    id += "0123456789abcdef"[(hash >> 40) % 16];
  }
  return id;
}

struct ReadyCondition {
  std::string_view type, status, reason, message;
};
constexpr ReadyCondition kConditions[] = {
    {"MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
    {"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
    {"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
    {"Ready", "True", "KubeletReady", "kubelet is posting ready status"},
};

}  // namespace

SimNodes::SimNodes(Runtime& runtime, NodeClients client_for, sdk::InformerFactory& informers, SimNodesOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      log_(client_for(options_.name_prefix).options().log),
      pods_(informers.For<api::core::v1::Pod>()),
      controller_(
          runtime,
          [&] {
            sdk::ControllerOptions controller;
            controller.name = "sim-nodes";
            controller.workers = options_.workers;
            controller.log = log_;
            return controller;
          }(),
          [this](std::string key) { return Reconcile(std::move(key)); }),
      group_(runtime) {
  nodes_.resize(std::min(options_.count, kMostSimNodes));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].name = options_.name_prefix + std::to_string(i);
    nodes_[i].ip = NodeIp(i);
    nodes_[i].client = client_for(nodes_[i].name);
    // Addresses of the network and of its bridge.
    nodes_[i].used_ips.set(0).set(1).set(255);
    by_name_.emplace(nodes_[i].name, i);
  }
  controller_.WatchMapped(pods_, [names = by_name_](const sdk::Change& change) {
    std::vector<std::string> keys;
    const object::DocumentPtr& pod = change.current ? change.current : change.previous;
    std::string node(api::core::v1::Pod(pod->root()).spec().node_name());
    if (names.contains(node)) keys.push_back(sdk::meta::Key(pod->root()));
    return keys;
  });
}

SimNodes::~SimNodes() = default;

std::string SimNodes::Now() const { return object::FormatTime(object::Timestamp::FromClock(runtime_.WallNow())); }

std::string SimNodes::PodIp(size_t node, size_t last) const { return Octets(node) + std::to_string(last); }

void SimNodes::Start() {
  if (nodes_.empty()) return;
  group_.Spawn(Run());
  for (size_t i = 0; i < kRegistrars; ++i) group_.Spawn(RegisterFrom(i, kRegistrars));
  group_.Spawn(RenewLeases());
}

Task<void> SimNodes::Run() {
  auto synced = pods_.WaitForSync();
  co_await std::move(synced);
  // Addresses of pods from before, so that none is given away twice.
  for (const auto& pod : sdk::Lister<api::core::v1::Pod>(pods_).List()) {
    auto node = by_name_.find(std::string(pod->spec().node_name()));
    if (node != by_name_.end()) StateFor(sdk::meta::Key(pod->Raw()), *pod, node->second);
  }
  controller_.Start();
}

void SimNodes::SetConditions(NodeBuilder& node) const {
  Node before = node.View();
  std::string now = Now();
  auto status = node.mutable_status();
  std::vector<std::string> transitions;
  for (const ReadyCondition& wanted : kConditions) {
    std::string transition = now;
    for (auto condition : before.status().conditions()) {
      if (condition.type() == wanted.type && condition.status() == wanted.status)
        transition = condition.last_transition_time();
    }
    transitions.push_back(std::move(transition));
  }
  status.clear_conditions();
  for (size_t i = 0; i < transitions.size(); ++i) {
    const ReadyCondition& wanted = kConditions[i];
    status.add_conditions()
        .set_type(wanted.type)
        .set_status(wanted.status)
        .set_reason(wanted.reason)
        .set_message(wanted.message)
        .set_last_heartbeat_time(now)
        .set_last_transition_time(transitions[i]);
  }
}

object::DocumentPtr SimNodes::NodeObject(size_t index) const {
  const NodeState& state = nodes_[index];
  NodeBuilder node;
  auto metadata = node.mutable_metadata();
  metadata.set_name(state.name);
  for (std::string_view key : {"beta.kubernetes.io/arch", "kubernetes.io/arch"}) metadata.set_labels(key, "amd64");
  for (std::string_view key : {"beta.kubernetes.io/os", "kubernetes.io/os"}) metadata.set_labels(key, "linux");
  metadata.set_labels("kubernetes.io/hostname", state.name);
  if (options_.zones > 0)
    metadata.set_labels("topology.kubernetes.io/zone", "zone-" + std::to_string(index % options_.zones));
  std::string cidr = Octets(index) + "0/24";
  node.mutable_spec().set_pod_cidr(cidr).add_pod_cidrs(cidr).set_provider_id("sim://" + state.name);
  auto status = node.mutable_status();
  auto fill = [&](auto set) {
    set("cpu", options_.cpu);
    set("ephemeral-storage", options_.ephemeral_storage);
    set("hugepages-1Gi", "0");
    set("hugepages-2Mi", "0");
    set("memory", options_.memory);
    set("pods", std::to_string(std::min<int64_t>(options_.pods, 250)));
  };
  fill([&](std::string_view name, std::string_view value) { status.set_capacity(name, value); });
  fill([&](std::string_view name, std::string_view value) { status.set_allocatable(name, value); });
  status.add_addresses().set_type("InternalIP").set_address(state.ip);
  status.add_addresses().set_type("Hostname").set_address(state.name);
  status.mutable_daemon_endpoints().mutable_kubelet_endpoint().set_port(10250);
  auto info = status.mutable_node_info();
  info.set_machine_id(MachineId(state.name, 'm'))
      .set_system_uuid(MachineId(state.name, 's'))
      .set_boot_id(MachineId(state.name, 'b'));
  info.set_kernel_version("6.12.0-simulated")
      .set_os_image("Simulated Linux")
      .set_container_runtime_version("containerd://2.0.0");
  info.set_kubelet_version(options_.kubelet_version).set_operating_system("linux").set_architecture("amd64");
  SetConditions(node);
  return node.Freeze();
}

object::DocumentPtr SimNodes::LeaseObject(size_t index) const {
  const NodeState& state = nodes_[index];
  api::coordination::v1::LeaseBuilder lease = state.lease
                                                  ? api::coordination::v1::LeaseBuilder{schema::Subtree(state.lease)}
                                                  : api::coordination::v1::LeaseBuilder();
  if (!state.lease) {
    auto metadata = lease.mutable_metadata();
    metadata.set_name(state.name).set_namespace(kLeaseNamespace);
    if (!state.uid.empty())
      metadata.add_owner_references().set_api_version("v1").set_kind("Node").set_name(state.name).set_uid(state.uid);
  }
  lease.mutable_spec()
      .set_holder_identity(state.name)
      .set_lease_duration_seconds(kLeaseSeconds)
      .set_renew_time(object::FormatMicroTime(object::Timestamp::FromClock(runtime_.WallNow())));
  return lease.Freeze();
}

Task<Result<void>> SimNodes::Register(size_t index) {
  auto create = nodes_[index].client->Create<Node>(std::string(), sdk::Object<Node>(NodeObject(index)));
  auto created = co_await std::move(create);
  if (!created && created.error().IsAlreadyExists()) {
    auto heartbeat = Heartbeat(index);
    co_return co_await std::move(heartbeat);
  }
  if (!created) co_return Fail(created.error());
  nodes_[index].uid = (*created)->metadata().uid();
  auto renew = RenewLease(index);
  co_return co_await std::move(renew);
}

Task<void> SimNodes::RegisterFrom(size_t first, size_t step) {
  for (size_t index = first; index < nodes_.size();) {
    auto attempt = Register(index);
    auto done = co_await std::move(attempt);
    if (done) {
      ++registered_;
      index += step;
      continue;
    }
    log_.Error("Simulated node could not be registered", {{"node", nodes_[index].name}, {"err", done.error()}});
    auto pause = Sleep(runtime_, kRetry);
    co_await std::move(pause);
  }
  if (registered_ == nodes_.size()) log_.V(2).Info("Simulated nodes are registered", {{"count", registered_}});
}

Task<void> SimNodes::RenewLeases() {
  // Spread over the period, so that the server has an even load.
  Duration pause = std::max(kRenewPeriod / static_cast<int64_t>(nodes_.size()), Duration(1));
  while (true) {
    for (size_t index = 0; index < nodes_.size(); ++index) {
      auto sleep = Sleep(runtime_, pause);
      co_await std::move(sleep);
      if (!nodes_[index].uid.empty()) group_.Spawn(Renew(index));
    }
  }
}

Task<void> SimNodes::Renew(size_t index) {
  auto renew = RenewLease(index);
  auto renewed = co_await std::move(renew);
  if (renewed && ++nodes_[index].renewals % kRenewalsPerHeartbeat == 0) {
    auto heartbeat = Heartbeat(index);
    renewed = co_await std::move(heartbeat);
  }
  if (!renewed)
    log_.V(2).Info("Simulated node could not report", {{"node", nodes_[index].name}, {"err", renewed.error()}});
}

Task<Result<void>> SimNodes::RenewLease(size_t index) {
  std::string ns(kLeaseNamespace);
  sdk::Object<Lease> lease(LeaseObject(index));
  Task<Result<sdk::Object<Lease>>> write =
      nodes_[index].lease ? nodes_[index].client->Update<Lease>(lease) : nodes_[index].client->Create<Lease>(ns, lease);
  auto written = co_await std::move(write);
  if (written) {
    nodes_[index].lease = written->document();
    co_return {};
  }
  // Somebody else wrote, or removed, it: the next renewal goes by what is there.
  nodes_[index].lease.reset();
  if (!written.error().IsAlreadyExists() && !written.error().IsConflict()) co_return Fail(written.error());
  auto get = nodes_[index].client->Get<Lease>(ns, nodes_[index].name);
  CO_TRY_ASSIGN(auto current, co_await std::move(get));
  nodes_[index].lease = current.document();
  sdk::Object<Lease> again(LeaseObject(index));
  auto update = nodes_[index].client->Update<Lease>(again);
  CO_TRY_ASSIGN(auto updated, co_await std::move(update));
  nodes_[index].lease = updated.document();
  co_return {};
}

Task<Result<void>> SimNodes::Heartbeat(size_t index) {
  auto get = nodes_[index].client->Get<Node>(std::string(), nodes_[index].name);
  CO_TRY_ASSIGN(auto current, co_await std::move(get));
  nodes_[index].uid = current->metadata().uid();
  NodeBuilder node{schema::Subtree(current.document())};
  SetConditions(node);
  // Capacity may have been changed with the program's options.
  object::DocumentPtr keep = NodeObject(index);
  Node wanted(keep->root());
  node.mutable_status().set_capacity(schema::Subtree(object::OwnedValue{keep, wanted.status().capacity().Raw()}));
  node.mutable_status().set_allocatable(schema::Subtree(object::OwnedValue{keep, wanted.status().allocatable().Raw()}));
  sdk::Object<Node> changed(node.Freeze());
  auto update = nodes_[index].client->UpdateStatus<Node>(changed);
  CO_TRY(co_await std::move(update));
  co_return {};
}

}  // namespace homeostat::node::sim
