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
    {"", "ConfigMap", {"M", "UM", ""}},
    {"", "Endpoints", {"M", "UM", ""}},
    {"", "Event", {"", "", ""}},
    {"", "LimitRange", {"M", "M", ""}},
    {"", "Namespace", {"M", "MU", "U"}},
    {"", "Node", {"M", "MU", "U"}},
    {"", "PersistentVolume", {"M", "MM", "U"}},
    {"", "PersistentVolumeClaim", {"M", "UM", "U"}},
    {"", "Pod", {"M", "UM", "U"}},
    {"", "Secret", {"M", "UM", ""}},
    {"", "ServiceAccount", {"M", "UM", ""}},
    {"admissionregistration.k8s.io", "*", {"m", "m", ""}},
    {"apiextensions.k8s.io", "*", {"m", "u", "u"}},
    {"apiregistration.k8s.io", "*", {"m", "um", "u"}},
    {"apps", "ControllerRevision", {"M", "UM", ""}},
    {"batch", "CronJob", {"M", "U", ""}},
    {"batch", "Job", {"M", "MU", "U"}},
    {"certificates.k8s.io", "*", {"M", "MU", "MU"}},
    {"coordination.k8s.io", "*", {"m", "u", ""}},
    {"discovery.k8s.io", "*", {"M", "M", ""}},
    {"flowcontrol.apiserver.k8s.io", "*", {"M", "M", ""}},
    {"networking.k8s.io", "IPAddress", {"M", "MU", ""}},
    {"networking.k8s.io", "Ingress", {"M", "UM", "U"}},
    {"networking.k8s.io", "IngressClass", {"M", "UM", ""}},
    {"node.k8s.io", "*", {"m", "mu", ""}},
    {"policy", "*", {"", "", ""}},
    {"rbac.authorization.k8s.io", "*", {"M", "MU", ""}},
    {"resource.k8s.io", "ResourceSlice", {"M", "U", ""}},
    {"resource.k8s.io", "*", {"M", "MU", "U"}},
    {"storage.k8s.io", "CSIDriver", {"M", "U", ""}},
    {"storage.k8s.io", "CSINode", {"M", "M", ""}},
    {"storage.k8s.io", "VolumeAttachment", {"M", "M", ""}},
    {"storage.k8s.io", "VolumeAttributesClass", {"M", "UM", ""}},
    {"storage.k8s.io", "*", {"M", "MU", ""}},
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
