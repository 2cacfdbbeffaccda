// Claims for storage: the spec, wherever it stands.
#include "homeostat/object/quantity.h"
#include "kinds/core/resource_checks.h"
#include "kinds/core/template_metadata.h"
#include "kinds/core/volumes.h"

namespace homeostat::kinds {
namespace {

void CheckDataSource(const Value& source, const FieldPath& path, FieldErrors& errors, ClaimRules rules) {
  RequireText(source, "name", path, errors);
  RequireText(source, "kind", path, errors);
  std::string_view group = source.Get("apiGroup").AsString(), kind = source.Get("kind").AsString();
  if (group.empty() && kind != "PersistentVolumeClaim") {
    errors.Invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  }
  if (!group.empty() && !rules.allow_invalid_data_source_group) CheckDns1123Subdomain(group, path.Child("apiGroup"), errors);
  if (std::string_view ns = source.Get("namespace").AsString(); !ns.empty()) CheckDns1123Label(ns, path.Child("namespace"), errors);
}

bool IsSameSource(const Value& a, const Value& b) {
  Value a_group = a.Get("apiGroup"), b_group = b.Get("apiGroup");
  return a_group.IsAbsent() == b_group.IsAbsent() && a_group.AsString() == b_group.AsString() &&
         a.Get("kind").AsString() == b.Get("kind").AsString() && a.Get("name").AsString() == b.Get("name").AsString();
}

void CheckDataSources(const Value& spec, const FieldPath& path, FieldErrors& errors, ClaimRules rules) {
  Value source = spec.Get("dataSource"), reference = spec.Get("dataSourceRef");
  if (source) CheckDataSource(source, path.Child("dataSource"), errors, rules);
  if (reference) CheckDataSource(reference, path.Child("dataSourceRef"), errors, rules);
  if (!source || !reference) return;
  // The value shown is a path to Go, which has no content in JSON.
  if (!reference.Get("namespace").AsString().empty()) {
    errors.Invalid(path, BadValue::Json("{}"), "may not be specified when dataSourceRef.namespace is specified");
  } else if (!IsSameSource(source, reference)) {
    errors.Invalid(path, BadValue::Json("{}"), "must match dataSourceRef");
  }
}

void CheckStorageRequest(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  FieldPath at = path.Child("resources").Key("storage");
  Value storage = spec.Get("resources").Get("requests").Get("storage");
  if (!storage) return errors.Required(at);
  auto quantity = object::Quantity::Parse(storage.AsString());
  if (quantity && quantity->Sign() <= 0) {
    errors.Invalid(at, quantity->ToString(), kNotPositive);
  } else {
    CheckResourceQuantity("storage", storage.AsString(), at, errors);
  }
}

}  // namespace

void CheckAccessModes(const Value& modes, const FieldPath& path, FieldErrors& errors) {
  bool once_pod = false, others = false;
  static constexpr std::string_view kModes[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"};
  for (const Value& mode : modes.items()) {
    CheckOneOf(mode.AsString(), kModes, path, errors);
    if (mode.AsString() == "ReadWriteOncePod") {
      once_pod = true;
    } else if (IsOneOf(mode.AsString(), kModes)) {
      others = true;
    }
  }
  if (once_pod && others) errors.Forbidden(path, "may not use ReadWriteOncePod with other access modes");
}

void CheckClaimSpec(const Value& spec, const FieldPath& path, FieldErrors& errors, ClaimRules rules) {
  Value modes = spec.Get("accessModes");
  if (modes.empty()) errors.Required(path.Child("accessModes"), "at least 1 access mode is required");
  CheckLabelSelector(spec.Get("selector"), path.Child("selector"), errors, {rules.allow_invalid_selector_values});
  CheckAccessModes(modes, path.Child("accessModes"), errors);
  CheckStorageRequest(spec, path, errors);
  if (std::string_view name = spec.Get("storageClassName").AsString(); !name.empty()) {
    CheckDns1123Subdomain(name, path.Child("storageClassName"), errors);
  }
  if (Value mode = spec.Get("volumeMode")) CheckOneOf(mode.AsString(), {"Block", "Filesystem"}, path.Child("volumeMode"), errors);
  CheckDataSources(spec, path, errors, rules);
  if (std::string_view name = spec.Get("volumeAttributesClassName").AsString(); !name.empty()) {
    CheckDns1123Subdomain(name, path.Child("volumeAttributesClassName"), errors);
  }
}

void CheckClaimTemplate(const Value& claim_template, const FieldPath& path, FieldErrors& errors) {
  CheckTemplateMetadata(claim_template.Get("metadata"), path.Child("metadata"), errors);
  CheckClaimSpec(claim_template.Get("spec"), path.Child("spec"), errors);
}

}  // namespace homeostat::kinds
