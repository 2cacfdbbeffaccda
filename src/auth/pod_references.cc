#include "auth/pod_references.h"

#include <string>

namespace homeostat::auth {
namespace {

using object::Value;

// Visits a name unless it is empty.
bool VisitName(const Value& name, const NameVisitor& visit) { return name.AsString().empty() || visit(name.AsString()); }

bool VisitEach(const Value& list, const std::function<bool(const Value&)>& visit) {
  for (const Value& item : list.items()) if (!visit(item)) return false;
  return true;
}

bool VisitContainers(const Value& pod, const std::function<bool(const Value&)>& visit) {
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    if (!VisitEach(pod.Path({"spec", list}), visit)) return false;
  }
  return true;
}

// Names in a container's environment: envFrom[*].FROM.name and env[*].valueFrom.KEY.name.
bool VisitEnvironment(const Value& pod, std::string_view from, std::string_view key, const NameVisitor& visit) {
  return VisitContainers(pod, [&](const Value& container) {
    return VisitEach(container.Get("envFrom"), [&](const Value& source) { return VisitName(source.Path({from, "name"}), visit); }) &&
           VisitEach(container.Get("env"), [&](const Value& variable) {
             return VisitName(variable.Path({"valueFrom", key, "name"}), visit);
           });
  });
}

}  // namespace

bool VisitPodSecrets(const Value& pod, const NameVisitor& visit) {
  auto named = [&](const Value& reference) { return VisitName(reference.Get("name"), visit); };
  if (!VisitEach(pod.Path({"spec", "imagePullSecrets"}), named)) return false;
  if (!VisitEnvironment(pod, "secretRef", "secretKeyRef", visit)) return false;
  return VisitEach(pod.Path({"spec", "volumes"}), [&](const Value& volume) {
    for (std::string_view source : {"cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"}) {
      if (!VisitName(volume.Path({source, "secretRef", "name"}), visit)) return false;
    }
    return VisitName(volume.Path({"azureFile", "secretName"}), visit) && VisitName(volume.Path({"secret", "secretName"}), visit) &&
           VisitName(volume.Path({"csi", "nodePublishSecretRef", "name"}), visit) &&
           VisitEach(volume.Path({"projected", "sources"}), [&](const Value& source) { return named(source.Get("secret")); });
  });
}

bool VisitPodConfigMaps(const Value& pod, const NameVisitor& visit) {
  if (!VisitEnvironment(pod, "configMapRef", "configMapKeyRef", visit)) return false;
  return VisitEach(pod.Path({"spec", "volumes"}), [&](const Value& volume) {
    return VisitName(volume.Path({"configMap", "name"}), visit) &&
           VisitEach(volume.Path({"projected", "sources"}),
                     [&](const Value& source) { return VisitName(source.Path({"configMap", "name"}), visit); });
  });
}

bool VisitPodVolumeClaims(const Value& pod, const NameVisitor& visit) {
  return VisitEach(pod.Path({"spec", "volumes"}), [&](const Value& volume) {
    Value claim = volume.Path({"persistentVolumeClaim", "claimName"});
    if (claim) return VisitName(claim, visit);
    if (!volume.Get("ephemeral")) return true;
    return visit(std::string(pod.Path({"metadata", "name"}).AsString()) + "-" + std::string(volume.Get("name").AsString()));
  });
}

bool VisitPodResourceClaims(const Value& pod, const NameVisitor& visit) {
  Value made = pod.Path({"status", "resourceClaimStatuses"});
  bool all = VisitEach(pod.Path({"spec", "resourceClaims"}), [&](const Value& claim) {
    if (claim.Get("resourceClaimName")) return VisitName(claim.Get("resourceClaimName"), visit);
    return VisitEach(made, [&](const Value& status) {
      return status.Get("name").AsString() != claim.Get("name").AsString() || VisitName(status.Get("resourceClaimName"), visit);
    });
  });
  return all && VisitName(pod.Path({"status", "extendedResourceClaimStatus", "resourceClaimName"}), visit);
}

bool VisitVolumeNodeSecrets(const Value& volume, const std::function<bool(std::string_view ns, std::string_view name)>& visit) {
  Value spec = volume.Get("spec");
  std::string_view claim_namespace = spec.Path({"claimRef", "namespace"}).AsString();
  auto visit_one = [&](std::string_view ns, const Value& name) { return name.AsString().empty() || visit(ns, name.AsString()); };
  Value azure = spec.Get("azureFile");
  std::string_view azure_namespace = azure.Get("secretNamespace").AsString();
  if (!visit_one(azure_namespace.empty() ? claim_namespace : azure_namespace, azure.Get("secretName"))) return false;
  for (std::string_view source : {"cephfs", "flexVolume", "rbd", "scaleIO", "iscsi"}) {
    Value reference = spec.Path({source, "secretRef"});
    std::string_view ns = reference.Get("namespace").AsString();
    if (!visit_one(ns.empty() ? claim_namespace : ns, reference.Get("name"))) return false;
  }
  for (std::string_view source : {"cinder", "storageos"}) {
    Value reference = spec.Path({source, "secretRef"});
    if (!visit_one(reference.Get("namespace").AsString(), reference.Get("name"))) return false;
  }
  for (std::string_view use : {"nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"}) {
    Value reference = spec.Path({"csi", use});
    if (!visit_one(reference.Get("namespace").AsString(), reference.Get("name"))) return false;
  }
  return true;
}

}  // namespace homeostat::auth
