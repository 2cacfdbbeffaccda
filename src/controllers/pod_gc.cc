#include "controllers/pod_gc.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "controllers/parallel.h"
#include "controllers/pods.h"

namespace homeostat::controllers {

using api::core::v1::Node;
using api::core::v1::Pod;

namespace {

constexpr std::string_view kOutOfService = "node.kubernetes.io/out-of-service";
constexpr std::string_view kNodeGone = "PodGC: node no longer exists";

bool IsOutOfService(const Node& node) {
  bool tainted = false, ready = false;
  for (auto taint : node.spec().taints()) tainted |= taint.key() == kOutOfService;
  for (auto condition : node.status().conditions()) ready |= condition.type() == "Ready" && condition.status() == "True";
  return tainted && !ready;
}

// Evicted ones first, then the oldest.
std::tuple<bool, std::string_view, std::string_view> Order(const sdk::Object<Pod>& pod) {
  bool evicted = pod->status().phase() == "Failed" && pod->status().reason() == "Evicted";
  return {!evicted, pod->metadata().creation_timestamp(), pod->metadata().name()};
}

}  // namespace

PodGarbageCollector::PodGarbageCollector(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, PodGcOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      options_(options),
      pods_(informers.For<Pod>()),
      nodes_(informers.For<Node>()),
      group_(runtime) {}

void PodGarbageCollector::Start() { group_.Spawn(Run()); }

Task<void> PodGarbageCollector::Run() {
  for (sdk::Informer* informer : {&pods_, &nodes_}) {
    auto sync = informer->WaitForSync();
    co_await sync;
  }
  while (true) {
    auto collect = Collect();
    co_await collect;
    auto pause = Sleep(runtime_, options_.period);
    co_await pause;
  }
}

Task<void> PodGarbageCollector::Collect() {
  Pods pods = sdk::Lister<Pod>(pods_).List();
  auto surplus = RemoveAll(Surplus(pods), {});
  co_await surplus;
  auto out_of_service = RemoveAll(OutOfService(pods), {});
  co_await out_of_service;
  auto find = GoneNodes(pods);
  std::vector<std::string> gone = co_await find;
  Pods orphans;
  std::ranges::copy_if(pods, std::back_inserter(orphans),
                       [&](const sdk::Object<Pod>& pod) { return std::ranges::find(gone, pod->spec().node_name()) != gone.end(); });
  auto orphaned = RemoveAll(std::move(orphans), std::string(kNodeGone));
  co_await orphaned;
  auto unscheduled = RemoveAll(UnscheduledTerminating(pods), {});
  co_await unscheduled;
}

PodGarbageCollector::Pods PodGarbageCollector::Surplus(const Pods& pods) const {
  Pods ended;
  std::ranges::copy_if(pods, std::back_inserter(ended), [](const sdk::Object<Pod>& pod) { return IsPodTerminal(*pod); });
  if (options_.terminated_threshold == 0 || ended.size() <= options_.terminated_threshold) return {};
  std::ranges::sort(ended, {}, Order);
  ended.resize(ended.size() - options_.terminated_threshold);
  return ended;
}

PodGarbageCollector::Pods PodGarbageCollector::OutOfService(const Pods& pods) const {
  Pods found;
  for (const sdk::Object<Pod>& pod : pods) {
    if (!sdk::meta::IsDeleting(pod->Raw())) continue;
    object::DocumentPtr node = nodes_.Get(pod->spec().node_name());
    if (node && IsOutOfService(Node(node->root()))) found.push_back(pod);
  }
  std::ranges::sort(found, {}, Order);
  return found;
}

PodGarbageCollector::Pods PodGarbageCollector::UnscheduledTerminating(const Pods& pods) const {
  Pods found;
  std::ranges::copy_if(pods, std::back_inserter(found), [](const sdk::Object<Pod>& pod) {
    return sdk::meta::IsDeleting(pod->Raw()) && pod->spec().node_name().empty();
  });
  return found;
}

Task<std::vector<std::string>> PodGarbageCollector::GoneNodes(const Pods& pods) {
  std::unordered_map<std::string, MonotonicTime> missing;
  for (const sdk::Object<Pod>& pod : pods) {
    std::string node(pod->spec().node_name());
    if (node.empty() || nodes_.Get(node)) continue;
    auto known = missing_since_.find(node);
    missing[node] = known == missing_since_.end() ? runtime_.Now() : known->second;
  }
  missing_since_ = std::move(missing);
  std::vector<std::string> gone;
  for (const auto& [node, since] : missing_since_) {
    if (runtime_.Now() - since >= options_.quarantine) gone.push_back(node);
  }
  // What the informer shows may be late.
  for (size_t i = 0; i < gone.size();) {
    auto get = client_.Get<Node>("", gone[i]);
    Result<sdk::Object<Node>> found = co_await get;
    if (!found && found.error().IsNotFound()) {
      ++i;
    } else {
      gone.erase(gone.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  co_return gone;
}

Task<Result<void>> PodGarbageCollector::Remove(sdk::Object<Pod> pod, std::string message) {
  if (!IsPodTerminal(*pod)) {
    auto patch = client_.Patch(Pod::SchemaKind(), std::string(pod->metadata().namespace_()), std::string(pod->metadata().name()),
                               sdk::PatchType::kStrategicMerge,
                               PodStatusPatch(*pod, "Failed", message.empty() ? "" : "DeletionByPodGC", message, runtime_.WallNow()), "status", {});
    CO_TRY(co_await patch);
  }
  sdk::DeleteOptions options;
  options.grace_period_seconds = 0;
  options.precondition_uid = pod->metadata().uid();
  auto deletion = client_.Delete<Pod>(std::string(pod->metadata().namespace_()), std::string(pod->metadata().name()), options);
  Result<void> deleted = co_await deletion;
  co_return deleted;
}

Task<void> PodGarbageCollector::RemoveAll(Pods pods, std::string message) {
  std::vector<Task<Result<void>>> removals;
  for (const sdk::Object<Pod>& pod : pods) removals.push_back(Remove(pod, message));
  auto all = InParallel(runtime_, std::move(removals));
  std::vector<Result<void>> results = co_await all;
  for (size_t i = 0; i < results.size(); ++i) {
    // Gone already; or changed since: the next round looks at it as it is then.
    if (results[i] || results[i].error().IsNotFound() || results[i].error().IsConflict()) continue;
    client_.options().log.Warning("Could not remove a pod", {{"pod", sdk::meta::Key(pods[i]->Raw())}, {"err", results[i].error()}});
  }
}

}  // namespace homeostat::controllers
