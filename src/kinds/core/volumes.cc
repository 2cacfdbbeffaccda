#include "kinds/core/volumes.h"

#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "homeostat/base/text.h"
#include "homeostat/object/quantity.h"
#include "kinds/core/env.h"

namespace homeostat::kinds {
namespace {

// What a source's check may have to know beside the source.
struct SourceContext {
  std::string_view volume_name;
  std::string_view pod_name;
  const FieldPath* volume_path = nullptr;
  const PodRules* rules = nullptr;
  bool persistent = false;
  bool has_node_affinity = false;  // of persistent ones
};

using SourceCheck = void (*)(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors);

struct SourceRule {
  std::string_view field;           // of the volume
  SourceCheck check = nullptr;
  std::string_view required = {};   // fields of text that must be there, comma separated, checked before `check`
  std::string_view path = {};       // where faults are reported, if not at the field
  std::string_view second_path = {};// where a second source is refused, if not at the field
};

void CheckRequired(std::string_view fields, const Value& source, const FieldPath& path, FieldErrors& errors) {
  while (!fields.empty()) {
    size_t comma = std::min(fields.find(','), fields.size());
    RequireText(source, fields.substr(0, comma), path, errors);
    fields.remove_prefix(std::min(comma + 1, fields.size()));
  }
}

void CheckPartition(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  int64_t partition = source.Get("partition").AsInt();
  if (partition < 0 || partition > 255) errors.Invalid(path.Child("partition"), partition, object::InclusiveRangeError(1, 255));
}

void CheckEmptyDir(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  auto limit = object::Quantity::Parse(source.Get("sizeLimit").AsString("0"));
  if (limit && limit->Sign() < 0) errors.Forbidden(path.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity");
}

void CheckHostPath(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  std::string_view file = source.Get("path").AsString();
  if (file.empty()) return errors.Required(path.Child("path"));
  CheckNoBacksteps(file, path.Child("path"), errors);
  if (!source.Get("type")) return;
  CheckOneOf(source.Get("type").AsString(),
             {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"},
             path.Child("type"), errors);
}

void CheckGitRepo(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  CheckDescendingPath(source.Get("directory").AsString(), path.Child("directory"), errors);
}

// Names of iSCSI initiators and targets. Empty texts are the caller's to refuse.
bool IsIscsiName(std::string_view name) {
  static const RE2 iqn(R"(iqn\.\d{4}-\d{2}\.([[:alnum:].-]+)(:[^,;*&$|\s]+)$)");
  static const RE2 eui("^eui.[[:alnum:]]{16}$");
  static const RE2 naa("^naa.[[:alnum:]]{32}$");
  re2::StringPiece text(name.data(), name.size());
  return RE2::PartialMatch(text, name.starts_with("iqn") ? iqn : name.starts_with("eui") ? eui : naa);
}

bool HasIscsiPrefix(std::string_view name) { return name.starts_with("iqn") || name.starts_with("eui") || name.starts_with("naa"); }

void CheckIscsiName(std::string_view name, bool persistent, const FieldPath& path, FieldErrors& errors) {
  if (!HasIscsiPrefix(name)) {
    errors.Invalid(path, name, persistent ? "must be valid format" : "must be valid format starting with iqn, eui, or naa");
  } else if (!IsIscsiName(name)) {
    errors.Invalid(path, name, "must be valid format");
  }
}

constexpr std::string_view kIscsiTooLong =
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

bool IsIscsiTooLong(const Value& source, std::string_view volume_name) {
  return source.Get("initiatorName") && volume_name.size() + 1 + source.Get("targetPortal").AsString().size() > 64;
}

void CheckIscsi(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  if (context.persistent && IsIscsiTooLong(source, context.volume_name)) {
    errors.Invalid(path.Child("targetportal"), source.Get("targetPortal").AsString(), kIscsiTooLong);
  }
  std::string_view iqn = source.Get("iqn").AsString();
  if (iqn.empty()) {
    errors.Required(path.Child("iqn"));
  } else {
    CheckIscsiName(iqn, context.persistent, path.Child("iqn"), errors);
  }
  int64_t lun = source.Get("lun").AsInt();
  if (lun < 0 || lun > 255) errors.Invalid(path.Child("lun"), lun, object::InclusiveRangeError(0, 255));
  bool chap = source.Get("chapAuthDiscovery").AsBool() || source.Get("chapAuthSession").AsBool();
  Value secret = source.Get("secretRef");
  if (chap && !secret) errors.Required(path.Child("secretRef"));
  if (context.persistent && secret) RequireText(secret, "name", path.Child("secretRef"), errors);
  if (Value initiator = source.Get("initiatorName")) {
    CheckIscsiName(initiator.AsString(), context.persistent, path.Child("initiatorname"), errors);
  }
}

void CheckFc(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  Value names = source.Get("targetWWNs"), ids = source.Get("wwids"), lun = source.Get("lun");
  if (names.empty() && ids.empty()) {
    errors.Required(path.Child("targetWWNs"), "must specify either targetWWNs or wwids, but not both");
  }
  if (!names.empty() && !ids.empty()) {
    errors.Invalid(path.Child("targetWWNs"), names, "targetWWNs and wwids can not be specified simultaneously");
  }
  if (names.empty()) return;
  if (!lun) {
    errors.Required(path.Child("lun"), "lun is required if targetWWNs is specified");
  } else if (lun.AsInt() < 0 || lun.AsInt() > 255) {
    errors.Invalid(path.Child("lun"), lun, object::InclusiveRangeError(0, 255));
  }
}

void CheckItems(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  CheckMode(source.Get("defaultMode"), path.Child("defaultMode"), errors);
  Value items = source.Get("items");
  for (size_t i = 0; i < items.size(); ++i) CheckKeyToPath(items.At(i), path.Child("items").Index(i), errors);
}

void CheckNfs(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  std::string_view file = source.Get("path").AsString();
  if (!file.starts_with('/')) errors.Invalid(path.Child("path"), file, "must be an absolute path");
}

bool IsHostAndPort(std::string_view pair) {
  size_t colon = pair.rfind(':');
  if (colon == pair.npos) return false;
  std::string_view host = pair.substr(0, colon);
  if (host.starts_with('[')) return host.ends_with(']') && host.find(']') == host.size() - 1;
  return host.find_first_of(":[]") == host.npos;
}

void CheckQuobyte(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kWanted = "must be a host:port pair or multiple pairs separated by commas";
  std::string_view registry = source.Get("registry").AsString();
  if (registry.empty()) {
    errors.Required(path.Child("registry"), kWanted);
  } else if (source.Get("tenant").AsString().size() >= 65) {
    errors.Required(path.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters");
  } else {
    for (std::string_view rest = registry;;) {
      size_t comma = rest.find(',');
      if (!IsHostAndPort(rest.substr(0, comma))) errors.Invalid(path.Child("registry"), registry, kWanted);
      if (comma == rest.npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  RequireText(source, "volume", path, errors);
}

void CheckGlusterfs(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  Value ns = source.Get("endpointsNamespace");
  if (!context.persistent || !ns) return;
  if (ns.AsString().empty()) {
    errors.Invalid(path.Child("endpointsNamespace"), ns, "if the endpointnamespace is set, it must be a valid namespace name");
  } else {
    CheckDns1123Label(ns.AsString(), path.Child("endpointsNamespace"), errors);
  }
}

void CheckFlocker(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = source.Get("datasetName").AsString(), uuid = source.Get("datasetUUID").AsString();
  if (name.empty() && uuid.empty()) errors.Required(path, "one of datasetName and datasetUUID is required");
  if (!name.empty() && !uuid.empty()) {
    errors.Invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously");
  }
  if (name.find('/') != name.npos) errors.Invalid(path.Child("datasetName"), name, "must not contain '/'");
}

void CheckCeph(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  if (source.Get("monitors").empty()) errors.Required(path.Child("monitors"));
}

void CheckRbd(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  CheckCeph(source, context, path, errors);
  RequireText(source, "image", path, errors);
}

// A reference to a secret, which of a persistent volume names its namespace too.
void CheckSecretRef(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  Value secret = source.Get("secretRef");
  if (!secret) return;
  RequireText(secret, "name", path.Child("secretRef"), errors);
  if (context.persistent) RequireText(secret, "namespace", path.Child("secretRef"), errors);
}

void CheckFlex(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  for (const object::Member& option : source.Get("options").members()) {
    std::string ns = "." + LowerCase(option.name().substr(0, option.name().find('/')));
    if (ns.ends_with(".kubernetes.io") || ns.ends_with(".k8s.io")) {
      errors.Invalid(path.Child("options").Key(option.name()), option.name(), "kubernetes.io and k8s.io namespaces are reserved");
    }
  }
}

void CheckAzureFile(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  Value ns = source.Get("secretNamespace");
  if (context.persistent && ns && ns.AsString().empty()) errors.Required(path.Child("secretNamespace"));
}

void CheckAzureDisk(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  if (Value mode = source.Get("cachingMode")) CheckOneOf(mode.AsString(), {"None", "ReadOnly", "ReadWrite"}, path.Child("cachingMode"), errors);
  Value kind = source.Get("kind");
  if (!kind) return;
  CheckOneOf(kind.AsString(), {"Dedicated", "Managed", "Shared"}, path.Child("kind"), errors);
  std::string_view uri = source.Get("diskURI").AsString();
  if (kind.AsString() == "Managed" && !uri.starts_with("/subscriptions/")) {
    errors.NotSupportedText(path.Child("diskURI"), uri,
                        {"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"});
  }
  if (kind.AsString() != "Managed" && !uri.starts_with("https://")) {
    errors.NotSupportedText(path.Child("diskURI"), uri, {"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"});
  }
}

void CheckStorageOs(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = source.Get("volumeName").AsString(), ns = source.Get("volumeNamespace").AsString();
  if (!name.empty()) CheckDns1123Label(name, path.Child("volumeName"), errors);
  if (!ns.empty()) CheckDns1123Label(ns, path.Child("volumeNamespace"), errors);
  CheckSecretRef(source, context, path, errors);
}

void CheckDownwardApi(const Value& source, const SourceContext&, const FieldPath& path, FieldErrors& errors) {
  CheckMode(source.Get("defaultMode"), path.Child("defaultMode"), errors);
  for (const Value& file : source.Get("items").items()) CheckDownwardFile(file, path, errors);
}

void CheckProjected(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  CheckProjectedSource(source, path, *context.rules, errors);
}

void CheckPersistentSecret(const Value& secret, const FieldPath& path, FieldErrors& errors) {
  if (!secret) return;
  std::string_view name = secret.Get("name").AsString(), ns = secret.Get("namespace").AsString();
  if (name.empty()) errors.Required(path.Child("name")); else CheckDns1123Subdomain(name, path.Child("name"), errors);
  if (ns.empty()) errors.Required(path.Child("namespace")); else CheckDns1123Label(ns, path.Child("namespace"), errors);
}

void CheckCsi(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  CheckCsiDriverName(source.Get("driver").AsString(), path.Child("driver"), errors);
  if (context.persistent) {
    RequireText(source, "volumeHandle", path, errors);
    for (std::string_view field :
         {"controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef"}) {
      CheckPersistentSecret(source.Get(field), path.Child(field), errors);
    }
  } else if (Value secret = source.Get("nodePublishSecretRef")) {
    std::string_view name = secret.Get("name").AsString();
    if (name.empty()) {
      errors.Required(path.Child("nodePublishSecretRef", "name"));
    } else {
      CheckDns1123Subdomain(name, path.Child("name"), errors);
    }
  }
}

void CheckEphemeral(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  if (Value claim = source.Get("volumeClaimTemplate")) {
    CheckClaimTemplate(claim, path.Child("volumeClaimTemplate"), errors);
  } else {
    errors.Required(path.Child("volumeClaimTemplate"));
  }
  if (context.pod_name.empty() || context.volume_name.empty()) return;
  std::string claim_name = std::string(context.pod_name) + "-" + std::string(context.volume_name);
  for (const std::string& message : object::NameIsDNSSubdomain(claim_name, false)) {
    errors.Invalid(context.volume_path->Child("name"), context.volume_name, "PVC name " + GoQuote(claim_name) + ": " + message);
  }
}

void CheckImage(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  if (context.rules->is_pod) RequireText(source, "reference", path, errors);
  RequireOneOf(source.Get("pullPolicy").AsString(), {"Always", "IfNotPresent", "Never"}, path.Child("pullPolicy"), errors);
}

void CheckLocal(const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  std::string_view file = source.Get("path").AsString();
  if (file.empty()) errors.Required(path.Child("path")); else CheckNoBacksteps(file, path.Child("path"), errors);
  if (!context.has_node_affinity) errors.Required(context.volume_path->Child("nodeAffinity"), "Local volume requires node affinity");
}

constexpr SourceRule kPodSources[] = {
    {"emptyDir", CheckEmptyDir},
    {"hostPath", CheckHostPath},
    {"gitRepo", CheckGitRepo, "repository"},
    {"gcePersistentDisk", CheckPartition, "pdName", "persistentDisk"},
    {"awsElasticBlockStore", CheckPartition, "volumeID"},
    {"secret", CheckItems, "secretName"},
    {"nfs", CheckNfs, "server,path"},
    {"iscsi", CheckIscsi, "targetPortal"},
    {"glusterfs", CheckGlusterfs, "endpoints,path"},
    {"flocker", CheckFlocker},
    {"persistentVolumeClaim", nullptr, "claimName"},
    {"rbd", CheckRbd},
    {"cinder", CheckSecretRef, "volumeID"},
    {"cephfs", CheckCeph, "", "", "cephFS"},
    {"quobyte", CheckQuobyte},
    {"downwardAPI", CheckDownwardApi, "", "", "downwarAPI"},
    {"fc", CheckFc},
    {"flexVolume", CheckFlex, "driver"},
    {"configMap", CheckItems, "name"},
    {"azureFile", CheckAzureFile, "secretName,shareName"},
    {"vsphereVolume", nullptr, "volumePath"},
    {"photonPersistentDisk", nullptr, "pdID"},
    {"portworxVolume", nullptr, "volumeID"},
    {"azureDisk", CheckAzureDisk, "diskName,diskURI"},
    {"storageos", CheckStorageOs, "volumeName"},
    {"projected", CheckProjected},
    {"scaleIO", nullptr, "gateway,system,volumeName"},
    {"csi", CheckCsi},
    {"ephemeral", CheckEphemeral},
    {"image", CheckImage},
};

constexpr SourceRule kPersistentSources[] = {
    {"hostPath", CheckHostPath},
    {"gcePersistentDisk", CheckPartition, "pdName", "persistentDisk"},
    {"awsElasticBlockStore", CheckPartition, "volumeID"},
    {"glusterfs", CheckGlusterfs, "endpoints,path"},
    {"flocker", CheckFlocker},
    {"nfs", CheckNfs, "server,path"},
    {"rbd", CheckRbd},
    {"quobyte", CheckQuobyte},
    {"cephfs", CheckCeph, "", "", "cephFS"},
    {"iscsi", CheckIscsi, "targetPortal"},
    {"cinder", CheckSecretRef, "volumeID"},
    {"fc", CheckFc},
    {"flexVolume", CheckFlex, "driver"},
    {"azureFile", CheckAzureFile, "secretName,shareName"},
    {"vsphereVolume", nullptr, "volumePath"},
    {"photonPersistentDisk", nullptr, "pdID"},
    {"portworxVolume", nullptr, "volumeID"},
    {"azureDisk", CheckAzureDisk, "diskName,diskURI"},
    {"scaleIO", nullptr, "gateway,system,volumeName"},
    {"local", CheckLocal},
    {"storageos", CheckStorageOs, "volumeName"},
    {"csi", CheckCsi},
};

void CheckSource(const SourceRule& rule, const Value& source, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  CheckRequired(rule.required, source, path, errors);
  if (rule.check != nullptr) rule.check(source, context, path, errors);
}

// Exactly one of the sources; the first counts, further ones are refused.
void CheckOneSource(std::span<const SourceRule> rules, const Value& holder, const SourceContext& context, const FieldPath& path, FieldErrors& errors) {
  bool found = false;
  for (const SourceRule& rule : rules) {
    Value source = holder.Get(rule.field);
    if (!source) continue;
    if (found && !(context.persistent && rule.field == "flexVolume")) {
      errors.Forbidden(path.Child(rule.second_path.empty() ? rule.field : rule.second_path), "may not specify more than 1 volume type");
    } else {
      found = true;
      CheckSource(rule, source, context, path.Child(rule.path.empty() ? rule.field : rule.path), errors);
    }
    if (rule.field == "iscsi" && !context.persistent && IsIscsiTooLong(source, context.volume_name)) {
      errors.Invalid(path.Child("name"), context.volume_name, kIscsiTooLong);
    }
  }
  if (!found) errors.Required(path, "must specify a volume type");
}

}  // namespace

void CheckKeyToPath(const Value& item, const FieldPath& path, FieldErrors& errors) {
  RequireText(item, "key", path, errors);
  RequireText(item, "path", path, errors);
  CheckLocalPath(item.Get("path").AsString(), path.Child("path"), errors);
  CheckMode(item.Get("mode"), path.Child("mode"), errors);
}

void CheckDownwardFile(const Value& file, const FieldPath& path, FieldErrors& errors) {
  RequireText(file, "path", path, errors);
  CheckLocalPath(file.Get("path").AsString(), path.Child("path"), errors);
  Value field = file.Get("fieldRef"), resource = file.Get("resourceFieldRef");
  if (field) {
    CheckFieldRef(field, FieldRefUse::kVolume, path.Child("fieldRef"), errors);
    if (resource) errors.Invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
  } else if (resource) {
    CheckResourceFieldRef(resource, FieldRefUse::kVolume, path.Child("resourceFieldRef"), errors);
  } else {
    errors.Required(path, "one of fieldRef and resourceFieldRef is required");
  }
  CheckMode(file.Get("mode"), path.Child("mode"), errors);
}

void CheckCsiDriverName(std::string_view driver, const FieldPath& path, FieldErrors& errors) {
  if (driver.empty()) return errors.Required(path);
  if (driver.size() > 63) errors.TooLong(path, 63);
  AddInvalid(errors, path, driver, object::IsDNS1123Subdomain(LowerCase(driver)));
}

Volumes CheckVolumes(const Value& volumes, std::string_view pod_name, const FieldPath& path, const PodRules& rules, FieldErrors& errors) {
  std::set<std::string> created_claims;
  for (const Value& volume : volumes.items()) {
    if (pod_name.empty() || !volume.Get("ephemeral")) continue;
    created_claims.insert(std::string(pod_name) + "-" + std::string(volume.Get("name").AsString()));
  }
  Volumes good;
  for (size_t i = 0; i < volumes.size(); ++i) {
    Value volume = volumes.At(i);
    std::string_view name = volume.Get("name").AsString();
    FieldPath at = path.Index(i);
    SourceContext context{.volume_name = name, .pod_name = pod_name, .volume_path = &at, .rules = &rules};
    size_t before = errors.size();
    CheckOneSource(kPodSources, volume, context, at, errors);
    if (name.empty()) errors.Required(at.Child("name")); else CheckDns1123Label(name, at.Child("name"), errors);
    if (good.contains(name)) errors.Duplicate(at.Child("name"), name);
    if (errors.size() == before) good.emplace(name, volume);
    Value claim = volume.Get("persistentVolumeClaim").Get("claimName");
    if (claim && created_claims.contains(std::string(claim.AsString()))) {
      errors.Invalid(at.Child("persistentVolumeClaim", "claimName"), claim,
                     "must not reference a PVC that gets created for an ephemeral volume");
    }
  }
  return good;
}

void CheckPersistentSource(const Value& spec, const PersistentSourceContext& context, const FieldPath& path, FieldErrors& errors) {
  SourceContext source_context{
      .volume_name = context.volume_name, .volume_path = &path, .persistent = true, .has_node_affinity = context.has_node_affinity};
  CheckOneSource(kPersistentSources, spec, source_context, path, errors);
}

std::span<const std::string_view> PersistentSourceFields() {
  static const std::vector<std::string_view> fields = [] {
    std::vector<std::string_view> all;
    for (const SourceRule& rule : kPersistentSources) all.push_back(rule.field);
    return all;
  }();
  return fields;
}

}  // namespace homeostat::kinds
