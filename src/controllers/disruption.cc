#include "controllers/disruption.h"

#include <map>
#include <utility>

#include "controllers/claims.h"
#include "controllers/deployment_rules.h"
#include "controllers/scale_target.h"
#include "controllers/stateful_plan.h"
#include "homeostat/object/selectors.h"
#include "homeostat/schema/api_version.h"
#include "object/go_selector.h"

namespace homeostat::controllers {

using api::apps::v1::Deployment;
using api::apps::v1::ReplicaSet;
using api::apps::v1::StatefulSet;
using api::core::v1::Pod;
using api::policy::v1::PodDisruptionBudget;
using object::Value;

DisruptionController::DisruptionController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : runtime_(runtime),
      client_(std::move(client)),
      budgets_(informers.For<PodDisruptionBudget>()),
      pods_(informers.For<Pod>()),
      replica_sets_(informers.For<ReplicaSet>()),
      replication_controllers_(informers.For<api::core::v1::ReplicationController>()),
      deployments_(informers.For<Deployment>()),
      stateful_sets_(informers.For<StatefulSet>()),
      events_(runtime, client_, "controllermanager"),
      controller_(runtime, {.name = "disruption", .workers = 1, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }),
      stale_(runtime, {.name = "stale_pod_disruption", .workers = 1, .backoff = {}, .log = client_.options().log},
             [this](std::string key) { return ReconcileStale(std::move(key)); }) {
  controller_.Watch(budgets_);
  for (sdk::Informer* owners : {&replica_sets_, &replication_controllers_, &deployments_, &stateful_sets_}) controller_.WaitFor(*owners);
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return BudgetsOf(change); });
  stale_.WatchMapped(pods_, [this](const sdk::Change& change) {
    bool may_be = change.current && UntilStale(Pod(change.current->root()), runtime_.WallNow());
    return may_be ? std::vector<std::string>{sdk::meta::Key(change.current->root())} : std::vector<std::string>();
  });
}

void DisruptionController::Start() {
  controller_.Start();
  stale_.Start();
}

std::vector<std::string> DisruptionController::BudgetsOf(const sdk::Change& change) {
  const Value& pod = (change.current ? change.current : change.previous)->root();
  std::vector<std::string> keys, names;
  for (const object::DocumentPtr& document : budgets_.List(sdk::meta::Namespace(pod))) {
    auto selector = object::LabelSelector::FromLabelSelector(PodDisruptionBudget(document->root()).spec().selector().Raw());
    bool selects = selector && (selector->Matches(sdk::meta::Labels(pod)) || (change.previous && selector->Matches(sdk::meta::Labels(change.previous->root()))));
    if (!selects) continue;
    keys.push_back(sdk::meta::Key(document->root()));
    if (selector->Matches(sdk::meta::Labels(pod))) names.emplace_back(sdk::meta::Name(document->root()));
  }
  if (names.size() > 1 && change.current) {
    events_.Record(Pod::SchemaKind(), pod, "Warning", "MultiplePodDisruptionBudgets",
                   "Pod \"" + std::string(sdk::meta::Namespace(pod)) + "\"/\"" + std::string(sdk::meta::Name(pod)) +
                       "\" matches multiple PodDisruptionBudgets.  Chose \"" + names.front() + "\" arbitrarily.");
  }
  return keys;
}

Task<Result<sdk::ReconcileOutcome>> DisruptionController::Reconcile(std::string key) {
  Budget budget(budgets_.Get(key));
  if (!budget) co_return sdk::ReconcileOutcome();
  Documents pods;
  CO_TRY_ASSIGN(object::LabelSelector selector, object::LabelSelector::FromLabelSelector(budget->spec().selector().Raw()));
  for (object::DocumentPtr& pod : pods_.List(budget->metadata().namespace_())) {
    if (selector.Matches(sdk::meta::Labels(pod->root()))) pods.push_back(std::move(pod));
  }
  if (pods.empty()) events_.Record(PodDisruptionBudget::SchemaKind(), budget->Raw(), "Normal", "NoPods", "No matching pods found");
  auto expect = Expect(budget, pods);
  Result<ExpectedPods> expected = co_await expect;
  WallTime now = runtime_.WallNow();
  if (!expected) {
    events_.Record(PodDisruptionBudget::SchemaKind(), budget->Raw(), "Warning", "CalculateExpectedPodCountFailed",
                   "Failed to calculate the number of expected pods: " + expected.error().message());
    // Whoever wants to evict is told no, rather than by old numbers.
    auto write = Write(budget, WithSyncFailure(budget.document(), expected.error().message(), now));
    CO_TRY(co_await write);
    co_return sdk::ReconcileOutcome();
  }
  BudgetStatus judged = JudgeBudget(budget.document(), pods, *expected, now);
  for (const object::DocumentPtr& pod : judged.not_deleted) {
    events_.Record(Pod::SchemaKind(), pod->root(), "Warning", "NotDeleted", "Pod was expected by PDB " + key + " to be deleted but it wasn't");
  }
  auto write = Write(budget, judged.budget);
  CO_TRY(co_await write);
  co_return sdk::ReconcileOutcome{judged.again};
}

Task<Result<void>> DisruptionController::Write(Budget before, object::DocumentPtr next) {
  if (next == before.document()) co_return Done();
  auto update = client_.UpdateStatus<PodDisruptionBudget>(Budget(std::move(next)));
  Result<Budget> updated = co_await update;
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return Done();
}

Task<Result<ExpectedPods>> DisruptionController::Expect(Budget budget, Documents pods) {
  if (!NeedsOwners(*budget)) co_return ExpectedOf(*budget, pods.size(), 0);
  std::map<std::string, int64_t> sizes;          // by uid of what is scaled
  std::map<std::string, std::string> looked_up;  // by uid of the pod's owner
  std::vector<std::string> unmanaged;
  for (const object::DocumentPtr& pod : pods) {
    Value owner = sdk::meta::ControllerOf(pod->root());
    if (!owner) {
      unmanaged.emplace_back(sdk::meta::Name(pod->root()));
      continue;
    }
    auto [known, first] = looked_up.try_emplace(std::string(owner.Get("uid").AsString()));
    if (!first) continue;
    auto look = SizeOfOwner(pod);
    CO_TRY_ASSIGN(Sized sized, co_await look);
    known->second = sized.first;
    sizes[sized.first] = sized.second;
  }
  if (!unmanaged.empty()) {
    events_.Record(PodDisruptionBudget::SchemaKind(), budget->Raw(), "Warning", "UnmanagedPods",
                   "Pods selected by this PodDisruptionBudget (selector: " + object::GoSelectorText(budget->spec().selector().Raw()) +
                       ") were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined "
                       "behavior. To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.");
  }
  int64_t total = 0;
  for (const auto& [uid, size] : sizes) total += size;
  co_return ExpectedOf(*budget, pods.size(), total);
}

Task<Result<DisruptionController::Sized>> DisruptionController::SizeOfOwner(object::DocumentPtr pod) {
  Value owner = sdk::meta::ControllerOf(pod->root());
  std::string ns(sdk::meta::Namespace(pod->root())), name(owner.Get("name").AsString()), uid(owner.Get("uid").AsString());
  std::string api_version(owner.Get("apiVersion").AsString()), kind(owner.Get("kind").AsString()), group(schema::ParseApiVersion(api_version).group);
  std::string key = ns + "/" + name;
  auto same = [&uid](const object::DocumentPtr& found) { return found && sdk::meta::Uid(found->root()) == uid; };
  if (group == "apps" && kind == "ReplicaSet") {
    object::DocumentPtr set = replica_sets_.Get(key);
    if (same(set)) {
      object::DocumentPtr deployment = ResolveController(deployments_, set->root());
      if (deployment) co_return Sized(sdk::meta::Uid(deployment->root()), WantedReplicas(Deployment(deployment->root())));
      co_return Sized(uid, SizeOf(ReplicaSet(set->root())));
    }
  } else if (group == "apps" && kind == "StatefulSet") {
    object::DocumentPtr set = stateful_sets_.Get(key);
    if (same(set)) co_return Sized(uid, StatefulReplicas(StatefulSet(set->root())));
  } else if (group.empty() && kind == "ReplicationController") {
    object::DocumentPtr controller = replication_controllers_.Get(key);
    if (same(controller)) co_return Sized(uid, SizeOf(api::core::v1::ReplicationController(controller->root())));
  } else {
    auto find = FindScale(client_, ns, api_version, kind, name);
    Result<ScaleTarget> target = co_await find;
    if (!target && !target.error().IsNotFound()) co_return Fail(target.error());
    if (target && sdk::meta::Uid(target->scale->root()) == uid) co_return Sized(uid, target->replicas());
  }
  co_return Fail(SystemError("found no controllers for pod \"" + std::string(sdk::meta::Name(pod->root())) + "\""));
}

Task<Result<sdk::ReconcileOutcome>> DisruptionController::ReconcileStale(std::string key) {
  object::DocumentPtr pod = pods_.Get(key);
  std::optional<Duration> left = pod ? UntilStale(Pod(pod->root()), runtime_.WallNow()) : std::nullopt;
  if (!left) co_return sdk::ReconcileOutcome();
  if (*left > Duration(0)) co_return sdk::ReconcileOutcome{*left};
  auto update = client_.UpdateStatus<Pod>(sdk::Object<Pod>(WithoutDisruptionTarget(pod, runtime_.WallNow())));
  Result<sdk::Object<Pod>> updated = co_await update;
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
