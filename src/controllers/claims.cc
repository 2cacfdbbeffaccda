#include "controllers/claims.h"

#include <optional>

#include "controllers/finalizers.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {

using object::Value;

namespace {

std::string OrphanValue(std::string_view ns) { return "orphan/" + std::string(ns); }

// {"metadata":{"uid":…,"ownerReferences":[…]}}: the uid makes it fail on another object of the name.
Bytes MetadataPatch(const Value& object, const std::string& references, std::string_view finalizers, std::string_view finalizer) {
  std::string patch = "{\"metadata\":{";
  AppendMember(patch, "uid", sdk::meta::Uid(object));
  patch += ",\"ownerReferences\":[" + references + "]";
  if (!finalizer.empty()) {
    patch += ',';
    object::AppendJsonString(patch, finalizers);
    patch += ":[";
    object::AppendJsonString(patch, finalizer);
    patch += ']';
  }
  return Bytes(patch + "}}");
}

Bytes AdoptPatch(const ClaimTarget& target, const Value& object) {
  std::string reference = "{";
  AppendMember(reference, "apiVersion", target.owner_kind->gvk.ApiVersion());
  reference += ',';
  AppendMember(reference, "kind", target.owner_kind->gvk.kind);
  reference += ',';
  AppendMember(reference, "name", sdk::meta::Name(target.owner->root()));
  reference += ',';
  AppendMember(reference, "uid", sdk::meta::Uid(target.owner->root()));
  return MetadataPatch(object, reference + ",\"controller\":true,\"blockOwnerDeletion\":true}", "finalizers", target.finalizer);
}

Bytes ReleasePatch(const ClaimTarget& target, const Value& object) {
  std::string reference = "{\"$patch\":\"delete\",";
  AppendMember(reference, "uid", sdk::meta::Uid(target.owner->root()));
  return MetadataPatch(object, reference + "}", "$deleteFromPrimitiveList/finalizers", target.finalizer);
}

// The copy at hand may be old: what is being deleted, or has been replaced, must not adopt.
Task<Result<void>> CheckOwner(sdk::Client client, ClaimTarget target) {
  const Value& owner = target.owner->root();
  std::string name = sdk::meta::Key(owner);
  auto get = client.Get(*target.owner_kind, std::string(sdk::meta::Namespace(owner)), std::string(sdk::meta::Name(owner)));
  CO_TRY_ASSIGN(object::DocumentPtr fresh, co_await get);
  std::string kind(target.owner_kind->gvk.kind);
  if (sdk::meta::Uid(fresh->root()) != sdk::meta::Uid(owner)) {
    co_return Fail(SystemError("original " + kind + " " + name + " is gone: got uid " + std::string(sdk::meta::Uid(fresh->root())) +
                               ", wanted " + std::string(sdk::meta::Uid(owner))));
  }
  if (sdk::meta::IsDeleting(fresh->root())) co_return Fail(SystemError(name + " has just been deleted"));
  co_return Done();
}

}  // namespace

void AddControllerIndex(sdk::Informer& informer) {
  informer.AddIndex(std::string(kControllerIndex), [](const Value& object, std::vector<std::string>& values) {
    Value controller = sdk::meta::ControllerOf(object);
    values.push_back(controller ? std::string(controller.Get("uid").AsString()) : OrphanValue(sdk::meta::Namespace(object)));
  });
}

std::vector<object::DocumentPtr> OwnedBy(const sdk::Informer& informer, const Value& owner) {
  return informer.ByIndex(kControllerIndex, sdk::meta::Uid(owner));
}

std::vector<object::DocumentPtr> OrphansIn(const sdk::Informer& informer, std::string_view ns) {
  return informer.ByIndex(kControllerIndex, OrphanValue(ns));
}

std::vector<object::DocumentPtr> Candidates(const sdk::Informer& informer, const Value& owner) {
  std::vector<object::DocumentPtr> objects = OwnedBy(informer, owner);
  std::vector<object::DocumentPtr> orphans = OrphansIn(informer, sdk::meta::Namespace(owner));
  objects.insert(objects.end(), orphans.begin(), orphans.end());
  return objects;
}

ClaimStep DecideClaim(const Value& owner, const object::LabelSelector& selector, const Value& candidate) {
  bool fits = selector.Matches(sdk::meta::Labels(candidate));
  bool owner_goes = sdk::meta::IsDeleting(owner);
  Value controller = sdk::meta::ControllerOf(candidate);
  if (controller) {
    if (controller.Get("uid").AsString() != sdk::meta::Uid(owner)) return ClaimStep::kIgnore;
    if (fits) return ClaimStep::kKeep;
    return owner_goes ? ClaimStep::kIgnore : ClaimStep::kRelease;
  }
  bool same_namespace = sdk::meta::Namespace(owner).empty() || sdk::meta::Namespace(owner) == sdk::meta::Namespace(candidate);
  bool adoptable = fits && !owner_goes && same_namespace && !sdk::meta::IsDeleting(candidate);
  return adoptable ? ClaimStep::kAdopt : ClaimStep::kIgnore;
}

Task<Result<std::vector<object::DocumentPtr>>> ClaimObjects(sdk::Client client, ClaimTarget target,
                                                           std::vector<object::DocumentPtr> candidates) {
  std::vector<object::DocumentPtr> claimed;
  std::optional<Result<void>> owner_checked;
  std::optional<Status> fault;
  for (const object::DocumentPtr& candidate : candidates) {
    const Value& object = candidate->root();
    ClaimStep step = DecideClaim(target.owner->root(), target.selector, object);
    if (step == ClaimStep::kKeep) claimed.push_back(candidate);
    if (step != ClaimStep::kAdopt && step != ClaimStep::kRelease) continue;
    if (step == ClaimStep::kAdopt && !owner_checked) {
      auto check = CheckOwner(client, target);
      owner_checked = co_await check;
      if (!*owner_checked && !fault) fault = owner_checked->error();
    }
    if (step == ClaimStep::kAdopt && !*owner_checked) continue;
    Bytes body = step == ClaimStep::kAdopt ? AdoptPatch(target, object) : ReleasePatch(target, object);
    auto patch = client.Patch(*target.kind, std::string(sdk::meta::Namespace(object)), std::string(sdk::meta::Name(object)),
                              sdk::PatchType::kStrategicMerge, std::move(body), {}, {});
    Result<object::DocumentPtr> patched = co_await patch;
    if (patched) {
      if (step == ClaimStep::kAdopt) claimed.push_back(*patched);
      continue;
    }
    // Gone; or, when letting go, another object of the name or no owner left to take out.
    bool harmless = patched.error().IsNotFound() || (step == ClaimStep::kRelease && patched.error().reason() == "Invalid");
    if (!harmless && !fault) fault = patched.error();
  }
  if (fault) co_return Fail(*fault);
  co_return claimed;
}

object::DocumentPtr ResolveController(const sdk::Informer& owners, const Value& object) {
  Value controller = sdk::meta::ControllerOf(object);
  if (controller.Get("kind").AsString() != owners.kind().gvk.kind) return nullptr;
  std::string key(controller.Get("name").AsString());
  if (owners.kind().namespaced) key = std::string(sdk::meta::Namespace(object)) + "/" + key;
  object::DocumentPtr owner = owners.Get(key);
  if (!owner || sdk::meta::Uid(owner->root()) != controller.Get("uid").AsString()) return nullptr;
  return owner;
}

namespace {

// An object without a controller that appeared, was let go of, or has got other labels: whoever selects it may adopt it.
bool IsNewOrphan(const sdk::Change& change) {
  if (!change.current || sdk::meta::ControllerOf(change.current->root()) || sdk::meta::IsDeleting(change.current->root())) return false;
  return !change.previous || sdk::meta::ControllerOf(change.previous->root()) ||
         !object::Equal(sdk::meta::Labels(change.previous->root()), sdk::meta::Labels(change.current->root()));
}

}  // namespace

Result<object::LabelSelector> SpecSelector(const object::Value& owner) {
  return object::LabelSelector::FromLabelSelector(owner.Path({"spec", "selector"}));
}

std::vector<std::string> OwnersConcerned(const sdk::Informer& owners, const sdk::Change& change, const SelectorFunction& selector_of) {
  std::vector<std::string> keys;
  for (const object::DocumentPtr& object : {change.previous, change.current}) {
    if (!object) continue;
    if (object::DocumentPtr owner = ResolveController(owners, object->root())) keys.push_back(sdk::meta::Key(owner->root()));
  }
  if (!IsNewOrphan(change)) return keys;
  for (const object::DocumentPtr& owner : owners.List(sdk::meta::Namespace(change.current->root()))) {
    auto selector = selector_of(owner->root());
    bool fits = selector && !selector->IsEverything() && selector->Matches(sdk::meta::Labels(change.current->root()));
    if (fits) keys.push_back(sdk::meta::Key(owner->root()));
  }
  return keys;
}

}  // namespace homeostat::controllers
