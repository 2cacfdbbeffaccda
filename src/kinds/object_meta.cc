#include "kinds/object_meta.h"

#include "homeostat/object/names.h"
#include "homeostat/schema/api_version.h"

namespace homeostat::kinds {

using schema::FieldErrors;
using schema::FieldPath;

namespace {

void CheckOwnerReference(const Value& reference, const FieldPath& path, FieldErrors& errors) {
  std::string_view api_version = reference.Get("apiVersion").AsString();
  schema::GroupVersion parts = schema::ParseApiVersion(api_version);
  if (parts.version.empty() || !parts.IsValid()) errors.Invalid(path.Child("apiVersion"), api_version, "version must not be empty");
  for (std::string_view name : {"kind", "name", "uid"}) {
    if (reference.Get(name).AsString().empty()) errors.Invalid(path.Child(name), "", "must not be empty");
  }
  // Events come and go too fast to own anything.
  if (reference.Get("kind").AsString() == "Event" && (api_version == "v1" || api_version == "events.k8s.io/v1")) {
    errors.Invalid(path, reference, schema::KindText(parts.group, parts.version, "Event") + " is disallowed from being an owner");
  }
}

}  // namespace

void CheckOwnerReferences(const Value& references, const FieldPath& path, FieldErrors& errors) {
  std::string first_controller;
  for (const Value& reference : references.items()) {
    CheckOwnerReference(reference, path, errors);
    if (!reference.Get("controller").AsBool()) continue;
    std::string name = std::string(reference.Get("kind").AsString()) + "/" + std::string(reference.Get("name").AsString());
    if (first_controller.empty()) {
      first_controller = name;
      continue;
    }
    errors.Invalid(path, references,
                   "Only one reference can have Controller set to true. Found \"true\" in references for " +
                       first_controller + " and " + name);
  }
}

void CheckFinalizers(const Value& finalizers, const FieldPath& path, FieldErrors& errors) {
  bool orphan = false, foreground = false;
  for (const Value& item : finalizers.items()) {
    std::string_view name = item.AsString();
    for (std::string& message : object::IsQualifiedName(name)) errors.Invalid(path, name, message);
    orphan = orphan || name == "orphan";
    foreground = foreground || name == "foregroundDeletion";
  }
  if (orphan && foreground) {
    errors.Invalid(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set");
  }
}

}  // namespace homeostat::kinds
