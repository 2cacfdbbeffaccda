#include "controllers/taint_eviction.h"

#include <utility>

#include "controllers/pods.h"
#include "controllers/taints.h"

namespace homeostat::controllers {

using api::core::v1::Node;
using api::core::v1::Pod;

namespace {

bool SameTaints(const object::DocumentPtr& a, const object::DocumentPtr& b) {
  return a && b && object::Equal(Node(a->root()).spec().taints().Raw(), Node(b->root()).spec().taints().Raw());
}

}  // namespace

TaintEvictionController::TaintEvictionController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers,
                                                 TaintEvictionOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      nodes_(informers.For<Node>()),
      pods_(informers.For<Pod>()),
      events_(runtime, client_, "taint-eviction-controller"),
      controller_(runtime, {.name = "taint-eviction-controller", .workers = options.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  AddNodeIndex(pods_);
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) -> std::vector<std::string> {
    const object::Value& pod = (change.current ? change.current : change.previous)->root();
    object::DocumentPtr node = nodes_.Get(Pod(pod).spec().node_name());
    bool concerned = waiting_.contains(sdk::meta::Key(pod)) || (node && !NoExecuteTaints(Node(node->root())).empty());
    return concerned ? std::vector<std::string>{sdk::meta::Key(pod)} : std::vector<std::string>();
  });
  controller_.WatchMapped(nodes_, [this](const sdk::Change& change) {
    std::vector<std::string> keys;
    if (SameTaints(change.previous, change.current)) return keys;
    const object::Value& node = (change.current ? change.current : change.previous)->root();
    for (const object::DocumentPtr& pod : pods_.ByIndex(kNodeIndex, sdk::meta::Name(node))) keys.push_back(sdk::meta::Key(pod->root()));
    return keys;
  });
}

Task<Result<sdk::ReconcileOutcome>> TaintEvictionController::Reconcile(std::string key) {
  PodObject pod(pods_.Get(key));
  auto known = waiting_.find(key);
  if (known != waiting_.end() && (!pod || known->second.uid != pod->metadata().uid())) waiting_.erase(known);
  if (!pod || sdk::meta::IsDeleting(pod->Raw())) {
    waiting_.erase(key);
    co_return sdk::ReconcileOutcome();
  }
  object::DocumentPtr node = nodes_.Get(pod->spec().node_name());
  Stay stay{.forever = true};
  if (node) stay = StayOf(*pod, NoExecuteTaints(Node(node->root())));
  if (stay.forever) {
    Cancel(key, pod);
    co_return sdk::ReconcileOutcome();
  }
  MonotonicTime since = waiting_.try_emplace(key, Waiting{std::string(pod->metadata().uid()), runtime_.Now()}).first->second.since;
  Duration left = since + stay.time - runtime_.Now();
  if (left > Duration(0)) co_return sdk::ReconcileOutcome{left};
  auto evict = Evict(pod);
  CO_TRY(co_await evict);
  waiting_.erase(key);
  co_return sdk::ReconcileOutcome();
}

void TaintEvictionController::Cancel(const std::string& key, const PodObject& pod) {
  if (waiting_.erase(key) == 0) return;
  events_.Record(Pod::SchemaKind(), pod->Raw(), "Normal", "TaintManagerEviction", "Cancelling deletion of Pod " + key);
}

Task<Result<void>> TaintEvictionController::Evict(PodObject pod) {
  std::string ns(pod->metadata().namespace_()), name(pod->metadata().name());
  events_.Record(Pod::SchemaKind(), pod->Raw(), "Normal", "TaintManagerEviction", "Marking for deletion Pod " + ns + "/" + name);
  Bytes body = PodStatusPatch(*pod, {}, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint", runtime_.WallNow());
  auto patch = client_.Patch(Pod::SchemaKind(), ns, name, sdk::PatchType::kStrategicMerge, std::move(body), "status", {});
  Result<object::DocumentPtr> patched = co_await patch;
  if (!patched && patched.error().IsNotFound()) co_return Done();
  if (!patched) co_return Fail(patched.error());
  sdk::DeleteOptions options;
  options.precondition_uid = pod->metadata().uid();
  auto deletion = client_.Delete<Pod>(ns, name, options);
  Result<void> deleted = co_await deletion;
  if (!deleted && (deleted.error().IsNotFound() || deleted.error().IsConflict())) co_return Done();
  co_return deleted;
}

}  // namespace homeostat::controllers
