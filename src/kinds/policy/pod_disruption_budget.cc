// PodDisruptionBudget. Source of the rules: pkg/apis/policy/validation, pkg/registry/policy/poddisruptionbudget.
#include "homeostat/api/policy/v1.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"
#include "kinds/policy/policy.h"

namespace homeostat::kinds {
namespace {

void CheckSpec(const Value& spec, SelectorRules rules, FieldErrors& errors) {
  FieldPath path("spec");
  Value available = spec.Get("minAvailable"), unavailable = spec.Get("maxUnavailable");
  if (available && unavailable) {
    errors.Invalid(path, InternalValue(api::policy::v1::PodDisruptionBudgetSpec::SchemaType(), spec),
                   "minAvailable and maxUnavailable cannot be both set");
  }
  for (std::string_view field : {"minAvailable", "maxUnavailable"}) {
    if (!spec.Get(field)) continue;
    CheckPositiveIntOrPercent(spec.Get(field), path.Child(field), errors);
    CheckNotMoreThanHundredPercent(spec.Get(field), path.Child(field), errors);
  }
  CheckLabelSelector(spec.Get("selector"), path.Child("selector"), errors, rules);
  if (Value policy = spec.Get("unhealthyPodEvictionPolicy")) {
    CheckOneOf(policy.AsString(), {"AlwaysAllow", "IfHealthyBudget"}, path.Child("unhealthyPodEvictionPolicy"), errors);
  }
}

void CheckNew(RuleContext&, Value budget, FieldErrors& errors) { CheckSpec(budget.Get("spec"), {}, errors); }

void CheckUpdate(RuleContext& context, Value budget, Value old, FieldErrors& errors) {
  if (context.subresource == "status") {
    FieldPath path("status");
    Value status = budget.Get("status");
    CheckConditions(status.Get("conditions"), path.Child("conditions"), errors);
    return CheckNonNegativeFields(status, {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"}, path, errors);
  }
  bool lenient = Fails([&](FieldErrors& faults) { CheckLabelSelector(old.Path({"spec", "selector"}), FieldPath(), faults); });
  CheckSpec(budget.Get("spec"), {.allow_invalid_values = lenient}, errors);
}

}  // namespace

const Behaviour kPodDisruptionBudget{.group = "policy", .kind = "PodDisruptionBudget", .validate_create = CheckNew,
                                     .validate_update = CheckUpdate};

}  // namespace homeostat::kinds
