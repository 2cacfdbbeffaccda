#include "scheduler/pod_writer.h"

#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"

namespace homeostat::scheduler {
namespace {

using api::core::v1::Binding;
using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::Pod;

std::string Quoted(std::string_view text) {
  std::string out;
  object::AppendJsonString(out, text);
  return out;
}

// A condition as a patch that merges by type.
std::string ConditionJson(const Pod& pod, std::string_view type, std::string_view status, std::string_view reason,
                          std::string_view message, std::string_view now) {
  std::string transition(now);
  for (auto condition : pod.status().conditions()) {
    if (condition.type() == type && condition.status() == status && !condition.last_transition_time().empty()) {
      transition = condition.last_transition_time();
    }
  }
  std::string json = "{\"type\":" + Quoted(type) + ",\"status\":" + Quoted(status) + ",\"reason\":" + Quoted(reason) +
                     ",\"message\":" + Quoted(message) +
                     ",\"lastProbeTime\":null,\"lastTransitionTime\":" + Quoted(transition);
  if (pod.metadata().generation() > 0) json += ",\"observedGeneration\":" + std::to_string(pod.metadata().generation());
  return json + "}";
}

bool SaysSo(const Pod& pod, const Unscheduled& unscheduled) {
  if (unscheduled.nominated_node && pod.status().nominated_node_name() != *unscheduled.nominated_node) return false;
  for (auto condition : pod.status().conditions()) {
    if (condition.type() == "PodScheduled") {
      return condition.status() == "False" && condition.reason() == unscheduled.reason &&
             condition.message() == unscheduled.message;
    }
  }
  return false;
}

}  // namespace

std::string PodWriter::Now() const { return object::FormatTime(object::Timestamp::FromClock(runtime_.WallNow())); }

Task<Result<void>> PodWriter::Bind(PodInfoPtr pod, std::string node) const {
  api::core::v1::BindingBuilder binding;
  binding.mutable_metadata().set_namespace(pod->ns).set_name(pod->name).set_uid(pod->uid);
  binding.mutable_target().set_kind("Node").set_name(node);
  object::DocumentPtr body = binding.Freeze();
  auto bind = client_.CreateSubresource(Pod::SchemaKind(), pod->ns, pod->name, "binding", Binding::SchemaKind(), body);
  CO_TRY(co_await std::move(bind));
  co_return {};
}

Task<Result<void>> PodWriter::PatchPodStatus(PodInfoPtr pod, std::string body) const {
  sdk::PatchOptions options;
  auto patch = client_.Patch(Pod::SchemaKind(), pod->ns, pod->name, sdk::PatchType::kStrategicMerge,
                             Bytes(std::move(body)), std::string("status"), options);
  CO_TRY(co_await std::move(patch));
  co_return {};
}

Task<Result<void>> PodWriter::MarkUnscheduled(PodInfoPtr pod, Unscheduled unscheduled) const {
  if (SaysSo(pod->pod(), unscheduled)) co_return {};
  std::string body =
      "{\"metadata\":{\"uid\":" + Quoted(pod->uid) + "},\"status\":{\"conditions\":[" +
      ConditionJson(pod->pod(), "PodScheduled", "False", unscheduled.reason, unscheduled.message, Now()) + "]";
  if (unscheduled.nominated_node) {
    body += ",\"nominatedNodeName\":" +
            (unscheduled.nominated_node->empty() ? "null" : Quoted(*unscheduled.nominated_node));
  }
  body += "}}";
  auto patch = PatchPodStatus(pod, std::move(body));
  co_return co_await std::move(patch);
}

Task<Result<void>> PodWriter::Evict(PodInfoPtr victim) const {
  std::string body = "{\"metadata\":{\"uid\":" + Quoted(victim->uid) + "},\"status\":{\"conditions\":[" +
                     ConditionJson(victim->pod(), "DisruptionTarget", "True", "PreemptionByScheduler",
                                   scheduler_name_ + ": preempting to accommodate a higher priority pod", Now()) +
                     "]}}";
  auto patch = PatchPodStatus(victim, std::move(body));
  CO_TRY(co_await std::move(patch));
  sdk::DeleteOptions options;
  options.precondition_uid = victim->uid;
  auto remove = client_.Delete(Pod::SchemaKind(), victim->ns, victim->name, options);
  co_return co_await std::move(remove);
}

Task<Result<void>> PodWriter::PrepareVolumes(VolumePlan plan, std::string node, const VolumeTable& volumes) const {
  for (const VolumePlan::Binding& binding : plan.bindings) {
    const Claim* claim = volumes.FindClaim(binding.claim_key);
    if (claim == nullptr) co_return Fail(NotFoundError("", "persistentvolumeclaims", binding.claim_key));
    auto [ns, name] = sdk::SplitKey(binding.claim_key);
    std::string body =
        "{\"metadata\":{\"annotations\":{\"pv.kubernetes.io/bound-by-controller\":\"yes\"}},\"spec\":{\"claimRef\":{"
        "\"kind\":\"PersistentVolumeClaim\",\"apiVersion\":\"v1\",\"namespace\":" +
        Quoted(ns) + ",\"name\":" + Quoted(name) + ",\"uid\":" + Quoted(claim->uid) + "}}}";
    sdk::PatchOptions options;
    auto patch = client_.Patch(PersistentVolume::SchemaKind(), std::string(), binding.volume, sdk::PatchType::kMerge,
                               Bytes(std::move(body)), std::string(), options);
    CO_TRY(co_await std::move(patch));
  }
  for (const std::string& key : plan.provisions) {
    auto [ns, name] = sdk::SplitKey(key);
    std::string body = "{\"metadata\":{\"annotations\":{\"volume.kubernetes.io/selected-node\":" + Quoted(node) + "}}}";
    sdk::PatchOptions options;
    auto patch = client_.Patch(PersistentVolumeClaim::SchemaKind(), ns, name, sdk::PatchType::kMerge,
                               Bytes(std::move(body)), std::string(), options);
    CO_TRY(co_await std::move(patch));
  }
  co_return {};
}

}  // namespace homeostat::scheduler
