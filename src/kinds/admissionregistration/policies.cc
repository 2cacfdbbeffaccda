// Admission policies and their bindings. Source of the rules: pkg/apis/admissionregistration/validation.
#include <set>
#include <string>

#include "homeostat/base/text.h"
#include "homeostat/object/jsonpath.h"
#include "homeostat/schema/api_version.h"
#include "kinds/admissionregistration/admissionregistration.h"
#include "kinds/cells.h"
#include "kinds/group_checks.h"
#include "object/go_selector.h"

namespace homeostat::kinds {
namespace {

// One of the choices in a field that may not be left out; an empty text is no choice.
void RequireChoice(const Value& value, Choices choices, const FieldPath& path, FieldErrors& errors) {
  if (!value) return errors.Required(path);
  CheckOneOf(value.AsString(), choices, path, errors);
}

void CheckParameters(const Value& parameters, const FieldPath& path, FieldErrors& errors) {
  if (!parameters) return;
  std::string_view name = parameters.Get("name").AsString(), action = parameters.Get("parameterNotFoundAction").AsString();
  Value selector = parameters.Get("selector");
  constexpr std::string_view kExclusive = "name and selector are mutually exclusive";
  if (!name.empty()) {
    CheckPathSegment(name, path.Child("name"), errors);
    if (selector) errors.Forbidden(path.Child("name"), kExclusive);
  }
  if (selector) {
    CheckLabelSelector(selector, path.Child("selector"), errors);
    if (!name.empty()) errors.Forbidden(path.Child("selector"), kExclusive);
  }
  if (name.empty() && !selector) errors.Required(path, "one of name or selector must be specified");
  RequireOneOf(action, {"Deny", "Allow"}, path.Child("parameterNotFoundAction"), errors);
}

void CheckNamedRules(const Value& rules, const FieldPath& list_path, FieldErrors& errors) {
  for (size_t i = 0; i < rules.size(); ++i) {
    FieldPath path = list_path.Index(i);
    Value names = rules.At(i).Get("resourceNames");
    std::set<std::string_view> seen;
    for (size_t j = 0; j < names.size(); ++j) {
      FieldPath at = path.Child("resourceNames").Index(j);
      CheckPathSegment(names.At(j).AsString(), at, errors);
      if (!seen.insert(names.At(j).AsString()).second) errors.Duplicate(at, names.At(j));
    }
    CheckOperationRule(rules.At(i), path, errors);
  }
}

void CheckMatchResources(const Value& match, const FieldPath& path, FieldErrors& errors) {
  if (!match) return;
  RequireChoice(match.Get("matchPolicy"), {"Equivalent", "Exact"}, path.Child("matchPolicy"), errors);
  for (std::string_view field : {"namespaceSelector", "objectSelector"}) {
    if (!match.Get(field)) {
      errors.Required(path.Child(field));
    } else {
      CheckLabelSelector(match.Get(field), path.Child(field), errors);
    }
  }
  CheckNamedRules(match.Get("resourceRules"), path.Child("resourceRules"), errors);
  CheckNamedRules(match.Get("excludeResourceRules"), path.Child("excludeResourceRules"), errors);
}

void CheckActions(const Value& actions, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < actions.size(); ++i) {
    std::string_view action = actions.At(i).AsString();
    CheckOneOf(action, {"Audit", "Deny", "Warn"}, path.Index(i), errors);
    if (!seen.insert(action).second) errors.Duplicate(path.Index(i), action);
  }
  if (seen.contains("Deny") && seen.contains("Warn")) {
    errors.Invalid(path, actions,
                   "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
                   "headers serves no purpose)");
  }
  if (seen.empty()) errors.Required(path, "at least one validation action is required");
}

// What is deleted can't be changed.
void CheckMutatingOperations(const Value& match, const FieldPath& path, FieldErrors& errors) {
  for (const Value& rule : match.Get("resourceRules").items()) {
    for (const Value& operation : rule.Get("operations").items()) {
      CheckOneOf(operation.AsString(), {"*", "CONNECT", "CREATE", "UPDATE"}, path, errors);
    }
  }
}

void CheckBinding(RuleContext& context, const Value& binding, FieldErrors& errors) {
  FieldPath path("spec");
  Value spec = binding.Get("spec");
  std::string_view policy = spec.Get("policyName").AsString();
  if (policy.empty()) {
    errors.Required(path.Child("policyName"));
  } else {
    CheckDns1123Subdomain(policy, path.Child("policyName"), errors);
  }
  CheckParameters(spec.Get("paramRef"), path.Child("paramRef"), errors);
  CheckMatchResources(spec.Get("matchResources"), path.Child("matchResources"), errors);
  if (context.kind.gvk.kind == "ValidatingAdmissionPolicyBinding") {
    CheckActions(spec.Get("validationActions"), path.Child("validationActions"), errors);
  } else {
    CheckMutatingOperations(spec.Get("matchResources"), path.Child("matchResources", "resourceRules", "operations"), errors);
  }
  CheckMayUseParamRef(context, binding, errors);
}

void CheckNewBinding(RuleContext& context, Value binding, FieldErrors& errors) { CheckBinding(context, binding, errors); }
void CheckBindingUpdate(RuleContext& context, Value binding, Value, FieldErrors& errors) { CheckBinding(context, binding, errors); }

void CheckParamKind(const Value& kind, const FieldPath& path, FieldErrors& errors) {
  std::string_view version = kind.Get("apiVersion").AsString(), name = kind.Get("kind").AsString();
  schema::GroupVersion parts = schema::ParseApiVersion(version);
  std::string_view group = parts.group, bare = parts.version;
  if (version.empty()) {
    errors.Required(path.Child("apiVersion"));
  } else if (!parts.IsValid()) {
    errors.Invalid(path.Child("apiVersion"), version, "unexpected GroupVersion string: " + std::string(version));
  } else {
    object::Messages of_group = group.empty() ? object::Messages() : object::IsDNS1123Subdomain(group);
    if (!of_group.empty()) errors.Invalid(path.Child("apiVersion"), group, Joined(of_group));
    object::Messages of_version = object::IsDNS1035Label(bare);
    if (bare.empty()) {
      errors.Invalid(path.Child("apiVersion"), version, "version must be specified");
    } else if (!of_version.empty()) {
      errors.Invalid(path.Child("apiVersion"), bare, Joined(of_version));
    }
  }
  if (name.empty()) return errors.Required(path.Child("kind"));
  object::Messages messages = object::IsDNS1035Label(LowerCase(name));
  if (!messages.empty()) {
    errors.Invalid(path.Child("kind"), name, "may have mixed case, but should otherwise match: " + Joined(messages));
  }
}

// Conditions that stay as they were, with the same parameters, are not looked at again.
void CheckPolicyConditions(const Value& policy, const Value& old, FieldErrors& errors) {
  Value spec = policy.Get("spec"), before = old.Get("spec");
  bool same = old && object::Equal(spec.Get("paramKind"), before.Get("paramKind")) &&
              object::Equal(spec.Get("matchConditions"), before.Get("matchConditions"));
  bool params = static_cast<bool>(spec.Get("paramKind"));
  if (!same) CheckMatchConditions(spec.Get("matchConditions"), params, FieldPath("spec").Child("matchConditions"), errors);
}

// What both sorts of policies say alike.
void CheckPolicySpec(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  RequireChoice(spec.Get("failurePolicy"), {"Fail", "Ignore"}, path.Child("failurePolicy"), errors);
  if (Value kind = spec.Get("paramKind")) CheckParamKind(kind, path.Child("paramKind"), errors);
  Value match = spec.Get("matchConstraints");
  if (!match) return errors.Required(path.Child("matchConstraints"));
  CheckMatchResources(match, path.Child("matchConstraints"), errors);
  if (match.Get("resourceRules").empty()) errors.Required(path.Child("matchConstraints", "resourceRules"));
}

void CheckValidatingPolicy(RuleContext& context, const Value& policy, const Value& old, FieldErrors& errors) {
  CheckPolicySpec(policy.Get("spec"), FieldPath("spec"), errors);
  CheckPolicyConditions(policy, old, errors);
  CheckValidatingExpressions(policy, errors);
  CheckMayUseParamKind(context, policy, old, errors);
}

void CheckNewValidatingPolicy(RuleContext& context, Value policy, FieldErrors& errors) { CheckValidatingPolicy(context, policy, Value(), errors); }

void CheckFieldReference(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  std::string_view reference = TrimSpace(text);
  if (reference.empty()) return errors.Required(path);
  auto parsed = object::JsonPath::Parse(reference);
  if (!parsed) errors.Invalid(path, reference, "invalid JSONPath: " + parsed.error().message());
}

void CheckStatus(const Value& status, const FieldPath& path, FieldErrors& errors) {
  Value warnings = status.Get("typeChecking").Get("expressionWarnings");
  for (size_t i = 0; i < warnings.size(); ++i) {
    FieldPath warning = path.Child("typeChecking", "expressionWarnings").Index(i);
    if (warnings.At(i).Get("warning").AsString().empty()) errors.Required(warning.Child("warning"));
    CheckFieldReference(warnings.At(i).Get("fieldRef").AsString(), warning.Child("fieldRef"), errors);
  }
  CheckConditions(status.Get("conditions"), path.Child("conditions"), errors);
}

void CheckValidatingPolicyUpdate(RuleContext& context, Value policy, Value old, FieldErrors& errors) {
  if (context.subresource == "status") return CheckStatus(policy.Get("status"), FieldPath("status"), errors);
  CheckValidatingPolicy(context, policy, old, errors);
}

void CheckMutatingPolicy(RuleContext& context, const Value& policy, const Value& old, FieldErrors& errors) {
  FieldPath path("spec");
  Value spec = policy.Get("spec");
  CheckPolicySpec(spec, path, errors);
  CheckMutatingOperations(spec.Get("matchConstraints"), path.Child("matchConstraints", "resourceRules", "operations"), errors);
  CheckPolicyConditions(policy, old, errors);
  CheckMutatingExpressions(policy, errors);
  RequireOneOf(spec.Get("reinvocationPolicy").AsString(), {"IfNeeded", "Never"}, path.Child("reinvocationPolicy"), errors);
  CheckMayUseParamKind(context, policy, old, errors);
}

void CheckNewMutatingPolicy(RuleContext& context, Value policy, FieldErrors& errors) { CheckMutatingPolicy(context, policy, Value(), errors); }
void CheckMutatingPolicyUpdate(RuleContext& context, Value policy, Value old, FieldErrors& errors) {
  CheckMutatingPolicy(context, policy, old, errors);
}

Value PolicyCell(object::Arena& arena, std::string_view, Value policy, WallTime) {
  Value kind = policy.Path({"spec", "paramKind"});
  if (!kind) return Value::StringRef("<unset>");
  return TextCell(arena, std::string(kind.Get("apiVersion").AsString()) + "/" + std::string(kind.Get("kind").AsString()));
}

Value BindingCell(object::Arena& arena, std::string_view, Value binding, WallTime) {
  Value parameters = binding.Path({"spec", "paramRef"});
  std::string_view name = parameters.Get("name").AsString(), ns = parameters.Get("namespace").AsString();
  if (!name.empty()) return TextCell(arena, (ns.empty() ? "*" : std::string(ns)) + "/" + std::string(name));
  if (!parameters.Get("selector")) return Value::StringRef("<unset>");
  return TextCell(arena, object::GoSelectorText(parameters.Get("selector")));
}

}  // namespace

const Behaviour kValidatingAdmissionPolicy{.group = "admissionregistration.k8s.io", .kind = "ValidatingAdmissionPolicy",
                                           .validate_create = CheckNewValidatingPolicy, .validate_update = CheckValidatingPolicyUpdate,
                                           .warn = WarnOfStaticName, .cell = PolicyCell};
const Behaviour kMutatingAdmissionPolicy{.group = "admissionregistration.k8s.io", .kind = "MutatingAdmissionPolicy",
                                         .validate_create = CheckNewMutatingPolicy, .validate_update = CheckMutatingPolicyUpdate,
                                         .warn = WarnOfStaticName, .cell = PolicyCell};
const Behaviour kValidatingAdmissionPolicyBinding{
    .group = "admissionregistration.k8s.io", .kind = "ValidatingAdmissionPolicyBinding", .validate_create = CheckNewBinding,
    .validate_update = CheckBindingUpdate, .warn = WarnOfStaticName, .cell = BindingCell};
const Behaviour kMutatingAdmissionPolicyBinding{
    .group = "admissionregistration.k8s.io", .kind = "MutatingAdmissionPolicyBinding", .validate_create = CheckNewBinding,
    .validate_update = CheckBindingUpdate, .warn = WarnOfStaticName, .cell = BindingCell};

}  // namespace homeostat::kinds
