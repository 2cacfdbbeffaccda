#include "kinds/group_checks.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "homeostat/object/quantity.h"
#include "homeostat/object/selectors.h"
#include "homeostat/schema/diff.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

constexpr int64_t kMaxReason = 1024, kMaxMessage = 32 * 1024;

bool IsReason(std::string_view text) {
  auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.empty() || !letter(text.front())) return false;
  if (!std::ranges::all_of(text, [&](char c) { return letter(c) || digit(c) || c == '_' || c == ',' || c == ':'; })) return false;
  return letter(text.back()) || digit(text.back()) || text.back() == '_';
}

void CheckCondition(const Value& condition, const FieldPath& path, FieldErrors& errors) {
  std::string_view status = condition.Get("status").AsString(), reason = condition.Get("reason").AsString();
  CheckQualifiedName(condition.Get("type").AsString(), path.Child("type"), errors);
  CheckOneOf(status, {"False", "True", "Unknown"}, path.Child("status"), errors);
  int64_t generation = condition.Get("observedGeneration").AsInt();
  if (generation < 0) errors.Invalid(path.Child("observedGeneration"), generation, "must be greater than or equal to zero");
  if (!condition.Get("lastTransitionTime")) errors.Required(path.Child("lastTransitionTime"));
  if (reason.empty()) errors.Required(path.Child("reason"));
  if (!reason.empty() && !IsReason(reason)) {
    errors.Invalid(path.Child("reason"), reason,
                   object::RegexError("a condition reason must start with alphabetic character, optionally followed by a string of "
                                      "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
                                      "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", {"my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"}));
  }
  if (static_cast<int64_t>(reason.size()) > kMaxReason) errors.TooLong(path.Child("reason"), kMaxReason);
  if (static_cast<int64_t>(condition.Get("message").AsString().size()) > kMaxMessage) errors.TooLong(path.Child("message"), kMaxMessage);
}

}  // namespace

void CheckNonNegativeFields(const Value& holder, std::initializer_list<std::string_view> fields, const FieldPath& path,
                            FieldErrors& errors) {
  for (std::string_view field : fields) CheckNonNegative(holder.Get(field).AsInt(), path.Child(field), errors);
}

void CheckNonNegativeQuantity(const Value& quantity, const FieldPath& path, FieldErrors& errors) {
  auto parsed = object::Quantity::Parse(quantity.AsString());
  if (parsed && parsed->Sign() < 0) errors.Invalid(path, quantity, kIsNegative);
}

void CheckNotGreater(const Value& holder, std::initializer_list<std::string_view> fields, std::string_view other, std::string_view than,
                     const FieldPath& path, FieldErrors& errors) {
  for (std::string_view field : fields) {
    int64_t value = holder.Get(field).AsInt();
    if (value > holder.Get(other).AsInt()) errors.Invalid(path.Child(field), value, "cannot be greater than " + std::string(than));
  }
}

void CheckNotDecremented(const Value& status, const Value& old_status, std::string_view field, const FieldPath& path, FieldErrors& errors) {
  Value before = old_status.Get(field), now = status.Get(field);
  if (before && (!now || now.AsInt() < before.AsInt())) errors.Invalid(path.Child(field), now.AsInt(), "cannot be decremented");
}

int64_t IntOrPercent(const Value& value) {
  if (!value.IsString()) return value.AsInt();
  std::string_view text = value.AsString();
  if (object::IsValidPercent(text).empty()) text.remove_suffix(1);
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

void CheckPathSegment(std::string_view value, const FieldPath& path, FieldErrors& errors) {
  AddInvalid(errors, path, value, object::IsValidPathSegmentName(value));
}

void CheckDomainPrefixedPath(std::string_view value, const FieldPath& path, FieldErrors& errors) {
  if (value.empty()) return errors.Required(path);
  size_t slash = value.find('/');
  if (slash == value.npos || slash == 0 || slash + 1 == value.size()) {
    return errors.Invalid(path, value, "must be a domain-prefixed path (such as \"acme.io/foo\")");
  }
  std::string_view domain = value.substr(0, slash), rest = value.substr(slash + 1);
  AddInvalid(errors, path, domain, object::IsDNS1123Subdomain(domain));
  if (!object::IsHTTPPath(rest)) {
    errors.Invalid(path, rest, object::RegexError("Invalid path", R"([A-Za-z0-9/\-._~%!$&'()*+,;=:]+)"));
  }
}

void CheckFullyQualifiedDomainName(std::string_view value, const FieldPath& path, FieldErrors& errors) {
  if (value.empty()) return errors.Required(path);
  std::string_view name = value.ends_with('.') ? value.substr(0, value.size() - 1) : value;
  object::Messages messages = object::IsDNS1123Subdomain(name);
  if (!messages.empty()) return AddInvalid(errors, path, value, messages);
  if (name.find('.') == name.npos) return errors.Invalid(path, value, "should be a domain with at least two segments separated by dots");
  while (true) {
    size_t dot = name.find('.');
    std::string_view label = name.substr(0, dot);
    AddInvalid(errors, path, label, object::IsDNS1123Label(label));
    if (dot == name.npos) return;
    name.remove_prefix(dot + 1);
  }
}

std::vector<std::string> NameIsPathSegment(std::string_view name, bool) { return object::IsValidPathSegmentName(name); }
std::vector<std::string> LongName(std::string_view name, bool prefix) {
  std::vector<std::string> messages = object::NameIsDNSSubdomain(name, prefix);
  for (std::string& message : messages) {
    if (message.starts_with("must be no more than")) message = "must be no more than 253 bytes";
  }
  return messages;
}

std::vector<std::string> NameIsAnything(std::string_view, bool) { return {}; }

std::optional<bool> Selects(const Value& selector, const Value& labels) {
  auto parsed = object::LabelSelector::FromLabelSelector(selector);
  if (!parsed) return std::nullopt;
  return parsed->Matches(labels);
}

bool SelectsEverything(const Value& selector) {
  return selector && selector.Get("matchLabels").empty() && selector.Get("matchExpressions").empty();
}

bool HasCondition(const Value& conditions, std::string_view type, std::string_view status) {
  return std::ranges::any_of(conditions.items(), [&](const Value& condition) {
    return condition.Get("type").AsString() == type && condition.Get("status").AsString() == status;
  });
}

void CheckConditions(const Value& conditions, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < conditions.size(); ++i) {
    std::string_view type = conditions.At(i).Get("type").AsString();
    if (!seen.insert(type).second) errors.Duplicate(path.Index(i).Child("type"), type);
    CheckCondition(conditions.At(i), path.Index(i), errors);
  }
}

void CheckImmutableInternal(const schema::Type& struct_type, std::string_view field, const Value& object, const Value& old,
                            const FieldPath& path, FieldErrors& errors) {
  const schema::Field& known = *struct_type.FindField(field);
  Value value = object.Get(field);
  if (SameField(known, value, old.Get(field))) return;
  if (known.type->form == schema::Form::kString && (!value || known.type->go_name.empty())) return errors.Invalid(path.Child(field), ShownField(known, value), kImmutable);
  if (!value && known.type->form == schema::Form::kStruct && !known.Has(schema::kPointer)) value = Value::EmptyObject();
  FieldPath at = path.Child(field);
  errors.Invalid(at, value ? InternalValue(*known.type, value, {.came_empty = errors.empty_fields(), .path = at.String()}) : BadValue::Null(), kImmutable);
}

void WarnOfPodNames(const Value& object, std::vector<std::string>& warnings) {
  object::Messages messages = object::IsDNS1123Label(object.Path({"metadata", "name"}).AsString());
  if (messages.empty()) return;
  std::string text;
  for (const std::string& message : messages) text += (text.empty() ? "" : " ") + message;
  warnings.push_back(
      "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is "
      "recommended: [" + text + "]");
}

bool GenerationChanged(const Value& object, const Value& old) {
  return object.Path({"metadata", "generation"}).AsInt() != old.Path({"metadata", "generation"}).AsInt();
}

}  // namespace homeostat::kinds
