#include "kinds/apiextensions/custom_resource.h"

#include <algorithm>
#include <limits>

#include "homeostat/schema/conditions.h"
#include "homeostat/schema/conform.h"
#include "kinds/checks.h"
#include "object/go_value.h"

namespace homeostat::kinds {
namespace {

const schema::Subresource* ScaleOf(const schema::Kind& kind) { return kind.FindSubresource("scale"); }

// What stands at a dotted path; where something on the way is no object, says so as Go's accessors do.
struct Found {
  Value value;
  std::string fault;
};

Found At(const Value& object, std::string_view path, bool wants_integer) {
  Value at = object;
  std::string walked;
  auto fault = [&](const Value& value, std::string_view expected) {
    return walked + " accessor error: " + object::GoText(value) + " is of the type " + std::string(object::GoTypeOf(value)) + ", expected " + std::string(expected);
  };
  for (std::string_view rest = path;;) {
    size_t dot = rest.find('.');
    std::string_view name = rest.substr(0, dot);
    walked += "." + std::string(name);
    if (at.IsNull()) return {};
    if (!at.IsObject()) return {Value(), fault(at, "map[string]interface{}")};
    const object::Member* member = at.Find(name);
    if (member == nullptr) return {};
    at = member->value;
    if (dot == rest.npos) break;
    rest = rest.substr(dot + 1);
  }
  bool fits = wants_integer ? at.IsInt() : at.IsString();
  return fits ? Found{at, ""} : Found{Value(), fault(at, wants_integer ? "int64" : "string")};
}

void CheckReplicas(const Value& object, std::string_view path, FieldErrors& errors) {
  Found found = At(object, path, true);
  std::string field = "." + std::string(path);
  FieldPath at(field);
  int64_t replicas = found.value.AsInt();
  if (!found.fault.empty()) {
    errors.Invalid(at, 0, found.fault);
  } else if (replicas < 0) {
    errors.Invalid(at, replicas, "should be a non-negative integer");
  } else if (replicas > std::numeric_limits<int32_t>::max()) {
    errors.Invalid(at, replicas, "should be less than or equal to 2147483647");
  }
}

void CheckScaleStatus(const schema::Kind& kind, const Value& object, FieldErrors& errors) {
  const schema::Subresource* scale = ScaleOf(kind);
  if (scale == nullptr) return;
  CheckReplicas(object, scale->status_replicas_path, errors);
  if (scale->selector_path.empty()) return;
  Found found = At(object, scale->selector_path, false);
  std::string field = "." + std::string(scale->selector_path);
  if (!found.fault.empty()) errors.Invalid(FieldPath(field), "", found.fault);
}

void CheckScale(const schema::Kind& kind, const Value& object, FieldErrors& errors) {
  const schema::Subresource* scale = ScaleOf(kind);
  if (scale == nullptr) return;
  CheckReplicas(object, scale->spec_replicas_path, errors);
  CheckScaleStatus(kind, object, errors);
}

// False if the object says that it is something else: nothing more is checked by its schema then.
bool CheckTypeMeta(const schema::Kind& kind, const Value& object, FieldErrors& errors) {
  std::string_view name = object.Get("kind").AsString(), version = object.Get("apiVersion").AsString();
  std::string expected = kind.gvk.ApiVersion();
  size_t before = errors.size();
  if (name != kind.gvk.kind) errors.Invalid(FieldPath("kind"), name, "must be " + std::string(kind.gvk.kind));
  if (version != expected) errors.Invalid(FieldPath("apiVersion"), version, "must be " + expected);
  return errors.size() == before;
}

// Items that are there twice are forgiven where the old object (absent: there is none) had such, too; it is only looked through
// for objects that have any.
void CheckItems(const schema::Type& type, const Value& object, const Value& old, FieldErrors& errors) {
  FieldErrors found;
  found.set_empty_fields(errors.empty_fields());
  CheckListItems(type, object, FieldPath(), found);
  if (found.empty()) return;
  FieldErrors before;
  CheckListItems(type, old, FieldPath(), before);
  if (before.empty()) errors.Add(found.Take());
}

// Rules are not evaluated on objects that are of the wrong shape.
bool RulesAreBlocked(const FieldErrors& errors) {
  return std::ranges::any_of(errors.causes(), [](const StatusCause& cause) { return schema::BlocksRules(cause.reason); });
}

void CheckRules(RuleContext& context, const Value& object, const Value& old, FieldErrors& errors) {
  if (context.kind.rules == nullptr) return;
  if (RulesAreBlocked(errors)) {
    return errors.Invalid(FieldPath(), BadValue::Null(),
                          "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
                          "validation");
  }
  context.kind.rules->Check(object, old, context.warnings, errors);
}

// old: absent for a new object.
void CheckWhole(RuleContext& context, const Value& object, const Value& old, FieldErrors& errors) {
  const schema::Type& type = *context.kind.type;
  if (CheckTypeMeta(context.kind, object, errors)) {
    schema::CheckConditions(*type.condition, object, FieldPath(), errors, &type, old);
    CheckScale(context.kind, object, errors);
  }
  CheckEmbeddedResources(type, object, FieldPath(), errors);
  CheckItems(type, object, old, errors);
}

void CheckNew(RuleContext& context, Value object, FieldErrors& errors) {
  CheckWhole(context, object, Value(), errors);
  CheckRules(context, object, Value(), errors);
}

void CheckStatus(RuleContext& context, const Value& object, const Value& old, FieldErrors& errors) {
  const schema::Type& type = *context.kind.type;
  const schema::Condition* condition = type.condition->FindProperty("status");
  if (CheckTypeMeta(context.kind, object, errors)) {
    const object::Member* status = object.Find("status");
    if (status != nullptr && condition != nullptr) {
      schema::CheckConditions(*condition, status->value, FieldPath("status"), errors, type.FindField("status")->type, old.Get("status"));
    }
    CheckScaleStatus(context.kind, object, errors);
  }
  CheckItems(type, object, old, errors);
}

void CheckChanged(RuleContext& context, Value object, Value old, FieldErrors& errors) {
  if (context.subresource == "status") {
    CheckStatus(context, object, old, errors);
  } else {
    CheckWhole(context, object, old, errors);
  }
  CheckRules(context, object, old, errors);
}

bool IsListed(const Value& list, std::string_view text) {
  return std::ranges::any_of(list.items(), [&](const Value& item) { return item.AsString() == text; });
}

// Finalizers that are new and could be mistaken for somebody else's.
void WarnOfFinalizers(RuleContext& context, Value object, Value old) {
  if (context.subresource == "status" || context.warnings == nullptr) return;
  std::vector<std::string_view> added;
  for (const Value& item : object.Path({"metadata", "finalizers"}).items()) {
    if (!IsListed(old.Path({"metadata", "finalizers"}), item.AsString())) added.push_back(item.AsString());
  }
  std::ranges::sort(added);
  for (std::string_view name : added) {
    std::string start = "metadata.finalizers: " + GoQuote(name) + ": ";
    for (const std::string& message : object::IsQualifiedName(name)) context.warnings->push_back(start + message);
    bool standard = name == "orphan" || name == "foregroundDeletion" || name == "kubernetes";
    if (name.find('/') != name.npos || standard) continue;
    std::string_view path = name.find('.') == name.npos ? "" : " including a path (/)";
    context.warnings->push_back(start + "prefer a domain-qualified finalizer name" + std::string(path) +
                                " to avoid accidental conflicts with other finalizer writers");
  }
}

// Without a webhook, versions differ by their apiVersion and by what their schemas know.
Value Convert(object::Arena& arena, Value object, const schema::Kind&, const schema::Kind& to) {
  object::ObjectBuilder renamed(arena, object);
  renamed.Set("apiVersion", Value::String(arena, to.gvk.ApiVersion()));
  schema::ConformReport report;
  report.collect = false;
  // Both types have the same metadata, which is all that could fail.
  auto converted = schema::Conform(arena, renamed.Build(), *to.type, report);
  return converted ? *converted : object;
}

}  // namespace

const Behaviour kCustomResource{.group = "", .kind = "", .validate_create = CheckNew, .validate_update = CheckChanged,
                                .warn = WarnOfFinalizers, .convert = Convert};

}  // namespace homeostat::kinds
