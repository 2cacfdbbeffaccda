#include "controllers/replica_set.h"

#include <algorithm>

#include "controllers/replica_set_rules.h"
#include "homeostat/api/apps/v1.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/object/selectors.h"

namespace homeostat::controllers {

using api::apps::v1::ReplicaSet;
using api::core::v1::Pod;
using object::Value;

namespace {

constexpr Duration kExpectationTimeout = std::chrono::minutes(5);
// At most so many pods are made or removed in one go.
constexpr int kBurst = 500;

std::string KeyOfOwner(const Value& pod) {
  Value owner = sdk::meta::ControllerOf(pod);
  if (owner.Get("kind").AsString() != "ReplicaSet") return "";
  return std::string(sdk::meta::Namespace(pod)) + "/" + std::string(owner.Get("name").AsString());
}

}  // namespace

void Expectations::ExpectCreations(const std::string& key, int count, MonotonicTime now) { entries_[key] = {count, {}, now}; }
void Expectations::ExpectDeletions(const std::string& key, std::set<std::string> uids, MonotonicTime now) {
  entries_[key] = {0, std::move(uids), now};
}
void Expectations::CreationSeen(const std::string& key) {
  auto found = entries_.find(key);
  if (found != entries_.end() && found->second.creations > 0) --found->second.creations;
}
void Expectations::DeletionSeen(const std::string& key, const std::string& uid) {
  auto found = entries_.find(key);
  if (found != entries_.end()) found->second.deletions.erase(uid);
}
bool Expectations::Satisfied(const std::string& key, MonotonicTime now) const {
  auto found = entries_.find(key);
  if (found == entries_.end()) return true;
  const Entry& entry = found->second;
  return (entry.creations <= 0 && entry.deletions.empty()) || now - entry.since > kExpectationTimeout;
}

ReplicaSetController::ReplicaSetController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : runtime_(runtime),
      client_(std::move(client)),
      sets_(informers.For<ReplicaSet>()),
      pods_(informers.For<Pod>()),
      events_(runtime, client_, "replicaset-controller"),
      controller_(runtime, {.name = "replicaset"}, [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(sets_);
  // Expectations are settled before the key is queued.
  pods_.AddHandler([this](const sdk::Change& change) { PodChanged(change); });
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return SetsOf(change); });
}

void ReplicaSetController::PodChanged(const sdk::Change& change) {
  if (!change.previous && change.current && !sdk::meta::IsDeleting(change.current->root())) {
    expectations_.CreationSeen(KeyOfOwner(change.current->root()));
    return;
  }
  bool goes = !change.current || sdk::meta::IsDeleting(change.current->root());
  if (!goes) return;
  const Value& pod = (change.current ? change.current : change.previous)->root();
  expectations_.DeletionSeen(KeyOfOwner(pod), std::string(sdk::meta::Uid(pod)));
}

std::vector<std::string> ReplicaSetController::SetsOf(const sdk::Change& change) const {
  std::vector<std::string> keys;
  for (const object::DocumentPtr& pod : {change.previous, change.current}) {
    if (!pod) continue;
    if (std::string key = KeyOfOwner(pod->root()); !key.empty()) {
      keys.push_back(std::move(key));
      continue;
    }
    if (sdk::meta::ControllerOf(pod->root())) continue;
    // An orphan: whoever selects it may adopt it.
    for (const object::DocumentPtr& set : sets_.List(sdk::meta::Namespace(pod->root()))) {
      auto selector = object::LabelSelector::FromLabelSelector(ReplicaSet(set->root()).spec().selector().Raw());
      if (selector && selector->Matches(sdk::meta::Labels(pod->root()))) keys.push_back(sdk::meta::Key(set->root()));
    }
  }
  return keys;
}

Task<Result<std::vector<object::DocumentPtr>>> ReplicaSetController::ClaimPods(object::DocumentPtr document) {
  ReplicaSet set(document->root());
  std::string ns(set.metadata().namespace_());
  auto selector = object::LabelSelector::FromLabelSelector(set.spec().selector().Raw());
  if (!selector) co_return Fail(selector.error());
  std::vector<object::DocumentPtr> claimed;
  for (const object::DocumentPtr& pod : pods_.List(ns)) {
    Value owner = sdk::meta::ControllerOf(pod->root());
    bool fits = selector->Matches(sdk::meta::Labels(pod->root()));
    bool own = owner.Get("uid").AsString() == set.metadata().uid();
    if (own && fits) {
      claimed.push_back(pod);
      continue;
    }
    if (sdk::meta::IsDeleting(set.Raw()) || sdk::meta::IsDeleting(pod->root())) continue;
    std::string uid(sdk::meta::Uid(pod->root())), set_uid(set.metadata().uid());
    std::string body;
    if (own) {
      // It no longer fits: let go.
      body = R"({"metadata":{"uid":")" + uid + R"(","ownerReferences":[{"$patch":"delete","uid":")" + set_uid + R"("}]}})";
    } else if (!owner && fits && IsPodActive(Pod(pod->root()))) {
      body = R"({"metadata":{"uid":")" + uid + R"(","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":)";
      object::AppendJsonString(body, set.metadata().name());
      body += R"(,"uid":")" + set_uid + R"(","controller":true,"blockOwnerDeletion":true}]}})";
    } else {
      continue;
    }
    auto patch = client_.Patch(Pod::SchemaKind(), ns, std::string(sdk::meta::Name(pod->root())), sdk::PatchType::kStrategicMerge,
                               Bytes(std::move(body)), "", {});
    auto patched = co_await std::move(patch);
    if (!patched && !patched.error().IsNotFound() && patched.error().reason() != "Invalid") co_return Fail(patched.error());
    if (patched && !own) claimed.push_back(*patched);
  }
  co_return claimed;
}

Task<Result<void>> ReplicaSetController::CreatePods(object::DocumentPtr document, std::string key, int count) {
  ReplicaSet set(document->root());
  std::string ns(set.metadata().namespace_());
  count = std::min(count, kBurst);
  expectations_.ExpectCreations(key, count, runtime_.Now());
  // In batches that double, so that what can't be made fails once and not five hundred times.
  int done = 0, batch = 1;
  while (done < count) {
    for (int i = 0; i < std::min(batch, count - done); ++i) {
      auto create = client_.Create<Pod>(ns, sdk::Object<Pod>(PodFromTemplate(set)));
      auto created = co_await std::move(create);
      if (created) {
        events_.Record(ReplicaSet::SchemaKind(), set.Raw(), "Normal", "SuccessfulCreate",
                       "Created pod: " + std::string(created->operator->()->metadata().name()));
        continue;
      }
      for (int rest = done + i; rest < count; ++rest) expectations_.CreationSeen(key);
      // In a namespace that is going nothing is made any more, and nobody need hear of it.
      for (const StatusCause& cause : created.error().details().causes) {
        if (cause.reason == "NamespaceTerminating") co_return Done();
      }
      events_.Record(ReplicaSet::SchemaKind(), set.Raw(), "Warning", "FailedCreate",
                     "Error creating: " + created.error().message());
      co_return Fail(created.error());
    }
    done += std::min(batch, count - done);
    batch *= 2;
  }
  co_return Done();
}

Task<Result<void>> ReplicaSetController::DeletePods(object::DocumentPtr document, std::string key,
                                                    std::vector<object::DocumentPtr> pods, int count) {
  ReplicaSet set(document->root());
  count = std::min(count, kBurst);
  if (static_cast<size_t>(count) < pods.size()) {
    // Pods of the same Deployment's other sets tell how crowded a node is.
    std::string_view owner = sdk::meta::ControllerOf(set.Raw()).Get("uid").AsString();
    std::vector<object::DocumentPtr> related;
    for (const object::DocumentPtr& pod : pods_.List(set.metadata().namespace_())) {
      object::DocumentPtr its_set = sets_.Get(KeyOfOwner(pod->root()));
      if (!its_set) continue;
      bool same = its_set == document || (!owner.empty() && sdk::meta::ControllerOf(its_set->root()).Get("uid").AsString() == owner);
      if (same) related.push_back(pod);
    }
    SortForDeletion(pods, related);
    pods.resize(static_cast<size_t>(count));
  }
  std::set<std::string> uids;
  for (const object::DocumentPtr& pod : pods) uids.emplace(sdk::meta::Uid(pod->root()));
  expectations_.ExpectDeletions(key, uids, runtime_.Now());
  std::optional<Status> fault;
  for (const object::DocumentPtr& pod : pods) {
    std::string name(sdk::meta::Name(pod->root())), uid(sdk::meta::Uid(pod->root()));
    sdk::DeleteOptions options;
    options.precondition_uid = uid;
    auto deletion = client_.Delete<Pod>(std::string(sdk::meta::Namespace(pod->root())), name, options);
    auto deleted = co_await std::move(deletion);
    if (deleted) {
      events_.Record(ReplicaSet::SchemaKind(), set.Raw(), "Normal", "SuccessfulDelete", "Deleted pod: " + name);
      continue;
    }
    expectations_.DeletionSeen(key, uid);
    if (deleted.error().IsNotFound()) continue;
    events_.Record(ReplicaSet::SchemaKind(), set.Raw(), "Warning", "FailedDelete", "Error deleting: " + deleted.error().message());
    fault = deleted.error();
  }
  if (fault) co_return Fail(*fault);
  co_return Done();
}

Task<Result<sdk::ReconcileOutcome>> ReplicaSetController::WriteStatus(object::DocumentPtr document,
                                                                      std::vector<object::DocumentPtr> pods, std::string fault) {
  ReplicaSet set(document->root());
  auto next = std::make_shared<object::Document>();
  next->arena().Keep(document);
  int wanted = set.spec().has_replicas() ? set.spec().replicas() : 1;
  std::string_view reason = fault.empty() ? "" : static_cast<int>(pods.size()) < wanted ? "FailedCreate" : "FailedDelete";
  next->set_root(ReplicaSetStatus(next->arena(), set, pods, reason, fault, runtime_.WallNow()));
  ReplicaSet changed(next->root());
  sdk::ReconcileOutcome outcome;
  // A pod becomes available by waiting: look again when the next one is due.
  if (set.spec().min_ready_seconds() > 0 && changed.status().ready_replicas() == wanted &&
      changed.status().available_replicas() != wanted) {
    outcome.requeue_after = std::chrono::seconds(set.spec().min_ready_seconds());
  }
  if (object::Equal(set.status().Raw(), changed.status().Raw())) co_return outcome;
  auto update = client_.UpdateStatus<ReplicaSet>(sdk::Object<ReplicaSet>(next));
  auto updated = co_await std::move(update);
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return outcome;
}

Task<Result<sdk::ReconcileOutcome>> ReplicaSetController::Reconcile(std::string key) {
  object::DocumentPtr document = sets_.Get(key);
  if (!document) {
    expectations_.Forget(key);
    co_return sdk::ReconcileOutcome();
  }
  ReplicaSet set(document->root());
  bool settled = expectations_.Satisfied(key, runtime_.Now());
  auto claim = ClaimPods(document);
  CO_TRY_ASSIGN(std::vector<object::DocumentPtr> pods, co_await std::move(claim));
  std::vector<object::DocumentPtr> active;
  for (const object::DocumentPtr& pod : pods) if (IsPodActive(Pod(pod->root()))) active.push_back(pod);

  std::optional<Status> fault;
  if (settled && !sdk::meta::IsDeleting(set.Raw())) {
    int wanted = set.spec().has_replicas() ? set.spec().replicas() : 1;
    int difference = static_cast<int>(active.size()) - wanted;
    if (difference < 0) {
      auto create = CreatePods(document, key, -difference);
      auto created = co_await std::move(create);
      if (!created) fault = created.error();
    } else if (difference > 0) {
      auto remove = DeletePods(document, key, active, difference);
      auto removed = co_await std::move(remove);
      if (!removed) fault = removed.error();
    }
  }
  auto status = WriteStatus(document, std::move(pods), fault ? fault->message() : std::string());
  CO_TRY_ASSIGN(sdk::ReconcileOutcome outcome, co_await std::move(status));
  if (fault) co_return Fail(*fault);
  co_return outcome;
}

}  // namespace homeostat::controllers
