// Role and ClusterRole. Source of the rules: pkg/apis/rbac/validation. Names are whatever can stand in a URL:
// system:controller:job-controller.
#include "homeostat/api/rbac/v1.h"
#include "kinds/group_checks.h"
#include "kinds/rbac/escalation.h"
#include "kinds/rbac/rbac.h"

namespace homeostat::kinds {
namespace {

void CheckRule(const Value& rule, bool namespaced, const FieldPath& path, FieldErrors& errors) {
  if (rule.Get("verbs").empty()) errors.Required(path.Child("verbs"), "verbs must contain at least one value");
  Value urls = rule.Get("nonResourceURLs");
  bool groups = !rule.Get("apiGroups").empty(), resources = !rule.Get("resources").empty();
  if (!urls.empty()) {
    if (namespaced) errors.Invalid(path.Child("nonResourceURLs"), urls, "namespaced rules cannot apply to non-resource URLs");
    if (groups || resources || !rule.Get("resourceNames").empty()) {
      errors.Invalid(path.Child("nonResourceURLs"), urls, "rules cannot apply to both regular resources and non-resource URLs");
    }
    return;
  }
  if (!groups) errors.Required(path.Child("apiGroups"), "resource rules must supply at least one api group");
  if (!resources) errors.Required(path.Child("resources"), "resource rules must supply at least one resource");
}

void CheckRules(const Value& role, bool namespaced, FieldErrors& errors) {
  FieldPath path("rules");
  Value rules = role.Get("rules");
  for (size_t i = 0; i < rules.size(); ++i) CheckRule(rules.At(i), namespaced, path.Index(i), errors);
}

void CheckRole(RuleContext&, Value role, FieldErrors& errors) { CheckRules(role, true, errors); }
void CheckRoleUpdate(RuleContext&, Value role, Value, FieldErrors& errors) { CheckRules(role, true, errors); }

bool HasInvalidSelector(const Value& role) {
  for (const Value& selector : role.Path({"aggregationRule", "clusterRoleSelectors"}).items()) {
    if (HasInvalidLabelValue(selector)) return true;
  }
  return false;
}

void CheckClusterRoleWith(const Value& role, SelectorRules rules, FieldErrors& errors) {
  CheckRules(role, false, errors);
  Value aggregation = role.Get("aggregationRule");
  if (!aggregation) return;
  FieldPath path = FieldPath("aggregationRule").Child("clusterRoleSelectors");
  Value selectors = aggregation.Get("clusterRoleSelectors");
  if (selectors.empty()) errors.Required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil");
  for (size_t i = 0; i < selectors.size(); ++i) {
    CheckLabelSelector(selectors.At(i), path.Index(i), errors, rules);
    if (!Selects(selectors.At(i), Value())) errors.Invalid(path.Index(i), BadValue::Null(), "invalid label selector.");
  }
}

void CheckClusterRole(RuleContext&, Value role, FieldErrors& errors) { CheckClusterRoleWith(role, {}, errors); }
void CheckClusterRoleUpdate(RuleContext&, Value role, Value old, FieldErrors& errors) {
  CheckClusterRoleWith(role, {.allow_invalid_values = HasInvalidSelector(old)}, errors);
}

}  // namespace

const Behaviour kRole{.group = "rbac.authorization.k8s.io", .kind = "Role", .validate_name = NameIsPathSegment,
                      .may_write = MayWriteRole, .validate_create = CheckRole, .validate_update = CheckRoleUpdate};
const Behaviour kClusterRole{.group = "rbac.authorization.k8s.io", .kind = "ClusterRole", .validate_name = NameIsPathSegment,
                             .may_write = MayWriteClusterRole, .validate_create = CheckClusterRole, .validate_update = CheckClusterRoleUpdate};

}  // namespace homeostat::kinds
