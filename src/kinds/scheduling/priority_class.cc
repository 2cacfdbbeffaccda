// PriorityClass. Source of the rules: pkg/apis/scheduling/validation.
#include <string>

#include "homeostat/api/scheduling/v1.h"
#include "kinds/group_checks.h"
#include "kinds/scheduling/scheduling.h"

namespace homeostat::kinds {
namespace {

constexpr std::string_view kSystemPrefix = "system-";
constexpr int64_t kHighestOfUsers = 1'000'000'000;

// What keeps the class from being one of the system's own, or "".
std::string SystemFault(std::string_view name, const Value& priority_class) {
  int64_t value = name == "system-node-critical" ? 2'000'001'000 : name == "system-cluster-critical" ? 2'000'000'000 : 0;
  std::string text(name);
  if (value == 0) return text + " is not a known system priority class";
  if (priority_class.Get("value").AsInt() != value) return "value of " + text + " PriorityClass must be " + std::to_string(value);
  if (priority_class.Get("globalDefault").AsBool()) return "globalDefault of " + text + " PriorityClass must be false";
  return "";
}

void CheckNew(RuleContext&, Value priority_class, FieldErrors& errors) {
  std::string_view name = priority_class.Path({"metadata", "name"}).AsString();
  if (name.starts_with(kSystemPrefix)) {
    std::string fault = SystemFault(name, priority_class);
    if (!fault.empty()) {
      errors.Forbidden(FieldPath("metadata").Child("name"),
                       "priority class names with 'system-' prefix are reserved for system use only. error: " + fault);
    }
  } else if (priority_class.Get("value").AsInt() > kHighestOfUsers) {
    errors.Forbidden(FieldPath("value"), "maximum allowed value of a user defined priority is 1000000000");
  }
  if (Value policy = priority_class.Get("preemptionPolicy")) {
    if (policy.AsString().empty()) return errors.Required(FieldPath("preemptionPolicy"));
    CheckOneOf(policy.AsString(), {"PreemptLowerPriority", "Never"}, FieldPath("preemptionPolicy"), errors);
  }
}

void CheckUpdate(RuleContext&, Value priority_class, Value old, FieldErrors& errors) {
  if (priority_class.Get("value").AsInt() != old.Get("value").AsInt()) {
    errors.Forbidden(FieldPath("value"), "may not be changed in an update.");
  }
  CheckImmutableField(api::scheduling::v1::PriorityClass::SchemaType(), "preemptionPolicy", priority_class, old, FieldPath(), errors);
}

// The cluster's own parts run with these. Source: the registry's Delete.
std::string_view Undeletable(std::string_view name) {
  bool of_the_system = name == "system-node-critical" || name == "system-cluster-critical";
  return of_the_system ? "this is a system priority class and cannot be deleted" : "";
}

}  // namespace

const Behaviour kPriorityClass{.group = "scheduling.k8s.io", .kind = "PriorityClass", .validate_create = CheckNew,
                               .validate_update = CheckUpdate, .undeletable = Undeletable};

}  // namespace homeostat::kinds
