// ValidatingWebhookConfiguration and MutatingWebhookConfiguration. Source of the rules: pkg/apis/admissionregistration/validation,
// apiserver's pkg/util/webhook. What an old object has wrong already is let pass.
#include <algorithm>
#include <set>
#include <string>

#include "kinds/admissionregistration/admissionregistration.h"
#include "kinds/group_checks.h"
#include "kinds/webhook_clients.h"

namespace homeostat::kinds {
namespace {

struct WebhookRules {
  bool any_side_effects = false, any_review_version = false, repeated_names = false, same_conditions = false;
  SelectorRules selectors;
};

void CheckFullyQualifiedName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) return errors.Required(path);
  object::Messages messages = object::IsDNS1123Subdomain(name);
  if (!messages.empty()) return errors.Invalid(path, name, Joined(messages));
  if (std::ranges::count(name, '.') < 2) {
    errors.Invalid(path, name, "should be a domain with at least three segments separated by dots");
  }
}

void CheckSideEffects(const Value& effects, bool any, const FieldPath& path, FieldErrors& errors) {
  if (!effects) {
    errors.Required(path, any ? "must specify one of None, NoneOnDryRun, Some, Unknown" : "must specify one of None, NoneOnDryRun");
  } else if (any) {
    CheckOneOf(effects.AsString(), {"None", "NoneOnDryRun", "Some", "Unknown"}, path, errors);
  } else {
    CheckOneOf(effects.AsString(), {"None", "NoneOnDryRun"}, path, errors);
  }
}

void CheckHook(const Value& hook, const WebhookRules& rules, const FieldPath& path, FieldErrors& errors) {
  CheckFullyQualifiedName(hook.Get("name").AsString(), path.Child("name"), errors);
  Value operations = hook.Get("rules"), timeout = hook.Get("timeoutSeconds");
  for (size_t i = 0; i < operations.size(); ++i) CheckOperationRule(operations.At(i), path.Child("rules").Index(i), errors);
  if (Value policy = hook.Get("failurePolicy")) CheckOneOf(policy.AsString(), {"Fail", "Ignore"}, path.Child("failurePolicy"), errors);
  if (Value policy = hook.Get("matchPolicy")) CheckOneOf(policy.AsString(), {"Equivalent", "Exact"}, path.Child("matchPolicy"), errors);
  CheckSideEffects(hook.Get("sideEffects"), rules.any_side_effects, path.Child("sideEffects"), errors);
  if (timeout && (timeout.AsInt() > 30 || timeout.AsInt() < 1)) {
    errors.Invalid(path.Child("timeoutSeconds"), timeout, "the timeout value must be between 1 and 30 seconds");
  }
  CheckLabelSelector(hook.Get("namespaceSelector"), path.Child("namespaceSelector"), errors, rules.selectors);
  CheckLabelSelector(hook.Get("objectSelector"), path.Child("objectSelector"), errors, rules.selectors);
  if (Value policy = hook.Get("reinvocationPolicy")) {
    CheckOneOf(policy.AsString(), {"IfNeeded", "Never"}, path.Child("reinvocationPolicy"), errors);
  }
  CheckWebhookClient(hook.Get("clientConfig"), path.Child("clientConfig"), errors);
  if (!rules.same_conditions) CheckMatchConditions(hook.Get("matchConditions"), false, path.Child("matchConditions"), errors);
}

bool IsRecognized(const Value& versions) {
  return std::ranges::any_of(versions.items(), [](const Value& version) { return IsOneOf(version.AsString(), {"v1", "v1beta1"}); });
}

void CheckReviewVersions(const Value& versions, bool any, const FieldPath& path, FieldErrors& errors) {
  if (versions.empty()) return errors.Required(path, "must specify one of v1, v1beta1");
  std::set<std::string_view> seen;
  for (size_t i = 0; i < versions.size(); ++i) {
    std::string_view version = versions.At(i).AsString();
    if (!seen.insert(version).second) {
      errors.Invalid(path.Index(i), version, "duplicate version");
    } else {
      AddInvalid(errors, path.Index(i), version, object::IsDNS1035Label(version));
    }
  }
  if (!any && !IsRecognized(versions)) errors.Invalid(path, versions, "must include at least one of v1, v1beta1");
}

void CheckConfiguration(const Value& configuration, const WebhookRules& rules, FieldErrors& errors) {
  FieldPath list_path("webhooks");
  Value hooks = configuration.Get("webhooks");
  std::set<std::string_view> names;
  for (size_t i = 0; i < hooks.size(); ++i) {
    FieldPath path = list_path.Index(i);
    CheckHook(hooks.At(i), rules, path, errors);
    CheckReviewVersions(hooks.At(i).Get("admissionReviewVersions"), rules.any_review_version, path.Child("admissionReviewVersions"), errors);
    std::string_view name = hooks.At(i).Get("name").AsString();
    if (!rules.repeated_names && !name.empty() && !names.insert(name).second) errors.Duplicate(path.Child("name"), name);
  }
}

WebhookRules RulesFor(const Value& configuration, const Value& old) {
  WebhookRules rules;
  rules.same_conditions = std::ranges::equal(configuration.Get("webhooks").items(), old.Get("webhooks").items(), [](const Value& a, const Value& b) {
    return object::Equal(a.Get("matchConditions"), b.Get("matchConditions"));
  });
  std::set<std::string_view> names;
  for (const Value& hook : old.Get("webhooks").items()) {
    if (!IsOneOf(hook.Get("sideEffects").AsString(), {"None", "NoneOnDryRun"})) rules.any_side_effects = true;
    if (!IsRecognized(hook.Get("admissionReviewVersions"))) rules.any_review_version = true;
    if (!names.insert(hook.Get("name").AsString()).second) rules.repeated_names = true;
    for (std::string_view field : {"namespaceSelector", "objectSelector"}) {
      if (HasInvalidLabelValue(hook.Get(field))) rules.selectors.allow_invalid_values = true;
    }
  }
  return rules;
}

void CheckNew(RuleContext&, Value configuration, FieldErrors& errors) { CheckConfiguration(configuration, {}, errors); }
void CheckUpdate(RuleContext&, Value configuration, Value old, FieldErrors& errors) {
  CheckConfiguration(configuration, RulesFor(configuration, old), errors);
}

bool Has(const Value& list, std::string_view text) {
  return std::ranges::any_of(list.items(), [&](const Value& item) { return item.AsString() == text; });
}

void CheckResources(const Value& resources, const FieldPath& path, FieldErrors& errors) {
  if (resources.empty()) errors.Required(path);
  std::set<std::string_view> whole, everywhere;  // pods/*, */status
  bool named = false;
  for (size_t i = 0; i < resources.size(); ++i) {
    std::string_view text = resources.At(i).AsString();
    if (text.empty()) {
      errors.Required(path.Index(i));
      continue;
    }
    size_t slash = text.find('/');
    if (slash == text.npos) {
      named = text != "*";
      continue;
    }
    std::string_view resource = text.substr(0, slash), sub = text.substr(slash + 1);
    auto refuse = [&](const std::string& present) {
      errors.Invalid(path.Index(i), text, "if '" + present + "' is present, must not specify " + std::string(text));
    };
    if (whole.contains(resource)) refuse(std::string(resource) + "/*");
    if (everywhere.contains(sub)) refuse("*/" + std::string(sub));
    if (sub == "*") whole.insert(resource);
    if (resource == "*") everywhere.insert(sub);
  }
  if (resources.size() > 1 && Has(resources, "*/*")) {
    errors.Invalid(path, resources, "if '*/*' is present, must not specify other resources");
  }
  if (Has(resources, "*") && named) {
    errors.Invalid(path, resources, "if '*' is present, must not specify other resources without subresources");
  }
}

}  // namespace

void CheckOperationRule(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  auto wildcard = [&](std::string_view field, std::string_view what) {
    Value list = rule.Get(field);
    if (list.empty()) errors.Required(path.Child(field));
    if (list.size() > 1 && Has(list, "*")) {
      errors.Invalid(path.Child(field), list, "if '*' is present, must not specify other " + std::string(what));
    }
    return list;
  };
  Value operations = wildcard("operations", "operations");
  for (size_t i = 0; i < operations.size(); ++i) {
    CheckOneOf(operations.At(i).AsString(), {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}, path.Child("operations").Index(i), errors);
  }
  wildcard("apiGroups", "API groups");
  Value versions = wildcard("apiVersions", "API versions");
  for (size_t i = 0; i < versions.size(); ++i) {
    if (versions.At(i).AsString().empty()) errors.Required(path.Child("apiVersions").Index(i));
  }
  CheckResources(rule.Get("resources"), path.Child("resources"), errors);
  if (Value scope = rule.Get("scope")) CheckOneOf(scope.AsString(), {"*", "Cluster", "Namespaced"}, path.Child("scope"), errors);
}

void WarnOfStaticName(RuleContext& context, Value object, Value) {
  if (context.warnings == nullptr || !object.Path({"metadata", "name"}).AsString().ends_with(".static.k8s.io")) return;
  context.warnings->emplace_back(
      "metadata.name: names ending with \".static.k8s.io\" are reserved for static manifest-based configurations and cannot be managed "
      "via the API");
}

const Behaviour kValidatingWebhookConfiguration{.group = "admissionregistration.k8s.io", .kind = "ValidatingWebhookConfiguration",
                                                .validate_create = CheckNew, .validate_update = CheckUpdate, .warn = WarnOfStaticName, .empty_raises_generation = true};
const Behaviour kMutatingWebhookConfiguration{.group = "admissionregistration.k8s.io", .kind = "MutatingWebhookConfiguration",
                                              .validate_create = CheckNew, .validate_update = CheckUpdate, .warn = WarnOfStaticName, .empty_raises_generation = true};

}  // namespace homeostat::kinds
