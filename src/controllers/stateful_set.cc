#include "controllers/stateful_set.h"

#include <algorithm>
#include <set>
#include <utility>

#include "controllers/claims.h"
#include "controllers/replica_set_rules.h"
#include "controllers/stateful_claims.h"
#include "homeostat/base/go_text.h"

namespace homeostat::controllers {

using api::apps::v1::ControllerRevision;
using api::apps::v1::ControllerRevisionBuilder;
using api::core::v1::Pod;
using object::Value;
using Kind = StatefulStep::Kind;

namespace {

constexpr std::string_view kHistoryHashLabel = "controller.kubernetes.io/hash";

}  // namespace

StatefulSetController::StatefulSetController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, StatefulSetOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      sets_(informers.For<StatefulSet>()),
      revisions_(informers.For<ControllerRevision>()),
      pods_(informers.For<Pod>()),
      claims_(informers.For<Claim>()),
      events_(runtime, client_, "statefulset-controller"),
      controller_(runtime, {.name = "statefulset", .workers = options.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  AddControllerIndex(pods_);
  AddControllerIndex(revisions_);
  controller_.Watch(sets_);
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return OwnersConcerned(sets_, change, SpecSelector); });
  controller_.WaitFor(revisions_);
  controller_.WaitFor(claims_);
}

Task<Result<sdk::ReconcileOutcome>> StatefulSetController::Reconcile(std::string key) {
  if (!own_writes_.Seen(key)) co_return sdk::ReconcileOutcome{kRecheck};
  Set set(sets_.Get(key));
  if (!set) {
    own_writes_.Forget(key);
    co_return sdk::ReconcileOutcome();
  }
  auto bring = BringHistoryUpToDate(set, key);
  CO_TRY_ASSIGN(History history, co_await bring);
  auto claim = ClaimPods(set);
  CO_TRY_ASSIGN(Documents pods, co_await claim);
  StatefulView view{set.document(), {}, {}, pods, runtime_.WallNow()};
  view.current.name = history.current->metadata().name();
  view.update.name = history.update->metadata().name();
  CO_TRY_ASSIGN(view.current.tmpl, TemplateOf(*history.current));
  // As it stands, so that nothing that a revision does not tell is lost.
  view.update.tmpl = {set.document(), set->spec().template_().Raw()};
  StatefulPlan plan = PlanStatefulSet(view);
  auto act = Do(view, key, std::move(plan.steps));
  Result<void> acted = co_await act;
  auto write = WriteStatus(view, key, acted ? plan.counts : CountStateful(view), history.collisions);
  Result<sdk::ReconcileOutcome> written = co_await write;
  auto clean = CleanUpHistory(set, std::move(history), pods);
  Result<void> cleaned = co_await clean;
  if (!acted) co_return Fail(acted.error());
  if (!cleaned) co_return Fail(cleaned.error());
  co_return written;
}

Task<Result<StatefulSetController::Documents>> StatefulSetController::ClaimPods(Set set) {
  ClaimTarget target{&StatefulSet::SchemaKind(), set.document(), {}, &Pod::SchemaKind()};
  CO_TRY_ASSIGN(target.selector, object::LabelSelector::FromLabelSelector(set->spec().selector().Raw()));
  // Only pods with names of the set's.
  Documents candidates = Candidates(pods_, set->Raw());
  std::erase_if(candidates, [&](const object::DocumentPtr& pod) { return ParseStatefulName(sdk::meta::Name(pod->root())).set != set->metadata().name(); });
  auto claim = ClaimObjects(client_, std::move(target), std::move(candidates));
  co_return co_await claim;
}

// --- Revisions.

Task<Result<StatefulSetController::History>> StatefulSetController::BringHistoryUpToDate(Set set, std::string key) {
  ClaimTarget target{&StatefulSet::SchemaKind(), set.document(), {}, &ControllerRevision::SchemaKind()};
  CO_TRY_ASSIGN(target.selector, object::LabelSelector::FromLabelSelector(set->spec().selector().Raw()));
  Documents candidates = Candidates(revisions_, set->Raw());
  std::erase_if(candidates, [&](const object::DocumentPtr& one) { return !target.selector.Matches(sdk::meta::Labels(one->root())); });
  auto claim = ClaimObjects(client_, std::move(target), std::move(candidates));
  CO_TRY_ASSIGN(Documents claimed, co_await claim);
  History history;
  history.collisions = set->status().collision_count();
  for (object::DocumentPtr& document : claimed) history.all.emplace_back(std::move(document));
  SortRevisions(history.all);
  for (const Revision& revision : history.all) {
    if (HoldsTemplate(*revision, set->spec().template_())) history.update = revision;
    if (revision->metadata().name() == set->status().current_revision()) history.current = revision;
  }
  if (!history.update) {
    auto create = CreateRevision(set, key, history);
    CO_TRY(co_await create);
  } else if (history.update->metadata().uid() != history.all.back()->metadata().uid()) {
    // An earlier template again: it becomes the newest revision.
    ControllerRevisionBuilder next{schema::Subtree(history.update.document())};
    next.set_revision(NewestRevision(history.all) + 1);
    auto update = client_.Update<ControllerRevision>(Revision(next.Freeze()));
    CO_TRY_ASSIGN(history.update, co_await update);
    own_writes_.Wrote(key, revisions_, history.update->metadata().resource_version());
  }
  if (!history.current) history.current = history.update;
  co_return history;
}

Task<Result<void>> StatefulSetController::CreateRevision(Set set, std::string key, History& history) {
  auto tmpl = set->spec().template_();
  std::string patch = RevisionPatch(tmpl), ns(set->metadata().namespace_());
  while (true) {
    Revision wanted(NewRevision(set->Raw(), StatefulSet::SchemaKind(), tmpl, kHistoryHashLabel, RevisionHash(patch, history.collisions),
                                NewestRevision(history.all) + 1));
    auto create = client_.Create<ControllerRevision>(ns, wanted);
    Result<Revision> created = co_await create;
    if (!created && !created.error().IsAlreadyExists()) co_return Fail(created.error());
    if (!created) {
      auto get = client_.Get<ControllerRevision>(ns, std::string(wanted->metadata().name()));
      created = co_await get;
      if (!created) co_return Fail(created.error());
      bool own = sdk::meta::ControllerOf((*created)->Raw()).Get("uid").AsString() == set->metadata().uid();
      if (!own || !HoldsTemplate(**created, tmpl)) {
        ++history.collisions;
        continue;
      }
    }
    history.update = *created;
    own_writes_.Wrote(key, revisions_, history.update->metadata().resource_version());
    co_return Done();
  }
}

Task<Result<void>> StatefulSetController::CleanUpHistory(Set set, History history, Documents pods) {
  int32_t limit = set->spec().has_revision_history_limit() ? set->spec().revision_history_limit() : 10;
  std::set<std::string_view> live{history.current->metadata().name(), history.update->metadata().name()};
  for (const object::DocumentPtr& pod : pods) live.insert(Pod(pod->root()).metadata().labels().Get(kRevisionHashLabel));
  std::erase_if(history.all, [&](const Revision& revision) { return live.contains(revision->metadata().name()); });
  auto surplus = static_cast<int64_t>(history.all.size()) - limit;
  for (int64_t i = 0; limit >= 0 && i < surplus; ++i) {
    const Revision& revision = history.all[static_cast<size_t>(i)];
    sdk::DeleteOptions options;
    options.precondition_uid = revision->metadata().uid();
    auto deletion = client_.Delete<ControllerRevision>(std::string(set->metadata().namespace_()), std::string(revision->metadata().name()), options);
    Result<void> deleted = co_await deletion;
    if (!deleted && !deleted.error().IsNotFound() && !deleted.error().IsConflict()) co_return deleted;
  }
  co_return Done();
}

// --- Steps.

Task<Result<void>> StatefulSetController::Do(const StatefulView& view, std::string key, std::vector<StatefulStep> steps) {
  bool ordered = view.Set().spec().pod_management_policy() != "Parallel";
  Result<void> outcome = Done();
  for (StatefulStep& step : steps) {
    auto act = DoOne(view, key, std::move(step));
    Result<void> done = co_await act;
    if (done) continue;
    if (outcome) outcome = done;
    if (ordered) co_return outcome;
  }
  co_return outcome;
}

Task<Result<void>> StatefulSetController::DoOne(const StatefulView& view, std::string key, StatefulStep step) {
  Set set(view.set);
  sdk::Object<Pod> pod(std::move(step.pod));
  switch (step.kind) {
    case Kind::kCreate: return CreatePod(set, std::move(key), pod);
    case Kind::kMakeClaims: return MakeMissingClaims(set, std::move(key), pod);
    case Kind::kAlign: return Align(set, std::move(key), pod);
    case Kind::kAlignClaims: return AlignClaims(set, std::move(key), pod);
    case Kind::kDelete: break;
  }
  return DeletePod(set, pod);
}

void StatefulSetController::Tell(const Set& set, std::string_view verb, std::string_view what, const Status* error, std::string_view success) {
  std::string message = std::string(verb) + " " + std::string(what) + " in StatefulSet " + std::string(set->metadata().name()) + " ";
  message += error == nullptr ? std::string(success) : "failed error: " + error->message();
  events_.Record(StatefulSet::SchemaKind(), set->Raw(), error == nullptr ? "Normal" : "Warning",
                 (error == nullptr ? "Successful" : "Failed") + std::string(verb), std::move(message));
}

// The words differ with the outcome, as upstream's do.
void StatefulSetController::TellOfClaim(const Set& set, const std::string& claim, std::string_view pod, const Status* error) {
  Tell(set, "Create", "Claim " + claim + (error == nullptr ? " Pod " : " for Pod ") + std::string(pod), error, "success");
}

Task<Result<void>> StatefulSetController::CreatePod(Set set, std::string key, sdk::Object<Pod> pod) {
  std::string what = "Pod " + std::string(pod->metadata().name());
  for (const object::DocumentPtr& wanted : StatefulClaims(*set, ParseStatefulName(pod->metadata().name()).ordinal)) {
    object::DocumentPtr claim = claims_.Get(sdk::meta::Key(wanted->root()));
    if (claim && IsClaimOfEarlierPod(Claim(claim->root()), *set, *pod)) co_return Done();
  }
  auto make = MakeClaims(set, key, pod);
  Result<void> made = co_await make;
  if (!made) {
    Tell(set, "Create", what, &made.error());
    co_return made;
  }
  auto create = client_.Create<Pod>(std::string(set->metadata().namespace_()), pod);
  Result<sdk::Object<Pod>> created = co_await create;
  if (!created) {
    // One of that name that the informer does not show yet, or that is not ours.
    if (!created.error().IsAlreadyExists()) Tell(set, "Create", what, &created.error());
    co_return Fail(created.error());
  }
  own_writes_.Wrote(key, pods_, (*created)->metadata().resource_version());
  auto align = AlignClaims(set, key, *created);
  Result<void> aligned = co_await align;
  Tell(set, aligned ? "Create" : "Update", what, aligned ? nullptr : &aligned.error());
  co_return aligned;
}

Task<Result<void>> StatefulSetController::DeletePod(Set set, sdk::Object<Pod> pod) {
  sdk::DeleteOptions options;
  options.precondition_uid = pod->metadata().uid();
  std::string name(pod->metadata().name());
  auto deletion = client_.Delete<Pod>(std::string(pod->metadata().namespace_()), name, options);
  Result<void> deleted = co_await deletion;
  // Gone, or another of that name: not what was to be deleted.
  if (!deleted && (deleted.error().IsNotFound() || deleted.error().IsConflict())) co_return Done();
  Tell(set, "Delete", "Pod " + name, deleted ? nullptr : &deleted.error());
  co_return deleted;
}

Task<Result<void>> StatefulSetController::Align(Set set, std::string key, sdk::Object<Pod> pod) {
  auto claims = AlignClaims(set, key, pod);
  CO_TRY(co_await claims);
  object::DocumentPtr next = AlignedPod(*set, pod.document());
  if (next == pod.document()) co_return Done();
  std::string what = "Pod " + std::string(pod->metadata().name());
  auto update = client_.Update<Pod>(sdk::Object<Pod>(next));
  Result<sdk::Object<Pod>> updated = co_await update;
  Tell(set, "Update", what, updated ? nullptr : &updated.error());
  if (!updated) co_return Fail(updated.error());
  own_writes_.Wrote(key, pods_, (*updated)->metadata().resource_version());
  co_return Done();
}

// Of a pod that may wait for them.
Task<Result<void>> StatefulSetController::MakeMissingClaims(Set set, std::string key, sdk::Object<Pod> pod) {
  auto make = MakeClaims(set, key, pod);
  CO_TRY(co_await make);
  auto align = AlignClaims(set, key, pod);
  Result<void> aligned = co_await align;
  if (!aligned) Tell(set, "Update", "Pod " + std::string(pod->metadata().name()), &aligned.error());
  co_return aligned;
}

Task<Result<void>> StatefulSetController::MakeClaims(Set set, std::string key, sdk::Object<Pod> pod) {
  std::vector<std::string> faults;
  for (object::DocumentPtr& wanted : StatefulClaims(*set, ParseStatefulName(pod->metadata().name()).ordinal)) {
    std::string name(sdk::meta::Name(wanted->root()));
    object::DocumentPtr there = claims_.Get(sdk::meta::Key(wanted->root()));
    if (there && sdk::meta::IsDeleting(there->root())) faults.push_back("pvc " + name + " is being deleted");
    if (there) continue;
    auto create = client_.Create<Claim>(std::string(set->metadata().namespace_()), sdk::Object<Claim>(std::move(wanted)));
    Result<sdk::Object<Claim>> created = co_await create;
    if (created) own_writes_.Wrote(key, claims_, (*created)->metadata().resource_version());
    if (created || !created.error().IsAlreadyExists()) TellOfClaim(set, name, pod->metadata().name(), created ? nullptr : &created.error());
    if (!created) faults.push_back("failed to create PVC " + name + ": " + created.error().message());
  }
  if (!faults.empty()) co_return Fail(SystemError(AggregateText(faults)));
  co_return Done();
}

Task<Result<void>> StatefulSetController::AlignClaims(Set set, std::string key, sdk::Object<Pod> pod) {
  for (const object::DocumentPtr& wanted : StatefulClaims(*set, ParseStatefulName(pod->metadata().name()).ordinal)) {
    object::DocumentPtr claim = claims_.Get(sdk::meta::Key(wanted->root()));
    if (!claim) continue;
    object::DocumentPtr next = ClaimWithOwners(claim, *set, *pod);
    if (next == claim) continue;
    if (HasOtherController(Claim(claim->root()), *set, *pod)) {
      events_.Record(StatefulSet::SchemaKind(), set->Raw(), "Warning", "ConflictingController",
                     "PersistentVolumeClaim " + std::string(sdk::meta::Name(claim->root())) +
                         " has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim");
    }
    auto update = client_.Update<Claim>(sdk::Object<Claim>(next));
    Result<sdk::Object<Claim>> updated = co_await update;
    if (!updated && updated.error().IsNotFound()) continue;
    if (!updated) co_return Fail(updated.error().WithContext("could not update claim " + std::string(sdk::meta::Name(claim->root())) + " for delete policy ownerRefs"));
    own_writes_.Wrote(key, claims_, (*updated)->metadata().resource_version());
  }
  co_return Done();
}

Task<Result<sdk::ReconcileOutcome>> StatefulSetController::WriteStatus(StatefulView view, std::string key, StatefulCounts counts, int32_t collisions) {
  object::DocumentPtr next = WithStatefulStatus(view, counts, collisions);
  if (next != view.set) {
    auto update = client_.UpdateStatus<StatefulSet>(Set(next));
    Result<Set> updated = co_await update;
    if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
    if (updated) own_writes_.Wrote(key, sets_, (*updated)->metadata().resource_version());
  }
  sdk::ReconcileOutcome outcome;
  int32_t min_ready = view.Set().spec().min_ready_seconds();
  if (min_ready > 0 && counts.ready != counts.available) {
    outcome.requeue_after = NextAvailability(view.pods, min_ready, view.now).value_or(std::chrono::seconds(min_ready));
  }
  co_return outcome;
}

}  // namespace homeostat::controllers
