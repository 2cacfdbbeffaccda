#include "controllers/resource_claim.h"

#include <algorithm>
#include <utility>

#include "controllers/claims.h"
#include "controllers/finalizers.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/api/resource/v1_builders.h"
#include "sdk/apply.h"

namespace homeostat::controllers {

using api::resource::v1::ResourceClaim;
using api::resource::v1::ResourceClaimBuilder;
using api::resource::v1::ResourceClaimTemplate;
using object::Value;

namespace {

constexpr std::string_view kPodPrefix = "pod:", kClaimPrefix = "claim:";
constexpr std::string_view kFieldManager = "ResourceClaimController";
constexpr std::string_view kOwnerIndex = "claim-pod-owner", kClaimIndex = "pod-resource-claim", kTemplateIndex = "pod-resource-claim-template";

bool IsDone(const Value& pod) {
  std::string_view phase = pod.Path({"status", "phase"}).AsString();
  if (phase == "Succeeded" || phase == "Failed") return true;
  return sdk::meta::IsDeleting(pod) && pod.Path({"spec", "nodeName"}).AsString().empty();
}

// The claim that an entry of the pod stands for: named by it, or made for it; absent: not known yet.
Value NameOfClaim(const Value& pod, const Value& entry) {
  if (Value name = entry.Get("resourceClaimName")) return name;
  for (const Value& status : pod.Path({"status", "resourceClaimStatuses"}).items()) {
    if (status.Get("name").AsString() == entry.Get("name").AsString()) {
      Value made = status.Get("resourceClaimName");
      return made ? made : Value::StringRef("");
    }
  }
  return {};
}

bool IsFor(const Value& claim, const Value& pod) { return sdk::meta::ControllerOf(claim).Get("uid").AsString() == sdk::meta::Uid(pod); }

void OwnersOf(const Value& claim, std::vector<std::string>& uids) {
  Value owner = sdk::meta::ControllerOf(claim);
  if (owner.Get("kind").AsString() == "Pod") uids.emplace_back(owner.Get("uid").AsString());
}

void ClaimsOfPod(const Value& pod, std::vector<std::string>& keys) {
  std::string prefix = std::string(sdk::meta::Namespace(pod)) + "/";
  for (const Value& entry : pod.Path({"spec", "resourceClaims"}).items()) {
    std::string_view name = NameOfClaim(pod, entry).AsString();
    if (!name.empty()) keys.push_back(prefix + std::string(name));
  }
}

void TemplatesOfPod(const Value& pod, std::vector<std::string>& keys) {
  std::string prefix = std::string(sdk::meta::Namespace(pod)) + "/";
  for (const Value& entry : pod.Path({"spec", "resourceClaims"}).items()) {
    if (Value name = entry.Get("resourceClaimTemplateName")) keys.push_back(prefix + std::string(name.AsString()));
  }
}

bool IsReservedFor(const Value& claim, const Value& pod) {
  return std::ranges::any_of(claim.Path({"status", "reservedFor"}).items(),
                             [&](const Value& consumer) { return consumer.Get("uid").AsString() == sdk::meta::Uid(pod); });
}

constexpr size_t kMostConsumers = 256;

}  // namespace

std::string ClaimNameBase(std::string_view pod, std::string_view claim) {
  constexpr size_t kLongest = 57;  // with what the server adds, 63
  std::string base = std::string(pod) + "-" + std::string(claim) + "-";
  if (base.size() <= kLongest) return base;
  return std::string(pod.substr(0, pod.size() * kLongest / base.size())) + "-" + std::string(claim.substr(0, claim.size() * kLongest / base.size()));
}

ResourceClaimController::ResourceClaimController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : client_(std::move(client)),
      pods_(informers.For<Pod>()),
      claims_(informers.For<ResourceClaim>()),
      templates_(informers.For<ResourceClaimTemplate>()),
      events_(runtime, client_, "resource_claim"),
      controller_(runtime, {.name = "resource_claim", .workers = 5, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  claims_.AddIndex(std::string(kOwnerIndex), OwnersOf);
  pods_.AddIndex(std::string(kClaimIndex), ClaimsOfPod);
  pods_.AddIndex(std::string(kTemplateIndex), TemplatesOfPod);
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return KeysOfPod(change); });
  controller_.WatchMapped(claims_, [this](const sdk::Change& change) { return KeysOfClaim(change); });
  controller_.WatchMapped(templates_, [this](const sdk::Change& change) {
    std::vector<std::string> keys;
    if (!change.current) return keys;
    for (const object::DocumentPtr& pod : pods_.ByIndex(kTemplateIndex, sdk::meta::Key(change.current->root()))) {
      keys.push_back(std::string(kPodPrefix) + sdk::meta::Key(pod->root()));
    }
    return keys;
  });
}

std::vector<std::string> ResourceClaimController::KeysOfPod(const sdk::Change& change) const {
  std::vector<std::string> keys;
  const Value& pod = (change.current ? change.current : change.previous)->root();
  if (pod.Path({"spec", "resourceClaims"}).empty()) return keys;
  if (!change.current || IsDone(pod)) {
    std::vector<std::string> claims;
    ClaimsOfPod(pod, claims);
    for (const std::string& claim : claims) keys.push_back(std::string(kClaimPrefix) + claim);
  }
  if (change.current && !sdk::meta::IsDeleting(pod)) keys.push_back(std::string(kPodPrefix) + sdk::meta::Key(pod));
  return keys;
}

std::vector<std::string> ResourceClaimController::KeysOfClaim(const sdk::Change& change) const {
  std::vector<std::string> keys;
  const Value& claim = (change.current ? change.current : change.previous)->root();
  std::string key = sdk::meta::Key(claim);
  if (change.current) keys.push_back(std::string(kClaimPrefix) + key);
  for (const object::DocumentPtr& pod : pods_.ByIndex(kClaimIndex, key)) keys.push_back(std::string(kPodPrefix) + sdk::meta::Key(pod->root()));
  return keys;
}

Task<Result<sdk::ReconcileOutcome>> ResourceClaimController::Reconcile(std::string key) {
  if (key.starts_with(kPodPrefix)) {
    auto of_pod = ReconcilePod(key.substr(kPodPrefix.size()));
    co_return co_await of_pod;
  }
  auto of_claim = ReconcileClaim(key.substr(kClaimPrefix.size()));
  CO_TRY(co_await of_claim);
  co_return sdk::ReconcileOutcome();
}

Task<Result<sdk::ReconcileOutcome>> ResourceClaimController::ReconcilePod(std::string key) {
  auto check = own_writes_.IsUpToDate(key, std::string(sdk::SplitKey(key).first), client_);
  CO_TRY_ASSIGN(bool up_to_date, co_await check);
  if (!up_to_date) co_return sdk::ReconcileOutcome{kRecheck};
  sdk::Object<Pod> pod(pods_.Get(key));
  if (!pod) own_writes_.Forget(key);
  if (!pod || sdk::meta::IsDeleting(pod->Raw())) co_return sdk::ReconcileOutcome();
  std::vector<MadeClaim> made;
  for (size_t i = 0; i < pod->spec().resource_claims().size(); ++i) {
    auto make = MakeClaim(key, pod, i);
    Result<MadeClaim> claim = co_await make;
    if (!claim) {
      std::string what = "PodResourceClaim " + std::string(pod->spec().resource_claims()[i].name());
      events_.Record(Pod::SchemaKind(), pod->Raw(), "Warning", "FailedResourceClaimCreation", what + ": " + claim.error().message());
      co_return Fail(claim.error().WithContext("pod " + key + ", " + what));
    }
    if (!claim->name.empty()) made.push_back(*std::move(claim));
  }
  if (std::ranges::any_of(made, &MadeClaim::is_new)) {
    auto note = NoteClaims(key, pod, std::move(made));
    CO_TRY(co_await note);
  }
  // Until it has a node, reservations are the scheduler's.
  if (pod->spec().node_name().empty()) co_return sdk::ReconcileOutcome();
  auto reserve = Reserve(pod);
  CO_TRY(co_await reserve);
  co_return sdk::ReconcileOutcome();
}

Task<Result<ResourceClaimController::MadeClaim>> ResourceClaimController::MakeClaim(std::string key, sdk::Object<Pod> pod, size_t index) {
  Value entry = pod->spec().resource_claims()[index].Raw(), from = entry.Get("resourceClaimTemplateName");
  if (!from) co_return MadeClaim();
  std::string ns(pod->metadata().namespace_());
  MadeClaim made{std::string(entry.Get("name").AsString()), {}};
  if (Value known = NameOfClaim(pod->Raw(), entry)) {
    made.name = known.AsString();
    // One that is known not to be needed is none that is missing.
    if (made.name.empty()) co_return made;
    object::DocumentPtr there = claims_.Get(ns + "/" + made.name);
    if (there && IsFor(there->root(), pod->Raw())) co_return made;
  }
  made.is_new = true;
  // One may have been made already, without a note of it in the pod.
  for (const object::DocumentPtr& orphan : claims_.ByIndex(kOwnerIndex, sdk::meta::Uid(pod->Raw()))) {
    const object::Member* made_for = sdk::meta::Annotations(orphan->root()).Find(kPodClaimAnnotation);
    if (made_for == nullptr || made_for->value.AsString() != made.entry) continue;
    made.name = sdk::meta::Name(orphan->root());
    co_return made;
  }
  sdk::Object<ResourceClaimTemplate> source(templates_.Get(ns + "/" + std::string(from.AsString())));
  if (!source) {
    std::string text(from.AsString());
    co_return Fail(SystemError("resource claim template \"" + text + "\": resourceclaimtemplate.resource.k8s.io \"" + text + "\" not found"));
  }
  ResourceClaimBuilder claim;
  auto metadata = claim.mutable_metadata();
  metadata.set_generate_name(ClaimNameBase(pod->metadata().name(), made.entry)).set_namespace(ns);
  metadata.set_labels(schema::Subtree(source->spec().metadata().labels())).set_annotations(schema::Subtree(source->spec().metadata().annotations()));
  metadata.set_annotations(kPodClaimAnnotation, made.entry);
  auto owner = metadata.add_owner_references();
  owner.set_api_version("v1").set_kind("Pod").set_name(pod->metadata().name()).set_uid(pod->metadata().uid()).set_controller(true);
  claim.set_spec(schema::Subtree(source->spec().spec()));
  auto create = client_.Create<ResourceClaim>(ns, sdk::Object<ResourceClaim>(claim.Freeze()));
  Result<sdk::Object<ResourceClaim>> created = co_await create;
  own_writes_.Note(key, claims_, created);
  if (!created) co_return Fail(created.error().WithContext("create ResourceClaim "));
  made.name = (*created)->metadata().name();
  co_return made;
}

Task<Result<void>> ResourceClaimController::NoteClaims(std::string key, sdk::Object<Pod> pod, std::vector<MadeClaim> made) {
  api::core::v1::PodBuilder wanted;
  wanted.mutable_metadata().set_namespace(pod->metadata().namespace_()).set_name(pod->metadata().name());
  auto status = wanted.mutable_status();
  for (const MadeClaim& claim : made) status.add_resource_claim_statuses().set_name(claim.entry).set_resource_claim_name(claim.name);
  auto apply = sdk::Apply(client_, Pod::SchemaKind(), wanted.Freeze(), "status", kFieldManager);
  CO_TRY_ASSIGN(object::DocumentPtr applied, co_await apply);
  if (applied) own_writes_.Wrote(key, pods_, sdk::meta::ResourceVersion(applied->root()));
  co_return Done();
}

Task<Result<void>> ResourceClaimController::Reserve(sdk::Object<Pod> pod) {
  std::string ns(pod->metadata().namespace_());
  for (size_t i = 0; i < pod->spec().resource_claims().size(); ++i) {
    Value entry = pod->spec().resource_claims()[i].Raw();
    std::string name(NameOfClaim(pod->Raw(), entry).AsString());
    if (name.empty()) continue;
    sdk::Object<ResourceClaim> claim(claims_.Get(ns + "/" + name));
    if (!claim) co_return Done();
    if (!entry.Get("resourceClaimName") && !IsFor(claim->Raw(), pod->Raw())) {
      co_return Fail(SystemError("ResourceClaim " + ns + "/" + name + " was not created for pod " + sdk::meta::Key(pod->Raw()) + " (pod is not owner)"));
    }
    if (!claim->status().allocation() || IsReservedFor(claim->Raw(), pod->Raw())) continue;
    if (claim->status().reserved_for().size() >= kMostConsumers) continue;
    ResourceClaimBuilder next{schema::Subtree(claim.document())};
    auto consumer = next.mutable_status().add_reserved_for();
    consumer.set_resource("pods").set_name(pod->metadata().name()).set_uid(pod->metadata().uid());
    auto update = client_.UpdateStatus<ResourceClaim>(sdk::Object<ResourceClaim>(next.Freeze()));
    CO_TRY(co_await std::move(update));
  }
  co_return Done();
}

Task<Result<bool>> ResourceClaimController::IsInUse(std::string ns, Value consumer) {
  // Who else may consume a claim is not known here.
  if (!consumer.Get("apiGroup").AsString().empty() || consumer.Get("resource").AsString() != "pods") co_return true;
  std::string name(consumer.Get("name").AsString());
  object::DocumentPtr pod = pods_.Get(ns + "/" + name);
  if (pod) co_return sdk::meta::Uid(pod->root()) == consumer.Get("uid").AsString() && !IsDone(pod->root());
  auto ask = client_.Get<Pod>(ns, name);
  auto found = co_await std::move(ask);
  if (!found && !found.error().IsNotFound()) co_return Fail(found.error());
  co_return found && (*found)->metadata().uid() == consumer.Get("uid").AsString();
}

Task<Result<void>> ResourceClaimController::ReconcileClaim(std::string key) {
  sdk::Object<ResourceClaim> claim(claims_.Get(key));
  if (!claim) co_return Done();
  Value reserved = claim->Raw().Path({"status", "reservedFor"});
  std::vector<Value> remaining;
  for (size_t i = 0; i < reserved.size(); ++i) {
    auto ask = IsInUse(std::string(claim->metadata().namespace_()), reserved.At(i));
    CO_TRY_ASSIGN(bool in_use, co_await std::move(ask));
    if (in_use) remaining.push_back(reserved.At(i));
  }
  bool going = sdk::meta::IsDeleting(claim->Raw()) && HasFinalizer(claim->Raw(), kClaimFinalizer);
  bool unused = remaining.empty();
  if (remaining.size() < reserved.size() || (going && unused)) {
    auto release = Release(claim, std::move(remaining));
    CO_TRY(co_await std::move(release));
  }
  if (!unused) co_return Done();
  auto remove = DeleteUnused(claim);
  co_return co_await std::move(remove);
}

// Takes the consumers that are gone out; what nobody uses any more is given back, and may go.
Task<Result<void>> ResourceClaimController::Release(sdk::Object<Claim> claim, std::vector<Value> remaining) {
  bool ours = HasFinalizer(claim->Raw(), kClaimFinalizer);
  ResourceClaimBuilder next{schema::Subtree(claim.document())};
  auto status = next.mutable_status();
  status.clear_reserved_for();
  for (const Value& consumer : remaining) {
    auto kept = status.add_reserved_for();
    kept.set_resource(consumer.Get("resource").AsString()).set_name(consumer.Get("name").AsString()).set_uid(consumer.Get("uid").AsString());
    if (Value group = consumer.Get("apiGroup")) kept.set_api_group(group.AsString());
  }
  if (remaining.empty() && ours) status.clear_allocation();
  auto update = client_.UpdateStatus<ResourceClaim>(sdk::Object<ResourceClaim>(next.Freeze()));
  CO_TRY_ASSIGN(sdk::Object<ResourceClaim> updated, co_await std::move(update));
  if (!ours || updated->status().allocation()) co_return Done();
  auto drop = DropFinalizer(updated);
  co_return co_await std::move(drop);
}

Task<Result<void>> ResourceClaimController::DropFinalizer(sdk::Object<Claim> claim) {
  object::DocumentPtr next = WithoutFinalizer<ResourceClaimBuilder>(claim.document(), kClaimFinalizer);
  auto update = client_.Update<ResourceClaim>(sdk::Object<ResourceClaim>(next));
  auto updated = co_await std::move(update);
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return Done();
}

// The collector waits for the pod to be deleted; the claim of one that is done can go before.
Task<Result<void>> ResourceClaimController::DeleteUnused(sdk::Object<Claim> claim) {
  Value owner = sdk::meta::ControllerOf(claim->Raw());
  if (owner.Get("kind").AsString() != "Pod" || sdk::meta::IsDeleting(claim->Raw())) co_return Done();
  std::string ns(claim->metadata().namespace_());
  object::DocumentPtr pod = pods_.Get(ns + "/" + std::string(owner.Get("name").AsString()));
  if (!pod || (sdk::meta::Uid(pod->root()) == owner.Get("uid").AsString() && !IsDone(pod->root()))) co_return Done();
  auto remove = client_.Delete<ResourceClaim>(ns, std::string(claim->metadata().name()));
  auto removed = co_await std::move(remove);
  if (!removed && !removed.error().IsNotFound()) co_return Fail(removed.error());
  co_return Done();
}

}  // namespace homeostat::controllers
