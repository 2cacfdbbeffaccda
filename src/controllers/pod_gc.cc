#include "controllers/pod_gc.h"

#include <algorithm>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {

using api::core::v1::Node;
using api::core::v1::Pod;
using api::core::v1::PodBuilder;

namespace {

bool HasEnded(const Pod& pod) { return pod.status().phase() == "Succeeded" || pod.status().phase() == "Failed"; }

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
  auto pods = pods_.WaitForSync();
  co_await std::move(pods);
  auto nodes = nodes_.WaitForSync();
  co_await std::move(nodes);
  while (true) {
    auto collect = Collect();
    co_await std::move(collect);
    auto pause = Sleep(runtime_, options_.period);
    co_await std::move(pause);
  }
}

Task<void> PodGarbageCollector::Collect() {
  std::vector<sdk::Object<Pod>> pods = sdk::Lister<Pod>(pods_).List();
  std::vector<sdk::Object<Pod>> ended;
  for (const sdk::Object<Pod>& pod : pods) {
    if (HasEnded(*pod)) ended.push_back(pod);
  }
  if (options_.terminated_threshold > 0 && ended.size() > options_.terminated_threshold) {
    std::ranges::sort(ended, {}, [](const sdk::Object<Pod>& pod) { return pod->metadata().creation_timestamp(); });
    ended.resize(ended.size() - options_.terminated_threshold);
    for (const sdk::Object<Pod>& pod : ended) {
      auto remove = Remove(pod.document(), "");
      co_await std::move(remove);
    }
  }
  auto orphans = RemoveOrphans();
  co_await std::move(orphans);
  for (const sdk::Object<Pod>& pod : pods) {
    if (!sdk::meta::IsDeleting(pod->Raw()) || !pod->spec().node_name().empty()) continue;
    auto remove = Remove(pod.document(), "");
    co_await std::move(remove);
  }
}

Task<void> PodGarbageCollector::RemoveOrphans() {
  std::unordered_map<std::string, MonotonicTime> missing;
  for (const sdk::Object<Pod>& pod : sdk::Lister<Pod>(pods_).List()) {
    std::string node(pod->spec().node_name());
    if (node.empty() || nodes_.Get(node)) continue;
    auto known = missing_since_.find(node);
    MonotonicTime since = known == missing_since_.end() ? runtime_.Now() : known->second;
    missing[node] = since;
    if (runtime_.Now() - since < options_.quarantine) continue;
    auto remove = Remove(pod.document(), "PodGC: node no longer exists");
    co_await std::move(remove);
  }
  missing_since_ = std::move(missing);
}

Task<void> PodGarbageCollector::Remove(object::DocumentPtr document, std::string message) {
  Pod pod(document->root());
  if (!message.empty() && !HasEnded(pod)) {
    PodBuilder failed{schema::Subtree(document)};
    auto status = failed.mutable_status();
    status.set_phase("Failed");
    std::string now = object::FormatTime(object::Timestamp::FromClock(runtime_.WallNow()));
    status.add_conditions().set_type("DisruptionTarget").set_status("True").set_reason("DeletionByPodGC").set_message(message)
        .set_last_transition_time(now);
    auto update = client_.UpdateStatus<Pod>(sdk::Object<Pod>(failed.Freeze()));
    auto updated = co_await std::move(update);
    if (!updated) co_return;  // the next round tries again
  }
  sdk::DeleteOptions options;
  options.grace_period_seconds = 0;
  options.precondition_uid = pod.metadata().uid();
  auto deletion = client_.Delete<Pod>(std::string(pod.metadata().namespace_()), std::string(pod.metadata().name()), options);
  (void)co_await std::move(deletion);  // gone already, changed, or tried again in the next round
}

}  // namespace homeostat::controllers
