// CustomResourceDefinition: all but what its schemas say. What is the same in all versions is reported as upstream's internal
// form has it, at the top of the spec. Source of the rules: apiextensions-apiserver's pkg/apis/apiextensions/validation.
#include <algorithm>
#include <set>
#include <string>

#include "homeostat/schema/diff.h"
#include "kinds/apiextensions/apiextensions.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"

namespace homeostat::kinds {
namespace {

std::string Joined(const object::Messages& messages, std::string_view before = "") {
  std::string text;
  for (const std::string& message : messages) text += (text.empty() ? "" : ",") + message;
  return std::string(before) + text;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower;
}

// Whether a part is the same in all versions: it then stands at the top of the spec.
bool IsShared(const Value& versions, std::string_view part) {
  return std::ranges::all_of(versions.items(),
                             [&](const Value& version) { return object::Equal(version.Get(part), versions.At(0).Get(part)); });
}

void CheckLabel(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  object::Messages messages = object::IsDNS1035Label(text);
  if (!text.empty() && !messages.empty()) errors.Invalid(path, text, Joined(messages));
}

void CheckMixedCaseLabel(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  object::Messages messages = object::IsDNS1035Label(Lower(text));
  if (!text.empty() && !messages.empty()) {
    errors.Invalid(path, text, Joined(messages, "may have mixed case, but should otherwise match: "));
  }
}

void CheckNames(const Value& names, const FieldPath& path, FieldErrors& errors) {
  for (std::string_view field : {"plural", "singular", "kind", "listKind"}) RequireText(names, field, path, errors);
  std::string_view kind = names.Get("kind").AsString(), list_kind = names.Get("listKind").AsString();
  CheckLabel(names.Get("plural").AsString(), path.Child("plural"), errors);
  CheckLabel(names.Get("singular").AsString(), path.Child("singular"), errors);
  CheckMixedCaseLabel(kind, path.Child("kind"), errors);
  CheckMixedCaseLabel(list_kind, path.Child("listKind"), errors);
  auto check_list = [&](std::string_view field) {
    Value list = names.Get(field);
    for (size_t i = 0; i < list.size(); ++i) CheckLabel(list.At(i).AsString(), path.Child(field).Index(i), errors);
  };
  check_list("shortNames");
  if (!kind.empty() && kind == list_kind) errors.Invalid(path.Child("listKind"), list_kind, "kind and listKind may not be the same");
  check_list("categories");
}

// .a.b["c"][0], without wildcards and filters.
bool CheckJsonPath(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (text.starts_with('.') && text.size() > 1 && text.find_first_of("*?{}") == text.npos) return true;
  errors.Invalid(path, text, "must be a simple json path starting with .");
  return false;
}

void CheckColumn(const Value& column, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kTypes = "must be one of boolean,date,integer,number,string";
  std::string_view type = column.Get("type").AsString(), format = column.Get("format").AsString();
  std::string_view json_path = column.Get("jsonPath").AsString();
  RequireText(column, "name", path, errors);
  if (type.empty()) {
    errors.Required(path.Child("type"), kTypes);
  } else if (!IsOneOf(type, {"boolean", "date", "integer", "number", "string"})) {
    errors.Invalid(path.Child("type"), type, kTypes);
  }
  if (!format.empty() && !IsOneOf(format, {"binary", "byte", "date", "date-time", "double", "float", "int32", "int64", "password"})) {
    errors.Invalid(path.Child("format"), format, "must be one of binary,byte,date,date-time,double,float,int32,int64,password");
  }
  if (json_path.empty()) return errors.Required(path.Child("JSONPath"));
  CheckJsonPath(json_path, path.Child("JSONPath"), errors);
}

void CheckScalePath(std::string_view text, std::initializer_list<std::string_view> roots, std::string_view where, const FieldPath& path,
                    FieldErrors& errors) {
  if (!CheckJsonPath(text, path, errors)) return;
  bool rooted = std::ranges::any_of(roots, [&](std::string_view root) { return text.starts_with(root); });
  if (!rooted) errors.Invalid(path, text, "should be a json path under " + std::string(where));
}

void CheckSubresources(const Value& subresources, const FieldPath& path, FieldErrors& errors) {
  Value scale = subresources.Get("scale");
  if (!scale) return;
  std::string_view spec = scale.Get("specReplicasPath").AsString(), status = scale.Get("statusReplicasPath").AsString();
  std::string_view selector = scale.Get("labelSelectorPath").AsString();
  FieldPath spec_path = path.Child("scale.specReplicasPath"), status_path = path.Child("scale.statusReplicasPath");
  if (spec.empty()) {
    errors.Required(spec_path);
  } else {
    CheckScalePath(spec, {".spec."}, ".spec", spec_path, errors);
  }
  if (status.empty()) {
    errors.Required(status_path);
  } else {
    CheckScalePath(status, {".status."}, ".status", status_path, errors);
  }
  if (!selector.empty()) {
    CheckScalePath(selector, {".spec.", ".status."}, "either .spec or .status", path.Child("scale.labelSelectorPath"), errors);
  }
}

void CheckParts(const Value& holder, bool subresources, bool columns, const FieldPath& path, FieldErrors& errors) {
  if (subresources) CheckSubresources(holder.Get("subresources"), path.Child("subresources"), errors);
  if (!columns) return;
  Value list = holder.Get("additionalPrinterColumns");
  for (size_t i = 0; i < list.size(); ++i) CheckColumn(list.At(i), path.Child("additionalPrinterColumns").Index(i), errors);
}

// The versions as upstream's internal form has them: without what they share.
BadValue ShownVersions(RuleContext& context, const Value& spec) {
  const schema::Type& type = *context.kind.type->FindField("spec")->type;
  Value versions = spec.Get("versions");
  if (versions.empty()) return BadValue::Json("[]");
  Value shown = Edited(context.arena, type, spec, [&](Edit& edit) {
    edit.Each("versions", [&](Edit& version) {
      for (std::string_view part : {"schema", "subresources", "additionalPrinterColumns", "selectableFields"}) {
        if (IsShared(versions, part)) version.Erase(part);
      }
    });
  });
  return InternalValue(*type.FindField("versions")->type, shown.Get("versions"));
}

void CheckVersions(RuleContext& context, const Value& spec, const FieldPath& path, FieldErrors& errors) {
  Value versions = spec.Get("versions");
  FieldPath list_path = path.Child("versions");
  bool columns = IsShared(versions, "additionalPrinterColumns"), subresources = IsShared(versions, "subresources");
  size_t stored = 0;
  std::set<std::string_view> names;
  for (size_t i = 0; i < versions.size(); ++i) {
    if (!versions.At(i).Path({"schema", "openAPIV3Schema"})) errors.Required(list_path.Index(i).Child("schema", "openAPIV3Schema"));
  }
  for (size_t i = 0; i < versions.size(); ++i) {
    std::string_view name = versions.At(i).Get("name").AsString();
    if (versions.At(i).Get("storage").AsBool()) ++stored;
    names.insert(name);
    object::Messages messages = object::IsDNS1035Label(name);
    if (!messages.empty()) errors.Invalid(list_path.Index(i).Child("name"), name, Joined(messages));
    CheckParts(versions.At(i), !subresources, !columns, list_path.Index(i), errors);
  }
  if (names.size() != versions.size()) errors.Invalid(list_path, ShownVersions(context, spec), "must contain unique version names");
  if (stored != 1) errors.Invalid(list_path, ShownVersions(context, spec), "must have exactly one version marked as storage version");
  if (!versions.empty()) CheckLabel(versions.At(0).Get("name").AsString(), path.Child("version"), errors);
}

void CheckConversion(const Value& conversion, const FieldPath& path, FieldErrors& errors) {
  if (!conversion) return;
  std::string_view strategy = conversion.Get("strategy").AsString();
  RequireOneOf(strategy, {"None", "Webhook"}, path.Child("strategy"), errors);
  Value webhook = conversion.Get("webhook"), client = webhook.Get("clientConfig"), reviews = webhook.Get("conversionReviewVersions");
  FieldPath client_path = path.Child("webhookClientConfig"), reviews_path = path.Child("conversionReviewVersions");
  if (strategy != "Webhook") {
    if (client) errors.Forbidden(client_path, "should not be set when strategy is not set to Webhook");
    if (!reviews.empty()) errors.Forbidden(reviews_path, "should not be set when strategy is not set to Webhook");
    return;
  }
  if (!client) {
    errors.Required(client_path, "required when strategy is set to Webhook");
  } else if (static_cast<bool>(client.Get("url")) == static_cast<bool>(client.Get("service"))) {
    errors.Required(client_path, "exactly one of url or service is required");
  }
  if (reviews.empty()) return errors.Required(reviews_path);
  bool known = std::ranges::any_of(reviews.items(), [](const Value& version) { return IsOneOf(version.AsString(), {"v1", "v1beta1"}); });
  if (!known) errors.Invalid(reviews_path, reviews, "must include at least one of v1, v1beta1");
}

void CheckSpec(RuleContext& context, const Value& spec, FieldErrors& errors) {
  FieldPath path("spec");
  std::string_view group = spec.Get("group").AsString();
  object::Messages messages = object::IsDNS1123Subdomain(group);
  if (group.empty()) {
    errors.Required(path.Child("group"));
  } else if (!messages.empty()) {
    errors.Invalid(path.Child("group"), group, Joined(messages));
  } else if (group.find('.') == group.npos) {
    errors.Invalid(path.Child("group"), group, "should be a domain with at least one dot");
  }
  RequireOneOf(spec.Get("scope").AsString(), {"Cluster", "Namespaced"}, path.Child("scope"), errors);
  CheckVersions(context, spec, path, errors);
  CheckNames(spec.Get("names"), path.Child("names"), errors);
  Value versions = spec.Get("versions");
  CheckParts(versions.At(0), IsShared(versions, "subresources"), IsShared(versions, "additionalPrinterColumns"), path, errors);
  CheckConversion(spec.Get("conversion"), path.Child("conversion"), errors);
}

void CheckStored(const Value& definition, FieldErrors& errors) {
  FieldPath path = FieldPath("status").Child("storedVersions");
  Value stored = definition.Path({"status", "storedVersions"}), versions = definition.Path({"spec", "versions"});
  if (stored.empty()) return errors.Invalid(path, BadValue::Null(), "must have at least one stored version");
  auto listed = [](const Value& list, std::string_view name, bool by_name) {
    return std::ranges::any_of(list.items(), [&](const Value& item) { return (by_name ? item.Get("name") : item).AsString() == name; });
  };
  for (const Value& version : versions.items()) {
    std::string_view name = version.Get("name").AsString();
    if (version.Get("storage").AsBool() && !listed(stored, name, false)) {
      errors.Invalid(path, stored, "must have the storage version " + std::string(name));
    }
  }
  for (size_t i = 0; i < stored.size(); ++i) {
    std::string name(stored.At(i).AsString());
    if (listed(versions, name, true)) continue;
    errors.Invalid(path.Index(i), name,
                   "missing from spec.versions; " + name +
                       " was previously a storage version, and must remain in spec.versions until a storage migration ensures no data "
                       "remains persisted in " + name + " and removes " + name + " from status.storedVersions");
  }
}

void CheckApproval(const Value& definition, FieldErrors& errors) {
  constexpr std::string_view kAnnotation = "api-approved.kubernetes.io";
  std::string_view group = definition.Path({"spec", "group"}).AsString();
  bool guarded = group == "k8s.io" || group == "kubernetes.io" || group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io");
  if (!guarded || !definition.Path({"metadata", "annotations"}).Get(kAnnotation).AsString().empty()) return;
  errors.Required(FieldPath("metadata").Child("annotations").Key(kAnnotation),
                  "protected groups must have approval annotation \"api-approved.kubernetes.io\", see "
                  "https://github.com/kubernetes/enhancements/pull/1111");
}

void CheckPreserving(const Value& definition, FieldErrors& errors) {
  if (!definition.Path({"spec", "preserveUnknownFields"}).AsBool()) return;
  errors.Invalid(FieldPath("spec").Child("preserveUnknownFields"), true,
                 "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead");
}

void CheckNew(RuleContext& context, Value definition, FieldErrors& errors) {
  std::string_view name = definition.Path({"metadata", "name"}).AsString();
  Value spec = definition.Get("spec");
  std::string required = std::string(spec.Path({"names", "plural"}).AsString()) + "." + std::string(spec.Get("group").AsString());
  if (name != required) errors.Invalid(FieldPath("metadata").Child("name"), name, "must be spec.names.plural+\".\"+spec.group");
  CheckSpec(context, spec, errors);
  CheckStored(definition, errors);
  CheckApproval(definition, errors);
  CheckPreserving(definition, errors);
}

void CheckUpdate(RuleContext& context, Value definition, Value old, FieldErrors& errors) {
  FieldPath path("spec");
  if (context.subresource == "status") return CheckStored(definition, errors);
  Value spec = definition.Get("spec"), before = old.Get("spec");
  CheckSpec(context, spec, errors);
  auto fixed = [&](std::initializer_list<std::string_view> names, const FieldPath& at) {
    if (spec.Path(names).AsString() != before.Path(names).AsString()) errors.Invalid(at, spec.Path(names).AsString(), kImmutable);
  };
  if (IsTrue(old.Path({"status", "conditions"}), "Established")) {
    fixed({"scope"}, path.Child("scope"));
    fixed({"names", "kind"}, path.Child("names", "kind"));
  }
  fixed({"group"}, path.Child("group"));
  fixed({"names", "plural"}, path.Child("names", "plural"));
  CheckStored(definition, errors);
  if (!before.Get("preserveUnknownFields").AsBool()) CheckPreserving(definition, errors);
}

// A version that objects are stored in stays listed until someone has rewritten them all.
Value WithStoredVersion(RuleContext& context, const Value& definition) {
  std::string_view storage;
  for (const Value& version : definition.Path({"spec", "versions"}).items()) {
    if (storage.empty() && version.Get("storage").AsBool()) storage = version.Get("name").AsString();
  }
  Value stored = definition.Path({"status", "storedVersions"});
  bool listed = std::ranges::any_of(stored.items(), [&](const Value& version) { return version.AsString() == storage; });
  if (storage.empty() || listed) return definition;
  object::ListBuilder versions(context.arena, stored);
  versions.Append(Value::String(context.arena, storage));
  return Edited(context.arena, *context.kind.type, definition, [&](Edit& edit) {
    edit.In("status", [&](Edit& status) { status.Set("storedVersions", versions.Build()); });
  });
}

Value PrepareNew(RuleContext& context, Value definition) { return WithStoredVersion(context, definition); }
Value PrepareUpdate(RuleContext& context, Value definition, Value) {
  return context.subresource.empty() ? WithStoredVersion(context, definition) : definition;
}

}  // namespace

const Behaviour kCustomResourceDefinition{.group = "apiextensions.k8s.io", .kind = "CustomResourceDefinition",
                                          .prepare_create = PrepareNew, .prepare_update = PrepareUpdate, .validate_create = CheckNew, .validate_update = CheckUpdate};

}  // namespace homeostat::kinds
