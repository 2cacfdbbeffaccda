#include "kinds/core/env.h"

#include <algorithm>
#include <optional>

#include "homeostat/base/text.h"
#include "homeostat/object/quantity.h"

namespace homeostat::kinds {
namespace {

// Fields that references may name at all, before what each use allows.
constexpr std::string_view kKnownFields[] = {
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "status.phase", "status.hostIP", "status.hostIPs",
    "status.podIP", "status.podIPs", "spec.host"};
constexpr std::string_view kEnvFields[] = {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
                                "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"};
constexpr std::string_view kVolumeFields[] = {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"};
constexpr std::string_view kResources[] = {"limits.cpu", "limits.ephemeral-storage", "limits.memory",
                                "requests.cpu", "requests.ephemeral-storage", "requests.memory"};

struct Subscripted {
  std::string_view path, key;
};

// path['key']
std::optional<Subscripted> SplitSubscript(std::string_view field_path) {
  if (!field_path.ends_with("']")) return std::nullopt;
  size_t open = field_path.substr(0, field_path.size() - 2).find("['");
  if (open == field_path.npos || open == 0) return std::nullopt;
  return Subscripted{field_path.substr(0, open), field_path.substr(open + 2, field_path.size() - open - 4)};
}

// Why a reference can't be followed at all; empty if it can.
std::string ConversionError(std::string_view version, std::string_view field_path) {
  if (version != "v1") return "unsupported pod version: " + std::string(version);
  if (auto subscripted = SplitSubscript(field_path)) {
    if (subscripted->path == "metadata.annotations" || subscripted->path == "metadata.labels") return {};
    return "field label does not support subscript: " + std::string(field_path);
  }
  return IsOneOf(field_path, kKnownFields) ? std::string() : "field label not supported: " + std::string(field_path);
}

bool IsHugePagesField(std::string_view resource) {
  return resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
}

void CheckDivisor(std::string_view resource, const Value& divisor, const FieldPath& path, FieldErrors& errors) {
  auto quantity = object::Quantity::Parse(divisor.AsString("0"));
  if (!quantity || quantity->IsZero()) return;
  std::string text = quantity->ToString();
  static constexpr std::string_view kSizes[] = {"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};
  std::string_view name;
  if (resource == "limits.cpu" || resource == "requests.cpu") {
    if (text != "1m" && text != "1") {
      errors.Invalid(path.Child("divisor"), resource, "only divisor's values 1m and 1 are supported with the cpu resource");
    }
    return;
  }
  if (resource == "limits.memory" || resource == "requests.memory") name = "memory";
  if (resource == "limits.ephemeral-storage" || resource == "requests.ephemeral-storage") name = "local ephemeral storage";
  if (IsHugePagesField(resource)) name = "hugepages";
  if (name.empty() || IsOneOf(text, kSizes)) return;
  errors.Invalid(path.Child("divisor"), resource,
                 "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the " +
                     std::string(name) + " resource");
}

// A key of a ConfigMap or a Secret.
void CheckKeyRef(const Value& reference, const FieldPath& path, FieldErrors& errors) {
  CheckDns1123Subdomain(reference.Get("name").AsString(), path.Child("name"), errors);
  std::string_view key = reference.Get("key").AsString();
  if (key.empty()) errors.Required(path.Child("key")); else AddInvalid(errors, path.Child("key"), key, object::IsConfigMapKey(key));
}

void CheckFileKeyRef(const Value& reference, const FieldPath& path, FieldErrors& errors) {
  std::string_view key = reference.Get("key").AsString(), volume = reference.Get("volumeName").AsString();
  std::string_view file = reference.Get("path").AsString();
  if (key.empty()) errors.Required(path.Child("key")); else AddInvalid(errors, path.Child("key"), key, object::IsRelaxedEnvVarName(key));
  if (volume.empty()) errors.Required(path.Child("volumeName")); else CheckDns1123Label(volume, path.Child("volumeName"), errors);
  if (file.empty()) errors.Required(path.Child("path")); else CheckNoBacksteps(file, path.Child("path"), errors);
}

void CheckValueFrom(const Value& variable, const FieldPath& path, FieldErrors& errors) {
  Value from = variable.Get("valueFrom");
  if (!from) return;
  int sources = 0;
  auto source = [&](std::string_view field, auto check) {
    if (Value reference = from.Get(field)) ++sources, check(reference, path.Child(field));
  };
  source("fieldRef", [&](const Value& r, const FieldPath& at) { CheckFieldRef(r, FieldRefUse::kEnv, at, errors); });
  source("resourceFieldRef", [&](const Value& r, const FieldPath& at) { CheckResourceFieldRef(r, FieldRefUse::kEnv, at, errors); });
  source("configMapKeyRef", [&](const Value& r, const FieldPath& at) { CheckKeyRef(r, at, errors); });
  source("secretKeyRef", [&](const Value& r, const FieldPath& at) { CheckKeyRef(r, at, errors); });
  source("fileKeyRef", [&](const Value& r, const FieldPath& at) { CheckFileKeyRef(r, at, errors); });
  if (sources == 0) {
    errors.Invalid(path, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`");
  } else if (!variable.Get("value").AsString().empty()) {
    errors.Invalid(path, "", "may not be specified when `value` is not empty");
  } else if (sources > 1) {
    errors.Invalid(path, "", "may not have more than one field specified at a time");
  }
}

// The names of ConfigMaps and Secrets that whole environments come from: their end may be missing yet.
void CheckSourceName(const Value& source, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = source.Get("name").AsString();
  if (name.empty()) {
    errors.Required(path.Child("name"));
  } else {
    AddInvalid(errors, path.Child("name"), name, object::NameIsDNSSubdomain(name, true));
  }
}

}  // namespace

void CheckFieldRef(const Value& reference, FieldRefUse use, const FieldPath& path, FieldErrors& errors) {
  std::string_view version = reference.Get("apiVersion").AsString(), field_path = reference.Get("fieldPath").AsString();
  if (version.empty()) return errors.Required(path.Child("apiVersion"));
  if (field_path.empty()) return errors.Required(path.Child("fieldPath"));
  if (std::string error = ConversionError(version, field_path); !error.empty()) {
    return errors.Invalid(path.Child("fieldPath"), field_path, "error converting fieldPath: " + error);
  }
  if (auto subscripted = SplitSubscript(field_path)) {
    bool annotation = subscripted->path == "metadata.annotations";
    std::string key = annotation ? LowerCase(subscripted->key) : std::string(subscripted->key);
    return CheckQualifiedName(key, path, errors);
  }
  if (field_path == "spec.host") field_path = "spec.nodeName";
  CheckOneOf(field_path, use == FieldRefUse::kEnv ? Choices(kEnvFields) : Choices(kVolumeFields), path.Child("fieldPath"), errors);
}

void CheckResourceFieldRef(const Value& reference, FieldRefUse use, const FieldPath& path, FieldErrors& errors) {
  std::string_view resource = reference.Get("resource").AsString();
  if (use == FieldRefUse::kVolume && reference.Get("containerName").AsString().empty()) {
    errors.Required(path.Child("containerName"));
  } else if (resource.empty()) {
    errors.Required(path.Child("resource"));
  } else if (!IsHugePagesField(resource)) {
    CheckOneOf(resource, kResources, path.Child("resource"), errors);
  }
  CheckDivisor(resource, reference.Get("divisor"), path, errors);
}

void CheckEnv(const Value& variables, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < variables.size(); ++i) {
    Value variable = variables.At(i);
    FieldPath at = path.Index(i);
    std::string_view name = variable.Get("name").AsString();
    if (name.empty()) errors.Required(at.Child("name")); else AddInvalid(errors, at.Child("name"), name, object::IsRelaxedEnvVarName(name));
    CheckValueFrom(variable, at.Child("valueFrom"), errors);
  }
}

void CheckEnvFrom(const Value& sources, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < sources.size(); ++i) {
    Value source = sources.At(i);
    FieldPath at = path.Index(i);
    if (std::string_view prefix = source.Get("prefix").AsString(); !prefix.empty()) {
      AddInvalid(errors, at.Child("prefix"), prefix, object::IsRelaxedEnvVarName(prefix));
    }
    int count = 0;
    for (std::string_view field : {"configMapRef", "secretRef"}) {
      if (Value reference = source.Get(field)) ++count, CheckSourceName(reference, at.Child(field), errors);
    }
    if (count == 0) {
      errors.Invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
    } else if (count > 1) {
      errors.Invalid(path, "", "may not have more than one field specified at a time");
    }
  }
}

}  // namespace homeostat::kinds
