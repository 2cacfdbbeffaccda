// DeviceClass, ResourceClaim and ResourceClaimTemplate: their own fields. Expressions in selectors are checked where they are
// compiled. Source of the rules: pkg/apis/resource/validation.
#include <set>
#include <string>

#include "homeostat/api/resource/v1.h"
#include "homeostat/schema/diff.h"
#include "kinds/cells.h"
#include "kinds/core/resource_checks.h"
#include "kinds/core/template_metadata.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"
#include "kinds/resource/resource.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::resource::v1;

constexpr size_t kMaxSelectors = 32, kMaxConfigs = 32, kMaxRequests = 32;

void CheckCount(const Value& list, size_t limit, const FieldPath& path, FieldErrors& errors) {
  if (list.size() > limit) errors.TooMany(path, list.size(), static_cast<int64_t>(limit));
}

void CheckDriverName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) return errors.Required(path);
  if (name.size() > 63) errors.TooLongCharacters(path, 63);
  CheckDns1123Subdomain(name, path, errors);
}

void CheckSelectors(const Value& selectors, const FieldPath& path, FieldErrors& errors) {
  CheckCount(selectors, kMaxSelectors, path, errors);
  for (size_t i = 0; i < selectors.size(); ++i) {
    Value cel = selectors.At(i).Get("cel");
    if (!cel) {
      errors.Required(path.Index(i).Child("cel"));
    } else if (cel.Get("expression").AsString().empty()) {
      errors.Required(path.Index(i).Child("cel", "expression"));
    }
  }
}

void CheckConfig(const Value& config, const FieldPath& path, FieldErrors& errors) {
  Value opaque = config.Get("opaque");
  if (!opaque) return errors.Required(path.Child("opaque"));
  CheckDriverName(opaque.Get("driver").AsString(), path.Child("opaque", "driver"), errors);
  Value parameters = opaque.Get("parameters");
  FieldPath parameters_path = path.Child("opaque", "parameters");
  if (!parameters) {
    errors.Required(parameters_path);
  } else if (!parameters.IsObject()) {
    errors.Invalid(parameters_path, "<value omitted>", "must be a valid JSON object");
  }
}

void CheckClass(RuleContext&, Value device_class, FieldErrors& errors) {
  FieldPath path("spec");
  Value spec = device_class.Get("spec"), configs = spec.Get("config");
  CheckSelectors(spec.Get("selectors"), path.Child("selectors"), errors);
  CheckCount(configs, kMaxConfigs, path.Child("config"), errors);
  for (size_t i = 0; i < configs.size(); ++i) CheckConfig(configs.At(i), path.Child("config").Index(i), errors);
  Value name = spec.Get("extendedResourceName");
  if (name && !IsExtendedResource(name.AsString())) {
    errors.Invalid(path.Child("extendedResourceName"), name, "must be a valid extended resource name");
  }
}

void CheckClassUpdate(RuleContext& context, Value device_class, Value, FieldErrors& errors) { CheckClass(context, device_class, errors); }

void CheckRequest(const Value& request, bool sub, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = request.Get("name").AsString();
  if (name.empty()) {
    errors.Required(path.Child("name"));
  } else {
    CheckDns1123Label(name, path.Child("name"), errors);
  }
  Value exactly = sub ? request : request.Get("exactly"), first = request.Get("firstAvailable");
  if (!sub && !exactly && first.empty()) return errors.Required(path, "exactly one of `exactly` or `firstAvailable` is required");
  if (!sub && exactly && !first.empty()) {
    return errors.Invalid(path, BadValue::Null(), "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set");
  }
  for (size_t i = 0; i < first.size(); ++i) CheckRequest(first.At(i), true, path.Child("firstAvailable").Index(i), errors);
  if (!exactly) return;
  FieldPath at = sub ? path : path.Child("exactly");
  std::string_view device_class = exactly.Get("deviceClassName").AsString();
  if (device_class.empty()) {
    errors.Required(at.Child("deviceClassName"));
  } else {
    CheckDns1123Subdomain(device_class, at.Child("deviceClassName"), errors);
  }
  CheckSelectors(exactly.Get("selectors"), at.Child("selectors"), errors);
  std::string_view mode = exactly.Get("allocationMode").AsString();
  int64_t count = exactly.Get("count").AsInt();
  if (mode == "All") {
    if (count != 0) errors.Invalid(at.Child("count"), count, "must not be specified when allocationMode is 'All'");
  } else if (mode == "ExactCount") {
    if (count <= 0) errors.Invalid(at.Child("count"), count, "must be greater than zero");
  } else {
    errors.NotSupported(at.Child("allocationMode"), mode, {"All", "ExactCount"});
  }
}

void CheckClaimSpec(const Value& spec, const FieldPath& spec_path, FieldErrors& errors) {
  FieldPath path = spec_path.Child("devices");
  Value requests = spec.Path({"devices", "requests"}), configs = spec.Path({"devices", "config"});
  CheckCount(requests, kMaxRequests, path.Child("requests"), errors);
  std::set<std::string_view> names;
  for (size_t i = 0; i < requests.size(); ++i) {
    FieldPath at = path.Child("requests").Index(i);
    CheckRequest(requests.At(i), false, at, errors);
    std::string_view name = requests.At(i).Get("name").AsString();
    if (!name.empty() && !names.insert(name).second) errors.Duplicate(at.Child("name"), name);
  }
  CheckCount(configs, kMaxConfigs, path.Child("config"), errors);
  for (size_t i = 0; i < configs.size(); ++i) CheckConfig(configs.At(i), path.Child("config").Index(i), errors);
}

void CheckClaim(RuleContext&, Value claim, FieldErrors& errors) { CheckClaimSpec(claim.Get("spec"), FieldPath("spec"), errors); }

void CheckClaimUpdate(RuleContext& context, Value claim, Value old, FieldErrors& errors) {
  if (context.subresource == "status") {
    Value status = claim.Get("status"), before = old.Get("status");
    FieldPath path("status");
    if (!status.Get("reservedFor").empty() && !status.Get("allocation")) {
      errors.Forbidden(path.Child("reservedFor"), "may not be specified when `allocated` is not set");
    }
    if (status.Get("allocation") && before.Get("allocation")) {
      CheckImmutableInternal(v1::ResourceClaimStatus::SchemaType(), "allocation", status, before, path, errors);
    }
    return;
  }
  CheckImmutableInternal(v1::ResourceClaim::SchemaType(), "spec", claim, old, FieldPath(), errors);
}

void CheckTemplate(RuleContext&, Value claim_template, FieldErrors& errors) {
  FieldPath path("spec");
  CheckTemplateMetadata(claim_template.Path({"spec", "metadata"}), path.Child("metadata"), errors);
  CheckClaimSpec(claim_template.Path({"spec", "spec"}), path.Child("spec"), errors);
}

void CheckTemplateUpdate(RuleContext&, Value claim_template, Value old, FieldErrors& errors) {
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

const Behaviour kDeviceClass{.group = "resource.k8s.io", .kind = "DeviceClass", .validate_create = CheckClass,
                             .validate_update = CheckClassUpdate};
const Behaviour kResourceClaim{.group = "resource.k8s.io", .kind = "ResourceClaim", .validate_create = CheckClaim,
                               .validate_update = CheckClaimUpdate, .cell = ClaimCell};
const Behaviour kResourceClaimTemplate{.group = "resource.k8s.io", .kind = "ResourceClaimTemplate", .validate_create = CheckTemplate,
                                       .validate_update = CheckTemplateUpdate};

}  // namespace homeostat::kinds
