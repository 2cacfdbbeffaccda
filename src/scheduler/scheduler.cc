#include "scheduler/scheduler.h"

#include <algorithm>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/policy/v1.h"
#include "homeostat/api/storage/v1.h"

namespace homeostat::scheduler {
namespace {

using api::core::v1::Node;
using api::core::v1::Pod;

// Decisions made before others get their turn on the loop.
constexpr int kDecisionsPerTurn = 4;

}  // namespace

Scheduler::Scheduler(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, SchedulerOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      log_(client.options().log),
      writer_(runtime, client, options_.scheduler_name),
      events_(runtime, client, options_.scheduler_name),
      budgets_(informers.For<api::policy::v1::PodDisruptionBudget>()),
      selectors_(informers),
      decider_(
          table_, volumes_, [this](const PodInfo& pod) { return selectors_.SelectorOf(pod); }, runtime.Random()),
      wake_(runtime),
      volumes_changed_(runtime),
      self_(std::make_shared<Scheduler*>(this)),
      group_(runtime) {
  watched_ = {&budgets_};
  for (sdk::Informer* informer : selectors_.informers()) watched_.push_back(informer);
  Watch(selectors_.services(), &Scheduler::ServiceChanged);
  Watch(informers.For<Node>(), &Scheduler::NodeChanged);
  Watch(informers.For<api::core::v1::Namespace>(), &Scheduler::NamespaceChanged);
  Watch(informers.For<api::core::v1::PersistentVolumeClaim>(), &Scheduler::ClaimChanged);
  Watch(informers.For<api::core::v1::PersistentVolume>(), &Scheduler::VolumeChanged);
  Watch(informers.For<api::storage::v1::StorageClass>(), &Scheduler::ClassChanged);
  Watch(informers.For<Pod>(), &Scheduler::PodChanged);
}

Scheduler::~Scheduler() { *self_ = nullptr; }

void Scheduler::Watch(sdk::Informer& informer, void (Scheduler::*handler)(const sdk::Change&)) {
  informer.AddHandler([self = self_, handler](const sdk::Change& change) {
    if (*self != nullptr) ((*self)->*handler)(change);
  });
  watched_.push_back(&informer);
}

void Scheduler::Start() { group_.Spawn(Run()); }

// --- what informers tell

void Scheduler::PodChanged(const sdk::Change& change) {
  PodInfoPtr pod = ReadPod(change.current ? change.current : change.previous);
  if (change.previous && change.current) {
    // Deleted and made anew in between.
    std::string_view uid = sdk::meta::Uid(change.previous->root());
    if (uid != pod->uid) PodGone(*ReadPod(change.previous));
  }
  if (!change.current || pod->ended) return PodGone(*pod);
  if (!pod->node_name.empty()) return PodPlaced(std::move(pod), change.previous);
  PodWaiting(std::move(pod));
}

void Scheduler::PodGone(const PodInfo& pod) {
  queue_.Remove(pod.uid);
  table_.Withdraw(pod.uid);
  std::string node(table_.NodeOf(pod.uid));
  if (node.empty()) return;
  table_.RemovePod(pod.uid);
  NotifyAboutNode(ClusterEvent::kPodRemoved, node);
}

void Scheduler::PodPlaced(PodInfoPtr pod, const object::DocumentPtr& previous) {
  queue_.Remove(pod->uid);
  table_.Withdraw(pod->uid);
  bool fresh = table_.NodeOf(pod->uid) != pod->node_name;
  bool relabeled = false, resized = false;
  if (previous && !fresh) {
    Pod before(previous->root()), after = pod->pod();
    relabeled = !object::Equal(before.metadata().labels().Raw(), pod->labels);
    resized = !object::Equal(before.spec().containers().Raw(), after.spec().containers().Raw()) ||
              !object::Equal(before.status().container_statuses().Raw(), after.status().container_statuses().Raw());
    if (resized) resized = RequestsOf(before).exact != pod->requests.exact;
  }
  table_.AddPod(pod, pod->node_name);
  if (fresh || relabeled) queue_.Notify(ClusterEvent::kPodPlaced, runtime_.Now());
  // What a pod gives back is as good as a pod that leaves.
  if (resized) NotifyAboutNode(ClusterEvent::kPodRemoved, pod->node_name);
  Wake();
}

void Scheduler::PodWaiting(PodInfoPtr pod) {
  if (pod->scheduler_name != options_.scheduler_name) return;
  if (pod->terminating) return PodGone(*pod);
  // Placed already, and on its way: the informer is behind.
  if (!table_.NodeOf(pod->uid).empty()) return;
  if (!pod->nominated_node.empty()) table_.Nominate(pod, pod->nominated_node);
  queue_.Update(std::move(pod), runtime_.Now());
  Wake();
}

void Scheduler::NotifyAboutNode(ClusterEvent event, std::string_view node) {
  size_t slot = table_.Find(node);
  if (slot != NodeTable::kNone) {
    const NodeInfo& info = table_.slots()[slot];
    queue_.Notify(event, runtime_.Now(), [&](const PodInfo& pod) {
      return PassesNodeItself(pod, info) || !table_.NominatedTo(info.name).empty();
    });
  } else {
    queue_.Notify(event, runtime_.Now());
  }
  Wake();
}

void Scheduler::NodeChanged(const sdk::Change& change) {
  if (!change.current) {
    table_.RemoveNode(sdk::meta::Name(change.previous->root()));
    return;
  }
  Node node(change.current->root());
  bool known = table_.Find(node.metadata().name()) != NodeTable::kNone;
  bool matters = true;
  if (change.previous) {
    // Heartbeats change nothing that a pod could wait for.
    Node before(change.previous->root());
    matters = !object::Equal(before.spec().Raw(), node.spec().Raw()) ||
              !object::Equal(before.metadata().labels().Raw(), node.metadata().labels().Raw()) ||
              !object::Equal(before.status().allocatable().Raw(), node.status().allocatable().Raw());
    if (!matters && object::Equal(before.status().images().Raw(), node.status().images().Raw())) return;
  }
  table_.SetNode(change.current);
  if (matters) NotifyAboutNode(known ? ClusterEvent::kNodeUpdated : ClusterEvent::kNodeAdded, node.metadata().name());
}

void Scheduler::NamespaceChanged(const sdk::Change& change) {
  if (!change.current) return table_.RemoveNamespace(sdk::meta::Name(change.previous->root()));
  table_.SetNamespace(std::string(sdk::meta::Name(change.current->root())), change.current);
  queue_.Notify(ClusterEvent::kNamespaceChanged, runtime_.Now());
  Wake();
}

void Scheduler::ClaimChanged(const sdk::Change& change) {
  if (change.current) {
    volumes_.SetClaim(change.current);
  } else {
    volumes_.RemoveClaim(sdk::meta::Key(change.previous->root()));
  }
  volumes_changed_.Notify();
  queue_.Notify(ClusterEvent::kVolumeChanged, runtime_.Now());
  Wake();
}

void Scheduler::VolumeChanged(const sdk::Change& change) {
  if (change.current) {
    volumes_.SetVolume(change.current);
  } else {
    volumes_.RemoveVolume(sdk::meta::Name(change.previous->root()));
  }
  queue_.Notify(ClusterEvent::kVolumeChanged, runtime_.Now());
  Wake();
}

void Scheduler::ClassChanged(const sdk::Change& change) {
  if (change.current) {
    volumes_.SetClass(change.current);
  } else {
    volumes_.RemoveClass(sdk::meta::Name(change.previous->root()));
  }
  queue_.Notify(ClusterEvent::kVolumeChanged, runtime_.Now());
  Wake();
}

// --- the loop

Task<void> Scheduler::Run() {
  for (sdk::Informer* informer : watched_) {
    auto synced = informer->WaitForSync();
    co_await std::move(synced);
  }
  log_.V(2).Info("Scheduler started", {{"nodes", table_.size()}, {"pods", queue_.size()}});
  int decisions = 0;
  while (true) {
    PodInfoPtr pod = bindings_ < options_.max_bindings ? queue_.Pop(runtime_.Now()) : nullptr;
    if (pod) {
      ScheduleOne(std::move(pod));
      if (++decisions % kDecisionsPerTurn != 0) continue;
      auto yield = Yield(runtime_);
      co_await std::move(yield);
      continue;
    }
    std::optional<MonotonicTime> due = queue_.NextDue();
    if (due && bindings_ < options_.max_bindings) {
      auto wait = wake_.WaitFor(std::max(*due - runtime_.Now(), Duration(1)));
      co_await std::move(wait);
    } else {
      auto wait = wake_.Wait();
      co_await wait;
    }
  }
}

void Scheduler::ScheduleOne(PodInfoPtr pod) {
  Decision decision = decider_.Decide(*pod);
  if (decision.failure) return FailedToPlace(std::move(pod), *std::move(decision.failure));
  table_.Withdraw(pod->uid);
  table_.AddPod(pod, decision.node);
  queue_.Notify(ClusterEvent::kPodPlaced, runtime_.Now());
  ++bindings_;
  group_.Spawn(Bind(std::move(pod), std::move(decision.node), std::move(decision.volumes)));
}

std::vector<DisruptionBudget> Scheduler::Budgets() const {
  std::vector<DisruptionBudget> budgets;
  for (const auto& budget : sdk::Lister<api::policy::v1::PodDisruptionBudget>(budgets_).List()) {
    auto selector = object::LabelSelector::FromLabelSelector(budget->spec().selector().Raw());
    if (!selector) continue;
    budgets.push_back(
        {std::string(budget->metadata().namespace_()), *std::move(selector), budget->status().disruptions_allowed()});
  }
  return budgets;
}

void Scheduler::FailedToPlace(PodInfoPtr pod, Failure failure) {
  Unscheduled unscheduled;
  unscheduled.reason = "Unschedulable";
  std::optional<Preemption> preemption = FindPreemption(table_, volumes_, pod, Budgets(), failure);
  if (preemption) {
    table_.Nominate(pod, preemption->node);
    unscheduled.nominated_node = preemption->node;
  } else if (!pod->nominated_node.empty() && failure.preemption_message.find("terminating pod") == std::string::npos) {
    table_.Withdraw(pod->uid);
    unscheduled.nominated_node = "";
  }
  unscheduled.message = failure.Message();
  queue_.Failed(pod->uid, failure.plugins, runtime_.Now());
  events_.Record(Pod::SchemaKind(), pod->document->root(), "Warning", "FailedScheduling", unscheduled.message);
  group_.Spawn(WriteFailure(pod, std::move(unscheduled)));
  if (preemption) group_.Spawn(Preempt(std::move(pod), *std::move(preemption)));
}

Task<void> Scheduler::WriteFailure(PodInfoPtr pod, Unscheduled unscheduled) {
  auto write = writer_.MarkUnscheduled(pod, std::move(unscheduled));
  auto written = co_await std::move(write);
  if (!written && !written.error().IsNotFound()) {
    log_.Error("Pod's status could not be written", {{"pod", pod->Key()}, {"err", written.error()}});
  }
}

Task<void> Scheduler::Preempt(PodInfoPtr pod, Preemption preemption) {
  for (PodInfoPtr victim : preemption.victims) {
    auto evict = writer_.Evict(victim);
    auto evicted = co_await std::move(evict);
    if (evicted) {
      events_.Record(Pod::SchemaKind(), victim->document->root(), "Normal", "Preempted",
                     "Preempted by pod " + pod->uid + " on node " + preemption.node);
    } else if (!evicted.error().IsNotFound()) {
      log_.Error("Pod could not be preempted", {{"pod", victim->Key()}, {"err", evicted.error()}});
    }
  }
}

// --- binding

Task<void> Scheduler::Bind(PodInfoPtr pod, std::string node, VolumePlan plan) {
  auto bind = BindWithVolumes(pod, node, std::move(plan));
  auto bound = co_await std::move(bind);
  --bindings_;
  if (bound) {
    queue_.Done(pod->uid);
    events_.Record(Pod::SchemaKind(), pod->document->root(), "Normal", "Scheduled",
                   "Successfully assigned " + pod->Key() + " to " + node);
  } else {
    BindingFailed(pod, node, bound.error());
  }
  Wake();
}

Task<Result<void>> Scheduler::BindWithVolumes(PodInfoPtr pod, std::string node, VolumePlan plan) {
  if (!plan.bindings.empty() || !plan.provisions.empty()) {
    auto prepare = writer_.PrepareVolumes(plan, node, volumes_);
    CO_TRY(co_await std::move(prepare));
    auto wait = WaitForVolumes(plan);
    CO_TRY(co_await std::move(wait));
  }
  auto bind = writer_.Bind(pod, node);
  co_return co_await std::move(bind);
}

Task<Result<void>> Scheduler::WaitForVolumes(VolumePlan plan) {
  std::vector<std::string> keys = plan.provisions;
  for (const VolumePlan::Binding& binding : plan.bindings) keys.push_back(binding.claim_key);
  MonotonicTime until = runtime_.Now() + options_.volume_timeout;
  while (true) {
    bool all = true;
    for (const std::string& key : keys) {
      const Claim* claim = volumes_.FindClaim(key);
      if (claim == nullptr) co_return Fail(NotFoundError("", "persistentvolumeclaims", sdk::SplitKey(key).second));
      all = all && claim->bound;
    }
    if (all) co_return {};
    if (runtime_.Now() >= until) co_return Fail(SystemError("binding volumes: timed out waiting for the condition"));
    auto wait = volumes_changed_.WaitFor(until - runtime_.Now());
    co_await std::move(wait);
  }
}

void Scheduler::BindingFailed(const PodInfoPtr& pod, const std::string& node, const Status& error) {
  // Unless the informer has shown in the meantime that the pod is there after all.
  size_t slot = table_.Find(node);
  bool assumed =
      slot != NodeTable::kNone && std::ranges::find(table_.slots()[slot].pods, pod) != table_.slots()[slot].pods.end();
  if (assumed) {
    table_.RemovePod(pod->uid);
    NotifyAboutNode(ClusterEvent::kPodRemoved, node);
  }
  if (error.IsNotFound()) {
    // Either the pod is gone, which the informer will tell, or one of its claims is: worth another look.
    queue_.Retry(pod->uid, runtime_.Now());
    return;
  }
  PodInfoPtr latest = queue_.Get(pod->uid);
  if (!latest || !assumed) return;
  queue_.Retry(pod->uid, runtime_.Now());
  std::string message = "binding rejected: " + error.message();
  log_.Error("Binding was refused", {{"pod", pod->Key()}, {"node", node}, {"err", error}});
  events_.Record(Pod::SchemaKind(), latest->document->root(), "Warning", "FailedScheduling", message);
  Unscheduled unscheduled;
  unscheduled.reason = "SchedulerError";
  unscheduled.message = std::move(message);
  group_.Spawn(WriteFailure(std::move(latest), std::move(unscheduled)));
}

}  // namespace homeostat::scheduler
