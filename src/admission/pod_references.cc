#include "admission/pod_references.h"

#include <algorithm>
#include <initializer_list>

namespace homeostat::admission {

using object::Value;

namespace {

bool Names(const Value& reference, std::string_view field = "name") { return !reference.Get(field).AsString().empty(); }

// In the environment of a container: under one name in envFrom, under another in env.
bool InEnvironment(const Value& spec, std::string_view whole, std::string_view key) {
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Value& container : spec.Get(list).items()) {
      for (const Value& source : container.Get("envFrom").items()) if (Names(source.Get(whole))) return true;
      for (const Value& variable : container.Get("env").items()) if (Names(variable.Get("valueFrom").Get(key))) return true;
    }
  }
  return false;
}

bool InProjection(const Value& volume, std::string_view source) {
  return std::ranges::any_of(volume.Get("projected").Get("sources").items(), [&](const Value& part) { return Names(part.Get(source)); });
}

bool UsesSecret(const Value& volume) {
  for (std::string_view source : {"cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"}) {
    if (Names(volume.Get(source).Get("secretRef"))) return true;
  }
  return Names(volume.Get("azureFile"), "secretName") || Names(volume.Get("secret"), "secretName") ||
         Names(volume.Get("csi").Get("nodePublishSecretRef")) || InProjection(volume, "secret");
}

struct Source {
  std::string_view field, resource;
};

std::string_view OfVolume(const Value& volume) {
  static constexpr Source kSources[] = {
      {"configMap", "configmaps (via configmap volumes)"}, {"secret", "secrets (via secret volumes)"}, {"csi", "csidrivers (via CSI volumes)"},
      {"glusterfs", "endpoints (via glusterFS volumes)"}, {"persistentVolumeClaim", "persistentvolumeclaims"},
      {"ephemeral", "persistentvolumeclaims (via ephemeral volumes)"}, {"azureFile", "secrets (via azureFile volumes)"},
  };
  static constexpr Source kProjected[] = {
      {"configMap", "configmaps (via projected volumes)"}, {"secret", "secrets (via projected volumes)"},
      {"serviceAccountToken", "serviceaccounts (via projected volumes)"}, {"clusterTrustBundle", "clustertrustbundles"},
      {"podCertificate", "podcertificates"},
  };
  for (const Source& source : kSources) if (volume.Get(source.field)) return source.resource;
  for (const Value& part : volume.Get("projected").Get("sources").items()) {
    for (const Source& source : kProjected) if (part.Get(source.field)) return source.resource;
  }
  return {};
}

}  // namespace

bool ReferencesSecrets(const Value& pod) {
  Value spec = pod.Get("spec");
  return std::ranges::any_of(spec.Get("imagePullSecrets").items(), [](const Value& secret) { return Names(secret); }) ||
         InEnvironment(spec, "secretRef", "secretKeyRef") || std::ranges::any_of(spec.Get("volumes").items(), UsesSecret);
}

bool ReferencesConfigMaps(const Value& pod) {
  Value spec = pod.Get("spec");
  return InEnvironment(spec, "configMapRef", "configMapKeyRef") || std::ranges::any_of(spec.Get("volumes").items(), [](const Value& volume) {
           return Names(volume.Get("configMap")) || InProjection(volume, "configMap");
         });
}

std::string ReferencedResource(const Value& pod) {
  Value spec = pod.Get("spec");
  if (!spec.Get("serviceAccountName").AsString().empty()) return "serviceaccounts";
  if (ReferencesSecrets(pod)) return "secrets";
  if (ReferencesConfigMaps(pod)) return "configmaps";
  if (!spec.Get("resourceClaims").empty()) return "resourceclaims";
  for (const Value& volume : spec.Get("volumes").items()) {
    if (std::string_view resource = OfVolume(volume); !resource.empty()) return std::string(resource);
  }
  return {};
}

}  // namespace homeostat::admission
