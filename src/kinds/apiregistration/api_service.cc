// APIService: named VERSION.GROUP, where the core group has no name: v1. with the dot.
// Source of the rules: kube-aggregator's pkg/apis/apiregistration/validation and registry.
#include <string>

#include "homeostat/api/apiregistration/v1.h"
#include "homeostat/base/text.h"
#include "kinds/apiregistration/apiregistration.h"
#include "kinds/cells.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"
#include "kinds/write_helpers.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::apiregistration::v1;

// This server itself answers for a group without a service, and always does.
Value PrepareNew(RuleContext& context, Value service) {
  if (service.Path({"spec", "service"})) return service;
  Edit condition(context.arena, v1::APIServiceCondition::SchemaType(), Value());
  condition.Set("type", Value::StringRef("Available"));
  condition.Set("status", Value::StringRef("True"));
  condition.Set("lastTransitionTime", Now(context));
  condition.Set("reason", Value::StringRef("Local"));
  condition.Set("message", Value::StringRef("Local APIServices are always available"));
  object::ListBuilder conditions(context.arena);
  conditions.Append(condition.Build());
  return Edited(context.arena, v1::APIService::SchemaType(), service, [&](Edit& edit) {
    edit.In("status", [&](Edit& status) { status.Set("conditions", conditions.Build()); });
  });
}

void CheckPriority(const Value& spec, std::string_view field, int64_t most, const FieldPath& path, FieldErrors& errors) {
  int64_t value = spec.Get(field).AsInt();
  if (value <= 0 || value > most) errors.Invalid(path.Child(field), value, "must be positive and less than " + std::to_string(most));
}

void CheckTarget(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value service = spec.Get("service"), insecure = spec.Get("insecureSkipTLSVerify");
  size_t bundle = spec.Get("caBundle").AsString().size();
  if (!service) {
    if (bundle != 0) {
      errors.Invalid(path.Child("caBundle"), std::to_string(bundle) + " bytes", "local APIServices may not have a caBundle");
    }
    if (insecure.AsBool()) {
      errors.Invalid(path.Child("insecureSkipTLSVerify"), true, "local APIServices may not have insecureSkipTLSVerify");
    }
    return;
  }
  FieldPath service_path = path.Child("service");
  RequireText(service, "namespace", service_path, errors);
  RequireText(service, "name", service_path, errors);
  int64_t port = service.Get("port").AsInt();
  std::string faults;
  for (const std::string& message : object::IsValidPortNum(port)) faults += (faults.empty() ? "" : ", ") + message;
  if (!faults.empty()) errors.Invalid(service_path.Child("port"), port, "port is not valid: " + faults);
  if (insecure.AsBool() && bundle != 0) {
    errors.Invalid(path.Child("insecureSkipTLSVerify"), true, "may not be true if caBundle is present");
  }
}

void CheckNew(RuleContext& context, Value service, FieldErrors& errors) {
  FieldPath path("spec");
  Value spec = service.Get("spec");
  std::string_view name = service.Path({"metadata", "name"}).AsString();
  std::string_view group = spec.Get("group").AsString(), version = spec.Get("version").AsString();
  std::string required = std::string(version) + "." + std::string(group);
  std::string_view base = service.Path({"metadata", "generateName"}).AsString();
  if (!base.empty() && object::IsValidPathSegmentName(base).empty() && base != required) {
    errors.Invalid(FieldPath("metadata").Child("generateName"), base, "must be `spec.version+\".\"+spec.group`: " + GoQuote(required));
  }
  if (!name.empty() && object::IsValidPathSegmentName(name).empty() && name != required) {
    errors.Invalid(FieldPath("metadata").Child("name"), name, "must be `spec.version+\".\"+spec.group`: " + GoQuote(required));
  }
  CheckRestOfMetadata(context, errors);
  if (group.empty() && version != "v1") {
    errors.Required(path.Child("group"), "only v1 may have an empty group and it better be legacy kube");
  }
  if (!group.empty()) CheckDns1123Subdomain(group, path.Child("group"), errors);
  AddInvalid(errors, path.Child("version"), version, object::IsDNS1035Label(version));
  CheckPriority(spec, "groupPriorityMinimum", 20000, path, errors);
  CheckPriority(spec, "versionPriority", 1000, path, errors);
  CheckTarget(spec, path, errors);
}

void CheckUpdate(RuleContext& context, Value service, Value, FieldErrors& errors) {
  if (context.subresource != "status") return CheckNew(context, service, errors);
  FieldPath path = FieldPath("status").Child("conditions");
  Value conditions = service.Path({"status", "conditions"});
  for (size_t i = 0; i < conditions.size(); ++i) {
    CheckOneOf(conditions.At(i).Get("status").AsString(), {"True", "False", "Unknown"}, path.Index(i).Child("status"), errors);
  }
}

Value Cell(object::Arena& arena, std::string_view cell, Value api_service, WallTime) {
  if (cell == "service") {
    Value service = api_service.Path({"spec", "service"});
    if (!service) return Value::StringRef("Local");
    return TextCell(arena, std::string(service.Get("namespace").AsString()) + "/" + std::string(service.Get("name").AsString()));
  }
  for (const Value& condition : api_service.Path({"status", "conditions"}).items()) {
    if (condition.Get("type").AsString() != "Available") continue;
    std::string status(condition.Get("status").AsString());
    if (status != "True") status += " (" + std::string(condition.Get("reason").AsString()) + ")";
    return TextCell(arena, status);
  }
  return Value::StringRef("Unknown");
}

}  // namespace

const Behaviour kAPIService{.group = "apiregistration.k8s.io", .kind = "APIService", .validate_name = NameIsPathSegment,
                            .prepare_create = PrepareNew, .validate_create = CheckNew, .validate_update = CheckUpdate, .cell = Cell,
                            .no_table_of_status = true};

}  // namespace homeostat::kinds
