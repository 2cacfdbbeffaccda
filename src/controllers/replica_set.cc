#include "controllers/replica_set.h"

#include <algorithm>
#include <utility>

#include "controllers/claims.h"
#include "controllers/pod_template.h"
#include "homeostat/schema/diff.h"

namespace homeostat::controllers {

using api::core::v1::Pod;
using object::Value;

template <class Kind>
ReplicaController<Kind>::ReplicaController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, ReplicaSetOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      options_(options),
      sets_(informers.For<Kind>()),
      pods_(informers.For<Pod>()),
      events_(runtime, client_, std::string(Traits::kComponent)),
      pod_control_(runtime, client_, pods_, events_, Kind::SchemaKind()),
      controller_(runtime, {.name = std::string(Traits::kName), .workers = options.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  AddControllerIndex(pods_);
  AddControllerIndex(sets_);
  controller_.Watch(sets_);
  pod_control_.Follow(sets_);
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return OwnersConcerned(sets_, change, [](const Value& set) { return Traits::Selector(Kind(set)); }); });
}

template <class Kind>
Task<Result<sdk::ReconcileOutcome>> ReplicaController<Kind>::Reconcile(std::string key) {
  if (!sets_.Get(key)) {
    pod_control_.Forget(key);
    co_return sdk::ReconcileOutcome();
  }
  if (!options_.careless) {
    auto check = pod_control_.IsUpToDate(key);
    CO_TRY_ASSIGN(bool up_to_date, co_await check);
    if (!up_to_date) co_return sdk::ReconcileOutcome{kRecheck};
  }
  Set set(sets_.Get(key));
  if (!set) co_return sdk::ReconcileOutcome();
  bool settled = options_.careless || pod_control_.Satisfied(key);
  ClaimTarget target{&Kind::SchemaKind(), set.document(), {}, &Pod::SchemaKind()};
  CO_TRY_ASSIGN(target.selector, Traits::Selector(*set));
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
    auto manage = pod_control_.Apply(ChangesFor(set, key, active));
    PodOutcome managed = co_await manage;
    fault = managed.fault;
  }
  WallTime now = runtime_.WallNow();
  auto write = WriteStatus(set, WithStatus<Kind>(set.document(), active, terminating, fault, now), key);
  CO_TRY_ASSIGN(set, co_await write);
  if (fault) co_return Fail(*fault);
  sdk::ReconcileOutcome outcome;
  if (!pod_control_.Satisfied(key)) outcome.requeue_after = kRecheckExpectations;
  int32_t min_ready = set->spec().min_ready_seconds();
  if (min_ready > 0 && set->status().ready_replicas() != set->status().available_replicas()) {
    Duration next = NextAvailability(active, min_ready, now).value_or(std::chrono::seconds(min_ready));
    outcome.requeue_after = std::min(next, outcome.requeue_after.value_or(next));
  }
  co_return outcome;
}

template <class Kind>
PodChanges ReplicaController<Kind>::ChangesFor(const Set& set, const std::string& key, std::vector<object::DocumentPtr> active) const {
  PodChanges changes{set.document(), key, {}, {}, {}};
  int difference = static_cast<int>(active.size()) - SizeOf(*set);
  if (difference < 0) {
    object::DocumentPtr pod = PodFromTemplate(set->spec().template_(), Kind::SchemaKind(), set->Raw()).Freeze();
    changes.create.assign(static_cast<size_t>(std::min(-difference, options_.burst)), pod);
  } else if (difference > 0) {
    auto count = static_cast<size_t>(std::min(difference, options_.burst));
    if (count < active.size()) SortForDeletion(active, RelatedPods(set), runtime_.WallNow());
    active.resize(count);
    changes.remove = std::move(active);
  }
  return changes;
}

template <class Kind>
std::vector<object::DocumentPtr> ReplicaController<Kind>::RelatedPods(const Set& set) const {
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

template <class Kind>
auto ReplicaController<Kind>::WriteStatus(Set set, object::DocumentPtr next, std::string key) -> Task<Result<Set>> {
  const schema::Type& type = decltype(set->status())::SchemaType();
  if (schema::IsEqual(type, set->status().Raw(), Kind(next->root()).status().Raw())) co_return set;
  auto update = client_.UpdateStatus<Kind>(Set(std::move(next)));
  Result<Set> updated = co_await update;
  if (!updated && updated.error().IsNotFound()) co_return set;
  if (!updated) co_return Fail(updated.error());
  pod_control_.own_writes().Wrote(key, sets_, (*updated)->metadata().resource_version());
  co_return *updated;
}

template class ReplicaController<api::apps::v1::ReplicaSet>;
template class ReplicaController<api::core::v1::ReplicationController>;

}  // namespace homeostat::controllers
