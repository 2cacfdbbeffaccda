// DeviceClass, ResourceClaim and ResourceClaimTemplate: their own fields. Expressions in selectors are checked where they are
// compiled. Source of the rules: pkg/apis/resource/validation.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "homeostat/api/resource/v1.h"
#include "homeostat/object/ip.h"
#include "homeostat/object/json.h"
#include "kinds/cells.h"
#include "kinds/core/resource_checks.h"
#include "kinds/core/scheduling.h"
#include "kinds/core/template_metadata.h"
#include "kinds/core/volumes.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"
#include "kinds/resource/claim_status.h"
#include "kinds/resource/device_checks.h"
#include "kinds/resource/resource.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::resource::v1;

constexpr size_t kMaxSubrequests = 8, kMaxReservations = 256, kMaxDeviceConditions = 8, kMaxDeviceData = 10 * 1024, kMaxAddresses = 16;
constexpr size_t kUnlimited = SIZE_MAX;
constexpr int64_t kMaxInterfaceName = 256, kMaxHardwareAddress = 128;

void CheckClass(RuleContext&, Value device_class, FieldErrors& errors) {
  FieldPath path("spec");
  Value spec = device_class.Get("spec"), configs = spec.Get("config");
  CheckDeviceSelectors(spec.Get("selectors"), path.Child("selectors"), errors);
  CheckItems(configs, kMaxDeviceConfigs, path.Child("config"), errors,
             [&](const Value& config, const FieldPath& at) { CheckDeviceConfiguration(config, at, errors); });
  Value name = spec.Get("extendedResourceName");
  if (name && !IsExtendedResource(name.AsString())) {
    errors.Invalid(path.Child("extendedResourceName"), name, "must be a valid extended resource name");
  }
}

void CheckClassUpdate(RuleContext& context, Value device_class, Value, FieldErrors& errors) { CheckClass(context, device_class, errors); }

// What a request and one of its alternatives have alike.
void CheckRequestedDevices(const Value& request, const FieldPath& path, FieldErrors& errors) {
  std::string_view device_class = request.Get("deviceClassName").AsString(), mode = request.Get("allocationMode").AsString();
  if (device_class.empty()) {
    errors.Required(path.Child("deviceClassName"));
  } else {
    CheckDns1123Subdomain(device_class, path.Child("deviceClassName"), errors);
  }
  CheckDeviceSelectors(request.Get("selectors"), path.Child("selectors"), errors);
  int64_t count = request.Get("count").AsInt();
  if (mode == "All") {
    if (count != 0) errors.Invalid(path.Child("count"), count, "must not be specified when allocationMode is 'All'");
  } else if (mode == "ExactCount") {
    if (count <= 0) errors.Invalid(path.Child("count"), count, "must be greater than zero");
  } else {
    errors.NotSupported(path.Child("allocationMode"), mode, {"All", "ExactCount"});
  }
  CheckItems(request.Get("tolerations"), kUnlimited, path.Child("tolerations"), errors,
             [&](const Value& toleration, const FieldPath& at) { CheckDeviceToleration(toleration, at, errors); });
}

std::string_view NameOf(const Value& item) { return item.Get("name").AsString(); }
std::string_view TextOf(const Value& item) { return item.AsString(); }

void CheckRequest(const Value& request, const FieldPath& path, FieldErrors& errors) {
  CheckDns1123Label(NameOf(request), path.Child("name"), errors);
  Value exactly = request.Get("exactly"), first = request.Get("firstAvailable");
  if (!exactly && first.empty()) return errors.Required(path, "exactly one of `exactly` or `firstAvailable` is required");
  if (exactly && !first.empty()) {
    return errors.Invalid(path, BadValue::Null(), "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set");
  }
  if (exactly) return CheckRequestedDevices(exactly, path.Child("exactly"), errors);
  CheckKeyedItems(first, kMaxSubrequests, path.Child("firstAvailable"), errors,
                  [&](const Value& alternative, const FieldPath& at) {
                    CheckDns1123Label(NameOf(alternative), at.Child("name"), errors);
                    CheckRequestedDevices(alternative, at, errors);
                  },
                  NameOf);
}

// The names of a claim's requests, each with those of its alternatives.
using RequestNames = std::map<std::string_view, std::set<std::string_view>>;

RequestNames NamesOf(const Value& requests) {
  RequestNames names;
  for (const Value& request : requests.items()) {
    std::set<std::string_view>& alternatives = names[NameOf(request)];
    alternatives.clear();
    for (const Value& alternative : request.Get("firstAvailable").items()) alternatives.insert(NameOf(alternative));
  }
  return names;
}

void CheckRequestReference(std::string_view name, const RequestNames& names, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kNone =
      "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  size_t slash = name.find('/');
  std::string_view request = name.substr(0, slash), alternative = slash == name.npos ? std::string_view() : name.substr(slash + 1);
  if (alternative.find('/') != alternative.npos) return errors.Invalid(path, name, kNone);
  CheckDns1123Label(request, path, errors);
  if (slash != name.npos) CheckDns1123Label(alternative, path, errors);
  auto found = names.find(request);
  if (found == names.end() || (slash != name.npos && !found->second.contains(alternative))) errors.Invalid(path, name, kNone);
}

void CheckRequestReferences(const Value& references, const RequestNames& names, const FieldPath& path, FieldErrors& errors) {
  CheckKeyedItems(references, kMaxDeviceRequests, path, errors,
                  [&](const Value& name, const FieldPath& at) { CheckRequestReference(name.AsString(), names, at, errors); }, TextOf);
}

void CheckConstraint(const Value& constraint, const RequestNames& names, const FieldPath& path, FieldErrors& errors) {
  CheckRequestReferences(constraint.Get("requests"), names, path.Child("requests"), errors);
  for (std::string_view field : {"matchAttribute", "distinctAttribute"}) {
    Value attribute = constraint.Get(field);
    if (!attribute) continue;
    CheckDeviceQualifiedName(attribute.AsString(), path.Child(field), errors);
    if (attribute.AsString().find('/') == std::string_view::npos) {
      errors.Invalid(path.Child(field), attribute, "a fully qualified name must be a domain and a name separated by a slash");
    }
    return;
  }
  errors.Required(path, "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set");
}

void CheckClaimSpec(const Value& spec, const FieldPath& spec_path, FieldErrors& errors) {
  FieldPath path = spec_path.Child("devices");
  Value devices = spec.Get("devices");
  RequestNames names = NamesOf(devices.Get("requests"));
  CheckKeyedItems(devices.Get("requests"), kMaxDeviceRequests, path.Child("requests"), errors,
                  [&](const Value& request, const FieldPath& at) { CheckRequest(request, at, errors); }, NameOf);
  CheckItems(devices.Get("constraints"), kMaxDeviceConstraints, path.Child("constraints"), errors,
             [&](const Value& constraint, const FieldPath& at) { CheckConstraint(constraint, names, at, errors); });
  CheckItems(devices.Get("config"), kMaxDeviceConfigs, path.Child("config"), errors, [&](const Value& config, const FieldPath& at) {
    CheckRequestReferences(config.Get("requests"), names, at.Child("requests"), errors);
    CheckDeviceConfiguration(config, at, errors);
  });
}

// driver/pool/device, and the share of it.
void CheckDeviceIdentity(const Value& device, const FieldPath& path, FieldErrors& errors) {
  CheckCsiDriverName(device.Get("driver").AsString(), path.Child("driver"), errors);
  CheckPoolName(device.Get("pool").AsString(), path.Child("pool"), errors);
  CheckDns1123Label(device.Get("device").AsString(), path.Child("device"), errors);
}

void CheckNetworkData(const Value& data, const FieldPath& path, FieldErrors& errors) {
  auto longer = [&](std::string_view field, int64_t limit) { return static_cast<int64_t>(data.Get(field).AsString().size()) > limit; };
  if (longer("interfaceName", kMaxInterfaceName)) errors.TooLong(path.Child("interfaceName"), kMaxInterfaceName);
  if (longer("hardwareAddress", kMaxHardwareAddress)) errors.TooLong(path.Child("hardwareAddress"), kMaxHardwareAddress);
  CheckKeyedItems(data.Get("ips"), kMaxAddresses, path.Child("ips"), errors,
                  [&](const Value& address, const FieldPath& at) {
                    AddInvalid(errors, at, address, object::IsValidInterfaceAddress(address.AsString()));
                  },
                  TextOf);
}

void CheckDeviceStatus(const Value& device, const std::set<std::string>& allocated, const FieldPath& path, FieldErrors& errors) {
  CheckDeviceIdentity(device, path, errors);
  Value share = device.Get("shareID"), conditions = device.Get("conditions");
  if (share) CheckUid(share.AsString(), path.Child("shareID"), errors);
  if (!allocated.contains(DeviceId(device))) {
    std::string shown = "{\"DeviceID\":{\"Driver\":{},\"Pool\":{},\"Device\":{}},\"ShareID\":" +
                        (share ? object::JsonText(share) : std::string("{}")) + "}";
    errors.Invalid(path, BadValue::Json(std::move(shown)), "must be an allocated device in the claim");
  }
  if (conditions.size() > kMaxDeviceConditions) errors.TooMany(path.Child("conditions"), conditions.size(), kMaxDeviceConditions);
  CheckConditions(conditions, path.Child("conditions"), errors);
  if (Value data = device.Get("data")) CheckRawObject(data, kMaxDeviceData, path.Child("data"), errors);
  CheckNetworkData(device.Get("networkData"), path.Child("networkData"), errors);
}

void CheckAllocation(const Value& allocation, const RequestNames& names, const FieldPath& path, FieldErrors& errors) {
  Value devices = allocation.Get("devices");
  FieldPath devices_path = path.Child("devices");
  CheckItems(devices.Get("results"), kMaxDeviceRequests, devices_path.Child("results"), errors, [&](const Value& result, const FieldPath& at) {
    CheckRequestReference(result.Get("request").AsString(), names, at.Child("request"), errors);
    CheckDeviceIdentity(result, at, errors);
    CheckBindingConditions(result, at, errors);
    if (Value share = result.Get("shareID")) CheckUid(share.AsString(), at.Child("shareID"), errors);
  });
  CheckItems(devices.Get("config"), 2 * kMaxDeviceConfigs, devices_path.Child("config"), errors, [&](const Value& config, const FieldPath& at) {
    RequireOneOf(config.Get("source").AsString(), {"FromClaim", "FromClass"}, at.Child("source"), errors);
    CheckRequestReferences(config.Get("requests"), names, at.Child("requests"), errors);
    CheckDeviceConfiguration(config, at, errors);
  });
  if (Value selector = allocation.Get("nodeSelector")) CheckNodeSelector(selector, false, path.Child("nodeSelector"), errors);
}

void CheckClaimStatus(const Value& claim, const Value& old, FieldErrors& errors) {
  FieldPath path("status");
  Value status = claim.Get("status"), before = old.Get("status"), reserved = status.Get("reservedFor"), allocation = status.Get("allocation");
  CheckKeyedItems(reserved, kMaxReservations, path.Child("reservedFor"), errors,
                  [&](const Value& consumer, const FieldPath& at) {
                    for (std::string_view field : {"resource", "name", "uid"}) RequireText(consumer, field, at, errors);
                  },
                  [](const Value& consumer) { return consumer.Get("uid").AsString(); });
  std::set<std::string> allocated;
  for (const Value& result : allocation.Path({"devices", "results"}).items()) allocated.insert(DeviceId(result));
  std::vector<std::string> ids;
  for (const Value& device : status.Get("devices").items()) ids.push_back(DeviceId(device));
  size_t next = 0;
  CheckKeyedItems(status.Get("devices"), kUnlimited, path.Child("devices"), errors,
                  [&](const Value& device, const FieldPath& at) { CheckDeviceStatus(device, allocated, at, errors); },
                  [&](const Value&) { return std::string_view(ids[next++]); });
  if (!reserved.empty() && !allocation) {
    errors.Forbidden(path.Child("reservedFor"), "may not be specified when `allocated` is not set");
  } else if (claim.Path({"metadata", "deletionTimestamp"})) {
    bool added = std::ranges::any_of(reserved.items(), [&](const Value& consumer) {
      return std::ranges::none_of(before.Get("reservedFor").items(), [&](const Value& other) { return object::Equal(consumer, other); });
    });
    if (added) {
      errors.Forbidden(path.Child("reservedFor"), "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set");
    }
  }
  if (allocation && before.Get("allocation")) {
    CheckImmutableInternal(v1::ResourceClaimStatus::SchemaType(), "allocation", status, before, path, errors);
  } else if (allocation) {
    CheckAllocation(allocation, NamesOf(claim.Path({"spec", "devices", "requests"})), path.Child("allocation"), errors);
  }
}

constexpr std::string_view kAdminLabel = "resource.kubernetes.io/admin-access";

// Devices that others use may be looked into only from namespaces that are made for it.
void CheckAdminNamespace(RuleContext& context, const FieldPath& path, FieldErrors& errors) {
  object::DocumentPtr ns = context.objects.Get("", "namespaces", "", context.ns);
  if (ns == nullptr) {
    return errors.Internal(path, "could not retrieve namespace to verify admin access: namespaces " + GoQuote(context.ns) + " not found");
  }
  const object::Member* label = ns->root().Path({"metadata", "labels"}).Find(kAdminLabel);
  if (label != nullptr && label->value.AsString() == "true") return;
  errors.Forbidden(path, "admin access to devices requires the `" + std::string(kAdminLabel) + ": true` label on the containing namespace");
}

// Source: AuthorizedForAdmin of pkg/registry/resource, which names the path of claims for templates, too.
void CheckAdminRequests(RuleContext& context, const Value& claim_spec, FieldErrors& errors) {
  FieldPath path = FieldPath("spec").Child("devices", "requests");
  Value requests = claim_spec.Path({"devices", "requests"});
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests.At(i).Path({"exactly", "adminAccess"}).AsBool()) return CheckAdminNamespace(context, path.Index(i).Child("adminAccess"), errors);
  }
}

// Index of the first device that was given for administration; the number of devices if none was.
size_t FirstAdminResult(const Value& results) {
  size_t i = 0;
  while (i < results.size() && !results.At(i).Get("adminAccess").AsBool()) ++i;
  return i;
}

void CheckAdminStatus(RuleContext& context, const Value& claim, const Value& old, FieldErrors& errors) {
  Value results = claim.Path({"status", "allocation", "devices", "results"}), before = old.Path({"status", "allocation", "devices", "results"});
  size_t first = FirstAdminResult(results);
  if (first == results.size() || FirstAdminResult(before) < before.size()) return;
  FieldPath path = FieldPath("status").Child("allocation", "devices", "results");
  CheckAdminNamespace(context, path.Index(first).Child("adminAccess"), errors);
}

void CheckClaim(RuleContext& context, Value claim, FieldErrors& errors) {
  CheckAdminRequests(context, claim.Get("spec"), errors);
  CheckRestOfMetadata(context, errors);
  CheckClaimSpec(claim.Get("spec"), FieldPath("spec"), errors);
}

void CheckClaimUpdate(RuleContext& context, Value claim, Value old, FieldErrors& errors) {
  if (context.subresource == "status") {
    CheckAdminStatus(context, claim, old, errors);
    CheckStatusRights(context, claim, old, errors);
    CheckRestOfMetadata(context, errors);
    return CheckClaimStatus(claim, old, errors);
  }
  CheckImmutableInternal(v1::ResourceClaim::SchemaType(), "spec", claim, old, FieldPath(), errors);
}

void CheckTemplateBody(const Value& claim_template, FieldErrors& errors) {
  FieldPath path("spec");
  CheckTemplateMetadata(claim_template.Path({"spec", "metadata"}), path.Child("metadata"), errors);
  CheckClaimSpec(claim_template.Path({"spec", "spec"}), path.Child("spec"), errors);
}

void CheckTemplate(RuleContext& context, Value claim_template, FieldErrors& errors) {
  CheckAdminRequests(context, claim_template.Path({"spec", "spec"}), errors);
  CheckRestOfMetadata(context, errors);
  CheckTemplateBody(claim_template, errors);
}

void CheckTemplateUpdate(RuleContext& context, Value claim_template, Value old, FieldErrors& errors) {
  CheckTemplateBody(claim_template, errors);
  CheckRestOfMetadata(context, errors);
  CheckImmutableInternal(v1::ResourceClaimTemplate::SchemaType(), "spec", claim_template, old, FieldPath(), errors);
}

Value ClaimCell(object::Arena& arena, std::string_view, Value claim, WallTime) {
  bool deleted = static_cast<bool>(claim.Path({"metadata", "deletionTimestamp"}));
  std::string text = deleted ? "deleted" : "";
  if (!claim.Path({"status", "allocation"})) return TextCell(arena, deleted ? text : "pending");
  text += deleted ? ",allocated" : "allocated";
  if (!claim.Path({"status", "reservedFor"}).empty()) text += ",reserved";
  return TextCell(arena, text);
}

}  // namespace

const Behaviour kDeviceClass{.group = "resource.k8s.io", .kind = "DeviceClass", .validate_name = LongName, .validate_create = CheckClass,
                             .validate_update = CheckClassUpdate};
const Behaviour kResourceClaim{.group = "resource.k8s.io", .kind = "ResourceClaim", .prepare_update = PrepareClaimStatus, .validate_create = CheckClaim,
                               .validate_update = CheckClaimUpdate, .cell = ClaimCell, .no_table_of_status = true};
const Behaviour kResourceClaimTemplate{.group = "resource.k8s.io", .kind = "ResourceClaimTemplate", .validate_create = CheckTemplate,
                                       .validate_update = CheckTemplateUpdate};

}  // namespace homeostat::kinds
