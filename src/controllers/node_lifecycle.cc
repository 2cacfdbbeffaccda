#include "controllers/node_lifecycle.h"

#include <algorithm>
#include <utility>

#include "controllers/conditions.h"
#include "controllers/pods.h"
#include "homeostat/api/coordination/v1.h"
#include "homeostat/api/core/v1_builders.h"

namespace homeostat::controllers {

using api::coordination::v1::Lease;
using api::core::v1::Node;
using api::core::v1::NodeBuilder;
using api::core::v1::Pod;
using api::core::v1::PodBuilder;

namespace {

constexpr std::string_view kLeaseNamespace = "kube-node-lease/";
constexpr std::string_view kExcluded = "node.kubernetes.io/exclude-disruption";
// What the node itself keeps up to date, and what is unknown once it is silent.
constexpr std::string_view kReported[] = {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"};

std::string ZoneOf(const Node& node) {
  auto labels = node.metadata().labels();
  return std::string(labels.Get("topology.kubernetes.io/region")) + "/" + std::string(labels.Get("topology.kubernetes.io/zone"));
}

}  // namespace

NodeLifecycleController::NodeLifecycleController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers,
                                                 NodeLifecycleOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      options_(options),
      nodes_(informers.For<Node>()),
      leases_(informers.For<Lease>()),
      pods_(informers.For<Pod>()),
      events_(runtime, client_, "node-controller"),
      pacer_(options.pace),
      controller_(runtime, {.name = "node_lifecycle_controller", .workers = options.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string name) { return Reconcile(std::move(name)); }),
      group_(runtime) {
  AddNodeIndex(pods_);
  controller_.Watch(nodes_);
}

void NodeLifecycleController::Start() {
  controller_.Start();
  group_.Spawn(Run());
}

Task<Result<sdk::ReconcileOutcome>> NodeLifecycleController::Reconcile(std::string name) {
  NodeObject node(nodes_.Get(name));
  if (!node) co_return sdk::ReconcileOutcome();
  TaintChange change = NoScheduleChange(*node);
  TaintChange leaving = NoExecuteChange(*node, false);
  std::ranges::copy(leaving.add, std::back_inserter(change.add));
  std::ranges::copy(leaving.remove, std::back_inserter(change.remove));
  auto write = ChangeTaints(node, std::move(change));
  CO_TRY(co_await write);
  co_return sdk::ReconcileOutcome();
}

Task<Result<NodeLifecycleController::NodeObject>> NodeLifecycleController::ChangeTaints(NodeObject node, TaintChange change) {
  if (change.empty()) co_return node;
  auto update = client_.Update<Node>(NodeObject(WithTaints(node.document(), change, TimeText(runtime_.WallNow()))));
  Result<NodeObject> updated = co_await update;
  if (!updated && updated.error().IsNotFound()) co_return node;
  co_return updated;
}

Task<void> NodeLifecycleController::Run() {
  for (sdk::Informer* informer : {&nodes_, &leases_, &pods_}) {
    auto sync = informer->WaitForSync();
    co_await sync;
  }
  while (true) {
    auto monitor = MonitorAll();
    co_await monitor;
    auto pause = Sleep(runtime_, options_.monitor_period);
    co_await pause;
  }
}

void NodeLifecycleController::NoticeNewAndGone(const std::vector<NodeObject>& nodes) {
  std::map<std::string, NodeObject> now;
  for (const NodeObject& node : nodes) {
    std::string name(node->metadata().name());
    if (!known_.contains(name)) {
      events_.Record(Node::SchemaKind(), node->Raw(), "Normal", "RegisteredNode",
                     "Node " + name + " event: Registered Node " + name + " in Controller");
    }
    now.emplace(std::move(name), node);
  }
  for (const auto& [name, node] : known_) {
    if (now.contains(name)) continue;
    events_.Record(Node::SchemaKind(), node->Raw(), "Normal", "RemovingNode",
                   "Node " + name + " event: Removing Node " + name + " from Controller");
    health_.Forget(name);
    pods_to_mark_.erase(name);
  }
  known_ = std::move(now);
}

Task<void> NodeLifecycleController::MonitorAll() {
  std::vector<NodeObject> nodes = sdk::Lister<Node>(nodes_).List();
  NoticeNewAndGone(nodes);
  std::map<std::string, ZoneCount> zones;
  std::vector<NodeObject> lost;
  for (NodeObject& node : nodes) {
    auto monitor = Monitor(node);
    Result<NodeObject> current = co_await monitor;
    if (!current) {
      // Nothing is decided about a node that could not be written; the next round looks again.
      client_.options().log.Warning("Could not update a node's health", {{"node", node->metadata().name()}, {"err", current.error()}});
      continue;
    }
    bool ready = ReadyStatus(**current) == "True";
    if (!(*current)->metadata().labels().contains(kExcluded)) ++(ready ? zones[ZoneOf(**current)].ready : zones[ZoneOf(**current)].not_ready);
    if (!ready) lost.push_back(*current);
  }
  EvictionPacer::Turn turn = pacer_.Update(zones);
  if (turn == EvictionPacer::Turn::kRegained) health_.Reset(runtime_.Now());
  for (const NodeObject& node : lost) {
    TaintChange change = NoExecuteChange(*node, false);
    if (turn == EvictionPacer::Turn::kAllLost) {
      // It is we who are cut off: nobody is to be driven away.
      change = {};
      for (std::string_view key : {kNotReadyTaint, kUnreachableTaint}) {
        if (HasTaint(*node, {key, "NoExecute"})) change.remove.push_back({key, "NoExecute"});
      }
    } else if (change.empty() && !NoExecuteChange(*node, true).empty() && pacer_.Take(ZoneOf(*node), runtime_.Now())) {
      change = NoExecuteChange(*node, true);
    }
    auto write = ChangeTaints(node, std::move(change));
    Result<NodeObject> written = co_await write;
    if (!written && !written.error().IsConflict()) {
      client_.options().log.Warning("Could not taint a node", {{"node", node->metadata().name()}, {"err", written.error()}});
    }
  }
}

NodeSigns NodeLifecycleController::SignsOf(const NodeObject& node) const {
  NodeSigns signs;
  for (auto condition : node->status().conditions()) {
    if (condition.type() != "Ready") continue;
    signs.has_ready = true;
    signs.heartbeat = condition.last_heartbeat_time();
  }
  object::DocumentPtr lease = leases_.Get(std::string(kLeaseNamespace) + std::string(node->metadata().name()));
  if (lease) signs.lease_renewed = Lease(lease->root()).spec().renew_time();
  return signs;
}

Task<Result<NodeLifecycleController::NodeObject>> NodeLifecycleController::Monitor(NodeObject node) {
  std::string name(node->metadata().name());
  auto created = object::ParseTime(node->metadata().creation_timestamp());
  Duration age = created ? std::max<Duration>(Duration(0), runtime_.WallNow() - created->ToClock()) : Duration(0);
  NodeSigns signs = SignsOf(node);
  Duration silent = health_.Observe(name, signs, age, runtime_.Now());
  bool was_ready = ReadyStatus(*node) == "True";
  if (silent > (signs.has_ready ? options_.grace_period : options_.startup_grace_period)) {
    auto mark = MarkUnknown(node);
    CO_TRY_ASSIGN(node, co_await mark);
  }
  bool is_ready = ReadyStatus(*node) == "True";
  if (was_ready && !is_ready) {
    events_.Record(Node::SchemaKind(), node->Raw(), "Normal", "NodeNotReady", "Node " + name + " status is now: NodeNotReady");
    pods_to_mark_.insert(name);
  }
  if (is_ready) pods_to_mark_.erase(name);
  if (pods_to_mark_.contains(name)) {
    auto pods = MarkPodsNotReady(name);
    Result<void> marked = co_await pods;
    if (marked) pods_to_mark_.erase(name);
  }
  co_return node;
}

Task<Result<NodeLifecycleController::NodeObject>> NodeLifecycleController::MarkUnknown(NodeObject node) {
  NodeBuilder next{schema::Subtree(node.document())};
  auto status = next.mutable_status();
  std::string now = TimeText(runtime_.WallNow());
  Conditions conditions = ReadConditions(node->status().conditions());
  bool changed = false;
  for (std::string_view type : kReported) {
    auto known = std::ranges::find(conditions, type, &Condition::type);
    if (known != conditions.end() && known->status == "Unknown") continue;
    changed = true;
    if (known == conditions.end()) {
      auto condition = status.add_conditions();
      condition.set_type(type).set_status("Unknown").set_reason("NodeStatusNeverUpdated").set_message("Kubelet never posted node status.");
      condition.set_last_heartbeat_time(node->metadata().creation_timestamp()).set_last_transition_time(now);
    } else {
      auto condition = status.mutable_conditions(static_cast<size_t>(known - conditions.begin()));
      condition.set_status("Unknown").set_reason("NodeStatusUnknown").set_message("Kubelet stopped posting node status.");
      condition.set_last_transition_time(now);
    }
  }
  if (!changed) co_return node;
  auto update = client_.UpdateStatus<Node>(NodeObject(next.Freeze()));
  Result<NodeObject> updated = co_await update;
  co_return updated;
}

Task<Result<void>> NodeLifecycleController::MarkPodsNotReady(std::string node) {
  Result<void> outcome = Done();
  for (const object::DocumentPtr& document : pods_.ByIndex(kNodeIndex, node)) {
    Pod pod(document->root());
    if (!IsPodReady(pod)) continue;
    PodBuilder next{schema::Subtree(document)};
    size_t index = 0;
    for (auto condition : pod.status().conditions()) {
      if (condition.type() == "Ready") {
        next.mutable_status().mutable_conditions(index).set_status("False").set_last_transition_time(TimeText(runtime_.WallNow()));
      }
      ++index;
    }
    auto update = client_.UpdateStatus<Pod>(sdk::Object<Pod>(next.Freeze()));
    Result<sdk::Object<Pod>> updated = co_await update;
    if (updated) {
      events_.Record(Pod::SchemaKind(), pod.Raw(), "Warning", "NodeNotReady", "Node is not ready");
    } else if (!updated.error().IsNotFound()) {
      outcome = Fail(updated.error());
    }
  }
  co_return outcome;
}

}  // namespace homeostat::controllers
