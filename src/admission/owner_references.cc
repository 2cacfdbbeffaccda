// OwnerReferencesPermissionEnforcement: who changes an object's owners must be allowed to delete the object, and who lets it hold
// up an owner's deletion, to set that owner's finalizers.
// Source of the rules and texts: plugin/pkg/admission/gc.
#include <algorithm>

#include "admission/plugins.h"
#include "homeostat/base/text.h"
#include "homeostat/schema/api_version.h"

namespace homeostat::admission {
namespace {

using object::Value;

Value OwnersOf(const Value& object) { return object.Path({"metadata", "ownerReferences"}); }

bool Blocks(const Value& owner) { return owner.Get("blockOwnerDeletion").AsBool(); }

// Owners whose deletion the object holds up from now on.
std::vector<Value> NewlyBlocked(const Value& object, const Value& old) {
  std::vector<Value> owners;
  for (const Value& owner : OwnersOf(object).items()) {
    bool before = std::ranges::any_of(OwnersOf(old).items(), [&](const Value& known) {
      return known.Get("uid").AsString() == owner.Get("uid").AsString() && Blocks(known);
    });
    if (Blocks(owner) && !before) owners.push_back(owner);
  }
  return owners;
}

class OwnerReferencesPermissionEnforcement : public PlainPlugin {
 public:
  explicit OwnerReferencesPermissionEnforcement(const PluginParts& parts) : authorizer_(parts.authorizer), find_kind_(parts.find_kind) {}
  std::string_view name() const override { return "OwnerReferencesPermissionEnforcement"; }

  // A pod's status can't change its owners.
  bool Handles(const Request& request) const override {
    return (request.creates() || request.updates()) && !(request.Is("", "pods") && request.subresource == "status");
  }

  Result<void> ValidateNow(const Request& request) override {
    Value owners = OwnersOf(request.object), before = OwnersOf(request.old_object);
    if ((owners.empty() && before.empty()) || object::Equal(owners, before)) return {};
    if (!request.creates()) TRY(CheckDelete(request));
    std::vector<Value> blocked = NewlyBlocked(request.object, request.old_object);
    if (blocked.empty() || MayFinalizeAnything(request.user())) return {};
    for (const Value& owner : blocked) TRY(CheckFinalizers(request, owner));
    return {};
  }

 private:
  // As Go prints the reason and the error that there is none of.
  static std::string Told(const auth::Verdict& verdict) {
    return verdict.reason + ", " + (verdict.evaluation_error.empty() ? "<nil>" : verdict.evaluation_error);
  }

  Result<void> CheckDelete(const Request& request) {
    auth::Attributes asked;
    asked.user = &request.user();
    asked.verb = "delete";
    asked.resource_request = true;
    asked.group = request.kind.gvk.group;
    asked.version = request.kind.gvk.version;
    asked.resource = request.kind.plural;
    asked.subresource = request.subresource;
    asked.ns = request.ns;
    asked.name = request.name;
    auth::Verdict verdict = authorizer_.Authorize(asked);
    if (verdict.decision == auth::Decision::kAllow) return {};
    return Fail(Forbid(request, "cannot set an ownerRef on a resource you can't delete: " + Told(verdict)));
  }

  bool MayFinalizeAnything(const User& user) {
    auth::Attributes asked;
    asked.user = &user;
    asked.verb = "update";
    asked.resource_request = true;
    asked.group = asked.version = asked.resource = asked.name = "*";
    asked.subresource = "finalizers";
    return authorizer_.Authorize(asked).decision == auth::Decision::kAllow;
  }

  Result<void> CheckFinalizers(const Request& request, const Value& owner) {
    std::string_view api_version = owner.Get("apiVersion").AsString(), kind_name = owner.Get("kind").AsString();
    auto [group, version] = schema::ParseApiVersion(api_version);
    const schema::Kind* kind = find_kind_(group, version, kind_name);
    if (kind == nullptr) {
      std::string text(kind_name);
      return Fail(Forbid(request, "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion " +
                                      std::string(api_version) + " Kind " + text + ": no matches for kind " + GoQuote(text) + " in version " +
                                      GoQuote(api_version)));
    }
    auth::Attributes asked;
    asked.user = &request.user();
    asked.verb = "update";
    asked.resource_request = true;
    asked.group = group;
    asked.version = version;
    asked.resource = kind->plural;
    asked.subresource = "finalizers";
    asked.name = owner.Get("name").AsString();
    // An owner with a namespace is in that of its dependent.
    if (kind->namespaced) asked.ns = request.ns;
    auth::Verdict verdict = authorizer_.Authorize(asked);
    if (verdict.decision == auth::Decision::kAllow) return {};
    return Fail(Forbid(request, "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: " + Told(verdict)));
  }

  auth::Authorizer& authorizer_;
  std::function<const schema::Kind*(std::string_view, std::string_view, std::string_view)> find_kind_;
};

}  // namespace

std::unique_ptr<Plugin> MakeOwnerReferencesPermissionEnforcement(const PluginParts& parts) {
  return std::make_unique<OwnerReferencesPermissionEnforcement>(parts);
}

}  // namespace homeostat::admission
