// Versions of built-in kinds that Kubernetes can still read, beside those that have types of their own here.
#include <algorithm>
#include <string>
#include <vector>

#include "homeostat/api/registry.h"

namespace homeostat::api {
namespace {

struct OldVersion {
  std::string_view group, version;
  std::string_view now;    // the group where its kinds are today
  std::string_view kinds;  // between spaces
};

constexpr OldVersion kOldVersions[] = {
    {"extensions", "v1beta1", "apps", " Deployment DaemonSet ReplicaSet "},
    {"extensions", "v1beta1", "networking.k8s.io", " Ingress NetworkPolicy "},
    {"extensions", "v1beta1", "autoscaling", " Scale "},
    {"apps", "v1beta1", "apps", " Deployment StatefulSet ControllerRevision "},
    {"apps", "v1beta1", "autoscaling", " Scale "},
    {"apps", "v1beta2", "apps", " Deployment StatefulSet DaemonSet ReplicaSet ControllerRevision "},
    {"apps", "v1beta2", "autoscaling", " Scale "},
    {"admissionregistration.k8s.io", "v1alpha1", "admissionregistration.k8s.io",
     " ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "},
    {"admissionregistration.k8s.io", "v1beta1", "admissionregistration.k8s.io",
     " ValidatingWebhookConfiguration MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
     " MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "},
    {"apiextensions.k8s.io", "v1beta1", "apiextensions.k8s.io", " CustomResourceDefinition "},
    {"apiregistration.k8s.io", "v1beta1", "apiregistration.k8s.io", " APIService "},
    {"authentication.k8s.io", "v1alpha1", "authentication.k8s.io", " SelfSubjectReview "},
    {"authentication.k8s.io", "v1beta1", "authentication.k8s.io", " SelfSubjectReview TokenReview "},
    {"authorization.k8s.io", "v1beta1", "authorization.k8s.io",
     " SelfSubjectRulesReview SelfSubjectAccessReview SubjectAccessReview LocalSubjectAccessReview "},
    {"batch", "v1beta1", "batch", " CronJob "},
    {"certificates.k8s.io", "v1beta1", "certificates.k8s.io", " CertificateSigningRequest "},
    {"coordination.k8s.io", "v1beta1", "coordination.k8s.io", " Lease "},
    {"discovery.k8s.io", "v1beta1", "discovery.k8s.io", " EndpointSlice "},
    {"events.k8s.io", "v1beta1", "events.k8s.io", " Event "},
    {"events.k8s.io", "v1beta1", "", " Event "},
    {"events.k8s.io", "v1", "", " Event "},
    {"", "v1", "events.k8s.io", " Event "},
    {"flowcontrol.apiserver.k8s.io", "v1beta1", "flowcontrol.apiserver.k8s.io", " FlowSchema PriorityLevelConfiguration "},
    {"flowcontrol.apiserver.k8s.io", "v1beta2", "flowcontrol.apiserver.k8s.io", " FlowSchema PriorityLevelConfiguration "},
    {"flowcontrol.apiserver.k8s.io", "v1beta3", "flowcontrol.apiserver.k8s.io", " FlowSchema PriorityLevelConfiguration "},
    {"networking.k8s.io", "v1beta1", "networking.k8s.io", " Ingress IngressClass IPAddress ServiceCIDR "},
    {"node.k8s.io", "v1alpha1", "node.k8s.io", " RuntimeClass "},
    {"node.k8s.io", "v1beta1", "node.k8s.io", " RuntimeClass "},
    {"policy", "v1beta1", "policy", " PodDisruptionBudget Eviction "},
    {"rbac.authorization.k8s.io", "v1alpha1", "rbac.authorization.k8s.io", " Role RoleBinding ClusterRole ClusterRoleBinding "},
    {"rbac.authorization.k8s.io", "v1beta1", "rbac.authorization.k8s.io", " Role RoleBinding ClusterRole ClusterRoleBinding "},
    {"resource.k8s.io", "v1beta1", "resource.k8s.io", " DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice "},
    {"resource.k8s.io", "v1beta2", "resource.k8s.io", " DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice "},
    {"scheduling.k8s.io", "v1beta1", "scheduling.k8s.io", " PriorityClass "},
    {"storage.k8s.io", "v1alpha1", "storage.k8s.io", " VolumeAttachment CSIStorageCapacity VolumeAttributesClass "},
    {"storage.k8s.io", "v1beta1", "storage.k8s.io",
     " StorageClass VolumeAttachment CSINode CSIDriver CSIStorageCapacity VolumeAttributesClass "},
};

bool IsOldVersion(std::string_view group, std::string_view version, std::string_view kind, const schema::GroupVersionKind& current) {
  std::string word = " " + std::string(kind) + " ";
  return kind == current.kind && std::ranges::any_of(kOldVersions, [&](const OldVersion& old) {
           return old.group == group && old.version == version && old.now == current.group && old.kinds.contains(word);
         });
}

// A Scale as it was before autoscaling/v1, whose selector was a map. Made of parts of today's types.
const schema::Type* OldScale(const schema::Type& scale) {
  const schema::Field *metadata = scale.FindField("metadata"), *spec = scale.FindField("spec"), *status = scale.FindField("status");
  if (metadata == nullptr || spec == nullptr || status == nullptr) return nullptr;
  const schema::Field *labels = metadata->type->FindField("labels"), *replicas = status->type->FindField("replicas"),
                      *text = status->type->FindField("selector");
  if (labels == nullptr || replicas == nullptr || text == nullptr) return nullptr;
  static const schema::Field kStatusFields[] = {
      *replicas,
      {.name = "selector", .number = 2, .flags = schema::kOmitEmpty, .type = labels->type},
      {.name = "targetSelector", .number = 3, .flags = schema::kOmitEmpty, .type = text->type},
  };
  static constexpr uint16_t kInOrder[] = {0, 1, 2};
  static const schema::Type kStatus{.form = schema::Form::kStruct, .go_name = "ScaleStatus", .go_package = "v1beta1", .fields = kStatusFields,
                                    .by_name = std::span(kInOrder).first(3), .by_number = std::span(kInOrder).first(3)};
  static const std::vector<schema::Field> kFields = [&] {
    std::vector<schema::Field> fields(scale.fields.begin(), scale.fields.end());
    for (schema::Field& field : fields) {
      if (field.name == "status") field.type = &kStatus;
    }
    return fields;
  }();
  static const schema::Type kScale{.form = schema::Form::kStruct, .go_name = "Scale", .go_package = "v1beta1", .fields = kFields,
                                   .by_name = scale.by_name, .by_number = scale.by_number};
  return &kScale;
}

}  // namespace

const schema::Type* FindOtherVersion(std::string_view group, std::string_view version, std::string_view kind,
                                     const schema::GroupVersionKind& current, const schema::Type& type) {
  bool same_group = group == current.group && kind == current.kind && version != current.version;
  if (same_group && FindKind(group, version, kind) != nullptr) return FindTypeOfKind(group, version, kind);
  if (!IsOldVersion(group, version, kind, current)) return nullptr;
  if (current.group == "autoscaling" && current.group != group) return OldScale(type);
  const schema::Type* own = FindTypeOfKind(group, version, kind);
  return own == nullptr ? &type : own;
}

}  // namespace homeostat::api
