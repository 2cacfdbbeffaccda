#include "kinds/metadata_checks.h"

namespace homeostat::kinds {
namespace {

struct Row {
  std::string_view group, kind;  // "*": every kind of the group
  MetadataChecks checks;
};

constexpr MetadataChecks kUsual{"M", "U", "U"};
constexpr MetadataChecks kCustom{"m", "u", "u"};

constexpr Row kRows[] = {
    {"", "ConfigMap", {"M", "U+M", ""}},
    {"", "Endpoints", {"M", "UM", ""}},
    {"", "Event", {"", "", ""}},
    {"", "LimitRange", {"M", "M", ""}},
    {"", "Namespace", {"M", "MU", "U"}},
    {"", "Node", {"M", "M+U", "U"}},
    {"", "PersistentVolume", {"M", "M+M", "U"}},
    {"", "PersistentVolumeClaim", {"M", "UM", "U"}},
    {"", "Pod", {"M", "UM", "U"}},
    {"", "ReplicationController", {"N", "U", "U"}},
    {"", "Secret", {"M", "U+M", ""}},
    {"", "ServiceAccount", {"M", "UM", ""}},
    {"admissionregistration.k8s.io", "*", {"m", "m", ""}},
    {"apiextensions.k8s.io", "*", {"m", "u", "u"}},
    {"apiregistration.k8s.io", "*", {"+m", "u+m", "u"}},
    {"apps", "ControllerRevision", {"M", "UM", ""}},
    {"apps", "StatefulSet", {"M", "U", "+U"}},
    {"batch", "CronJob", {"M", "U", ""}},
    {"batch", "Job", {"M", "M+U", "U"}},
    {"certificates.k8s.io", "*", {"M", "M+U", "M+U"}},
    {"coordination.k8s.io", "*", {"m", "u", ""}},
    {"discovery.k8s.io", "*", {"M", "M", ""}},
    {"events.k8s.io", "Event", {"+M", "+U", ""}},
    {"flowcontrol.apiserver.k8s.io", "*", {"M", "M", ""}},
    {"networking.k8s.io", "IPAddress", {"M", "M+U", ""}},
    {"networking.k8s.io", "Ingress", {"M", "UM", "U"}},
    {"networking.k8s.io", "IngressClass", {"M", "U+M", ""}},
    {"node.k8s.io", "*", {"m", "m+u", ""}},
    {"policy", "*", {"", "", ""}},
    {"rbac.authorization.k8s.io", "*", {"M", "M+U", ""}},
    {"resource.k8s.io", "DeviceClass", {"N", "NU", ""}},
    {"resource.k8s.io", "ResourceClaim", {"+M", "MU", "+U"}},
    {"resource.k8s.io", "ResourceClaimTemplate", {"+M", "M+U", ""}},
    {"resource.k8s.io", "ResourceSlice", {"M", "U", ""}},
    {"resource.k8s.io", "*", {"M", "MU", "U"}},
    {"storage.k8s.io", "CSIDriver", {"M", "U", ""}},
    {"storage.k8s.io", "CSINode", {"M", "M", ""}},
    {"storage.k8s.io", "VolumeAttachment", {"M", "M", ""}},
    {"storage.k8s.io", "VolumeAttributesClass", {"M", "U+M", ""}},
    {"storage.k8s.io", "*", {"M", "M+U", ""}},
};

}  // namespace

MetadataChecks MetadataChecksOf(const schema::GroupVersionKind& kind, bool custom) {
  if (custom) return kCustom;
  for (const Row& row : kRows) {
    if (row.group == kind.group && (row.kind == kind.kind || row.kind == "*")) return row.checks;
  }
  return kUsual;
}

}  // namespace homeostat::kinds
