#include "controllers/replica_set.h"

#include <algorithm>
#include <utility>

#include "controllers/claims.h"
#include "controllers/parallel.h"
#include "controllers/replica_set_rules.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/object/selectors.h"
#include "homeostat/schema/diff.h"

namespace homeostat::controllers {

using api::apps::v1::ReplicaSet;
using api::core::v1::Pod;
using object::Value;

namespace {

// A set that waits for its own writes to be shown is woken by them; this is for the case that they never are.
constexpr Duration kRecheck = std::chrono::seconds(1);
// The same for one that waits to see its pods made or removed.
constexpr Duration kDoubt = std::chrono::seconds(301);

// It may have been done or not.
bool HadNoAnswer(const Status& status) { return status.code() >= 500; }

bool IsNamespaceTerminating(const Status& status) {
  return std::ranges::any_of(status.details().causes, [](const StatusCause& cause) { return cause.reason == "NamespaceTerminating"; });
}

}  // namespace

ReplicaSetController::ReplicaSetController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, ReplicaSetOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      options_(options),
      sets_(informers.For<ReplicaSet>()),
      pods_(informers.For<Pod>()),
      events_(runtime, client_, "replicaset-controller"),
      controller_(runtime, {.name = "replicaset", .workers = options.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  AddControllerIndex(pods_);
  AddControllerIndex(sets_);
  controller_.Watch(sets_);
  // Expectations are settled before the key is queued.
  pods_.AddHandler([this](const sdk::Change& change) { PodChanged(change); });
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return SetsOf(change); });
}

void ReplicaSetController::PodChanged(const sdk::Change& change) {
  const Value& pod = (change.current ? change.current : change.previous)->root();
  object::DocumentPtr set = ResolveController(sets_, pod);
  if (!set) return;
  std::string key = sdk::meta::Key(set->root());
  bool goes = !change.current || sdk::meta::IsDeleting(pod);
  if (goes) {
    expectations_.DeletionSeen(key, sdk::meta::Uid(pod));
  } else if (!change.previous) {
    expectations_.CreationSeen(key);
  }
}

std::vector<std::string> ReplicaSetController::SetsOf(const sdk::Change& change) const {
  std::vector<std::string> keys;
  for (const object::DocumentPtr& pod : {change.previous, change.current}) {
    if (!pod) continue;
    if (object::DocumentPtr set = ResolveController(sets_, pod->root())) keys.push_back(sdk::meta::Key(set->root()));
  }
  // An orphan that appeared or changed: whoever selects it may adopt it.
  bool orphan = change.current && !sdk::meta::ControllerOf(change.current->root()) && !sdk::meta::IsDeleting(change.current->root());
  bool changed = orphan && (!change.previous || sdk::meta::ControllerOf(change.previous->root()) ||
                            !object::Equal(sdk::meta::Labels(change.previous->root()), sdk::meta::Labels(change.current->root())));
  if (!changed) return keys;
  for (const object::DocumentPtr& set : sets_.List(sdk::meta::Namespace(change.current->root()))) {
    auto selector = object::LabelSelector::FromLabelSelector(ReplicaSet(set->root()).spec().selector().Raw());
    bool fits = selector && !selector->IsEverything() && selector->Matches(sdk::meta::Labels(change.current->root()));
    if (fits) keys.push_back(sdk::meta::Key(set->root()));
  }
  return keys;
}

Task<Result<bool>> ReplicaSetController::IsUpToDate(std::string key) {
  if (options_.careless) co_return true;
  if (expectations_.InDoubt(key, runtime_.Now())) in_doubt_.insert(key);
  if (in_doubt_.contains(key)) {
    sdk::ListOptions options;
    options.limit = 1;
    options.metadata_only = true;
    auto list = client_.List(Pod::SchemaKind(), sdk::SplitKey(key).first, std::move(options));
    CO_TRY_ASSIGN(sdk::ListResult now, co_await list);
    own_writes_.MustReach(key, pods_, now.resource_version);
    expectations_.Forget(key);
    in_doubt_.erase(key);
  }
  co_return own_writes_.Seen(key);
}

Task<Result<sdk::ReconcileOutcome>> ReplicaSetController::Reconcile(std::string key) {
  Set set(sets_.Get(key));
  if (!set) {
    expectations_.Forget(key);
    own_writes_.Forget(key);
    in_doubt_.erase(key);
    co_return sdk::ReconcileOutcome();
  }
  auto check = IsUpToDate(key);
  CO_TRY_ASSIGN(bool up_to_date, co_await check);
  if (!up_to_date) co_return sdk::ReconcileOutcome{kRecheck};
  set = Set(sets_.Get(key));
  if (!set) co_return sdk::ReconcileOutcome();
  bool settled = options_.careless || expectations_.Satisfied(key);
  ClaimTarget target{&ReplicaSet::SchemaKind(), set.document(), {}, &Pod::SchemaKind()};
  CO_TRY_ASSIGN(target.selector, object::LabelSelector::FromLabelSelector(set->spec().selector().Raw()));
  std::vector<object::DocumentPtr> candidates;
  int32_t terminating = 0;
  for (object::DocumentPtr& pod : Candidates(pods_, set->Raw())) {
    if (IsPodTerminating(Pod(pod->root())) && DecideClaim(set->Raw(), target.selector, pod->root()) == ClaimStep::kKeep) ++terminating;
    if (IsPodActive(Pod(pod->root()))) candidates.push_back(std::move(pod));
  }
  auto claim = ClaimObjects(client_, std::move(target), std::move(candidates));
  CO_TRY_ASSIGN(std::vector<object::DocumentPtr> active, co_await claim);

  std::optional<Status> fault;
  if (settled && !sdk::meta::IsDeleting(set->Raw())) {
    auto manage = Manage(set, key, active);
    Result<void> managed = co_await manage;
    if (!managed) fault = managed.error();
  }
  WallTime now = runtime_.WallNow();
  auto write = WriteStatus(set, WithStatus(set.document(), active, terminating, fault, now), key);
  CO_TRY_ASSIGN(set, co_await write);
  if (fault) co_return Fail(*fault);
  sdk::ReconcileOutcome outcome;
  if (!expectations_.Satisfied(key)) outcome.requeue_after = kDoubt;
  int32_t min_ready = set->spec().min_ready_seconds();
  if (min_ready > 0 && set->status().ready_replicas() != set->status().available_replicas()) {
    Duration next = NextAvailability(active, min_ready, now).value_or(std::chrono::seconds(min_ready));
    outcome.requeue_after = std::min(next, outcome.requeue_after.value_or(next));
  }
  co_return outcome;
}

Task<Result<void>> ReplicaSetController::Manage(Set set, std::string key, std::vector<object::DocumentPtr> active) {
  int difference = static_cast<int>(active.size()) - SizeOf(*set);
  if (difference < 0) return CreatePods(std::move(set), std::move(key), std::min(-difference, options_.burst));
  if (difference > 0) return DeletePods(std::move(set), std::move(key), std::move(active), std::min(difference, options_.burst));
  return [](int) -> Task<Result<void>> { co_return Done(); }(0);
}

Task<Result<void>> ReplicaSetController::CreatePods(Set set, std::string key, int count) {
  expectations_.ExpectCreations(key, count, runtime_.Now());
  // In batches that double, so that what can't be made fails once and not five hundred times.
  Result<void> outcome = Done();
  int done = 0;
  for (int batch = 1; done < count && outcome; batch *= 2) {
    std::vector<Task<Result<void>>> creations;
    for (int i = 0; i < std::min(batch, count - done); ++i) creations.push_back(CreatePod(set, key));
    auto all = InParallel(runtime_, std::move(creations));
    std::vector<Result<void>> results = co_await all;
    done += static_cast<int>(std::ranges::count_if(results, [](const Result<void>& result) { return result.has_value(); }));
    outcome = FirstError(results);
  }
  // What was not made will not be seen.
  for (int i = done; i < count; ++i) expectations_.CreationSeen(key);
  co_return outcome;
}

Task<Result<void>> ReplicaSetController::CreatePod(Set set, std::string key) {
  auto create = client_.Create<Pod>(std::string(set->metadata().namespace_()), sdk::Object<Pod>(PodFromTemplate(*set)));
  Result<sdk::Object<Pod>> created = co_await create;
  if (created) {
    own_writes_.Wrote(key, pods_, (*created)->metadata().resource_version());
    events_.Record(ReplicaSet::SchemaKind(), set->Raw(), "Normal", "SuccessfulCreate",
                   "Created pod: " + std::string((*created)->metadata().name()));
    co_return Done();
  }
  if (HadNoAnswer(created.error())) in_doubt_.insert(key);
  // In a namespace that is going nothing can be made any more, and nobody need hear of it.
  if (IsNamespaceTerminating(created.error())) co_return Done();
  events_.Record(ReplicaSet::SchemaKind(), set->Raw(), "Warning", "FailedCreate", "Error creating: " + created.error().message());
  co_return Fail(created.error());
}

std::vector<object::DocumentPtr> ReplicaSetController::RelatedPods(const Set& set) const {
  std::vector<object::DocumentPtr> related = OwnedBy(pods_, set->Raw());
  Value owner = sdk::meta::ControllerOf(set->Raw());
  if (!owner) return related;
  for (const object::DocumentPtr& sibling : sets_.ByIndex(kControllerIndex, owner.Get("uid").AsString())) {
    if (sdk::meta::Uid(sibling->root()) == set->metadata().uid()) continue;
    std::vector<object::DocumentPtr> pods = OwnedBy(pods_, sibling->root());
    related.insert(related.end(), pods.begin(), pods.end());
  }
  return related;
}

Task<Result<void>> ReplicaSetController::DeletePods(Set set, std::string key, std::vector<object::DocumentPtr> pods, int count) {
  if (static_cast<size_t>(count) < pods.size()) {
    SortForDeletion(pods, RelatedPods(set), runtime_.WallNow());
    pods.resize(static_cast<size_t>(count));
  }
  std::set<std::string> uids;
  std::vector<Task<Result<void>>> deletions;
  for (const object::DocumentPtr& pod : pods) {
    uids.emplace(sdk::meta::Uid(pod->root()));
    deletions.push_back(DeletePod(set, key, pod));
  }
  expectations_.ExpectDeletions(key, std::move(uids), runtime_.Now());
  auto all = InParallel(runtime_, std::move(deletions));
  std::vector<Result<void>> results = co_await all;
  co_return FirstError(results);
}

Task<Result<void>> ReplicaSetController::DeletePod(Set set, std::string key, object::DocumentPtr pod) {
  std::string name(sdk::meta::Name(pod->root()));
  sdk::DeleteOptions options;
  options.precondition_uid = sdk::meta::Uid(pod->root());
  auto deletion = client_.Delete<Pod>(std::string(sdk::meta::Namespace(pod->root())), name, options);
  Result<void> deleted = co_await deletion;
  if (deleted) {
    events_.Record(ReplicaSet::SchemaKind(), set->Raw(), "Normal", "SuccessfulDelete", "Deleted pod: " + name);
    co_return Done();
  }
  if (HadNoAnswer(deleted.error())) in_doubt_.insert(key);
  // It will not be seen to go.
  expectations_.DeletionSeen(key, sdk::meta::Uid(pod->root()));
  if (deleted.error().IsNotFound() || deleted.error().IsConflict()) co_return Done();  // gone, or another of that name
  events_.Record(ReplicaSet::SchemaKind(), set->Raw(), "Warning", "FailedDelete", "Error deleting: " + deleted.error().message());
  co_return Fail(deleted.error().WithContext("unable to delete pods"));
}

Task<Result<ReplicaSetController::Set>> ReplicaSetController::WriteStatus(Set set, object::DocumentPtr next, std::string key) {
  if (schema::IsEqual(api::apps::v1::ReplicaSetStatus::SchemaType(), set->status().Raw(), ReplicaSet(next->root()).status().Raw())) {
    co_return set;
  }
  auto update = client_.UpdateStatus<ReplicaSet>(Set(std::move(next)));
  Result<Set> updated = co_await update;
  if (!updated && updated.error().IsNotFound()) co_return set;
  if (!updated) co_return Fail(updated.error());
  own_writes_.Wrote(key, sets_, (*updated)->metadata().resource_version());
  co_return *updated;
}

}  // namespace homeostat::controllers
