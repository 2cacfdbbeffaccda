#include "controllers/volume_binder.h"

#include <algorithm>
#include <utility>

#include "homeostat/object/time.h"

namespace homeostat::controllers {

using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeBuilder;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::PersistentVolumeClaimBuilder;
using api::core::v1::Pod;
using api::storage::v1::StorageClass;

namespace {

// Claims without a volume are looked at again this often, as upstream's resync does.
constexpr Duration kAgain = std::chrono::seconds(15);
constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr std::string_view kProvisioner = "volume.kubernetes.io/storage-provisioner", kBetaProvisioner = "volume.beta.kubernetes.io/storage-provisioner";
constexpr std::string_view kProvisionedBy = "pv.kubernetes.io/provisioned-by";

std::string VolumeKey(std::string_view name) { return "volume:" + std::string(name); }
std::string ClaimKey(std::string_view key) { return "claim:" + std::string(key); }

std::vector<std::string> ClaimOf(const sdk::Change& change) {
  std::vector<std::string> keys;
  for (const object::DocumentPtr& one : {change.previous, change.current}) {
    if (!one) continue;
    auto reference = PersistentVolume(one->root()).spec().claim_ref();
    if (reference) keys.push_back(std::string(reference.namespace_()) + "/" + std::string(reference.name()));
  }
  return keys;
}

std::vector<std::string> VolumesOf(const sdk::Change& change) {
  std::vector<std::string> names;
  for (const object::DocumentPtr& one : {change.previous, change.current}) {
    std::string_view name = one ? PersistentVolumeClaim(one->root()).spec().volume_name() : std::string_view();
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

}  // namespace

VolumeBinder::VolumeBinder(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : runtime_(runtime),
      client_(std::move(client)),
      claims_(informers.For<PersistentVolumeClaim>()),
      volumes_(informers.For<PersistentVolume>()),
      classes_(informers.For<StorageClass>()),
      pods_(informers.For<Pod>()),
      events_(runtime, client_, "persistentvolume-controller"),
      claim_controller_(runtime, {.name = "claims", .workers = 1, .backoff = {}, .log = client_.options().log},
                        [this](std::string key) { return ReconcileClaim(std::move(key)); }),
      volume_controller_(runtime, {.name = "volumes", .workers = 1, .backoff = {}, .log = client_.options().log},
                         [this](std::string name) { return ReconcileVolume(std::move(name)); }) {
  claim_controller_.Watch(claims_);
  claim_controller_.WatchMapped(volumes_, [this](const sdk::Change& change) {
    std::vector<std::string> keys = ClaimOf(change);
    bool is_free = change.current && !PersistentVolume(change.current->root()).spec().claim_ref();
    if (!is_free) return keys;
    // Whoever waits may have it.
    for (const object::DocumentPtr& claim : claims_.List()) {
      if (!IsBindingCompleted(PersistentVolumeClaim(claim->root()))) keys.push_back(sdk::meta::Key(claim->root()));
    }
    return keys;
  });
  claim_controller_.WaitFor(classes_);
  volume_controller_.Watch(volumes_);
  volume_controller_.WatchMapped(claims_, VolumesOf);
  // A claim that goes lets go of its volume, whatever it says itself.
  volume_controller_.WatchMapped(claims_, [this](const sdk::Change& change) {
    std::vector<std::string> names;
    if (change.current) return names;
    for (const object::DocumentPtr& volume : volumes_.List()) {
      if (PersistentVolume(volume->root()).spec().claim_ref().uid() == sdk::meta::Uid(change.previous->root())) names.emplace_back(sdk::meta::Name(volume->root()));
    }
    return names;
  });
}

void VolumeBinder::Start() {
  claim_controller_.Start();
  volume_controller_.Start();
}

void VolumeBinder::Tell(const Claim& claim, std::string_view type, std::string_view reason, std::string message) {
  events_.Record(PersistentVolumeClaim::SchemaKind(), claim->Raw(), type, reason, std::move(message));
}

sdk::Object<StorageClass> VolumeBinder::ClassNamed(std::string_view name) const { return sdk::Object<StorageClass>(name.empty() ? nullptr : classes_.Get(name)); }

bool VolumeBinder::Waits(const Claim& claim) const {
  sdk::Object<StorageClass> storage_class = ClassNamed(ClassOf(*claim));
  return storage_class && storage_class->volume_binding_mode() == "WaitForFirstConsumer" &&
         !claim->metadata().annotations().contains(kSelectedNode);
}

// --- Claims.

VolumeBinder::Outcome VolumeBinder::ReconcileClaim(std::string key) {
  if (!own_writes_.Seen(ClaimKey(key))) co_return sdk::ReconcileOutcome{kRecheck};
  Claim claim(claims_.Get(key));
  if (!claim) {
    own_writes_.Forget(ClaimKey(key));
    co_return sdk::ReconcileOutcome();
  }
  bool completed = IsBindingCompleted(*claim);
  Step sync = completed ? SyncBound(claim) : SyncUnbound(claim);
  CO_TRY(co_await sync);
  if (completed) co_return sdk::ReconcileOutcome();
  co_return sdk::ReconcileOutcome{kAgain};
}

VolumeBinder::Step VolumeBinder::SyncUnbound(Claim claim) {
  std::string name(claim->spec().volume_name());
  if (name.empty()) {
    bool waits = Waits(claim);
    Volume found(FindVolume(*claim, volumes_.List(), waits));
    Step next = found ? Bind(found, claim) : WithoutVolume(claim, waits);
    co_return co_await next;
  }
  Volume volume(volumes_.Get(name));
  if (volume && IsMeantFor(*volume, *claim)) {
    auto bind = Bind(volume, claim);
    co_return co_await bind;
  }
  if (volume && !volume->spec().claim_ref()) {
    auto mismatch = MismatchOf(*volume, *claim);
    if (!mismatch) {
      auto bind = Bind(volume, claim);
      co_return co_await bind;
    }
    Tell(claim, "Warning", "VolumeMismatch", "Cannot bind to requested volume \"" + name + "\": " + *mismatch);
  } else if (volume) {
    Tell(claim, "Warning", "FailedBinding", "volume \"" + name + "\" already bound to a different claim.");
  }
  auto pending = SetPhase(claim, "Pending", Volume());
  co_return co_await pending;
}

VolumeBinder::Step VolumeBinder::WithoutVolume(Claim claim, bool waits) {
  std::string name(ClassOf(*claim));
  if (name.empty() && !claim->spec().has_storage_class_name()) {
    if (object::DocumentPtr storage_class = DefaultClass(classes_.List())) {
      PersistentVolumeClaimBuilder next{schema::Subtree(claim.document())};
      next.mutable_spec().set_storage_class_name(sdk::meta::Name(storage_class->root()));
      auto update = client_.Update<PersistentVolumeClaim>(Claim(next.Freeze()));
      CO_TRY_ASSIGN(Claim updated, co_await update);
      own_writes_.Wrote(ClaimKey(sdk::meta::Key(claim->Raw())), claims_, updated->metadata().resource_version());
      co_return Done();
    }
  }
  sdk::Object<StorageClass> storage_class = ClassNamed(name);
  if (waits) {
    std::string consumers = ConsumersText(claim);
    Tell(claim, "Normal", consumers.empty() ? "WaitForFirstConsumer" : "WaitForPodScheduled",
         consumers.empty() ? "waiting for first consumer to be created before binding" : consumers);
  } else if (name.empty()) {
    Tell(claim, "Normal", "FailedBinding", "no persistent volumes available for this claim and no storage class is set");
  } else if (!storage_class) {
    Tell(claim, "Warning", "ProvisioningFailed", "storageclass.storage.k8s.io \"" + name + "\" not found");
  } else if (storage_class->provisioner().starts_with("kubernetes.io/")) {
    Tell(claim, "Warning", "ProvisioningFailed", "no volume plugin matched name: " + std::string(storage_class->provisioner()));
  } else {
    auto provision = Provision(claim, storage_class);
    CO_TRY(co_await provision);
    if (claim->status().phase() == "Pending") co_return Done();
  }
  auto pending = SetPhase(claim, "Pending", Volume());
  co_return co_await pending;
}

// The pods that use the claim and are on no node, as a message; empty if there are none.
std::string VolumeBinder::ConsumersText(const Claim& claim) const {
  std::string names;
  int count = 0;
  for (const object::DocumentPtr& document : pods_.List(claim->metadata().namespace_())) {
    Pod pod(document->root());
    bool uses = pod.spec().node_name().empty() && std::ranges::any_of(pod.spec().volumes(), [&](auto volume) {
      return volume.persistent_volume_claim().claim_name() == claim->metadata().name();
    });
    if (!uses) continue;
    names += (count++ == 0 ? "" : ",") + std::string(pod.metadata().name());
  }
  if (count == 0) return {};
  return std::string("waiting for ") + (count > 1 ? "pods " : "pod ") + names + " to be scheduled";
}

VolumeBinder::Step VolumeBinder::Provision(Claim claim, sdk::Object<StorageClass> storage_class) {
  std::string provisioner(storage_class->provisioner());
  auto annotations = claim->metadata().annotations();
  if (annotations.Get(kProvisioner) != provisioner || annotations.Get(kBetaProvisioner) != provisioner) {
    PersistentVolumeClaimBuilder next{schema::Subtree(claim.document())};
    next.mutable_metadata().set_annotations(kProvisioner, provisioner).set_annotations(kBetaProvisioner, provisioner);
    auto update = client_.Update<PersistentVolumeClaim>(Claim(next.Freeze()));
    CO_TRY_ASSIGN(Claim updated, co_await update);
    own_writes_.Wrote(ClaimKey(sdk::meta::Key(claim->Raw())), claims_, updated->metadata().resource_version());
  }
  Tell(claim, "Normal", "ExternalProvisioning",
       "Waiting for a volume to be created either by the external provisioner '" + provisioner +
           "' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.");
  co_return Done();
}

VolumeBinder::Step VolumeBinder::SyncBound(Claim claim) {
  std::string name(claim->spec().volume_name());
  Volume volume(name.empty() ? nullptr : volumes_.Get(name));
  if (volume && (!volume->spec().claim_ref() || volume->spec().claim_ref().uid() == claim->metadata().uid())) {
    auto bind = Bind(volume, claim);
    co_return co_await bind;
  }
  Step lose = volume ? Lose(claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
              : name.empty() ? Lose(claim, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!")
                             : Lose(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
  co_return co_await lose;
}

VolumeBinder::Step VolumeBinder::Lose(Claim claim, std::string reason, std::string message) {
  if (claim->status().phase() != "Lost") Tell(claim, "Warning", reason, std::move(message));
  auto lost = SetPhase(claim, "Lost", Volume());
  co_return co_await lost;
}

// In four writes, each of which may be the one that is done next time: the volume names the claim, and says so; the claim
// names the volume, and says so.
VolumeBinder::Step VolumeBinder::Bind(Volume volume, Claim claim) {
  std::string name(volume->metadata().name()), key = sdk::meta::Key(claim->Raw());
  object::DocumentPtr bound = VolumeBoundTo(volume.document(), *claim);
  if (bound != volume.document()) {
    auto update = client_.Update<PersistentVolume>(Volume(bound));
    CO_TRY_ASSIGN(volume, co_await update);
    own_writes_.Wrote(VolumeKey(name), volumes_, volume->metadata().resource_version());
    own_writes_.Wrote(ClaimKey(key), volumes_, volume->metadata().resource_version());
  }
  auto phase = SetPhase(volume, "Bound", "");
  CO_TRY(co_await phase);
  bound = ClaimBoundTo(claim.document(), *volume);
  if (bound != claim.document()) {
    auto update = client_.Update<PersistentVolumeClaim>(Claim(bound));
    CO_TRY_ASSIGN(claim, co_await update);
    own_writes_.Wrote(ClaimKey(key), claims_, claim->metadata().resource_version());
    own_writes_.Wrote(VolumeKey(name), claims_, claim->metadata().resource_version());
  }
  auto status = SetPhase(claim, "Bound", volume);
  co_return co_await status;
}

VolumeBinder::Step VolumeBinder::SetPhase(Claim claim, std::string phase, Volume volume) {
  object::DocumentPtr next = ClaimInPhase(claim.document(), phase, volume ? *volume : PersistentVolume());
  if (next == claim.document()) co_return Done();
  auto update = client_.UpdateStatus<PersistentVolumeClaim>(Claim(std::move(next)));
  Result<Claim> updated = co_await update;
  if (!updated && updated.error().IsNotFound()) co_return Done();
  if (!updated) co_return Fail(updated.error());
  own_writes_.Wrote(ClaimKey(sdk::meta::Key(claim->Raw())), claims_, (*updated)->metadata().resource_version());
  co_return Done();
}

// --- Volumes.

VolumeBinder::Outcome VolumeBinder::ReconcileVolume(std::string name) {
  if (!own_writes_.Seen(VolumeKey(name))) co_return sdk::ReconcileOutcome{kRecheck};
  Volume volume(volumes_.Get(name));
  if (!volume) {
    own_writes_.Forget(VolumeKey(name));
    co_return sdk::ReconcileOutcome();
  }
  auto reference = volume->spec().claim_ref();
  if (!reference || reference.uid().empty()) {
    auto free = SetPhase(volume, "Available", "");
    CO_TRY(co_await free);
    co_return sdk::ReconcileOutcome();
  }
  std::string ns(reference.namespace_()), claim_name(reference.name()), uid(reference.uid());
  Claim claim(claims_.Get(ns + "/" + claim_name));
  if (!claim || claim->metadata().uid() != uid) {
    // What the informer shows may be late: a volume is let go of only when the claim is gone for certain.
    auto get = client_.Get<PersistentVolumeClaim>(ns, claim_name);
    Result<Claim> fresh = co_await get;
    if (!fresh && !fresh.error().IsNotFound()) co_return Fail(fresh.error());
    claim = fresh && (*fresh)->metadata().uid() == uid ? *fresh : Claim();
  }
  bool gone = !claim;
  bool elsewhere = claim && !claim->spec().volume_name().empty() && claim->spec().volume_name() != name;
  bool provisioned = volume->metadata().annotations().contains(kProvisionedBy) && volume->spec().persistent_volume_reclaim_policy() == "Delete";
  if (gone || (elsewhere && provisioned)) {
    auto release = Release(volume);
    CO_TRY(co_await release);
  } else if (elsewhere) {
    auto unbind = WriteVolume(volume, VolumeUnbound(volume.document()));
    CO_TRY(co_await unbind);
  } else if (claim->spec().volume_name().empty()) {
    claim_controller_.Enqueue(ns + "/" + claim_name);
  } else {
    auto bound = SetPhase(volume, "Bound", "");
    CO_TRY(co_await bound);
  }
  co_return sdk::ReconcileOutcome();
}

VolumeBinder::Step VolumeBinder::Release(Volume volume) {
  std::string_view policy = volume->spec().persistent_volume_reclaim_policy(), phase = volume->status().phase();
  bool retains = policy == "Retain" || policy.empty();
  // With Delete, the provisioner that made it takes it away.
  bool external = policy == "Delete" && volume->metadata().annotations().contains(kProvisionedBy);
  if (phase != "Released" && phase != "Failed") {
    auto release = SetPhase(volume, "Released", "");
    CO_TRY(co_await release);
    // The volume has another version now: what else is to be done is done at its next look.
    co_return Done();
  }
  if (retains || external || phase == "Failed") co_return Done();
  bool known = policy == "Delete" || policy == "Recycle";
  std::string reason = !known ? "VolumeUnknownReclaimPolicy" : policy == "Delete" ? "VolumeFailedDelete" : "VolumeFailedRecycle";
  std::string message = !known ? "Volume has unrecognized PersistentVolumeReclaimPolicy"
                        : policy == "Delete" ? "error getting deleter volume plugin for volume \"" + std::string(volume->metadata().name()) + "\": no deletable volume plugin matched"
                                             : "No recycler plugin found for the volume!";
  events_.Record(PersistentVolume::SchemaKind(), volume->Raw(), "Warning", reason, message);
  auto fail = SetPhase(volume, "Failed", message);
  co_return co_await fail;
}

VolumeBinder::Step VolumeBinder::WriteVolume(Volume volume, object::DocumentPtr next) {
  if (next == volume.document()) co_return Done();
  auto update = client_.Update<PersistentVolume>(Volume(std::move(next)));
  Result<Volume> updated = co_await update;
  if (!updated && updated.error().IsNotFound()) co_return Done();
  if (!updated) co_return Fail(updated.error());
  own_writes_.Wrote(VolumeKey(volume->metadata().name()), volumes_, (*updated)->metadata().resource_version());
  co_return Done();
}

VolumeBinder::Step VolumeBinder::SetPhase(Volume volume, std::string phase, std::string message) {
  std::string now = object::FormatTime(object::Timestamp::FromClock(runtime_.WallNow()));
  object::DocumentPtr next = VolumeInPhase(volume.document(), phase, message, now);
  if (next == volume.document()) co_return Done();
  auto update = client_.UpdateStatus<PersistentVolume>(Volume(std::move(next)));
  Result<Volume> updated = co_await update;
  if (!updated && updated.error().IsNotFound()) co_return Done();
  if (!updated) co_return Fail(updated.error());
  own_writes_.Wrote(VolumeKey(volume->metadata().name()), volumes_, (*updated)->metadata().resource_version());
  co_return Done();
}

}  // namespace homeostat::controllers
