// ConfigMap, Secret, ServiceAccount: what programs are configured with.
// Source of the rules: ValidateConfigMap, ValidateSecret of pkg/apis/core/validation, and their strategies.
#include "homeostat/api/core/v1.h"
#include "homeostat/object/json.h"
#include "kinds/checks.h"
#include "kinds/core/behaviours.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

constexpr size_t kMaxBytes = 1024 * 1024;
constexpr std::string_view kFrozen = "field is immutable when `immutable` is set";

size_t CheckKeys(const Value& map, const FieldPath& path, const Value& other, std::string_view other_name, FieldErrors& errors) {
  size_t bytes = 0;
  for (const object::Member& entry : map.members()) {
    AddInvalid(errors, path.Key(entry.name()), entry.name(), object::IsConfigMapKey(entry.name()));
    if (other.Find(entry.name()) != nullptr) {
      errors.Invalid(path.Key(entry.name()), entry.name(), "duplicate of key present in " + std::string(other_name));
    }
    bytes += entry.value.AsString().size();
  }
  return bytes;
}

void CheckFrozen(const Value& object, const Value& old, std::initializer_list<std::string_view> fields, FieldErrors& errors) {
  if (!old.Get("immutable").AsBool()) return;
  if (!object.Get("immutable").AsBool()) errors.Forbidden(FieldPath("immutable"), kFrozen);
  for (std::string_view field : fields) {
    // To upstream an empty map is another one than none, which is what is stored.
    FieldPath path(field);
    if (!object::Equal(object.Get(field), old.Get(field)) || errors.CameEmpty(path)) errors.Forbidden(path, kFrozen);
  }
}

void ValidateConfigMap(RuleContext&, Value map, FieldErrors& errors) {
  Value data = map.Get("data"), binary = map.Get("binaryData");
  size_t bytes = CheckKeys(data, FieldPath("data"), binary, "binaryData", errors);
  bytes += CheckKeys(binary, FieldPath("binaryData"), Value(), "", errors);
  if (bytes > kMaxBytes) errors.TooLong(FieldPath().Key(""), kMaxBytes);
}

void ValidateConfigMapUpdate(RuleContext& context, Value map, Value old, FieldErrors& errors) {
  CheckFrozen(map, old, {"data", "binaryData"}, errors);
  CheckRestOfMetadata(context, errors);
  ValidateConfigMap(context, map, errors);
}

void RequireKey(const Value& data, std::string_view key, FieldErrors& errors) {
  if (data.Find(key) == nullptr) errors.Required(FieldPath("data").Key(key));
}

// A JSON object, whose content is not repeated in the answer.
void CheckDockerConfig(const Value& data, std::string_view key, FieldErrors& errors) {
  const object::Member* entry = data.Find(key);
  if (entry == nullptr) return errors.Required(FieldPath("data").Key(key));
  static constexpr std::string_view kRedacted = "<secret contents redacted>";
  Arena arena;
  auto parsed = object::ParseJson(arena, entry->value.AsString());
  if (!parsed) return errors.Invalid(FieldPath("data").Key(key), kRedacted, parsed.error().message());
  if (parsed->IsObject() || parsed->IsNull()) return;
  std::string_view what = parsed->IsList() ? "array" : parsed->IsString() ? "string" : parsed->IsBool() ? "bool" : "number";
  errors.Invalid(FieldPath("data").Key(key), kRedacted,
                 "json: cannot unmarshal " + std::string(what) + " into Go value of type map[string]interface {}");
}

void ValidateSecret(RuleContext&, Value secret, FieldErrors& errors) {
  Value data = secret.Get("data");
  std::string_view type = secret.Get("type").AsString();
  size_t bytes = CheckKeys(data, FieldPath("data"), Value(), "", errors);
  if (bytes > kMaxBytes) errors.TooLong(FieldPath("data"), kMaxBytes);
  if (type == "kubernetes.io/service-account-token") {
    static constexpr std::string_view kAccount = "kubernetes.io/service-account.name";
    FieldPath metadata("metadata");
    if (secret.Path({"metadata", "annotations", kAccount}).AsString().empty()) errors.Required(metadata.Child("annotations").Key(kAccount));
  } else if (type == "kubernetes.io/dockercfg") {
    CheckDockerConfig(data, ".dockercfg", errors);
  } else if (type == "kubernetes.io/dockerconfigjson") {
    CheckDockerConfig(data, ".dockerconfigjson", errors);
  } else if (type == "kubernetes.io/basic-auth") {
    if (data.Find("username") != nullptr || data.Find("password") != nullptr) return;
    RequireKey(data, "username", errors);
    RequireKey(data, "password", errors);
  } else if (type == "kubernetes.io/ssh-auth") {
    if (data.Get("ssh-privatekey").AsString().empty()) errors.Required(FieldPath("data").Key("ssh-privatekey"));
  } else if (type == "kubernetes.io/tls") {
    RequireKey(data, "tls.crt", errors);
    RequireKey(data, "tls.key", errors);
  }
}

void ValidateSecretUpdate(RuleContext& context, Value secret, Value old, FieldErrors& errors) {
  std::string_view type = secret.Get("type").AsString();
  if (type != old.Get("type").AsString()) errors.InvalidNamed(FieldPath("type"), type, kImmutable);
  CheckFrozen(secret, old, {"data"}, errors);
  CheckRestOfMetadata(context, errors);
  ValidateSecret(context, secret, errors);
}

void WarnOfSecret(RuleContext& context, Value secret, Value) {
  if (context.warnings == nullptr || secret.Get("type").AsString() != "kubernetes.io/tls") return;
  for (const auto& [key, what] : {std::pair<std::string_view, std::string_view>("tls.crt", "certificate"), {"tls.key", "key"}}) {
    if (secret.Get("data").Get(key).AsString().find("-----BEGIN ") != std::string_view::npos) continue;
    context.warnings->push_back("tls: failed to find any PEM data in " + std::string(what) + " input");
    return;
  }
}

// Of secrets only names are kept.
Value CleanSecrets(RuleContext& context, Value account) {
  return Edited(context.arena, types::kServiceAccount, account, [](Edit& edit) {
    edit.Each("secrets", [](Edit& secret) {
      for (std::string_view field : {"kind", "namespace", "uid", "apiVersion", "resourceVersion", "fieldPath"}) secret.Erase(field);
    });
  });
}

Value PrepareAccountUpdate(RuleContext& context, Value account, Value) { return CleanSecrets(context, account); }

void WarnOfAccount(RuleContext& context, Value account, Value old) {
  static constexpr std::string_view kEnforce = "kubernetes.io/enforce-mountable-secrets";
  if (context.warnings == nullptr || old.Path({"metadata", "annotations", kEnforce})) return;
  if (!account.Path({"metadata", "annotations", kEnforce})) return;
  context.warnings->push_back("metadata.annotations[" + std::string(kEnforce) +
                              "]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets");
}

}  // namespace

const Behaviour kConfigMapBehaviour = {
    .group = "",
    .kind = "ConfigMap",
    .validate_name = object::NameIsDNSSubdomain,
    .validate_create = ValidateConfigMap,
    .validate_update = ValidateConfigMapUpdate,
};

const Behaviour kSecretBehaviour = {
    .group = "",
    .kind = "Secret",
    .validate_name = object::NameIsDNSSubdomain,
    .validate_create = ValidateSecret,
    .validate_update = ValidateSecretUpdate,
    .warn = WarnOfSecret,
};

const Behaviour kServiceAccountBehaviour = {
    .group = "",
    .kind = "ServiceAccount",
    .validate_name = object::NameIsDNSSubdomain,
    .prepare_create = CleanSecrets,
    .prepare_update = PrepareAccountUpdate,
    .warn = WarnOfAccount,
};

}  // namespace homeostat::kinds
