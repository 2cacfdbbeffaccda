#include "controllers/pod_control.h"

#include <algorithm>
#include <utility>

#include "controllers/answers.h"
#include "controllers/claims.h"
#include "controllers/parallel.h"
#include "controllers/pods.h"

namespace homeostat::controllers {

using api::core::v1::Pod;

PodControl::PodControl(Runtime& runtime, sdk::Client client, sdk::Informer& pods, sdk::EventRecorder& events, const schema::Kind& owner_kind)
    : runtime_(runtime), client_(std::move(client)), pods_(pods), events_(events), owner_kind_(owner_kind) {}

void PodControl::Follow(const sdk::Informer& owners) {
  pods_.AddHandler([this, &owners](const sdk::Change& change) {
    const object::Value& pod = (change.current ? change.current : change.previous)->root();
    if (object::DocumentPtr owner = ResolveController(owners, pod)) PodChanged(sdk::meta::Key(owner->root()), change);
  });
}

void PodControl::PodChanged(const std::string& key, const sdk::Change& change) {
  const object::Value& pod = (change.current ? change.current : change.previous)->root();
  bool goes = !change.current || sdk::meta::IsDeleting(pod);
  if (goes) {
    expectations_.DeletionSeen(key, sdk::meta::Uid(pod));
  } else if (!change.previous) {
    expectations_.CreationSeen(key);
  }
}

Task<Result<bool>> PodControl::IsUpToDate(std::string key) {
  if (expectations_.InDoubt(key, runtime_.Now())) Doubt(key);
  bool asks = own_writes_.InDoubt(key);
  auto look = own_writes_.IsUpToDate(key, std::string(sdk::SplitKey(key).first), client_);
  CO_TRY_ASSIGN(bool up_to_date, co_await look);
  if (asks) expectations_.Forget(key);
  co_return up_to_date;
}

void PodControl::Forget(const std::string& key) {
  expectations_.Forget(key);
  own_writes_.Forget(key);
}

Task<PodOutcome> PodControl::Apply(PodChanges changes) {
  PodOutcome outcome;
  if (changes.empty()) co_return outcome;
  std::set<std::string> uids;
  for (const object::DocumentPtr& pod : changes.remove) uids.emplace(sdk::meta::Uid(pod->root()));
  expectations_.Expect(changes.key, static_cast<int>(changes.create.size()), std::move(uids), runtime_.Now());
  auto create = Create(changes, outcome);
  co_await create;
  auto remove = Remove(changes, outcome);
  co_await remove;
  co_return outcome;
}

Task<void> PodControl::Create(PodChanges& changes, PodOutcome& outcome) {
  // In batches that double, so that what can't be made fails once and not five hundred times.
  for (size_t batch = 1, tried = 0; tried < changes.create.size() && !outcome.fault; batch *= 2) {
    std::vector<Task<Result<void>>> creations;
    for (size_t end = std::min(changes.create.size(), tried + batch); tried < end; ++tried) {
      creations.push_back(CreateOne(changes.owner, changes.key, changes.create[tried]));
    }
    auto all = InParallel(runtime_, std::move(creations));
    std::vector<Result<void>> results = co_await all;
    outcome.created += static_cast<int>(std::ranges::count_if(results, [](const Result<void>& result) { return result.has_value(); }));
    if (Result<void> first = FirstError(results); !first) outcome.fault = first.error();
  }
  // What was not made will not be seen.
  for (auto i = static_cast<size_t>(outcome.created); i < changes.create.size(); ++i) expectations_.CreationSeen(changes.key);
}

Task<Result<void>> PodControl::CreateOne(object::DocumentPtr owner, std::string key, object::DocumentPtr pod) {
  auto create = client_.Create<Pod>(std::string(sdk::meta::Namespace(owner->root())), sdk::Object<Pod>(std::move(pod)));
  Result<sdk::Object<Pod>> created = co_await create;
  own_writes_.Note(key, pods_, created);
  if (created) {
    events_.Record(owner_kind_, owner->root(), "Normal", "SuccessfulCreate", "Created pod: " + std::string((*created)->metadata().name()));
    co_return Done();
  }
  // In a namespace that is going nothing can be made any more, and nobody need hear of it.
  if (IsNamespaceTerminating(created.error())) {
    expectations_.CreationSeen(key);
    co_return Done();
  }
  events_.Record(owner_kind_, owner->root(), "Warning", "FailedCreate", "Error creating: " + created.error().message());
  co_return Fail(created.error());
}

Task<void> PodControl::Remove(PodChanges& changes, PodOutcome& outcome) {
  std::vector<Task<Result<void>>> deletions;
  for (const object::DocumentPtr& pod : changes.remove) {
    bool held = !changes.drop_finalizer.empty() && HasFinalizer(pod->root(), changes.drop_finalizer);
    deletions.push_back(RemoveOne(changes.owner, changes.key, pod, held ? changes.drop_finalizer : std::string()));
  }
  auto all = InParallel(runtime_, std::move(deletions));
  std::vector<Result<void>> results = co_await all;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]) outcome.removed.push_back(changes.remove[i]);
  }
  if (Result<void> first = FirstError(results); !first && !outcome.fault) outcome.fault = first.error();
}

Task<Result<void>> PodControl::RemoveOne(object::DocumentPtr owner, std::string key, object::DocumentPtr pod, std::string finalizer) {
  std::string ns(sdk::meta::Namespace(pod->root())), name(sdk::meta::Name(pod->root()));
  if (!finalizer.empty()) {
    auto patch = client_.Patch(Pod::SchemaKind(), ns, name, sdk::PatchType::kStrategicMerge, DropFinalizerPatch(finalizer), {}, {});
    Result<object::DocumentPtr> patched = co_await patch;
    if (!patched && !patched.error().IsNotFound()) {
      if (HadNoAnswer(patched.error())) Doubt(key);
      expectations_.DeletionSeen(key, sdk::meta::Uid(pod->root()));
      co_return Fail(patched.error().WithContext("removing completion finalizer"));
    }
  }
  sdk::DeleteOptions options;
  options.precondition_uid = sdk::meta::Uid(pod->root());
  auto deletion = client_.Delete<Pod>(ns, name, options);
  Result<void> deleted = co_await deletion;
  if (deleted) {
    events_.Record(owner_kind_, owner->root(), "Normal", "SuccessfulDelete", "Deleted pod: " + name);
    co_return Done();
  }
  if (HadNoAnswer(deleted.error())) Doubt(key);
  // It will not be seen to go.
  expectations_.DeletionSeen(key, sdk::meta::Uid(pod->root()));
  if (deleted.error().IsNotFound() || deleted.error().IsConflict()) co_return Done();  // gone, or another of that name
  events_.Record(owner_kind_, owner->root(), "Warning", "FailedDelete", "Error deleting: " + deleted.error().message());
  co_return Fail(deleted.error().WithContext("unable to delete pods"));
}

}  // namespace homeostat::controllers
