#include "controllers/resource_quota.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/api/registry.h"

namespace homeostat::controllers {

using api::core::v1::ResourceQuota;
using api::core::v1::ResourceQuotaBuilder;
using object::Value;
using quota::Amounts;
using quota::GroupResource;
using quota::Names;

namespace {

std::vector<const schema::Kind*> QuotableKinds() {
  std::vector<const schema::Kind*> kinds;
  for (const schema::Kind* kind : api::AllKinds()) {
    bool usable = kind->namespaced && !kind->virtual_kind && kind->Allows(schema::kCreate) && kind->Allows(schema::kDelete) &&
                  kind->Allows(schema::kList) && kind->Allows(schema::kWatch);
    if (!usable || !kind->served_by_default || !kind->feature_gate.empty() || kind->storage_prefix == "events") continue;
    bool seen = std::ranges::any_of(kinds, [&](const schema::Kind* other) { return other->storage_prefix == kind->storage_prefix; });
    if (!seen) kinds.push_back(kind);
  }
  return kinds;
}

// Those whose objects are looked into; of the others it is enough to know that they are there.
bool NeedsWhole(const GroupResource& resource) {
  if (resource.group == "resource.k8s.io") return resource.plural == "resourceclaims";
  return resource.group.empty() && (resource.plural == "pods" || resource.plural == "services" || resource.plural == "persistentvolumeclaims");
}

bool HaveResourcesChanged(const Value& pod, const Value& old) {
  for (std::string_view list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Value& before : old.Get("status").Get(list).items()) {
      for (const Value& now : pod.Get("status").Get(list).items()) {
        if (now.Get("name").AsString() == before.Get("name").AsString() && !object::Equal(now.Get("resources"), before.Get("resources"))) return true;
      }
    }
  }
  return false;
}

std::string_view CountedType(const Value& service) {
  std::string_view type = service.Get("spec").Get("type").AsString();
  return type == "NodePort" || type == "LoadBalancer" ? type : std::string_view();
}

// Whether an update may free what the object used, or bring it under other quotas. Source: quota/v1/install's update filter.
bool MayFree(const GroupResource& resource, const Value& object, const Value& old, WallTime now) {
  if (resource.plural == "pods" && resource.group.empty()) {
    return HaveResourcesChanged(object, old) || quota::IsPodTerminating(object) != quota::IsPodTerminating(old) ||
           (quota::IsPodCharged(old, now) && !quota::IsPodCharged(object, now));
  }
  if (resource.plural == "services" && resource.group.empty()) return CountedType(object) != CountedType(old);
  if (resource.plural == "persistentvolumeclaims" && resource.group.empty()) {
    auto differs = [&](std::initializer_list<std::string_view> path) { return !object::Equal(object.Path(path), old.Path(path)); };
    return differs({"status", "allocatedResources"}) || differs({"spec", "volumeAttributesClassName"}) ||
           differs({"status", "currentVolumeAttributesClassName"}) || differs({"status", "modifyVolumeStatus"});
  }
  return false;
}

bool IsSame(const Value& a, const Value& b) { return quota::IsEqual(quota::ParseAmounts(a), quota::ParseAmounts(b)); }

// Whether there is less of something than before.
bool Falls(const Amounts& before, const Amounts& after) {
  return std::ranges::any_of(after, [&](const auto& entry) {
    auto known = before.find(entry.first);
    return known != before.end() && entry.second < known->second;
  });
}

}  // namespace

class ResourceQuotaController::Around : public quota::Surroundings {
 public:
  Around(Runtime& runtime, sdk::InformerFactory& informers) : runtime_(runtime) {
    for (auto [group, version, kind] : {std::tuple("", "v1", "Pod"), std::tuple("resource.k8s.io", "v1", "ResourceClaim"),
                                        std::tuple("resource.k8s.io", "v1", "DeviceClass")}) {
      if (const schema::Kind* known = api::FindKind(group, version, kind)) {
        informers_[{std::string(known->gvk.group), std::string(known->plural)}] = &informers.For(*known);
      }
    }
  }
  const std::map<GroupResource, sdk::Informer*>& informers() const { return informers_; }

  WallTime Now() const override { return runtime_.WallNow(); }
  object::DocumentPtr Get(std::string_view group, std::string_view plural, std::string_view ns, std::string_view name) const override {
    const sdk::Informer* informer = Find(group, plural);
    return informer == nullptr ? nullptr : informer->Get(ns.empty() ? std::string(name) : std::string(ns) + "/" + std::string(name));
  }
  std::vector<object::DocumentPtr> List(std::string_view group, std::string_view plural, std::string_view ns) const override {
    const sdk::Informer* informer = Find(group, plural);
    return informer == nullptr ? std::vector<object::DocumentPtr>() : informer->List(ns);
  }

 private:
  const sdk::Informer* Find(std::string_view group, std::string_view plural) const {
    auto found = informers_.find(GroupResource{std::string(group), std::string(plural)});
    return found == informers_.end() ? nullptr : found->second;
  }

  Runtime& runtime_;
  std::map<GroupResource, sdk::Informer*> informers_;
};

ResourceQuotaController::ResourceQuotaController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, ResourceQuotaOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      options_(std::move(options)),
      quotas_(informers.For<ResourceQuota>()),
      around_(std::make_unique<Around>(runtime, informers)),
      controller_(runtime, {.name = "resourcequota", .workers = options_.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }),
      group_(runtime) {
  if (options_.kinds.empty()) options_.kinds = QuotableKinds();
  controller_.WaitFor(quotas_);
  quotas_.AddHandler([this](const sdk::Change& change) { QuotaChanged(change); });
  for (const auto& [resource, informer] : around_->informers()) controller_.WaitFor(*informer);
  for (const schema::Kind* kind : options_.kinds) {
    GroupResource resource{std::string(kind->gvk.group), std::string(kind->plural)};
    sdk::Informer& informer = NeedsWhole(resource) ? informers.For(*kind) : informers.ForMetadata(*kind);
    counted_[resource] = &informer;
    controller_.WaitFor(informer);
    informer.AddHandler([this, resource](const sdk::Change& change) { ObjectChanged(resource, change); });
  }
  if (options_.custom_kinds == nullptr) return;
  options_.custom_kinds->AddHandler([this](const schema::Kind& kind, bool served) { CustomKindChanged(kind, served); });
}

void ResourceQuotaController::CustomKindChanged(const schema::Kind& kind, bool served) {
  if (!kind.namespaced) return;
  GroupResource resource{std::string(kind.gvk.group), std::string(kind.plural)};
  auto known = custom_.find(resource);
  if (known != custom_.end() && (served || known->second.kind == &kind)) {
    counted_.erase(resource);
    custom_.erase(known);
  }
  if (served) custom_[resource].kind = &kind;
  EnqueueQuotasOf(resource);
}

void ResourceQuotaController::EnqueueQuotasOf(const GroupResource& resource) {
  for (const object::DocumentPtr& quota : quotas_.List()) {
    Amounts hard = quota::ParseAmounts(quota->root().Get("spec").Get("hard"));
    bool counts = std::ranges::any_of(hard, [&](const auto& entry) { return quota::CountedResource(entry.first) == resource; });
    if (counts) controller_.Enqueue(sdk::meta::Key(quota->root()));
  }
}

void ResourceQuotaController::FollowCounted(const Amounts& hard) {
  for (const auto& [name, limit] : hard) {
    GroupResource resource = quota::CountedResource(name);
    auto known = custom_.find(resource);
    if (known == custom_.end() || known->second.informer) continue;
    sdk::InformerOptions options;
    options.metadata_only = true;
    options.managed_fields = false;
    Custom& custom = known->second;
    custom.informer = std::make_unique<sdk::Informer>(runtime_, client_, *custom.kind, std::move(options));
    custom.informer->AddHandler([this, resource](const sdk::Change& change) { ObjectChanged(resource, change); });
    custom.informer->Start();
    custom.waiting = std::make_unique<TaskGroup>(runtime_);
    custom.waiting->Spawn(CountOnceKnown(resource, *custom.informer));
  }
}

Task<void> ResourceQuotaController::CountOnceKnown(GroupResource resource, sdk::Informer& informer) {
  auto wait = informer.WaitForSync();
  co_await wait;
  counted_[resource] = &informer;
  EnqueueQuotasOf(resource);
}

ResourceQuotaController::~ResourceQuotaController() = default;

void ResourceQuotaController::Start() {
  controller_.Start();
  group_.Spawn(Resync());
}

Task<void> ResourceQuotaController::Resync() {
  while (true) {
    auto pause = Sleep(runtime_, options_.resync);
    co_await std::move(pause);
    for (const object::DocumentPtr& quota : quotas_.List()) controller_.Enqueue(sdk::meta::Key(quota->root()));
  }
}

void ResourceQuotaController::QuotaChanged(const sdk::Change& change) {
  if (!change.current) {
    charged_.erase(sdk::meta::Key(change.previous->root()));
    return;
  }
  auto used = [](const object::DocumentPtr& quota) { return quota::ParseAmounts(quota->root().Get("status").Get("used")); };
  if (change.previous && Falls(used(change.current), used(change.previous))) charged_[sdk::meta::Key(change.current->root())] = runtime_.Now();
  auto hard = [](const object::DocumentPtr& quota) { return quota->root().Get("spec").Get("hard"); };
  if (change.previous && IsSame(hard(change.previous), hard(change.current))) return;
  controller_.Enqueue(sdk::meta::Key(change.current->root()));
}

void ResourceQuotaController::ObjectChanged(const GroupResource& resource, const sdk::Change& change) {
  if (!change.previous) return;
  if (change.current && !MayFree(resource, change.current->root(), change.previous->root(), runtime_.WallNow())) return;
  std::vector<object::DocumentPtr> quotas = quotas_.List(sdk::meta::Namespace(change.previous->root()));
  if (quotas.empty()) return;
  auto evaluator = quota::MakeEvaluator(resource.group, resource.plural);
  if (!evaluator) return;
  for (const object::DocumentPtr& quota : quotas) {
    Names hard = quota::NamesOf(quota::ParseAmounts(quota->root().Get("status").Get("hard")));
    if (!evaluator->Matching(hard, *around_).empty()) controller_.Enqueue(sdk::meta::Key(quota->root()));
  }
}

Amounts ResourceQuotaController::Count(const Value& quota, const Amounts& hard) const {
  std::vector<GroupResource> resources = quota::ResourcesWithEvaluators();
  for (const auto& [name, limit] : hard) {
    GroupResource counted = quota::CountedResource(name);
    if (!counted.plural.empty() && std::ranges::find(resources, counted) == resources.end()) resources.push_back(std::move(counted));
  }
  std::vector<quota::ScopeRequirement> scopes = quota::ScopesOf(quota);
  Amounts used;
  for (const GroupResource& resource : resources) {
    auto informer = counted_.find(resource);
    auto evaluator = quota::MakeEvaluator(resource.group, resource.plural);
    if (informer == counted_.end() || !evaluator) continue;
    Names names = evaluator->Matching(quota::NamesOf(hard), *around_);
    if (names.empty()) continue;
    quota::AddTo(used, quota::CalculateUsage(*evaluator, names, scopes, informer->second->List(sdk::meta::Namespace(quota)), *around_));
  }
  return used;
}

Task<Result<sdk::ReconcileOutcome>> ResourceQuotaController::Reconcile(std::string key) {
  object::DocumentPtr document = quotas_.Get(key);
  if (!document) co_return sdk::ReconcileOutcome();
  const Value& root = document->root();
  Value status = root.Get("status");
  Amounts hard = quota::ParseAmounts(root.Get("spec").Get("hard"));
  // What can't be counted stays as it is.
  Amounts used = quota::ParseAmounts(status.Get("used"));
  FollowCounted(hard);
  Amounts counted = Count(root, hard);
  auto charged = charged_.find(key);
  if (charged != charged_.end()) {
    Duration since = runtime_.Now() - charged->second;
    if (since < options_.settle && Falls(used, counted)) co_return sdk::ReconcileOutcome{options_.settle - since};
    if (since >= options_.settle) charged_.erase(charged);
  }
  for (const auto& [name, amount] : counted) used.insert_or_assign(name, amount);
  used = quota::Mask(used, quota::NamesOf(hard));
  bool same = status.Get("hard") && status.Get("used") && quota::IsEqual(hard, quota::ParseAmounts(status.Get("hard"))) &&
              quota::IsEqual(used, quota::ParseAmounts(status.Get("used")));
  if (same) co_return sdk::ReconcileOutcome();
  ResourceQuotaBuilder next{schema::Subtree(document)};
  auto changed = next.mutable_status();
  changed.clear_hard().clear_used();
  for (const auto& [name, amount] : hard) changed.set_hard(name, amount.ToString());
  for (const auto& [name, amount] : used) changed.set_used(name, amount.ToString());
  auto update = client_.UpdateStatus<ResourceQuota>(sdk::Object<ResourceQuota>(next.Freeze()));
  Result<sdk::Object<ResourceQuota>> updated = co_await update;
  if (!updated && !updated.error().IsNotFound()) co_return Fail(updated.error());
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
