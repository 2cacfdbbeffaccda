#include "controllers/attributes_class_protection.h"

#include <utility>

#include "controllers/finalizers.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/api/storage/v1_builders.h"

namespace homeostat::controllers {

using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;
using api::storage::v1::VolumeAttributesClass;
using api::storage::v1::VolumeAttributesClassBuilder;

namespace {

constexpr std::string_view kFinalizer = "kubernetes.io/vac-protection";
constexpr std::string_view kClaimIndex = "attributes-class";

// Those that a claim has, asks for, or is on its way to.
void ClassesOfClaim(const object::Value& object, std::vector<std::string>& names) {
  PersistentVolumeClaim claim(object);
  for (std::string_view name : {claim.spec().volume_attributes_class_name(), claim.status().current_volume_attributes_class_name(),
                                claim.status().modify_volume_status().target_volume_attributes_class_name()}) {
    if (!name.empty()) names.emplace_back(name);
  }
}

void ClassesOfVolume(const object::Value& object, std::vector<std::string>& names) {
  std::string_view name = PersistentVolume(object).spec().volume_attributes_class_name();
  if (!name.empty()) names.emplace_back(name);
}

// What an object named before it changed may be free now.
std::vector<std::string> Before(const sdk::Change& change, void (*classes)(const object::Value&, std::vector<std::string>&)) {
  std::vector<std::string> names;
  if (change.previous) classes(change.previous->root(), names);
  return names;
}

}  // namespace

AttributesClassProtection::AttributesClassProtection(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : client_(std::move(client)),
      classes_(informers.For<VolumeAttributesClass>()),
      claims_(informers.For<PersistentVolumeClaim>()),
      volumes_(informers.For<PersistentVolume>()),
      controller_(runtime, {.name = "vacprotection", .workers = 1, .backoff = {}, .log = client_.options().log}, [this](std::string name) { return Reconcile(std::move(name)); }) {
  claims_.AddIndex(std::string(kClaimIndex), ClassesOfClaim);
  volumes_.AddIndex(std::string(kClaimIndex), ClassesOfVolume);
  controller_.Watch(classes_);
  controller_.WatchMapped(claims_, [](const sdk::Change& change) { return Before(change, ClassesOfClaim); });
  controller_.WatchMapped(volumes_, [](const sdk::Change& change) { return Before(change, ClassesOfVolume); });
}

bool AttributesClassProtection::IsUsed(std::string_view name) const {
  return !claims_.ByIndex(kClaimIndex, name).empty() || !volumes_.ByIndex(kClaimIndex, name).empty();
}

Task<Result<sdk::ReconcileOutcome>> AttributesClassProtection::Reconcile(std::string name) {
  sdk::Object<VolumeAttributesClass> one(classes_.Get(name));
  if (!one) co_return sdk::ReconcileOutcome();
  bool has = HasFinalizer(one->Raw(), kFinalizer), goes = sdk::meta::IsDeleting(one->Raw());
  object::DocumentPtr next;
  if (!goes && !has) next = WithFinalizer<VolumeAttributesClassBuilder>(one.document(), kFinalizer);
  if (goes && has && !IsUsed(name)) next = WithoutFinalizer<VolumeAttributesClassBuilder>(one.document(), kFinalizer);
  if (!next) co_return sdk::ReconcileOutcome();
  auto update = client_.Update<VolumeAttributesClass>(sdk::Object<VolumeAttributesClass>(next));
  auto updated = co_await update;
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
