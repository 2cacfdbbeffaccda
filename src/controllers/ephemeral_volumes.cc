#include "controllers/ephemeral_volumes.h"

#include <algorithm>
#include <utility>

#include "controllers/claims.h"
#include "homeostat/api/core/v1_builders.h"

namespace homeostat::controllers {

using api::core::v1::PersistentVolumeClaim;
using api::core::v1::PersistentVolumeClaimBuilder;
using api::core::v1::Pod;

namespace {

bool HasEphemeral(const Pod& pod) {
  return std::ranges::any_of(pod.spec().volumes(), [](auto volume) { return static_cast<bool>(volume.ephemeral()); });
}

}  // namespace

EphemeralVolumeController::EphemeralVolumeController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : client_(std::move(client)),
      pods_(informers.For<Pod>()),
      claims_(informers.For<PersistentVolumeClaim>()),
      events_(runtime, client_, "ephemeral_volume"),
      controller_(runtime, {.name = "ephemeral_volume", .workers = 2, .backoff = {}, .log = client_.options().log}, [this](std::string key) { return Reconcile(std::move(key)); }) {
  // A pod's volumes never change: it is looked at when it comes, and when a claim of its own goes.
  controller_.WatchMapped(pods_, [](const sdk::Change& change) {
    bool comes = change.current && !change.previous && HasEphemeral(Pod(change.current->root()));
    return comes ? std::vector<std::string>{sdk::meta::Key(change.current->root())} : std::vector<std::string>();
  });
  controller_.WatchMapped(claims_, [](const sdk::Change& change) {
    std::vector<std::string> keys;
    object::Value owner = change.current ? object::Value() : sdk::meta::ControllerOf(change.previous->root());
    if (owner.Get("kind").AsString() == "Pod") keys.push_back(std::string(sdk::meta::Namespace(change.previous->root())) + "/" + std::string(owner.Get("name").AsString()));
    return keys;
  });
}

Task<Result<sdk::ReconcileOutcome>> EphemeralVolumeController::Reconcile(std::string key) {
  sdk::Object<Pod> pod(pods_.Get(key));
  if (!pod || sdk::meta::IsDeleting(pod->Raw())) co_return sdk::ReconcileOutcome();
  for (size_t i = 0; i < pod->spec().volumes().size(); ++i) {
    if (!pod->spec().volumes()[i].ephemeral()) continue;
    auto make = MakeClaim(pod, i);
    Result<void> made = co_await make;
    if (made) continue;
    std::string what = "ephemeral volume " + std::string(pod->spec().volumes()[i].name());
    events_.Record(Pod::SchemaKind(), pod->Raw(), "Warning", "FailedBinding", what + ": " + made.error().message());
    co_return Fail(made.error().WithContext("pod " + key + ", " + what));
  }
  co_return sdk::ReconcileOutcome();
}

Task<Result<void>> EphemeralVolumeController::MakeClaim(sdk::Object<Pod> pod, size_t index) {
  auto volume = pod->spec().volumes()[index];
  std::string ns(pod->metadata().namespace_()), name = std::string(pod->metadata().name()) + "-" + std::string(volume.name());
  if (object::DocumentPtr there = claims_.Get(ns + "/" + name)) {
    if (sdk::meta::ControllerOf(there->root()).Get("uid").AsString() == pod->metadata().uid()) co_return Done();
    co_return Fail(SystemError("PVC " + ns + "/" + name + " was not created for pod " + sdk::meta::Key(pod->Raw()) + " (pod is not owner)"));
  }
  auto tmpl = volume.ephemeral().volume_claim_template();
  PersistentVolumeClaimBuilder claim;
  auto metadata = claim.mutable_metadata();
  metadata.set_name(name).set_namespace(ns);
  metadata.set_labels(schema::Subtree(tmpl.metadata().labels())).set_annotations(schema::Subtree(tmpl.metadata().annotations()));
  AddControllerReference(metadata, Pod::SchemaKind(), pod->Raw());
  claim.set_spec(schema::Subtree(tmpl.spec()));
  auto create = client_.Create<PersistentVolumeClaim>(ns, sdk::Object<PersistentVolumeClaim>(claim.Freeze()));
  Result<sdk::Object<PersistentVolumeClaim>> created = co_await create;
  if (!created) co_return Fail(created.error().WithContext("create PVC " + name));
  co_return Done();
}

}  // namespace homeostat::controllers
