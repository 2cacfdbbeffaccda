// CustomResourceDefinition: all but what its schemas say. What is the same in all versions is reported as upstream's internal
// form has it, at the top of the spec. Source of the rules: apiextensions-apiserver's pkg/apis/apiextensions/validation.
#include <algorithm>
#include <set>
#include <string>

#include "homeostat/base/text.h"
#include "homeostat/schema/diff.h"
#include "kinds/apiextensions/apiextensions.h"
#include "kinds/apiextensions/definition_names.h"
#include "kinds/apiextensions/schema_rules.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"
#include "kinds/internal_json.h"
#include "kinds/webhook_clients.h"

namespace homeostat::kinds {
namespace {

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
  object::Messages messages = object::IsDNS1035Label(LowerCase(text));
  if (!text.empty() && !messages.empty()) {
    errors.Invalid(path, text, "may have mixed case, but should otherwise match: " + Joined(messages));
  }
}

void CheckNames(const Value& names, const FieldPath& path, FieldErrors& errors) {
  std::string_view kind = names.Get("kind").AsString(), list_kind = names.Get("listKind").AsString();
  CheckLabel(names.Get("plural").AsString(), path.Child("plural"), errors);
  CheckLabel(names.Get("singular").AsString(), path.Child("singular"), errors);
  CheckMixedCaseLabel(kind, path.Child("kind"), errors);
  CheckMixedCaseLabel(list_kind, path.Child("listKind"), errors);
  auto check_list = [&](std::string_view field) {
    Value list = names.Get(field);
    for (size_t i = 0; i < list.size(); ++i) {
      std::string_view name = list.At(i).AsString();
      object::Messages messages = object::IsDNS1035Label(name);
      if (!messages.empty()) errors.Invalid(path.Child(field).Index(i), name, Joined(messages));
    }
  };
  check_list("shortNames");
  if (!kind.empty() && kind == list_kind) errors.Invalid(path.Child("listKind"), list_kind, "kind and listKind may not be the same");
  check_list("categories");
}

// .a.b: what columns and scale read from.
bool CheckJsonPath(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (text.starts_with('.')) return true;
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
  if (!format.empty() && !IsOneOf(format, {"byte", "date", "date-time", "double", "float", "int32", "int64", "password"})) {
    errors.Invalid(path.Child("format"), format, "must be one of byte,date,date-time,double,float,int32,int64,password");
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

// Paths that lists can be filtered by.
void CheckSelectableFields(const Value& fields, const Value& schema, bool any_number, const FieldPath& path, FieldErrors& errors) {
  constexpr int64_t kMost = 8;
  std::set<std::string> seen;
  for (size_t i = 0; i < fields.size(); ++i) {
    std::string_view text = fields.At(i).Get("jsonPath").AsString();
    FieldPath at = path.Index(i).Child("jsonPath");
    if (text.empty()) {
      errors.Required(at);
      continue;
    }
    SchemaPath found = FollowSchemaPath(text, schema, false);
    if (!found.fault.empty()) {
      errors.Invalid(at, text, "is an invalid path: " + found.fault);
      continue;
    }
    if (found.root == "metadata") errors.Invalid(at, text, "must not point to fields in metadata");
    if (!IsOneOf(found.schema.Get("type").AsString(), {"string", "boolean", "integer"})) {
      errors.Invalid(at, text,
                     "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.");
    }
    if (!seen.insert(found.text).second) errors.Duplicate(at, text);
  }
  auto count = static_cast<int64_t>(seen.size());
  if (count > kMost && !any_number) errors.TooMany(path, count, kMost);
}

// What is printable in a header.
void CheckDeprecation(const Value& version, const FieldPath& path, FieldErrors& errors) {
  Value warning = version.Get("deprecationWarning");
  if (!warning) return;
  std::string_view text = warning.AsString();
  if (!version.Get("deprecated").AsBool()) return errors.Invalid(path, text, "can only be set for deprecated versions");
  if (text.size() > 256) errors.Invalid(path, text, "must be <= 256 characters long");
  if (text.empty()) errors.Invalid(path, text, "must not be an empty string");
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != 0x7F) continue;
    return errors.Invalid(path, text, "must only contain printable UTF-8 characters; non-printable character found at index " + std::to_string(i));
  }
}

// A definition under check: the rules of what is stored already are the looser ones.
struct Rules {
  SchemaRuleOptions schemas;
  Value old_versions;

  SchemaRuleOptions OptionsFor(const Value& version) const {
    SchemaRuleOptions options = schemas;
    options.suppress_rule_costs = std::ranges::any_of(old_versions.items(), [&](const Value& old) {
      return old.Get("name").AsString() == version.Get("name").AsString() &&
             object::Equal(old.Path({"schema", "openAPIV3Schema"}), version.Path({"schema", "openAPIV3Schema"}));
    });
    return options;
  }
  // More fields than are allowed now, and none changed.
  bool AnyNumberOfFields(const Value& version) const {
    for (const Value& old : old_versions.items()) {
      if (old.Get("name").AsString() != version.Get("name").AsString()) continue;
      return old.Get("selectableFields").size() > 8 && object::Equal(old.Get("selectableFields"), version.Get("selectableFields"));
    }
    return false;
  }
};

// Which of the parts of versions are the same in all, and so stand at the top of the spec.
struct Shared {
  explicit Shared(const Value& versions)
      : schema(IsShared(versions, "schema")), subresources(IsShared(versions, "subresources")),
        columns(IsShared(versions, "additionalPrinterColumns")), fields(IsShared(versions, "selectableFields")) {}
  bool schema, subresources, columns, fields;
};

// The parts of a version, or those that all versions share.
void CheckParts(const Value& version, bool status, const Shared& which, const Rules& rules, const FieldPath& path,
                std::string_view schema_name, FieldErrors& errors) {
  Value schema = version.Path({"schema", "openAPIV3Schema"});
  const bool of_all = schema_name == "validation";
  if (which.schema) {
    std::string name = std::string(schema_name) + ".openAPIV3Schema";
    CheckSchema(schema, status, rules.OptionsFor(version), path.Child(name), errors);
  }
  if (which.subresources) CheckSubresources(version.Get("subresources"), path.Child("subresources"), errors);
  Value columns = version.Get("additionalPrinterColumns"), fields = version.Get("selectableFields");
  for (size_t i = 0; which.columns && i < columns.size(); ++i) {
    CheckColumn(columns.At(i), path.Child("additionalPrinterColumns").Index(i), errors);
  }
  if (!which.fields || fields.empty()) return;
  FieldPath at = path.Child("selectableFields");
  // What all versions share is kept apart, and each is looked for beside its like.
  if (!schema || !which.schema) {
    errors.Invalid(at, "", of_all ? "may only be set when validations.schema is included"
                                  : "may only be set when `version.schema.openAPIV3Schema` is not included");
    return;
  }
  if (std::string unsupported = UnsupportedPart(schema); !unsupported.empty()) errors.Invalid(path.Child("schema.openAPIV3Schema"), "", unsupported);
  CheckSelectableFields(fields, schema, rules.AnyNumberOfFields(version), at, errors);
}

bool HasStatus(const Value& version) { return static_cast<bool>(version.Path({"subresources", "status"})); }

// The versions as upstream's internal form has them: without what they share.
BadValue ShownVersions(RuleContext& context, const Value& spec) {
  const schema::Type& type = *context.kind.type->FindField("spec")->type;
  Value versions = spec.Get("versions");
  if (versions.empty()) return BadValue::Json(context.empty_fields != nullptr ? std::string(context.empty_fields->Text("spec.versions")) : "null");
  Value shown = Edited(context.arena, type, spec, [&](Edit& edit) {
    edit.Each("versions", [&](Edit& version) {
      for (std::string_view part : {"schema", "subresources", "additionalPrinterColumns", "selectableFields"}) {
        if (IsShared(versions, part)) version.Erase(part);
      }
    });
  });
  return InternalValue(*type.FindField("versions")->type, shown.Get("versions"));
}

void CheckVersions(RuleContext& context, const Value& spec, const Rules& rules, const FieldPath& path, FieldErrors& errors) {
  Value versions = spec.Get("versions");
  FieldPath list_path = path.Child("versions");
  Shared shared(versions), own = shared;
  for (bool* part : {&own.schema, &own.subresources, &own.columns, &own.fields}) *part = !*part;
  size_t stored = 0;
  std::set<std::string_view> names;
  for (size_t i = 0; i < versions.size(); ++i) {
    if (!versions.At(i).Path({"schema", "openAPIV3Schema"})) errors.Required(list_path.Index(i).Child("schema", "openAPIV3Schema"));
  }
  if (spec.Get("preserveUnknownFields").AsBool() && std::ranges::any_of(versions.items(), [](const Value& version) { return HasDefaults(version.Path({"schema", "openAPIV3Schema"})); })) {
    errors.Invalid(path.Child("preserveUnknownFields"), true, "must be false in order to use defaults in the schema");
  }
  for (size_t i = 0; i < versions.size(); ++i) {
    const Value& version = versions.At(i);
    FieldPath at = list_path.Index(i);
    std::string_view name = version.Get("name").AsString();
    if (version.Get("storage").AsBool()) ++stored;
    names.insert(name);
    object::Messages messages = object::IsDNS1035Label(name);
    if (!messages.empty()) errors.Invalid(at.Child("name"), name, Joined(messages));
    CheckDeprecation(version, at.Child("deprecationWarning"), errors);
    CheckParts(version, HasStatus(version), own, rules, at, "schema", errors);
  }
  if (names.size() != versions.size()) errors.Invalid(list_path, ShownVersions(context, spec), "must contain unique version names");
  if (stored != 1) errors.Invalid(list_path, ShownVersions(context, spec), "must have exactly one version marked as storage version");
  if (!versions.empty()) CheckLabel(versions.At(0).Get("name").AsString(), path.Child("version"), errors);
  for (std::string_view field : {"plural", "singular", "kind", "listKind"}) RequireText(spec.Get("names"), field, path.Child("names"), errors);
  CheckNames(spec.Get("names"), path.Child("names"), errors);
  if (versions.empty()) return;
  bool any_status = std::ranges::any_of(versions.items(), HasStatus);
  CheckParts(versions.At(0), any_status, shared, rules, path, "validation", errors);
}

// Versions of the reviews that a webhook understands.
void CheckReviewVersions(const Value& reviews, bool any, const FieldPath& path, FieldErrors& errors) {
  if (reviews.empty()) return errors.Required(path);
  std::set<std::string_view> seen;
  bool known = false;
  for (size_t i = 0; i < reviews.size(); ++i) {
    std::string_view version = reviews.At(i).AsString();
    if (!seen.insert(version).second) {
      errors.Invalid(path.Index(i), version, "duplicate version");
      continue;
    }
    for (const std::string& message : object::IsDNS1035Label(version)) errors.Invalid(path.Index(i), version, message);
    known = known || IsOneOf(version, {"v1", "v1beta1"});
  }
  if (!known && !any) errors.Invalid(path, reviews, "must include at least one of v1, v1beta1");
}

void CheckConversion(const Value& conversion, const Value& old, const FieldPath& path, FieldErrors& errors) {
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
  if (client) CheckWebhookClient(client, client_path, errors);
  else errors.Required(client_path, "required when strategy is set to Webhook");
  Value old_reviews = old.Path({"webhook", "conversionReviewVersions"});
  bool odd_before = !old_reviews.empty() && std::ranges::none_of(old_reviews.items(), [](const Value& version) {
    return IsOneOf(version.AsString(), {"v1", "v1beta1"});
  });
  CheckReviewVersions(reviews, odd_before, reviews_path, errors);
}

void CheckSpec(RuleContext& context, const Value& spec, const Value& old, FieldErrors& errors) {
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
  Rules rules;
  rules.old_versions = old.Path({"spec", "versions"});
  if (old) rules.schemas = OptionsOfOld(old);
  CheckVersions(context, spec, rules, path, errors);
  std::string_view strategy = spec.Path({"conversion", "strategy"}).AsString();
  if (spec.Get("conversion") && strategy != "None" && spec.Get("preserveUnknownFields").AsBool()) {
    errors.Invalid(path.Child("conversion", "strategy"), strategy, "must be None if spec.preserveUnknownFields is true");
  }
  CheckConversion(spec.Get("conversion"), old.Path({"spec", "conversion"}), path.Child("conversion"), errors);
}

void CheckStored(const Value& definition, FieldErrors& errors) {
  FieldPath path = FieldPath("status").Child("storedVersions");
  Value stored = definition.Path({"status", "storedVersions"}), versions = definition.Path({"spec", "versions"});
  if (stored.empty()) return errors.Invalid(path, BadValue::Null(), "must have at least one stored version");
  auto listed = [](const Value& list, std::string_view name, bool by_name) {
    return std::ranges::any_of(list.items(), [&](const Value& item) { return (by_name ? item.Get("name") : item).AsString() == name; });
  };
  std::set<std::string_view> seen;  // what is listed counts for the first version of that name
  for (const Value& version : versions.items()) {
    std::string_view name = version.Get("name").AsString();
    bool counts = seen.insert(name).second && listed(stored, name, false);
    if (version.Get("storage").AsBool() && !counts) errors.Invalid(path, stored, "must have the storage version " + std::string(name));
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

void CheckApproval(const Value& definition, const Value& old, FieldErrors& errors) {
  if (!IsProtectedGroup(definition.Path({"spec", "group"}).AsString())) return;
  ApiApprovalState now = ApprovalOf(definition);
  if (old && ApprovalOf(old).state == now.state) return;
  constexpr std::string_view kAnnotation = "api-approved.kubernetes.io";
  FieldPath path = FieldPath("metadata").Child("annotations").Key(kAnnotation);
  if (now.state == ApiApproval::kMissing) errors.Required(path, now.text);
  if (now.state == ApiApproval::kInvalid) {
    errors.Invalid(path, definition.Path({"metadata", "annotations"}).Get(kAnnotation).AsString(), now.text);
  }
}

void CheckPreserving(const Value& definition, FieldErrors& errors) {
  if (!definition.Path({"spec", "preserveUnknownFields"}).AsBool()) return;
  errors.Invalid(FieldPath("spec").Child("preserveUnknownFields"), true,
                 "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead");
}

void CheckNew(RuleContext& context, Value definition, FieldErrors& errors) {
  Value spec = definition.Get("spec");
  std::string required = std::string(spec.Path({"names", "plural"}).AsString()) + "." + std::string(spec.Get("group").AsString());
  for (std::string_view field : {"generateName", "name"}) {
    std::string_view given = definition.Path({"metadata", field}).AsString();
    if (!given.empty() && given != required) errors.Invalid(FieldPath("metadata").Child(field), given, "must be spec.names.plural+\".\"+spec.group");
  }
  CheckSpec(context, spec, Value(), errors);
  CheckStored(definition, errors);
  CheckApproval(definition, Value(), errors);
  CheckPreserving(definition, errors);
}

void CheckUpdate(RuleContext& context, Value definition, Value old, FieldErrors& errors) {
  FieldPath path("spec");
  if (context.subresource == "status") return CheckNames(definition.Path({"status", "acceptedNames"}), FieldPath("status").Child("acceptedNames"), errors);
  Value spec = definition.Get("spec"), before = old.Get("spec");
  CheckSpec(context, spec, old, errors);
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
  CheckApproval(definition, old, errors);
  if (!before.Get("preserveUnknownFields").AsBool()) CheckPreserving(definition, errors);
}

// A version that objects are stored in stays listed until someone has rewritten them all.
Value WithStoredVersion(RuleContext& context, const Value& definition) {
  std::string_view storage;
  bool any = false;
  for (const Value& version : definition.Path({"spec", "versions"}).items()) {
    if (!any && version.Get("storage").AsBool()) storage = version.Get("name").AsString();
    any = any || version.Get("storage").AsBool();
  }
  Value stored = definition.Path({"status", "storedVersions"});
  bool listed = std::ranges::any_of(stored.items(), [&](const Value& version) { return version.AsString() == storage; });
  if (!any || listed) return definition;
  object::ListBuilder versions(context.arena, stored);
  versions.Append(Value::String(context.arena, storage));
  return Edited(context.arena, *context.kind.type, definition, [&](Edit& edit) {
    edit.In("status", [&](Edit& status) { status.Set("storedVersions", versions.Build()); });
  });
}

Value PrepareNew(RuleContext& context, Value definition) {
  return WithAcceptedNames(context, WithStoredVersion(context, definition), Value());
}
Value PrepareUpdate(RuleContext& context, Value definition, Value old) {
  if (!context.subresource.empty()) return definition;
  return WithAcceptedNames(context, WithStoredVersion(context, definition), old);
}

// Names are claimed when the status is made, after everything else is settled.
Result<Value> KeepUnclaimed(RuleContext&, Claims&, Value definition, Value) { return definition; }

void WarnOfFormats(RuleContext& context, Value definition, Value old) {
  if (context.subresource == "status" || context.warnings == nullptr) return;
  std::vector<std::string> before = UnknownFormats(old);
  for (const std::string& format : UnknownFormats(definition)) {
    if (std::ranges::find(before, format) == before.end()) context.warnings->push_back("unrecognized format " + GoQuote(format));
  }
}

// Deleting marks it first, whatever its finalizers: its instances go before it.
bool IsNotMarkedYet(Value definition) { return !definition.Path({"metadata", "deletionTimestamp"}); }

}  // namespace

const Behaviour kCustomResourceDefinition{.group = "apiextensions.k8s.io", .kind = "CustomResourceDefinition",
                                          .allocate = KeepUnclaimed, .holds = HoldNames, .prepare_create = PrepareNew, .prepare_update = PrepareUpdate, .validate_create = CheckNew, .validate_update = CheckUpdate, .warn = WarnOfFormats,
                                          .held = IsNotMarkedYet, .first_deletion = FirstDeletion::kMarks, .mark_deleting = MarkDefinitionDeleting, .store_words_preconditions = true, .no_table_of_status = true};

}  // namespace homeostat::kinds
