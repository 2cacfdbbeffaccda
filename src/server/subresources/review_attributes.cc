#include "server/subresources/review_attributes.h"

#include "homeostat/object/names.h"
#include "homeostat/object/selectors.h"

namespace homeostat::server {
namespace {

namespace v1 = api::authorization::v1;
using object::Value;
using schema::FieldErrors;
using schema::FieldPath;

bool IsListed(std::string_view op) { return op == "In" || op == "NotIn"; }
bool IsExistence(std::string_view op) { return op == "Exists" || op == "DoesNotExist"; }

void CheckValues(const Value& requirement, const FieldPath& path, FieldErrors& errors) {
  std::string_view op = requirement.Get("operator").AsString();
  bool empty = requirement.Get("values").empty();
  if (IsListed(op) && empty) errors.Required(path.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
  // Operators that are not known may be a newer client's.
  if (IsExistence(op) && !empty) errors.Forbidden(path.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
}

void CheckFieldRequirement(const Value& requirement, const FieldPath& path, FieldErrors& errors) {
  if (requirement.Get("key").AsString().empty()) errors.Required(path.Child("key"), "must be specified");
  CheckValues(requirement, path, errors);
}

void CheckLabelRequirement(const Value& requirement, const FieldPath& path, FieldErrors& errors) {
  CheckValues(requirement, path, errors);
  std::string_view key = requirement.Get("key").AsString();
  for (const std::string& fault : object::IsQualifiedName(key)) errors.Invalid(path.Child("key"), key, fault);
  size_t index = 0;
  for (const Value& value : requirement.Get("values").items()) {
    for (const std::string& fault : object::IsValidLabelValue(value.AsString())) {
      errors.Invalid(path.Child("values").Index(index), value.AsString(), fault);
    }
    ++index;
  }
}

void CheckSelector(const Value& selector, const FieldPath& path, void (*check)(const Value&, const FieldPath&, FieldErrors&),
                   FieldErrors& errors) {
  if (!selector) return;
  std::string_view raw = selector.Get("rawSelector").AsString();
  Value requirements = selector.Get("requirements");
  if (!raw.empty() && !requirements.empty()) {
    errors.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements");
  }
  if (raw.empty() && requirements.empty()) {
    errors.Required(path.Child("requirements"), "when " + path.String() + " is specified, requirements or rawSelector is required");
  }
  for (size_t i = 0; i < requirements.size(); ++i) check(requirements.At(i), path.Child("requirements").Index(i), errors);
}

// What a selector asks for, whichever way it says so. `read` adds a requirement, if it is one that is understood. False: something
// was not understood.
template <class Selector, class Requirement>
bool ReadSelector(const Value& selector, bool (*read)(const Value&, std::vector<Requirement>&), std::vector<Requirement>& out) {
  std::string_view raw = selector.Get("rawSelector").AsString();
  Value requirements = selector.Get("requirements");
  bool whole = true;
  if (!raw.empty() && requirements.empty()) {
    auto parsed = Selector::Parse(raw);
    whole = parsed.has_value();
    if (parsed) out = parsed->requirements();
  }
  for (const Value& requirement : requirements.items()) whole = read(requirement, out) && whole;
  return whole;
}

bool ReadFieldRequirement(const Value& requirement, std::vector<object::FieldRequirement>& out) {
  std::string_view op = requirement.Get("operator").AsString();
  Value values = requirement.Get("values");
  if (!IsListed(op) || values.size() != 1) return false;
  out.push_back({std::string(requirement.Get("key").AsString()), std::string(values.At(0).AsString()), op == "In"});
  return true;
}

std::optional<object::SelectorOperator> OperatorOf(std::string_view op) {
  if (op == "In") return object::SelectorOperator::kIn;
  if (op == "NotIn") return object::SelectorOperator::kNotIn;
  if (op == "Exists") return object::SelectorOperator::kExists;
  if (op == "DoesNotExist") return object::SelectorOperator::kDoesNotExist;
  return std::nullopt;
}

bool ReadLabelRequirement(const Value& requirement, std::vector<object::LabelRequirement>& out) {
  auto op = OperatorOf(requirement.Get("operator").AsString());
  if (!op) return false;
  std::vector<std::string> values;
  for (const Value& value : requirement.Get("values").items()) values.emplace_back(value.AsString());
  auto made = object::LabelRequirement::Make(std::string(requirement.Get("key").AsString()), *op, std::move(values));
  if (made) out.push_back(*std::move(made));
  return made.has_value();
}

void TellFault(std::string_view which, bool some_left, std::string& fault) {
  if (!fault.empty()) fault += "; ";
  fault += "spec.resourceAttributes." + std::string(which) + (some_left ? " partially" : "") + " ignored due to parse error";
}

}  // namespace

void CheckSelectors(const v1::ResourceAttributes& asked, FieldErrors& errors) {
  FieldPath path = FieldPath("spec").Child("resourceAttributes");
  CheckSelector(asked.Raw().Get("fieldSelector"), path.Child("fieldSelector"), CheckFieldRequirement, errors);
  CheckSelector(asked.Raw().Get("labelSelector"), path.Child("labelSelector"), CheckLabelRequirement, errors);
}

auth::Attributes ToAttributes(const v1::ResourceAttributes& asked, std::string& fault) {
  auth::Attributes attributes;
  attributes.resource_request = true;
  attributes.ns = asked.namespace_();
  attributes.verb = asked.verb();
  attributes.group = asked.group();
  attributes.version = asked.version().empty() ? std::string_view("*") : asked.version();
  attributes.resource = asked.resource();
  attributes.subresource = asked.subresource();
  attributes.name = asked.name();
  if (!ReadSelector<object::FieldSelector>(asked.Raw().Get("fieldSelector"), ReadFieldRequirement, attributes.field_selector)) {
    TellFault("fieldSelector", !attributes.field_selector.empty(), fault);
  }
  if (!ReadSelector<object::LabelSelector>(asked.Raw().Get("labelSelector"), ReadLabelRequirement, attributes.label_selector)) {
    TellFault("labelSelector", !attributes.label_selector.empty(), fault);
  }
  return attributes;
}

}  // namespace homeostat::server
