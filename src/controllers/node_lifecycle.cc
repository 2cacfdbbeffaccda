#include "controllers/node_lifecycle.h"

#include <algorithm>

#include "homeostat/api/coordination/v1.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {

using api::coordination::v1::Lease;
using api::core::v1::Node;
using api::core::v1::NodeBuilder;
using api::core::v1::Pod;
using api::core::v1::PodBuilder;

namespace {

constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
constexpr std::string_view kUnreachable = "node.kubernetes.io/unreachable";
constexpr std::string_view kUnschedulable = "node.kubernetes.io/unschedulable";

std::string_view ReadyStatus(const Node& node) {
  for (auto condition : node.status().conditions()) if (condition.type() == "Ready") return condition.status();
  return "Unknown";
}

struct Taint {
  std::string_view key, effect;
};

// The taints that a node's state calls for.
std::vector<Taint> WantedTaints(const Node& node) {
  std::vector<Taint> taints;
  std::string_view ready = ReadyStatus(node);
  if (ready != "True") {
    std::string_view key = ready == "False" ? kNotReady : kUnreachable;
    taints.push_back({key, "NoSchedule"});
    taints.push_back({key, "NoExecute"});
  }
  for (auto condition : node.status().conditions()) {
    if (condition.status() != "True") continue;
    if (condition.type() == "MemoryPressure") taints.push_back({"node.kubernetes.io/memory-pressure", "NoSchedule"});
    if (condition.type() == "DiskPressure") taints.push_back({"node.kubernetes.io/disk-pressure", "NoSchedule"});
    if (condition.type() == "PIDPressure") taints.push_back({"node.kubernetes.io/pid-pressure", "NoSchedule"});
    if (condition.type() == "NetworkUnavailable") taints.push_back({"node.kubernetes.io/network-unavailable", "NoSchedule"});
  }
  if (node.spec().unschedulable()) taints.push_back({kUnschedulable, "NoSchedule"});
  return taints;
}

// Taints this controller sets and removes; others belong to people.
bool IsOurs(std::string_view key) { return key.starts_with("node.kubernetes.io/") && key != "node.kubernetes.io/out-of-service"; }

// The node with the taints it should have; the same document if it has them.
object::DocumentPtr WithTaints(const object::DocumentPtr& document, std::string_view now) {
  Node node(document->root());
  std::vector<Taint> wanted = WantedTaints(node);
  auto wants = [&](std::string_view key, std::string_view effect) {
    return std::ranges::any_of(wanted, [&](const Taint& t) { return t.key == key && t.effect == effect; });
  };
  bool same = true;
  size_t ours = 0;
  for (auto taint : node.spec().taints()) {
    if (!IsOurs(taint.key())) continue;
    ++ours;
    same = same && wants(taint.key(), taint.effect());
  }
  if (same && ours == wanted.size()) return document;
  NodeBuilder next{schema::Subtree(document)};
  auto spec = next.mutable_spec();
  spec.clear_taints();
  for (auto taint : node.spec().taints()) {
    if (IsOurs(taint.key()) && !wants(taint.key(), taint.effect())) continue;
    auto kept = spec.add_taints();
    kept.set_key(taint.key()).set_effect(taint.effect());
    if (!taint.value().empty()) kept.set_value(taint.value());
    if (!taint.time_added().empty()) kept.set_time_added(taint.time_added());
    std::erase_if(wanted, [&](const Taint& t) { return t.key == taint.key() && t.effect == taint.effect(); });
  }
  for (const Taint& taint : wanted) {
    auto added = spec.add_taints();
    added.set_key(taint.key).set_effect(taint.effect);
    if (taint.effect == "NoExecute") added.set_time_added(now);
  }
  return next.Freeze();
}

// How long the pod stays on a node with that taint: nullopt for ever.
std::optional<Duration> TimeOn(const Pod& pod, std::string_view taint_key) {
  std::optional<Duration> longest = Duration(0);
  bool tolerates = false;
  for (auto toleration : pod.spec().tolerations()) {
    bool key_fits = toleration.key() == taint_key || (toleration.key().empty() && toleration.operator_() == "Exists");
    bool effect_fits = toleration.effect().empty() || toleration.effect() == "NoExecute";
    if (!key_fits || !effect_fits) continue;
    if (!toleration.has_toleration_seconds()) return std::nullopt;
    Duration time = std::chrono::seconds(std::max<int64_t>(0, toleration.toleration_seconds()));
    longest = tolerates ? std::min(*longest, time) : time;
    tolerates = true;
  }
  return longest;
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
      group_(runtime) {
  pods_.AddIndex("node", [](const object::Value& pod, std::vector<std::string>& values) {
    std::string_view node = Pod(pod).spec().node_name();
    if (!node.empty()) values.emplace_back(node);
  });
}

void NodeLifecycleController::Start() { group_.Spawn(Run()); }

Task<void> NodeLifecycleController::Run() {
  for (sdk::Informer* informer : {&nodes_, &leases_, &pods_}) {
    auto wait = informer->WaitForSync();
    co_await std::move(wait);
  }
  while (true) {
    for (const object::DocumentPtr& node : nodes_.List()) {
      auto look = Look(node);
      co_await std::move(look);
    }
    std::erase_if(seen_, [&](const auto& entry) { return !nodes_.Get(entry.first); });
    auto pause = Sleep(runtime_, options_.monitor_period);
    co_await std::move(pause);
  }
}

// A node lives while its Lease or the times of its conditions go on.
bool NodeLifecycleController::IsAlive(const object::Value& object) {
  Node node(object);
  std::string name(node.metadata().name()), renewed, heartbeat;
  if (object::DocumentPtr lease = leases_.Get("kube-node-lease/" + name)) renewed = Lease(lease->root()).spec().renew_time();
  for (auto condition : node.status().conditions()) {
    if (condition.type() == "Ready") heartbeat = condition.last_heartbeat_time();
  }
  Seen& seen = seen_.try_emplace(name, Seen{renewed, heartbeat, runtime_.Now()}).first->second;
  if (seen.renewed != renewed || seen.heartbeat != heartbeat) seen = {renewed, heartbeat, runtime_.Now()};
  return runtime_.Now() - seen.at < options_.grace_period;
}

Task<void> NodeLifecycleController::Look(object::DocumentPtr document) {
  std::string name(sdk::meta::Name(document->root()));
  std::string now = object::FormatTime(object::Timestamp::FromClock(runtime_.WallNow()));
  if (!IsAlive(document->root()) && ReadyStatus(Node(document->root())) != "Unknown") {
    NodeBuilder next{schema::Subtree(document)};
    auto status = next.mutable_status();
    size_t index = 0;
    for (auto condition : Node(document->root()).status().conditions()) {
      auto changed = status.mutable_conditions(index++);
      if (condition.status() != "Unknown") changed.set_last_transition_time(now);
      changed.set_status("Unknown").set_reason("NodeStatusUnknown").set_message("Kubelet stopped posting node status.");
    }
    auto update = client_.UpdateStatus<Node>(sdk::Object<Node>(next.Freeze()));
    auto updated = co_await std::move(update);
    if (!updated) co_return;  // the next round tries again
    document = updated->document();
    events_.Record(Node::SchemaKind(), document->root(), "Normal", "NodeNotReady", "Node " + name + " status is now: NodeNotReady");
  }
  object::DocumentPtr tainted = WithTaints(document, now);
  if (tainted != document) {
    auto update = client_.Update<Node>(sdk::Object<Node>(tainted));
    auto updated = co_await std::move(update);
    if (!updated) co_return;
  }
  if (ReadyStatus(Node(tainted->root())) == "True") {
    tainted_since_.erase(name);
    co_return;
  }
  tainted_since_.try_emplace(name, runtime_.Now());
  auto evict = EvictPods(name);
  co_await std::move(evict);
}

Task<void> NodeLifecycleController::EvictPods(std::string node) {
  object::DocumentPtr document = nodes_.Get(node);
  if (!document) co_return;
  std::string_view key = ReadyStatus(Node(document->root())) == "False" ? kNotReady : kUnreachable;
  MonotonicTime since = tainted_since_[node];
  for (const object::DocumentPtr& one : pods_.ByIndex("node", node)) {
    Pod pod(one->root());
    if (sdk::meta::IsDeleting(pod.Raw())) continue;
    std::optional<Duration> stays = TimeOn(pod, key);
    if (!stays || runtime_.Now() - since < *stays) continue;
    events_.Record(Pod::SchemaKind(), pod.Raw(), "Normal", "TaintManagerEviction",
                   "Marking for deletion Pod " + std::string(pod.metadata().namespace_()) + "/" + std::string(pod.metadata().name()));
    auto deletion = client_.Delete<Pod>(std::string(pod.metadata().namespace_()), std::string(pod.metadata().name()));
    (void)co_await std::move(deletion);  // gone already, or tried again in the next round
  }
}

}  // namespace homeostat::controllers
