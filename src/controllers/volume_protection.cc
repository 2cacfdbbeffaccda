#include "controllers/volume_protection.h"

#include <algorithm>
#include <utility>

#include "controllers/finalizers.h"
#include "homeostat/api/core/v1_builders.h"

namespace homeostat::controllers {

using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeBuilder;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::PersistentVolumeClaimBuilder;
using api::core::v1::Pod;

namespace {

std::vector<std::string> ClaimsOf(const sdk::Change& change) {
  std::vector<std::string> keys;
  for (const object::DocumentPtr& one : {change.previous, change.current}) {
    if (!one) continue;
    Pod pod(one->root());
    std::string prefix = std::string(pod.metadata().namespace_()) + "/";
    for (auto volume : pod.spec().volumes()) {
      if (auto claim = volume.persistent_volume_claim()) keys.push_back(prefix + std::string(claim.claim_name()));
      if (volume.ephemeral()) keys.push_back(prefix + std::string(pod.metadata().name()) + "-" + std::string(volume.name()));
    }
  }
  return keys;
}

}  // namespace

bool UsesClaim(const Pod& pod, const PersistentVolumeClaim& claim) {
  if (pod.spec().node_name().empty()) return false;
  bool shut_down = sdk::meta::IsDeleting(pod.Raw()) && pod.metadata().has_deletion_grace_period_seconds() && pod.metadata().deletion_grace_period_seconds() == 0;
  std::string_view owner = sdk::meta::ControllerOf(claim.Raw()).Get("uid").AsString();
  return std::ranges::any_of(pod.spec().volumes(), [&](auto volume) {
    if (volume.persistent_volume_claim().claim_name() == claim.metadata().name()) return true;
    bool made_for_it = volume.ephemeral() && std::string(pod.metadata().name()) + "-" + std::string(volume.name()) == claim.metadata().name();
    return made_for_it && !shut_down && owner == pod.metadata().uid();
  });
}

VolumeProtection::VolumeProtection(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : client_(std::move(client)),
      volumes_(informers.For<PersistentVolume>()),
      controller_(runtime, {.name = "pvprotection", .workers = 1, .backoff = {}, .log = client_.options().log}, [this](std::string name) { return Reconcile(std::move(name)); }) {
  controller_.Watch(volumes_);
}

Task<Result<sdk::ReconcileOutcome>> VolumeProtection::Reconcile(std::string name) {
  sdk::Object<PersistentVolume> volume(volumes_.Get(name));
  if (!volume) co_return sdk::ReconcileOutcome();
  bool has = HasFinalizer(volume->Raw(), kVolumeProtection), goes = sdk::meta::IsDeleting(volume->Raw());
  object::DocumentPtr next;
  if (!goes && !has) next = WithFinalizer<PersistentVolumeBuilder>(volume.document(), kVolumeProtection);
  if (goes && has && volume->status().phase() != "Bound") next = WithoutFinalizer<PersistentVolumeBuilder>(volume.document(), kVolumeProtection);
  if (!next) co_return sdk::ReconcileOutcome();
  auto update = client_.Update<PersistentVolume>(sdk::Object<PersistentVolume>(next));
  auto updated = co_await update;
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return sdk::ReconcileOutcome();
}

ClaimProtection::ClaimProtection(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : client_(std::move(client)),
      claims_(informers.For<PersistentVolumeClaim>()),
      pods_(informers.For<Pod>()),
      controller_(runtime, {.name = "pvcprotection", .workers = 1, .backoff = {}, .log = client_.options().log}, [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(claims_);
  // Only what a pod no longer uses may go now.
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) {
    std::vector<std::string> keys = ClaimsOf(change);
    std::erase_if(keys, [this](const std::string& key) {
      object::DocumentPtr claim = claims_.Get(key);
      return !claim || !sdk::meta::IsDeleting(claim->root());
    });
    return keys;
  });
}

Task<Result<bool>> ClaimProtection::IsUsed(sdk::Object<PersistentVolumeClaim> claim) {
  std::string ns(claim->metadata().namespace_());
  for (const object::DocumentPtr& pod : pods_.List(ns)) {
    if (UsesClaim(Pod(pod->root()), *claim)) co_return true;
  }
  auto list = client_.List<Pod>(ns, {});
  CO_TRY_ASSIGN(std::vector<sdk::Object<Pod>> pods, co_await list);
  co_return std::ranges::any_of(pods, [&](const sdk::Object<Pod>& pod) { return UsesClaim(*pod, *claim); });
}

Task<Result<sdk::ReconcileOutcome>> ClaimProtection::Reconcile(std::string key) {
  sdk::Object<PersistentVolumeClaim> claim(claims_.Get(key));
  if (!claim) co_return sdk::ReconcileOutcome();
  bool has = HasFinalizer(claim->Raw(), kClaimProtection), goes = sdk::meta::IsDeleting(claim->Raw());
  object::DocumentPtr next;
  if (!goes && !has) next = WithFinalizer<PersistentVolumeClaimBuilder>(claim.document(), kClaimProtection);
  if (goes && has) {
    auto ask = IsUsed(claim);
    CO_TRY_ASSIGN(bool used, co_await ask);
    if (!used) next = WithoutFinalizer<PersistentVolumeClaimBuilder>(claim.document(), kClaimProtection);
  }
  if (!next) co_return sdk::ReconcileOutcome();
  auto update = client_.Update<PersistentVolumeClaim>(sdk::Object<PersistentVolumeClaim>(next));
  auto updated = co_await update;
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
