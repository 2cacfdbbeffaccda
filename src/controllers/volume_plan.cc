#include "controllers/volume_plan.h"

#include <algorithm>

#include "homeostat/object/quantity.h"
#include "homeostat/object/selectors.h"
#include "homeostat/schema/diff.h"
#include "homeostat/schema/kind.h"
#include "homeostat/sdk/object.h"

namespace homeostat::controllers {

using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeBuilder;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::PersistentVolumeClaimBuilder;

namespace {

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";
constexpr std::string_view kDefaultClass = "storageclass.kubernetes.io/is-default-class";
constexpr std::string_view kBetaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class";

std::optional<object::Quantity> Read(std::string_view text) {
  auto quantity = object::Quantity::Parse(text.empty() ? "0" : text);
  return quantity ? std::optional(*quantity) : std::nullopt;
}

bool IsLargeEnough(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  auto size = Read(volume.spec().capacity().Get("storage")), wanted = Read(claim.spec().resources().requests().Get("storage"));
  return size && wanted && *size >= *wanted;
}

std::string_view ModeOf(std::string_view mode) { return mode.empty() ? "Filesystem" : mode; }

bool HasModes(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return std::ranges::all_of(claim.spec().access_modes(), [&](std::string_view mode) {
    return std::ranges::any_of(volume.spec().access_modes(), [&](std::string_view other) { return other == mode; });
  });
}

bool IsDefault(const api::storage::v1::StorageClass& storage_class) {
  auto annotations = storage_class.metadata().annotations();
  return annotations.Get(kDefaultClass) == "true" || annotations.Get(kBetaDefaultClass) == "true";
}

}  // namespace

std::string_view ClassOf(const PersistentVolumeClaim& claim) {
  std::string_view annotated = claim.metadata().annotations().Get(kClassAnnotation);
  return annotated.empty() ? claim.spec().storage_class_name() : annotated;
}

std::string_view ClassOf(const PersistentVolume& volume) {
  std::string_view annotated = volume.metadata().annotations().Get(kClassAnnotation);
  return annotated.empty() ? volume.spec().storage_class_name() : annotated;
}

bool IsBindingCompleted(const PersistentVolumeClaim& claim) { return claim.metadata().annotations().contains(kBindCompleted); }

bool IsMeantFor(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  auto reference = volume.spec().claim_ref();
  if (!reference || reference.name() != claim.metadata().name() || reference.namespace_() != claim.metadata().namespace_()) return false;
  return reference.uid().empty() || reference.uid() == claim.metadata().uid();
}

std::optional<std::string> MismatchOf(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  if (!IsLargeEnough(volume, claim)) return "requested PV is too small";
  if (ClassOf(volume) != ClassOf(claim)) return "storageClassName does not match";
  if (volume.spec().volume_attributes_class_name() != claim.spec().volume_attributes_class_name()) return "volumeAttributesClassName does not match";
  if (ModeOf(volume.spec().volume_mode()) != ModeOf(claim.spec().volume_mode())) return "incompatible volumeMode";
  if (!HasModes(volume, claim)) return "incompatible accessMode";
  return std::nullopt;
}

object::DocumentPtr FindVolume(const PersistentVolumeClaim& claim, const std::vector<object::DocumentPtr>& volumes, bool waits) {
  std::optional<object::LabelSelector> selector;
  if (claim.spec().selector()) {
    auto parsed = object::LabelSelector::FromLabelSelector(claim.spec().selector().Raw());
    if (!parsed) return nullptr;
    selector = *std::move(parsed);
  }
  object::DocumentPtr best;
  std::optional<object::Quantity> best_size;
  for (const object::DocumentPtr& document : volumes) {
    PersistentVolume volume(document->root());
    bool modes = ModeOf(volume.spec().volume_mode()) == ModeOf(claim.spec().volume_mode());
    if (IsMeantFor(volume, claim)) {
      // One that is too small is no help, even if it was meant so.
      if (modes && IsLargeEnough(volume, claim)) return document;
      continue;
    }
    bool free = !volume.spec().claim_ref() && volume.status().phase() == "Available" && !sdk::meta::IsDeleting(volume.Raw());
    if (waits || !free || MismatchOf(volume, claim) || (selector && !selector->Matches(sdk::meta::Labels(volume.Raw())))) continue;
    auto size = Read(volume.spec().capacity().Get("storage"));
    bool better = !best_size || *size < *best_size || (*size == *best_size && sdk::meta::Name(volume.Raw()) < sdk::meta::Name(best->root()));
    if (!better) continue;
    best = document;
    best_size = size;
  }
  return best;
}

object::DocumentPtr DefaultClass(const std::vector<object::DocumentPtr>& classes) {
  object::DocumentPtr newest;
  for (const object::DocumentPtr& document : classes) {
    if (!IsDefault(api::storage::v1::StorageClass(document->root()))) continue;
    auto rank = [](const object::DocumentPtr& one) {
      return std::pair(api::storage::v1::StorageClass(one->root()).metadata().creation_timestamp(), sdk::meta::Name(one->root()));
    };
    bool better = !newest || rank(document).first > rank(newest).first || (rank(document).first == rank(newest).first && rank(document).second < rank(newest).second);
    if (better) newest = document;
  }
  return newest;
}

object::DocumentPtr VolumeBoundTo(const object::DocumentPtr& document, const PersistentVolumeClaim& claim) {
  PersistentVolume volume(document->root());
  bool named = IsMeantFor(volume, claim);
  if (named && volume.spec().claim_ref().uid() == claim.metadata().uid()) return document;
  PersistentVolumeBuilder next{schema::Subtree(document)};
  // Who named the claim beforehand keeps it named when it goes.
  if (!named) next.mutable_metadata().set_annotations(kBoundByController, "yes");
  auto reference = next.mutable_spec().mutable_claim_ref();
  const schema::GroupVersionKind& gvk = PersistentVolumeClaim::SchemaKind().gvk;
  reference.set_kind(gvk.kind).set_api_version(gvk.ApiVersion()).set_namespace(claim.metadata().namespace_()).set_name(claim.metadata().name());
  reference.set_uid(claim.metadata().uid()).set_resource_version(claim.metadata().resource_version());
  return next.Freeze();
}

object::DocumentPtr VolumeUnbound(const object::DocumentPtr& document) {
  PersistentVolumeBuilder next{schema::Subtree(document)};
  if (PersistentVolume(document->root()).metadata().annotations().contains(kBoundByController)) {
    next.mutable_spec().clear_claim_ref();
    next.mutable_metadata().erase_annotations(kBoundByController);
  } else {
    next.mutable_spec().mutable_claim_ref().clear_uid();
  }
  return next.Changed() ? next.Freeze() : document;
}

object::DocumentPtr VolumeInPhase(const object::DocumentPtr& document, std::string_view phase, std::string_view message, std::string_view now) {
  PersistentVolume volume(document->root());
  if (volume.status().phase() == phase && volume.status().message() == message) return document;
  PersistentVolumeBuilder next{schema::Subtree(document)};
  auto status = next.mutable_status();
  if (volume.status().phase() != phase) status.set_last_phase_transition_time(now);
  status.set_phase(phase).set_message(message);
  return next.Freeze();
}

object::DocumentPtr ClaimBoundTo(const object::DocumentPtr& document, const PersistentVolume& volume) {
  PersistentVolumeClaim claim(document->root());
  PersistentVolumeClaimBuilder next{schema::Subtree(document)};
  if (claim.spec().volume_name() != volume.metadata().name()) {
    next.mutable_spec().set_volume_name(volume.metadata().name());
    next.mutable_metadata().set_annotations(kBoundByController, "yes");
  }
  if (!IsBindingCompleted(claim)) next.mutable_metadata().set_annotations(kBindCompleted, "yes");
  return next.Changed() ? next.Freeze() : document;
}

object::DocumentPtr ClaimInPhase(const object::DocumentPtr& document, std::string_view phase, const PersistentVolume& volume) {
  PersistentVolumeClaim claim(document->root());
  PersistentVolumeClaimBuilder next{schema::Subtree(document)};
  auto status = next.mutable_status();
  bool turns = claim.status().phase() != phase;
  status.set_phase(phase);
  if (!volume) {
    status.clear_access_modes().clear_capacity();
  } else {
    if (!object::Equal(claim.status().access_modes().Raw(), volume.spec().access_modes().Raw())) status.set_access_modes(schema::Subtree(volume.spec().access_modes()));
    // A bound claim's size is kept by whoever resizes it.
    std::string_view size = volume.spec().capacity().Get("storage");
    if (turns || claim.status().capacity().Get("storage").empty()) status.clear_capacity().set_capacity("storage", size);
    if (volume.spec().has_volume_attributes_class_name()) status.set_current_volume_attributes_class_name(volume.spec().volume_attributes_class_name());
  }
  const schema::Type& type = decltype(claim.status())::SchemaType();
  return schema::IsEqual(type, claim.status().Raw(), next.View().status().Raw()) ? document : next.Freeze();
}

}  // namespace homeostat::controllers
