#include "controllers/daemon_set.h"

#include <algorithm>
#include <set>
#include <utility>

#include "controllers/claims.h"
#include "homeostat/object/json.h"

namespace homeostat::controllers {

using api::apps::v1::ControllerRevision;
using api::apps::v1::ControllerRevisionBuilder;
using api::apps::v1::DaemonSetBuilder;
using api::core::v1::Node;
using api::core::v1::Pod;
using object::Value;

namespace {

bool IsSame(const Value& a, const Value& b) { return object::Equal(a, b); }

std::string_view HashOf(const Revision& revision) { return revision->metadata().labels().Get(kRevisionHashLabel); }

}  // namespace

DaemonSetController::DaemonSetController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, DaemonSetOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      options_(options),
      sets_(informers.For<DaemonSet>()),
      revisions_(informers.For<ControllerRevision>()),
      pods_(informers.For<Pod>()),
      nodes_(informers.For<Node>()),
      events_(runtime, client_, "daemonset-controller"),
      pod_control_(runtime, client_, pods_, events_, DaemonSet::SchemaKind()),
      failed_pods_(std::chrono::seconds(1), std::chrono::minutes(15)),
      controller_(runtime, {.name = "daemonset", .workers = options.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  AddControllerIndex(pods_);
  AddControllerIndex(revisions_);
  AddNodeIndex(pods_);
  controller_.Watch(sets_);
  controller_.WatchMapped(revisions_, [this](const sdk::Change& change) { return OwnersConcerned(sets_, change, SpecSelector); });
  pod_control_.Follow(sets_);
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return OwnersConcerned(sets_, change, SpecSelector); });
  controller_.WatchMapped(nodes_, [this](const sdk::Change& change) { return SetsConcerned(change); });
}

std::vector<std::string> DaemonSetController::SetsConcerned(const sdk::Change& change) const {
  std::vector<std::string> keys;
  if (change.current && change.previous) {
    Node before(change.previous->root()), now(change.current->root());
    bool same = IsSame(sdk::meta::Labels(before.Raw()), sdk::meta::Labels(now.Raw())) && IsSame(before.spec().taints().Raw(), now.spec().taints().Raw());
    if (same) return keys;
  }
  const Value& node = (change.current ? change.current : change.previous)->root();
  std::set<std::string> with_pods;
  for (const object::DocumentPtr& pod : pods_.ByIndex(kNodeIndex, sdk::meta::Name(node))) {
    if (object::DocumentPtr set = ResolveController(sets_, pod->root())) with_pods.insert(sdk::meta::Key(set->root()));
  }
  for (const object::DocumentPtr& document : sets_.List()) {
    DaemonSet set(document->root());
    std::string key = sdk::meta::Key(set.Raw());
    bool placed = with_pods.contains(key);
    DaemonPlacement::Verdict verdict;
    if (change.current) verdict = DaemonPlacement(set).Judge(Node(node));
    bool concerned = !change.current || (verdict.run && !placed) || (placed && (!verdict.stay || set.status().number_misscheduled() > 0));
    if (concerned) keys.push_back(std::move(key));
  }
  return keys;
}

Task<Result<DaemonSetController::Documents>> DaemonSetController::Claim(Set set, sdk::Informer* informer) {
  ClaimTarget target{&DaemonSet::SchemaKind(), set.document(), {}, &informer->kind()};
  CO_TRY_ASSIGN(target.selector, object::LabelSelector::FromLabelSelector(set->spec().selector().Raw()));
  auto claim = ClaimObjects(client_, std::move(target), Candidates(*informer, set->Raw()));
  co_return co_await claim;
}

Task<Result<sdk::ReconcileOutcome>> DaemonSetController::Reconcile(std::string key) {
  if (!sets_.Get(key)) {
    pod_control_.Forget(key);
    co_return sdk::ReconcileOutcome();
  }
  auto check = pod_control_.IsUpToDate(key);
  CO_TRY_ASSIGN(bool up_to_date, co_await check);
  if (!up_to_date) co_return sdk::ReconcileOutcome{kRecheck};
  Set set(sets_.Get(key));
  if (!set) co_return sdk::ReconcileOutcome();
  Value selector = set->spec().selector().Raw();
  if (selector && selector.empty()) {
    events_.Record(DaemonSet::SchemaKind(), set->Raw(), "Warning", "SelectingAll",
                   "This daemon set is selecting all pods. A non-empty selector is required.");
    co_return sdk::ReconcileOutcome();
  }
  if (sdk::meta::IsDeleting(set->Raw())) co_return sdk::ReconcileOutcome();
  bool settled = pod_control_.Satisfied(key);
  auto claim = Claim(set, &pods_);
  CO_TRY_ASSIGN(Documents pods, co_await claim);
  auto bring = BringHistoryUpToDate(set, key, pods);
  CO_TRY_ASSIGN(History history, co_await bring);
  DaemonView view = MakeDaemonView(set.document(), std::string(HashOf(history.current)), nodes_.List(), pods, runtime_.WallNow());
  std::optional<Duration> again;
  Result<void> outcome = Done();
  if (settled) {
    auto act = Act(view, key, again);
    outcome = co_await act;
    if (outcome) {
      auto clean = CleanUpHistory(set, history.old, pods);
      outcome = co_await clean;
    }
  }
  auto write = WriteStatus(std::move(view), key, settled);
  Result<sdk::ReconcileOutcome> written = co_await write;
  if (!outcome) co_return Fail(outcome.error());
  if (written && again) written->requeue_after = std::min(*again, written->requeue_after.value_or(*again));
  co_return written;
}

Task<Result<void>> DaemonSetController::Act(const DaemonView& view, std::string key, std::optional<Duration>& again) {
  auto place = Apply(view, key, PlaceDaemons(view), again);
  CO_TRY_ASSIGN(bool changed, co_await place);
  // What was just made or removed is not in the view: the next look rolls on.
  if (changed || view.Set().spec().update_strategy().type() != "RollingUpdate") co_return Done();
  auto roll = Apply(view, key, RollDaemons(view), again);
  CO_TRY(co_await roll);
  co_return Done();
}

Task<Result<bool>> DaemonSetController::Apply(const DaemonView& view, std::string key, DaemonChanges changes, std::optional<Duration>& again) {
  const Value& set = view.set->root();
  PodChanges apply{view.set, key, {}, std::move(changes.remove), {}};
  for (const auto& [node, pod] : changes.failed) {
    std::string name = std::string(sdk::meta::Uid(set)) + "/" + std::to_string(view.Set().status().observed_generation()) + "/" + node;
    Duration left = failed_pods_.Left(name, runtime_.Now());
    if (left > Duration(0)) {
      again = std::min(left, again.value_or(left));
      continue;
    }
    failed_pods_.Next(name, runtime_.Now());
    events_.Record(DaemonSet::SchemaKind(), set, "Warning", "FailedDaemonPod",
                   "Found failed daemon pod " + sdk::meta::Key(pod->root()) + " on node " + node + ", will try to kill it");
    apply.remove.push_back(pod);
  }
  for (const object::DocumentPtr& pod : changes.succeeded) {
    events_.Record(DaemonSet::SchemaKind(), set, "Normal", "SucceededDaemonPod",
                   "Found succeeded daemon pod " + sdk::meta::Key(pod->root()) + " on node " + TargetNode(Pod(pod->root())) + ", will try to delete it");
    apply.remove.push_back(pod);
  }
  changes.create_on.resize(std::min(changes.create_on.size(), options_.burst));
  apply.remove.resize(std::min(apply.remove.size(), options_.burst));
  for (const std::string& node : changes.create_on) apply.create.push_back(DaemonPod(view.Set(), node, view.hash));
  bool changes_something = !apply.empty();
  auto done = pod_control_.Apply(std::move(apply));
  PodOutcome outcome = co_await done;
  if (outcome.fault) co_return Fail(*outcome.fault);
  co_return changes_something;
}

Task<Result<sdk::ReconcileOutcome>> DaemonSetController::WriteStatus(DaemonView view, std::string key, bool observed) {
  DaemonCounts counts = CountDaemons(view);
  object::DocumentPtr next = WithDaemonStatus(view.set, counts, observed);
  if (next != view.set) {
    auto update = client_.UpdateStatus<DaemonSet>(Set(next));
    Result<Set> updated = co_await update;
    if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
    if (updated) pod_control_.own_writes().Wrote(key, sets_, (*updated)->metadata().resource_version());
  }
  sdk::ReconcileOutcome outcome;
  if (!pod_control_.Satisfied(key)) outcome.requeue_after = kRecheckExpectations;
  int32_t min_ready = view.Set().spec().min_ready_seconds();
  if (min_ready > 0 && counts.ready != counts.available) outcome.requeue_after = std::chrono::seconds(min_ready);
  co_return outcome;
}

Task<Result<DaemonSetController::History>> DaemonSetController::BringHistoryUpToDate(Set set, std::string key, Documents pods) {
  auto claim = Claim(set, &revisions_);
  CO_TRY_ASSIGN(Documents claimed, co_await claim);
  History history;
  std::vector<Revision> same;
  for (object::DocumentPtr& document : claimed) {
    Revision revision(std::move(document));
    (HoldsTemplate(*revision, set->spec().template_()) ? same : history.old).push_back(revision);
  }
  SortRevisions(history.old);
  int64_t number = NewestRevision(history.old) + 1;
  if (same.empty()) {
    auto create = CreateRevision(set, key, number);
    CO_TRY_ASSIGN(history.current, co_await create);
    co_return history;
  }
  SortRevisions(same);
  history.current = same.back();
  if (same.size() > 1) {
    auto merge = Merge(set, key, std::move(same), std::move(pods));
    CO_TRY_ASSIGN(history.current, co_await merge);
  }
  if (history.current->revision() >= number && !HashOf(history.current).empty()) co_return history;
  ControllerRevisionBuilder next{schema::Subtree(history.current.document())};
  next.set_revision(std::max(number, history.current->revision()));
  if (HashOf(history.current).empty()) next.mutable_metadata().set_labels(kRevisionHashLabel, history.current->metadata().name());
  auto update = UpdateRevision(key, next.Freeze());
  CO_TRY_ASSIGN(history.current, co_await update);
  co_return history;
}

Task<Result<Revision>> DaemonSetController::UpdateRevision(std::string key, object::DocumentPtr next) {
  auto update = client_.Update<ControllerRevision>(Revision(std::move(next)));
  CO_TRY_ASSIGN(Revision updated, co_await update);
  pod_control_.own_writes().Wrote(key, revisions_, updated->metadata().resource_version());
  co_return updated;
}

Task<Result<Revision>> DaemonSetController::CreateRevision(Set set, std::string key, int64_t number) {
  std::string hash = RevisionHash(RevisionPatch(set->spec().template_()), set->status().collision_count());
  Revision wanted(NewRevision(set->Raw(), DaemonSet::SchemaKind(), set->spec().template_(), kRevisionHashLabel, hash, number));
  std::string name(wanted->metadata().name());
  auto create = client_.Create<ControllerRevision>(std::string(set->metadata().namespace_()), wanted);
  Result<Revision> created = co_await create;
  if (created) {
    pod_control_.own_writes().Wrote(key, revisions_, (*created)->metadata().resource_version());
    co_return *created;
  }
  if (!created.error().IsAlreadyExists()) co_return Fail(created.error());
  auto handle = HandleNameTaken(set, key, name, created.error());
  co_return co_await handle;
}

Task<Result<Revision>> DaemonSetController::HandleNameTaken(Set set, std::string key, std::string name, Status refusal) {
  auto get = client_.Get<ControllerRevision>(std::string(set->metadata().namespace_()), name);
  CO_TRY_ASSIGN(Revision there, co_await get);
  bool own = sdk::meta::ControllerOf(there->Raw()).Get("uid").AsString() == set->metadata().uid();
  if (own && HoldsTemplate(*there, set->spec().template_())) {
    // Made before, by a look whose answer was lost.
    pod_control_.own_writes().Wrote(key, revisions_, there->metadata().resource_version());
    co_return there;
  }
  // Another template has the same hash, or another set of the name left it: count it, so that the next hash is another.
  DaemonSetBuilder next{schema::Subtree(set.document())};
  next.mutable_status().set_collision_count(set->status().collision_count() + 1);
  auto update = client_.UpdateStatus<DaemonSet>(Set(next.Freeze()));
  CO_TRY_ASSIGN(Set updated, co_await update);
  pod_control_.own_writes().Wrote(key, sets_, updated->metadata().resource_version());
  co_return Fail(refusal);
}

Task<Result<Revision>> DaemonSetController::Merge(Set set, std::string key, std::vector<Revision> same, Documents pods) {
  Revision kept = same.back();
  std::string ns(set->metadata().namespace_());
  for (const object::DocumentPtr& pod : pods) {
    if (Pod(pod->root()).metadata().labels().Get(kRevisionHashLabel) == HashOf(kept)) continue;
    std::string label;
    object::AppendJsonString(label, HashOf(kept));
    std::string body = "{\"metadata\":{\"labels\":{\"" + std::string(kRevisionHashLabel) + "\":" + label + "}}}";
    auto patch = client_.Patch(Pod::SchemaKind(), ns, std::string(sdk::meta::Name(pod->root())), sdk::PatchType::kMerge, Bytes(std::move(body)), {}, {});
    CO_TRY_ASSIGN(object::DocumentPtr patched, co_await patch);
    pod_control_.own_writes().Wrote(key, pods_, sdk::meta::ResourceVersion(patched->root()));
  }
  for (const Revision& revision : same) {
    if (revision->metadata().uid() == kept->metadata().uid()) continue;
    auto deletion = client_.Delete<ControllerRevision>(ns, std::string(revision->metadata().name()));
    Result<void> deleted = co_await deletion;
    if (!deleted && !deleted.error().IsNotFound()) co_return Fail(deleted.error());
  }
  co_return kept;
}

Task<Result<void>> DaemonSetController::CleanUpHistory(Set set, std::vector<Revision> old, Documents pods) {
  int32_t limit = set->spec().has_revision_history_limit() ? set->spec().revision_history_limit() : 10;
  auto surplus = static_cast<int64_t>(old.size()) - limit;
  std::set<std::string_view> live;
  for (const object::DocumentPtr& pod : pods) live.insert(Pod(pod->root()).metadata().labels().Get(kRevisionHashLabel));
  for (const Revision& revision : old) {
    if (surplus <= 0) co_return Done();
    if (live.contains(HashOf(revision))) continue;
    sdk::DeleteOptions options;
    options.precondition_uid = revision->metadata().uid();
    auto deletion = client_.Delete<ControllerRevision>(std::string(set->metadata().namespace_()), std::string(revision->metadata().name()), options);
    Result<void> deleted = co_await deletion;
    if (!deleted && !deleted.error().IsNotFound() && !deleted.error().IsConflict()) co_return deleted;
    --surplus;
  }
  co_return Done();
}

}  // namespace homeostat::controllers
