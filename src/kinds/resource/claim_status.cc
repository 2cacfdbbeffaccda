// Source of the rules and texts: pkg/registry/resource and its resourceclaim.
#include "kinds/resource/claim_status.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "homeostat/api/resource/v1.h"
#include "kinds/edit.h"

namespace homeostat::kinds {

using schema::FieldPath;

namespace {

constexpr std::string_view kGroup = "resource.k8s.io", kPlural = "resourceclaims", kNodeName = "authentication.kubernetes.io/node-name";

std::set<std::string> Allocated(const Value& claim) {
  std::set<std::string> ids;
  for (const Value& result : claim.Path({"status", "allocation", "devices", "results"}).items()) ids.insert(DeviceId(result));
  return ids;
}

bool IsSame(const Value& a, const Value& b) { return (a.empty() && b.empty()) || object::Equal(a, b); }

// Sorted.
std::set<std::string_view> DriversWithChanges(const Value& devices, const Value& before) {
  std::map<std::string, Value> old;
  for (const Value& device : before.items()) old[DeviceId(device)] = device;
  std::set<std::string_view> drivers;
  for (const Value& device : devices.items()) {
    auto known = old.find(DeviceId(device));
    if (known == old.end() || !object::Equal(known->second, device)) drivers.insert(device.Get("driver").AsString());
    if (known != old.end()) old.erase(known);
  }
  for (const auto& [id, device] : old) drivers.insert(device.Get("driver").AsString());
  return drivers;
}

// The node that the devices are on; empty if they are not on exactly one.
std::string_view NodeOf(const Value& allocation) {
  Value terms = allocation.Path({"nodeSelector", "nodeSelectorTerms"});
  if (terms.size() != 1 || !terms.At(0).Get("matchExpressions").empty() || terms.At(0).Get("matchFields").size() != 1) return {};
  Value field = terms.At(0).Get("matchFields").At(0);
  bool named = field.Get("key").AsString() == "metadata.name" && field.Get("operator").AsString() == "In" && field.Get("values").size() == 1;
  return named ? field.Get("values").At(0).AsString() : std::string_view();
}

bool RunsOn(const User& user, std::string_view node) {
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  if (node.empty() || !user.name.starts_with(kPrefix)) return false;
  auto found = std::ranges::find(user.extra, kNodeName, [](const auto& extra) { return std::string_view(extra.first); });
  return found != user.extra.end() && found->second.size() == 1 && found->second.front() == node;
}

void CheckBindingRight(const RuleContext& context, FieldErrors& errors) {
  auto refusal = context.rights->Refusal(context.user, {context.verb, kGroup, kPlural, "binding", "", ""});
  if (!refusal) return;
  errors.Forbidden(FieldPath("status").Child("allocation"), "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", verb=\"" +
                                                                std::string(context.verb) + "\" permission: " + *refusal);
}

void CheckDriverRight(const RuleContext& context, std::string_view driver, const std::vector<std::string>& verbs, FieldErrors& errors) {
  std::string first, all;
  for (const std::string& verb : verbs) {
    auto refusal = context.rights->Refusal(context.user, {verb, kGroup, kPlural, "driver", context.ns, driver});
    if (!refusal) return;
    if (first.empty()) first = *refusal;
    all += (all.empty() ? "" : " ") + verb;
  }
  errors.Forbidden(FieldPath("status").Child("devices"),
                   "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[" + all + "]\" permission: " + first);
}

}  // namespace

std::string DeviceId(const Value& device) {
  std::string id;
  for (std::string_view field : {"driver", "pool", "device"}) id += (id.empty() ? "" : "/") + std::string(device.Get(field).AsString());
  if (Value share = device.Get("shareID")) id += "/" + std::string(share.AsString());
  return id;
}

Value PrepareClaimStatus(RuleContext& context, Value claim, Value old) {
  Value devices = claim.Path({"status", "devices"});
  if (context.subresource != "status" || devices.empty()) return claim;
  std::set<std::string> gone = Allocated(old);
  for (const std::string& id : Allocated(claim)) gone.erase(id);
  auto is_gone = [&](const Value& device) { return gone.contains(DeviceId(device)); };
  if (std::ranges::none_of(devices.items(), is_gone)) return claim;
  object::ListBuilder kept(context.arena);
  for (const Value& device : devices.items()) if (!is_gone(device)) kept.Append(device);
  return Edited(context.arena, api::resource::v1::ResourceClaim::SchemaType(), claim, [&](Edit& edit) {
    edit.In("status", [&](Edit& status) { status.Set("devices", kept.empty() ? Value() : kept.Build()); });
  });
}

void CheckStatusRights(RuleContext& context, const Value& claim, const Value& old, FieldErrors& errors) {
  if (context.rights == nullptr) return;
  Value status = claim.Get("status"), before = old.Get("status"), allocation = status.Get("allocation");
  bool same = IsSame(allocation, before.Get("allocation")) && IsSame(status.Get("reservedFor"), before.Get("reservedFor"));
  if (!same) CheckBindingRight(context, errors);
  if (!allocation) return;
  std::vector<std::string> verbs;
  if (RunsOn(context.user, NodeOf(allocation))) verbs.push_back("associated-node:" + std::string(context.verb));
  verbs.push_back("arbitrary-node:" + std::string(context.verb));
  for (std::string_view driver : DriversWithChanges(status.Get("devices"), before.Get("devices"))) CheckDriverRight(context, driver, verbs, errors);
}

}  // namespace homeostat::kinds
