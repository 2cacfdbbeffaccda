#include "kinds/resource/device_checks.h"

#include <algorithm>
#include <string>

#include "homeostat/object/json.h"
#include "kinds/core/volumes.h"
#include "kinds/resource/device_selector.h"

namespace homeostat::kinds {
namespace {

constexpr size_t kMaxSelectors = 32, kMaxBindingConditions = 4, kMaxParameters = 10 * 1024;
constexpr int64_t kMaxPoolName = 253, kMaxIdentifier = 32;
constexpr std::string_view kTaintEffects[] = {"NoExecute", "NoSchedule", "None"};

void CheckIdentifier(std::string_view id, const FieldPath& path, FieldErrors& errors) {
  if (static_cast<int64_t>(id.size()) > kMaxIdentifier) errors.TooLong(path, kMaxIdentifier);
  AddInvalid(errors, path, id, object::IsCIdentifier(id));
}

void CheckLabelValue(std::string_view value, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(errors, path, value, object::IsValidLabelValue(value));
}

bool Has(const Value& list, std::string_view text) {
  return std::ranges::any_of(list.items(), [&](const Value& item) { return item.AsString() == text; });
}

}  // namespace

void CheckPoolName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) return errors.Required(path);
  if (static_cast<int64_t>(name.size()) > kMaxPoolName) errors.TooLong(path, kMaxPoolName);
  while (true) {
    size_t slash = name.find('/');
    CheckDns1123Subdomain(name.substr(0, slash), path, errors);
    if (slash == name.npos) return;
    name.remove_prefix(slash + 1);
  }
}

void CheckUid(std::string_view uid, const FieldPath& path, FieldErrors& errors) {
  auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  bool formed = uid.size() == 36;
  if (!formed) return errors.Invalid(path, uid, "error validating uid: invalid UUID length: " + std::to_string(uid.size()));
  for (size_t i = 0; i < uid.size(); ++i) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    formed = formed && (dash ? uid[i] == '-' : is_hex(uid[i]));
  }
  if (!formed) return errors.Invalid(path, uid, "error validating uid: invalid UUID format");
  if (std::ranges::none_of(uid, [](char c) { return c >= 'A' && c <= 'F'; })) return;
  errors.Invalid(path, uid,
                 "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters");
}

void CheckDeviceQualifiedName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  size_t slash = name.find('/');
  if (slash == name.npos) return CheckIdentifier(name, path, errors);
  std::string_view domain = name.substr(0, slash), id = name.substr(slash + 1);
  if (id.find('/') != id.npos) return;  // upstream looks at none of three parts
  if (domain.empty()) {
    errors.Invalid(path, "", "the domain must not be empty");
  } else {
    CheckCsiDriverName(domain, path, errors);
  }
  if (id.empty()) return errors.Invalid(path, "", "the name must not be empty");
  CheckIdentifier(id, path, errors);
}

void CheckDeviceSelectors(const Value& selectors, const FieldPath& path, FieldErrors& errors) {
  CheckItems(selectors, kMaxSelectors, path, errors, [&](const Value& selector, const FieldPath& at) {
    Value cel = selector.Get("cel");
    if (!cel) return errors.Required(at.Child("cel"));
    CheckDeviceExpression(cel.Get("expression").AsString(), at.Child("cel", "expression"), errors);
  });
}

void CheckRawObject(const Value& raw, size_t limit, const FieldPath& path, FieldErrors& errors) {
  if (!raw) return errors.Required(path);
  if (object::JsonText(raw).size() > limit) return errors.TooLong(path, static_cast<int64_t>(limit));
  if (!raw.IsObject()) errors.Invalid(path, "<value omitted>", "must be a valid JSON object");
}

void CheckDeviceConfiguration(const Value& config, const FieldPath& path, FieldErrors& errors) {
  Value opaque = config.Get("opaque");
  if (!opaque) return errors.Required(path.Child("opaque"));
  CheckCsiDriverName(opaque.Get("driver").AsString(), path.Child("opaque", "driver"), errors);
  CheckRawObject(opaque.Get("parameters"), kMaxParameters, path.Child("opaque", "parameters"), errors);
}

void CheckDeviceTaint(const Value& taint, const FieldPath& path, FieldErrors& errors) {
  std::string_view value = taint.Get("value").AsString();
  CheckQualifiedName(taint.Get("key").AsString(), path.Child("key"), errors);
  if (!value.empty()) CheckLabelValue(value, path.Child("value"), errors);
  RequireOneOf(taint.Get("effect").AsString(), kTaintEffects, path.Child("effect"), errors);
}

void CheckDeviceToleration(const Value& toleration, const FieldPath& path, FieldErrors& errors) {
  std::string_view key = toleration.Get("key").AsString(), value = toleration.Get("value").AsString();
  std::string_view comparison = toleration.Get("operator").AsString(), effect = toleration.Get("effect").AsString();
  if (!key.empty()) CheckQualifiedName(key, path.Child("key"), errors);
  if (comparison == "Exists") {
    if (!value.empty()) errors.Invalid(path.Child("value"), value, "must be empty for operator `Exists`");
  } else if (comparison == "Equal") {
    CheckLabelValue(value, path.Child("value"), errors);
  } else {
    RequireOneOf(comparison, {"Equal", "Exists"}, path.Child("operator"), errors);
  }
  if (!effect.empty()) CheckOneOf(effect, kTaintEffects, path.Child("effect"), errors);
}

void CheckBindingConditions(const Value& holder, const FieldPath& path, FieldErrors& errors) {
  Value conditions = holder.Get("bindingConditions"), failures = holder.Get("bindingFailureConditions");
  FieldPath conditions_path = path.Child("bindingConditions"), failures_path = path.Child("bindingFailureConditions");
  auto check = [&](const Value& name, const FieldPath& at) { CheckQualifiedName(name.AsString(), at, errors); };
  CheckItems(conditions, kMaxBindingConditions, conditions_path, errors, check);
  CheckItems(failures, kMaxBindingConditions, failures_path, errors, check);
  std::set<std::string_view> seen;
  for (size_t i = 0; i < conditions.size(); ++i) {
    if (!seen.insert(conditions.At(i).AsString()).second) errors.Duplicate(conditions_path.Index(i), conditions.At(i));
  }
  seen.clear();
  for (size_t i = 0; i < failures.size(); ++i) {
    std::string_view name = failures.At(i).AsString();
    if (!seen.insert(name).second) errors.Duplicate(failures_path.Index(i), name);
    if (Has(conditions, name)) {
      errors.Invalid(failures_path.Index(i), name, "bindingFailureConditions must not overlap with bindingConditions");
    }
  }
  if (conditions.empty() && !failures.empty()) {
    errors.Invalid(conditions_path, BadValue::Null(), "bindingConditions are required to use bindingFailureConditions");
  }
  if (failures.empty() && !conditions.empty()) {
    errors.Invalid(failures_path, BadValue::Null(), "bindingFailureConditions are required to use bindingConditions");
  }
}

}  // namespace homeostat::kinds
