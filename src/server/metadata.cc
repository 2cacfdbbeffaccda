#include "server/metadata.h"

#include <algorithm>

#include "homeostat/base/ids.h"
#include "homeostat/base/text.h"
#include "homeostat/object/names.h"
#include "homeostat/object/time.h"
#include "kinds/object_meta.h"
#include "patch/managed_fields.h"

namespace homeostat::server {
namespace {

using object::ObjectBuilder;
using schema::FieldErrors;
using schema::FieldPath;


const schema::Type& MetadataType(const schema::Type& type) { return *type.FindField("metadata")->type; }

void ValidateLabels(const Value& labels, const FieldPath& path, FieldErrors& errors) {
  for (const object::Member& label : labels.members()) {
    for (std::string& message : object::IsQualifiedName(label.name())) errors.Invalid(path, label.name(), message);
    for (std::string& message : object::IsValidLabelValue(label.value.AsString())) {
      errors.Invalid(path, label.value.AsString(), message);
    }
  }
}

void ValidateAnnotations(const Value& annotations, const FieldPath& path, FieldErrors& errors) {
  size_t total = 0;
  for (const object::Member& annotation : annotations.members()) {
    for (std::string& message : object::IsQualifiedName(LowerCase(annotation.name()))) errors.Invalid(path, annotation.name(), message);
    total += annotation.name().size() + annotation.value.AsString().size();
  }
  if (total > object::kTotalAnnotationSizeLimit) errors.TooLong(path, object::kTotalAnnotationSizeLimit);
}

bool IsStandardFinalizer(std::string_view name) {
  return name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
}

// Finalizers that are none of Kubernetes' own must say whose they are.
void ValidateFinalizerOwners(const Value& finalizers, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < finalizers.size(); ++i) {
    std::string_view name = finalizers.At(i).AsString();
    if (name.find('/') != std::string_view::npos || IsStandardFinalizer(name)) continue;
    errors.Invalid(path.Index(i), name, "name is neither a standard finalizer name nor is it fully qualified");
  }
}

void ValidateCommon(const Value& metadata, bool namespaced, const FieldPath& path, FieldErrors& errors) {
  std::string_view ns = metadata.Get("namespace").AsString();
  if (namespaced) {
    if (ns.empty()) {
      errors.Required(path.Child("namespace"));
    } else {
      for (std::string& message : object::IsDNS1123Label(ns)) errors.Invalid(path.Child("namespace"), ns, message);
    }
  } else if (!ns.empty()) {
    errors.Forbidden(path.Child("namespace"), "not allowed on this type");
  }
  if (metadata.Get("generation").AsInt() < 0) {
    errors.Invalid(path.Child("generation"), metadata.Get("generation").AsInt(), "must be greater than or equal to 0");
  }
  ValidateLabels(metadata.Get("labels"), path.Child("labels"), errors);
  ValidateAnnotations(metadata.Get("annotations"), path.Child("annotations"), errors);
  kinds::CheckOwnerReferences(metadata.Get("ownerReferences"), path.Child("ownerReferences"), errors);
  kinds::CheckFinalizers(metadata.Get("finalizers"), path.Child("finalizers"), errors);
  patch::ValidateManagedFieldsEntries(metadata.Get("managedFields"), path.Child("managedFields"), errors);
}

// The finalizers that are new, as Go prints a list of strings.
void ValidateNoNewFinalizers(const Value& now, const Value& before, const FieldPath& path, FieldErrors& errors) {
  std::string extra;
  for (const Value& item : now.items()) {
    auto same = [&](const Value& other) { return other.AsString() == item.AsString(); };
    if (std::ranges::any_of(before.items(), same)) continue;
    if (!extra.empty()) extra += ", ";
    extra += GoQuote(item.AsString());
  }
  if (extra.empty()) return;
  errors.Forbidden(path, "no new finalizers can be added if the object is being deleted, found new finalizers []string{" +
                             extra + "}");
}

std::vector<std::string> DefaultNameCheck(std::string_view name, bool prefix) {
  return object::NameIsDNSSubdomain(name, prefix);
}

}  // namespace

Value SetField(Arena& arena, const schema::Type& type, const Value& object, std::string_view field, Value value) {
  int index = type.FieldIndex(field);
  if (index < 0) return object;
  ObjectBuilder builder(arena, object);
  const schema::Field& entry = type.fields[static_cast<size_t>(index)];
  if (value.IsAbsent()) builder.Erase(entry.name);
  else builder.SetField(static_cast<uint16_t>(index), entry.name, value);
  return builder.Build();
}

Value SetMetadata(Arena& arena, const schema::Type& type, const Value& object, std::string_view field, Value value) {
  return SetMetadata(arena, type, object, {{field, value}});
}

Value SetMetadata(Arena& arena, const schema::Type& type, const Value& object,
                  std::initializer_list<MetadataChange> changes) {
  const schema::Type& metadata_type = MetadataType(type);
  Value old = object.Get("metadata");
  // Most of what is taken away or put back for safety's sake was never there, or is there still.
  auto is_vain = [&](const MetadataChange& change) {
    return !change.value.IsList() && !change.value.IsObject() && object::Equal(change.value, old.Get(change.field));
  };
  if (old.IsObject() && std::ranges::all_of(changes, is_vain)) return object;
  ObjectBuilder metadata(arena, old);
  for (const MetadataChange& change : changes) {
    int index = metadata_type.FieldIndex(change.field);
    std::string_view name = metadata_type.fields[static_cast<size_t>(index)].name;
    if (change.value.IsAbsent()) metadata.Erase(name);
    else metadata.SetField(static_cast<uint16_t>(index), name, change.value);
  }
  return SetField(arena, type, object, "metadata", metadata.Build());
}

Value GetPath(const Value& object, std::string_view dotted_path) {
  Value at = object;
  while (!dotted_path.empty()) {
    size_t dot = dotted_path.find('.');
    at = at.Get(dotted_path.substr(0, dot));
    dotted_path = dot == std::string_view::npos ? std::string_view() : dotted_path.substr(dot + 1);
  }
  return at;
}

Value SetPath(Arena& arena, const schema::Type& type, const Value& object, std::string_view dotted_path, Value value) {
  size_t dot = dotted_path.find('.');
  std::string_view head = dotted_path.substr(0, dot);
  if (dot == std::string_view::npos) {
    if (type.form == schema::Form::kStruct && type.FindField(head) != nullptr) return SetField(arena, type, object, head, value);
    return ObjectBuilder(arena, object).SetCopyName(head, value).Build();
  }
  const schema::Field* field = type.FindField(head);
  Value child = object.Get(head);
  if (!child && value.IsAbsent()) return object;
  const schema::Type& child_type = field != nullptr ? *field->type : schema::AnyType();
  Value changed = SetPath(arena, child_type, child ? child : Value::EmptyObject(), dotted_path.substr(dot + 1), value);
  if (field != nullptr) return SetField(arena, type, object, head, changed);
  return ObjectBuilder(arena, object).SetCopyName(head, changed).Build();
}

std::string_view MetadataString(const Value& object, std::string_view field) {
  return object.Get("metadata").Get(field).AsString();
}

std::string FormatNow(Runtime& runtime) { return object::FormatTime(object::Timestamp::FromClock(runtime.WallNow())); }

Value FillSystemFields(Arena& arena, Runtime& runtime, const schema::Type& type, const Value& object) {
  return SetMetadata(arena, type, object,
                     {{"uid", Value::String(arena, NewUuid(runtime))},
                      {"creationTimestamp", Value::String(arena, FormatNow(runtime))}});
}

Result<void> CheckKeyName(std::string_view name) {
  std::string faults;
  for (const std::string& fault : object::IsValidPathSegmentName(name)) faults += (faults.empty() ? "" : ";") + fault;
  if (faults.empty()) return {};
  return Fail(BadRequestError("Name parameter invalid: " + GoQuote(name) + ": " + faults));
}

std::vector<std::string> PathSegmentName(std::string_view name, bool prefix) {
  return prefix ? object::IsValidPathSegmentPrefix(name) : object::IsValidPathSegmentName(name);
}

void ValidateObjectMeta(const Value& object, bool namespaced, NameCheck name_check, MetaRules rules, FieldErrors& errors) {
  if (name_check == nullptr) name_check = DefaultNameCheck;
  FieldPath path("metadata");
  Value metadata = object.Get("metadata");
  std::string_view generate_name = metadata.Get("generateName").AsString();
  if (!generate_name.empty() && !rules.any_generate_name) {
    for (std::string& message : name_check(generate_name, true)) {
      errors.Invalid(path.Child("generateName"), generate_name, message);
    }
  }
  std::string_view name = metadata.Get("name").AsString();
  if (name.empty()) {
    errors.Required(path.Child("name"), "name or generateName is required");
  } else {
    for (std::string& message : name_check(name, false)) errors.Invalid(path.Child("name"), name, message);
  }
  ValidateCommon(metadata, namespaced, path, errors);
  if (rules.finalizer_owners) ValidateFinalizerOwners(metadata.Get("finalizers"), path.Child("finalizers"), errors);
}

void ValidateObjectMetaUpdate(const Value& object, const Value& old, MetaRules rules, FieldErrors& errors) {
  FieldPath path("metadata");
  Value now = object.Get("metadata"), before = old.Get("metadata");
  if (before.Get("deletionTimestamp")) {
    ValidateNoNewFinalizers(now.Get("finalizers"), before.Get("finalizers"), path.Child("finalizers"), errors);
  }
  if (now.Get("resourceVersion").AsString().empty()) {
    errors.Invalid(path.Child("resourceVersion"), "", "must be specified for an update");
  }
  int64_t generation = now.Get("generation").AsInt();
  if (generation < before.Get("generation").AsInt()) {
    errors.Invalid(path.Child("generation"), generation, "must not be decremented");
  }
  for (std::string_view field : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                                 "deletionGracePeriodSeconds"}) {
    Value value = now.Get(field);
    if (object::Equal(value, before.Get(field))) continue;
    bool text_field = field != "deletionGracePeriodSeconds" && field != "creationTimestamp" && field != "deletionTimestamp";
    if (value.IsAbsent() && text_field) errors.Immutable(path.Child(field), "");
    else errors.Immutable(path.Child(field), value);
  }
  ValidateLabels(now.Get("labels"), path.Child("labels"), errors);
  ValidateAnnotations(now.Get("annotations"), path.Child("annotations"), errors);
  kinds::CheckOwnerReferences(now.Get("ownerReferences"), path.Child("ownerReferences"), errors);
  patch::ValidateManagedFieldsEntries(now.Get("managedFields"), path.Child("managedFields"), errors);
  if (rules.finalizer_owners) ValidateFinalizerOwners(now.Get("finalizers"), path.Child("finalizers"), errors);
}

}  // namespace homeostat::server
