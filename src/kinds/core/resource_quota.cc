// ResourceQuota: what a namespace may use in all.
// Source of the rules: ValidateResourceQuota of pkg/apis/core/validation.
#include <algorithm>
#include <set>

#include "homeostat/api/core/v1.h"
#include "homeostat/object/quantity.h"
#include "kinds/cells.h"
#include "kinds/checks.h"
#include "kinds/core/behaviours.h"
#include "kinds/core/resource_checks.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;
using object::Quantity;

constexpr std::string_view kScopes[] = {"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "VolumeAttributesClass",
                                        "CrossNamespacePodAffinity"};

bool AppliesTo(std::string_view scope, std::string_view resource) {
  static constexpr std::string_view kOfPods[] = {"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"};
  if (scope == "BestEffort") return resource == "pods";
  if (scope == "VolumeAttributesClass") return resource == "persistentvolumeclaims" || resource == "requests.storage";
  return !IsOneOf(scope, kScopes) || IsOneOf(resource, kOfPods);
}

void CheckAmounts(const Value& amounts, const FieldPath& path, FieldErrors& errors) {
  for (const object::Member& entry : amounts.members()) {
    FieldPath at = path.Key(entry.name());
    CheckResourceName(entry.name(), at, errors);
    if (entry.name().find('/') == std::string_view::npos && !IsStandardQuotaResource(entry.name())) {
      errors.Invalid(at, entry.name(), "must be a standard resource for quota");
    }
    CheckResourceQuantity(entry.name(), entry.value.AsString(), at, errors);
  }
}

// Resources of the quota that the scope has nothing to do with.
size_t CountMisapplied(const Value& spec, std::string_view scope) {
  return static_cast<size_t>(std::ranges::count_if(spec.Get("hard").members(), [&](const object::Member& entry) {
    return IsStandardQuotaResource(entry.name()) && !AppliesTo(scope, entry.name());
  }));
}

void CheckConflicts(const std::set<std::string_view>& scopes, const Value& shown, const FieldPath& path, FieldErrors& errors) {
  for (const auto& [a, b] : {std::pair<std::string_view, std::string_view>("BestEffort", "NotBestEffort"), {"Terminating", "NotTerminating"}}) {
    if (scopes.contains(a) && scopes.contains(b)) errors.Invalid(path, shown ? BadValue(shown) : BadValue::Null(), "conflicting scopes");
  }
}

void CheckScopes(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value scopes = spec.Get("scopes");
  std::set<std::string_view> seen;
  for (const Value& item : scopes.items()) {
    std::string_view scope = item.AsString();
    if (!IsOneOf(scope, kScopes)) errors.Invalid(path, scopes, "unsupported scope");
    for (size_t i = CountMisapplied(spec, scope); i > 0; --i) errors.Invalid(path, scopes, "unsupported scope applied to resource");
    seen.insert(scope);
  }
  CheckConflicts(seen, scopes, path, errors);
}

void CheckScopeRequirement(const Value& spec, const Value& requirement, const FieldPath& path, FieldErrors& errors) {
  std::string_view scope = requirement.Get("scopeName").AsString(), op = requirement.Get("operator").AsString();
  Value values = requirement.Get("values");
  if (!IsOneOf(scope, kScopes)) errors.Invalid(path.Child("scopeName"), scope, "unsupported scope");
  for (size_t i = CountMisapplied(spec, scope); i > 0; --i) {
    errors.Invalid(path, InternalValue(types::kScopeSelector, spec.Get("scopeSelector")), "unsupported scope applied to resource");
  }
  if (IsOneOf(scope, {"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"}) && op != "Exists") {
    errors.Invalid(path.Child("operator"), op,
                   "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
                   "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity");
  }
  if (op == "In" || op == "NotIn") {
    if (values.empty()) errors.Required(path.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) {
      errors.Invalid(path.Child("values"), values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector");
    }
  } else {
    errors.Invalid(path.Child("operator"), op, "not a valid selector operator");
  }
}

void CheckSpec(const Value& spec, FieldErrors& errors) {
  FieldPath path("spec");
  CheckAmounts(spec.Get("hard"), path.Child("hard"), errors);
  CheckScopes(spec, path.Child("scopes"), errors);
  FieldPath at = path.Child("scopeSelector", "matchExpressions");
  std::set<std::string_view> seen;
  for (const Value& requirement : spec.Get("scopeSelector").Get("matchExpressions").items()) {
    CheckScopeRequirement(spec, requirement, at, errors);
    seen.insert(requirement.Get("scopeName").AsString());
  }
  CheckConflicts(seen, spec.Get("scopes"), at, errors);
}

void CheckStatus(const Value& status, FieldErrors& errors) {
  FieldPath path("status");
  CheckAmounts(status.Get("hard"), path.Child("hard"), errors);
  CheckAmounts(status.Get("used"), path.Child("used"), errors);
}

void ValidateCreate(RuleContext&, Value quota, FieldErrors& errors) {
  CheckSpec(quota.Get("spec"), errors);
  CheckStatus(quota.Get("status"), errors);
}

std::set<std::string_view> ScopesOf(const Value& quota) {
  std::set<std::string_view> scopes;
  for (const Value& scope : quota.Get("spec").Get("scopes").items()) scopes.insert(scope.AsString());
  return scopes;
}

void ValidateUpdate(RuleContext& context, Value quota, Value old, FieldErrors& errors) {
  if (context.subresource == "status") return CheckStatus(quota.Get("status"), errors);
  CheckSpec(quota.Get("spec"), errors);
  if (ScopesOf(quota) == ScopesOf(old)) return;
  FieldPath spec("spec");
  Value scopes = quota.Get("spec").Get("scopes");
  errors.Invalid(spec.Child("scopes"), scopes ? BadValue(scopes) : BadValue::Null(), kImmutable);
}

void Warn(RuleContext& context, Value quota, Value old) {
  if (context.warnings == nullptr || old) return;
  Value hard = quota.Get("spec").Get("hard");
  for (std::string_view resource : {"cpu", "memory", "storage", "ephemeral-storage"}) {
    std::string request_name = "requests." + std::string(resource), limit_name = "limits." + std::string(resource);
    if (!hard.Get(request_name) && (resource == "cpu" || resource == "memory") && hard.Get(resource)) request_name = resource;
    auto request = Quantity::Parse(hard.Get(request_name).AsString()), limit = Quantity::Parse(hard.Get(limit_name).AsString());
    if (!request || !limit || *request <= *limit) continue;
    context.warnings->push_back("ResourceQuota " + request_name + " (" + request->ToString() + ") should be less than " + limit_name + " (" +
                                limit->ToString() + ")");
  }
}

Value Cell(object::Arena& arena, std::string_view cell, Value quota, WallTime) {
  Value hard = quota.Get("status").Get("hard"), used = quota.Get("status").Get("used");
  std::string text;
  for (const object::Member& entry : hard.members()) {
    if (entry.name().starts_with("limits.") != (cell == "limit")) continue;
    if (!text.empty()) text += ", ";
    text += std::string(entry.name()) + ": " + std::string(used.Get(entry.name()).AsString("0")) + "/" + std::string(entry.value.AsString());
  }
  return TextCell(arena, text);
}

}  // namespace

const Behaviour kResourceQuotaBehaviour = {
    .group = "",
    .kind = "ResourceQuota",
    .validate_name = object::NameIsDNSSubdomain,
    .validate_create = ValidateCreate,
    .validate_update = ValidateUpdate,
    .warn = Warn,
    .cell = Cell,
};

}  // namespace homeostat::kinds
