#include "kinds/checks.h"

#include <algorithm>

#include "homeostat/base/text.h"
#include "homeostat/object/ip.h"
#include "homeostat/schema/diff.h"

namespace homeostat::kinds {
namespace {

void CheckRequirement(const Value& requirement, const FieldPath& path, FieldErrors& errors, SelectorRules rules) {
  std::string_view op = requirement.Get("operator").AsString();
  Value values = requirement.Get("values");
  if (op == "In" || op == "NotIn") {
    if (values.empty()) errors.Required(path.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) errors.Forbidden(path.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else {
    errors.Invalid(path.Child("operator"), op, "not a valid selector operator");
  }
  CheckQualifiedName(requirement.Get("key").AsString(), path.Child("key"), errors);
  if (rules.allow_invalid_values) return;
  for (size_t i = 0; i < values.size(); ++i) {
    std::string_view value = values.At(i).AsString();
    AddInvalid(errors, path.Child("values").Index(i), value, object::IsValidLabelValue(value));
  }
}

bool IsPercent(std::string_view text, int64_t& percent) {
  if (text.size() < 2 || text.back() != '%') return false;
  std::string_view digits = text.substr(0, text.size() - 1);
  if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return false;
  percent = 0;
  for (char c : digits) percent = std::min<int64_t>(percent * 10 + (c - '0'), 1'000'000);
  return true;
}

}  // namespace

std::string Joined(const Messages& messages) {
  std::string text;
  for (const std::string& message : messages) text += (text.empty() ? "" : ",") + message;
  return text;
}

void CheckDns1123Label(std::string_view value, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(errors, path, value, object::IsDNS1123Label(value));
}

void CheckDns1123Subdomain(std::string_view value, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(errors, path, value, object::IsDNS1123Subdomain(value));
}

void CheckQualifiedName(std::string_view value, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(errors, path, value, object::IsQualifiedName(value));
}

void RequireText(const Value& object, std::string_view field, const FieldPath& path, FieldErrors& errors) {
  if (object.Get(field).AsString().empty()) errors.Required(path.Child(field));
}

void CheckLabels(const Value& labels, const FieldPath& path, FieldErrors& errors) {
  for (const object::Member& label : labels.members()) {
    CheckQualifiedName(label.name(), path, errors);
    AddInvalid(errors, path, label.value, object::IsValidLabelValue(label.value.AsString()));
  }
}

void CheckAnnotations(const Value& annotations, const FieldPath& path, FieldErrors& errors) {
  size_t bytes = 0;
  for (const object::Member& entry : annotations.members()) {
    AddInvalid(errors, path, entry.name(), object::IsQualifiedName(LowerCase(entry.name())));
    bytes += entry.name().size() + entry.value.AsString().size();
  }
  if (bytes > object::kTotalAnnotationSizeLimit) errors.TooLong(path, object::kTotalAnnotationSizeLimit);
}

void CheckLabelSelector(const Value& selector, const FieldPath& path, FieldErrors& errors, SelectorRules rules) {
  if (!selector) return;
  CheckLabels(selector.Get("matchLabels"), path.Child("matchLabels"), errors);
  Value expressions = selector.Get("matchExpressions");
  for (size_t i = 0; i < expressions.size(); ++i) {
    CheckRequirement(expressions.At(i), path.Child("matchExpressions").Index(i), errors, rules);
  }
}

bool HasInvalidLabelValue(const Value& selector) {
  for (const Value& expression : selector.Get("matchExpressions").items()) {
    for (const Value& value : expression.Get("values").items()) {
      if (!object::IsValidLabelValue(value.AsString()).empty()) return true;
    }
  }
  return false;
}

void CheckNonNegative(int64_t value, const FieldPath& path, FieldErrors& errors) {
  if (value < 0) errors.Invalid(path, value, kIsNegative);
}

void CheckPositive(int64_t value, const FieldPath& path, FieldErrors& errors) {
  if (value <= 0) errors.Invalid(path, value, kNotPositive);
}

void CheckPortNumberOrName(const Value& port, const FieldPath& path, FieldErrors& errors) {
  if (port.IsString()) {
    AddInvalid(errors, path, port, object::IsValidPortName(port.AsString()));
  } else {
    AddInvalid(errors, path, port.AsInt(), object::IsValidPortNum(port.AsInt()));
  }
}

void CheckPositiveIntOrPercent(const Value& value, const FieldPath& path, FieldErrors& errors) {
  if (value.IsString()) {
    AddInvalid(errors, path, value, object::IsValidPercent(value.AsString()));
  } else {
    CheckNonNegative(value.AsInt(), path, errors);
  }
}

void CheckNotMoreThanHundredPercent(const Value& value, const FieldPath& path, FieldErrors& errors) {
  int64_t percent = 0;
  if (IsPercent(value.AsString(), percent) && percent > 100) errors.Invalid(path, value, "must not be greater than 100%");
}

bool IsOneOf(std::string_view value, Choices choices) {
  return std::ranges::find(choices.span(), value) != choices.span().end();
}

void CheckOneOf(std::string_view value, Choices choices, const FieldPath& path, FieldErrors& errors) {
  if (!IsOneOf(value, choices)) errors.NotSupported(path, value, choices.span());
}

void RequireOneOf(std::string_view value, Choices choices, const FieldPath& path, FieldErrors& errors) {
  if (value.empty()) {
    errors.Required(path);
  } else {
    CheckOneOf(value, choices, path, errors);
  }
}

bool HasBacksteps(std::string_view file) {
  while (true) {
    size_t slash = file.find('/');
    if (file.substr(0, slash) == "..") return true;
    if (slash == file.npos) return false;
    file.remove_prefix(slash + 1);
  }
}

void CheckNoBacksteps(std::string_view file, const FieldPath& path, FieldErrors& errors) {
  if (HasBacksteps(file)) errors.Invalid(path, file, "must not contain '..'");
}

void CheckDescendingPath(std::string_view file, const FieldPath& path, FieldErrors& errors) {
  if (file.starts_with('/')) errors.Invalid(path, file, "must be a relative path");
  CheckNoBacksteps(file, path, errors);
}

void CheckLocalPath(std::string_view file, const FieldPath& path, FieldErrors& errors) {
  CheckDescendingPath(file, path, errors);
  if (file.starts_with("..") && !file.starts_with("../")) errors.Invalid(path, file, "must not start with '..'");
}

void CheckMode(const Value& mode, const FieldPath& path, FieldErrors& errors) {
  if (mode && (mode.AsInt() < 0 || mode.AsInt() > 0777)) {
    errors.Invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive");
  }
}

void CheckLegacyIp(std::string_view value, const FieldPath& path, FieldErrors& errors, std::span<const std::string_view> old) {
  if (std::ranges::find(old, value) != old.end()) return;
  AddInvalid(errors, path, value, object::IsValidIPForLegacyField(value, true));
}

void CheckLegacyCidr(std::string_view value, const FieldPath& path, FieldErrors& errors, std::span<const std::string_view> old) {
  if (std::ranges::find(old, value) != old.end()) return;
  AddInvalid(errors, path, value, object::IsValidCIDRForLegacyField(value, true));
}

void CheckImmutableField(const schema::Type& struct_type, std::string_view field, const Value& object, const Value& old,
                         const FieldPath& path, FieldErrors& errors) {
  const schema::Field* known = struct_type.FindField(field);
  Value value = object.Get(field);
  if (!SameField(*known, value, old.Get(field))) errors.Invalid(path.Child(field), ShownField(*known, value), kImmutable);
}

bool SameField(const schema::Field& field, const Value& value, const Value& old) {
  if (field.Has(schema::kPointer) && static_cast<bool>(value) != static_cast<bool>(old)) return false;
  return schema::IsEqual(*field.type, value, old);
}

BadValue ShownField(const schema::Field& field, const Value& value) {
  // What a pointer leads to is shown as JSON has it.
  if (field.Has(schema::kPointer)) return BadValue::Json(BadValue(*field.type, value).AsJson());
  if (value) return BadValue(*field.type, value);
  switch (field.type->form) {
    case schema::Form::kBool: return BadValue(false);
    case schema::Form::kInt32:
    case schema::Form::kInt64:
    case schema::Form::kUint32:
    case schema::Form::kUint64:
    case schema::Form::kDouble: return BadValue(0);
    case schema::Form::kString: return BadValue("");
    case schema::Form::kStruct: return BadValue(*field.type, Value::EmptyObject());
    default: return BadValue::Null();
  }
}

}  // namespace homeostat::kinds
