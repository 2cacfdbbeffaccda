#include "kinds/core/scheduling.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "homeostat/base/text.h"

namespace homeostat::kinds {
namespace {

void CheckNodeRequirement(const Value& requirement, bool allow_invalid_values, const FieldPath& path, FieldErrors& errors) {
  std::string_view op = requirement.Get("operator").AsString();
  Value values = requirement.Get("values");
  if (op == "In" || op == "NotIn") {
    if (values.empty()) errors.Required(path.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) errors.Forbidden(path.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else if (op == "Gt" || op == "Lt") {
    if (values.size() != 1) errors.Required(path.Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else {
    errors.Invalid(path.Child("operator"), op, "not a valid selector operator");
  }
  CheckQualifiedName(requirement.Get("key").AsString(), path.Child("key"), errors);
  if (allow_invalid_values) return;
  for (size_t i = 0; i < values.size(); ++i) {
    AddInvalid(errors, path.Child("values").Index(i), values.At(i), object::IsValidLabelValue(values.At(i).AsString()));
  }
}

void CheckNodeFieldRequirement(const Value& requirement, const FieldPath& path, FieldErrors& errors) {
  std::string_view op = requirement.Get("operator").AsString(), key = requirement.Get("key").AsString();
  Value values = requirement.Get("values");
  if (op == "In" || op == "NotIn") {
    if (values.size() != 1) {
      errors.Required(path.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
    }
  } else {
    errors.Invalid(path.Child("operator"), op, "not a valid selector operator");
  }
  if (key != "metadata.name") return errors.Invalid(path.Child("key"), key, "not a valid field selector key");
  for (size_t i = 0; i < values.size(); ++i) CheckDns1123Subdomain(values.At(i).AsString(), path.Child("values").Index(i), errors);
}

void CheckPodTerm(const Value& term, const PodRules& rules, const FieldPath& path, FieldErrors& errors) {
  SelectorRules selector_rules{rules.allow_invalid_selector_values};
  CheckLabelSelector(term.Get("labelSelector"), path.Child("labelSelector"), errors, selector_rules);
  CheckLabelSelector(term.Get("namespaceSelector"), path.Child("namespaceSelector"), errors, selector_rules);
  for (const Value& name : term.Get("namespaces").items()) CheckDns1123Label(name.AsString(), path.Child("namespace"), errors);
  CheckMergedLabelKeys(term.Get("matchLabelKeys"), term.Get("mismatchLabelKeys"), term.Get("labelSelector"), path, errors);
  std::string_view key = term.Get("topologyKey").AsString();
  if (key.empty()) errors.Required(path.Child("topologyKey"), "can not be empty");
  CheckQualifiedName(key, path.Child("topologyKey"), errors);
}

void CheckWeight(const Value& weighted, const FieldPath& path, FieldErrors& errors) {
  int64_t weight = weighted.Get("weight").AsInt();
  if (weight <= 0 || weight > 100) errors.Invalid(path.Child("weight"), weight, "must be in the range 1-100");
}

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

void CheckNodeAffinity(const Value& affinity, const PodRules& rules, const FieldPath& path, FieldErrors& errors) {
  if (Value required = affinity.Get(kRequired)) {
    CheckNodeSelector(required, rules.allow_invalid_node_affinity_values, path.Child(kRequired), errors);
  }
  Value preferred = affinity.Get(kPreferred);
  for (size_t i = 0; i < preferred.size(); ++i) {
    FieldPath at = path.Child(kPreferred).Index(i);
    CheckWeight(preferred.At(i), at, errors);
    CheckNodeSelectorTerm(preferred.At(i).Get("preference"), true, at.Child("preference"), errors);
  }
}

void CheckPodAffinity(const Value& affinity, const PodRules& rules, const FieldPath& path, FieldErrors& errors) {
  Value required = affinity.Get(kRequired), preferred = affinity.Get(kPreferred);
  for (size_t i = 0; i < required.size(); ++i) CheckPodTerm(required.At(i), rules, path.Child(kRequired).Index(i), errors);
  for (size_t i = 0; i < preferred.size(); ++i) {
    FieldPath at = path.Child(kPreferred).Index(i);
    CheckWeight(preferred.At(i), at, errors);
    CheckPodTerm(preferred.At(i).Get("podAffinityTerm"), rules, at.Child("podAffinityTerm"), errors);
  }
}

void CheckLabelKeys(const Value& keys, const Value& selector, const FieldPath& path, FieldErrors& errors) {
  if (keys.empty()) return;
  if (!selector) return errors.Forbidden(path, "must not be specified when labelSelector is not set");
  for (size_t i = 0; i < keys.size(); ++i) CheckQualifiedName(keys.At(i).AsString(), path.Index(i), errors);
}

// Without merging: a key may not be in the selector at all.
void CheckUnmergedLabelKeys(const Value& keys, const Value& selector, const FieldPath& path, FieldErrors& errors) {
  if (keys.empty()) return;
  std::set<std::string_view> selected;
  for (const object::Member& label : selector.Get("matchLabels").members()) selected.insert(label.name());
  for (const Value& expression : selector.Get("matchExpressions").items()) selected.insert(expression.Get("key").AsString());
  if (!selector) errors.Forbidden(path, "must not be specified when labelSelector is not set");
  for (size_t i = 0; i < keys.size(); ++i) {
    std::string_view key = keys.At(i).AsString();
    CheckQualifiedName(key, path.Index(i), errors);
    if (selected.contains(key)) errors.Invalid(path.Index(i), key, "exists in both matchLabelKeys and labelSelector");
  }
}

void CheckComparison(std::string_view value, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(errors, path.Child("value"), value, object::IsDecimalInteger(value));
  int64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc::result_out_of_range) {
    errors.Invalid(path.Child("value"), value, "strconv.ParseInt: parsing " + GoQuote(value) + ": value out of range");
  } else if (error != std::errc() || end != value.data() + value.size()) {
    errors.Invalid(path.Child("value"), value, "strconv.ParseInt: parsing " + GoQuote(value) + ": invalid syntax");
  }
}

void CheckTolerationValue(const Value& toleration, const PodRules& rules, const FieldPath& path, FieldErrors& errors) {
  std::string_view op = toleration.Get("operator").AsString(), value = toleration.Get("value").AsString();
  if (op == "Equal" || op.empty()) {
    Messages messages = object::IsValidLabelValue(value);
    std::string joined;
    for (const std::string& message : messages) joined += (joined.empty() ? "" : ";") + message;
    if (!messages.empty()) errors.Invalid(path.Child("operator"), value, joined);
  } else if (op == "Exists") {
    if (!value.empty()) errors.Invalid(path.Child("operator"), value, "value must be empty when `operator` is 'Exists'");
  } else if (op == "Lt" || op == "Gt") {
    if (rules.allow_comparing_tolerations) CheckComparison(value, path, errors);
    else errors.NotSupported(path.Child("operator"), op, {"Equal", "Exists", "Lt", "Gt"});
  } else {
    errors.NotSupported(path.Child("operator"), op, {"Equal", "Exists"});
  }
}

}  // namespace

void CheckNodeSelectorTerm(const Value& term, bool allow_invalid_values, const FieldPath& path, FieldErrors& errors) {
  Value expressions = term.Get("matchExpressions"), fields = term.Get("matchFields");
  for (size_t i = 0; i < expressions.size(); ++i) {
    CheckNodeRequirement(expressions.At(i), allow_invalid_values, path.Child("matchExpressions").Index(i), errors);
  }
  for (size_t i = 0; i < fields.size(); ++i) CheckNodeFieldRequirement(fields.At(i), path.Child("matchFields").Index(i), errors);
}

void CheckNodeSelector(const Value& selector, bool allow_invalid_values, const FieldPath& path, FieldErrors& errors) {
  Value terms = selector.Get("nodeSelectorTerms");
  if (terms.empty()) return errors.Required(path.Child("nodeSelectorTerms"), "must have at least one node selector term");
  for (size_t i = 0; i < terms.size(); ++i) {
    CheckNodeSelectorTerm(terms.At(i), allow_invalid_values, path.Child("nodeSelectorTerms").Index(i), errors);
  }
}

bool HasInvalidNodeSelectorValues(const Value& node_selector) {
  return std::ranges::any_of(node_selector.Get("nodeSelectorTerms").items(), HasInvalidLabelValue);
}

void CheckAffinity(const Value& affinity, const PodRules& rules, const FieldPath& path, FieldErrors& errors) {
  if (Value node = affinity.Get("nodeAffinity")) CheckNodeAffinity(node, rules, path.Child("nodeAffinity"), errors);
  for (std::string_view field : {"podAffinity", "podAntiAffinity"}) {
    if (Value pods = affinity.Get(field)) CheckPodAffinity(pods, rules, path.Child(field), errors);
  }
}

void CheckTaintEffect(std::string_view effect, bool allow_empty, const FieldPath& path, FieldErrors& errors) {
  if (effect.empty() && !allow_empty) return errors.Required(path);
  CheckOneOf(effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}, path, errors);
}

void CheckTolerations(const Value& tolerations, const PodRules& rules, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < tolerations.size(); ++i) {
    Value toleration = tolerations.At(i);
    FieldPath at = path.Index(i);
    std::string_view key = toleration.Get("key").AsString(), op = toleration.Get("operator").AsString();
    std::string_view effect = toleration.Get("effect").AsString();
    if (!key.empty()) CheckQualifiedName(key, at.Child("key"), errors);
    if (key.empty() && op != "Exists") {
      errors.Invalid(at.Child("operator"), op, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
    }
    if (toleration.Get("tolerationSeconds") && effect != "NoExecute") {
      errors.Invalid(at.Child("effect"), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    }
    CheckTolerationValue(toleration, rules, at, errors);
    if (!effect.empty()) CheckTaintEffect(effect, true, at.Child("effect"), errors);
  }
}

void CheckMergedLabelKeys(const Value& match, const Value& mismatch, const Value& selector, const FieldPath& path, FieldErrors& errors) {
  CheckLabelKeys(match, selector, path.Child("matchLabelKeys"), errors);
  CheckLabelKeys(mismatch, selector, path.Child("mismatchLabelKeys"), errors);
  // Merging adds one requirement for a key: another one means that the key was there before.
  std::map<std::string_view, size_t> positions;
  for (size_t i = 0; i < match.size(); ++i) positions[match.At(i).AsString()] = i;
  std::set<std::string_view> selected;
  for (const object::Member& label : selector.Get("matchLabels").members()) selected.insert(label.name());
  for (const Value& expression : selector.Get("matchExpressions").items()) {
    std::string_view key = expression.Get("key").AsString();
    auto position = positions.find(key);
    if (position != positions.end() && selected.contains(key)) {
      errors.Invalid(path.Index(position->second), key, "exists in both matchLabelKeys and labelSelector");
    }
    selected.insert(key);
  }
  for (size_t i = 0; i < match.size(); ++i) {
    std::string_view key = match.At(i).AsString();
    bool both = std::ranges::any_of(mismatch.items(), [&](const Value& other) { return other.AsString() == key; });
    if (both) errors.Invalid(path.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys");
  }
}

void CheckTopologySpread(const Value& constraints, const PodRules& rules, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < constraints.size(); ++i) {
    Value constraint = constraints.At(i);
    FieldPath at = path.Index(i);
    std::string_view key = constraint.Get("topologyKey").AsString(), action = constraint.Get("whenUnsatisfiable").AsString();
    CheckPositive(constraint.Get("maxSkew").AsInt(), at.Child("maxSkew"), errors);
    if (key.empty()) errors.Required(at.Child("topologyKey"), "can not be empty");
    CheckOneOf(action, {"DoNotSchedule", "ScheduleAnyway"}, at.Child("whenUnsatisfiable"), errors);
    for (size_t j = i + 1; j < constraints.size(); ++j) {
      if (constraints.At(j).Get("topologyKey").AsString() != key || constraints.At(j).Get("whenUnsatisfiable").AsString() != action) continue;
      errors.Duplicate(at.Child("{topologyKey, whenUnsatisfiable}"), "{" + std::string(key) + ", " + std::string(action) + "}");
      break;
    }
    if (Value domains = constraint.Get("minDomains")) {
      CheckPositive(domains.AsInt(), at.Child("minDomains"), errors);
      if (action != "DoNotSchedule") {
        errors.Invalid(at.Child("minDomains"), domains,
                       "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not " + std::string(action));
      }
    }
    for (std::string_view field : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
      if (Value policy = constraint.Get(field)) CheckOneOf(policy.AsString(), {"Honor", "Ignore"}, at.Child(field), errors);
    }
    Value keys = constraint.Get("matchLabelKeys"), selector = constraint.Get("labelSelector");
    if (rules.old_match_label_keys_invalid) {
      CheckUnmergedLabelKeys(keys, selector, at.Child("matchLabelKeys"), errors);
    } else {
      CheckMergedLabelKeys(keys, Value(), selector, at, errors);
    }
    if (!rules.allow_invalid_spread_selector) CheckLabelSelector(selector, at.Child("labelSelector"), errors);
  }
}

}  // namespace homeostat::kinds
