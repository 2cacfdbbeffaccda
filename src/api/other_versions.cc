// Versions of built-in kinds that Kubernetes can still read, beside those that have types of their own here.
#include <algorithm>
#include <functional>
#include <list>
#include <numeric>
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
    {"imagepolicy.k8s.io", "v1alpha1", "imagepolicy.k8s.io", " ImageReview "},
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

// now: nullptr for any group.
bool IsInOldVersion(std::string_view group, std::string_view version, std::string_view kind, const std::string_view* now) {
  std::string word = " " + std::string(kind) + " ";
  return std::ranges::any_of(kOldVersions, [&](const OldVersion& old) {
    return old.group == group && old.version == version && (now == nullptr || old.now == *now) && old.kinds.contains(word);
  });
}

using Fields = std::vector<schema::Field>;

// Types that are made at run time: those of one kind, kept as long as it.
struct MadeType {
  schema::Type type;
  Fields fields;
  std::vector<uint16_t> by_number, by_name;
};
using MadeTypes = std::list<MadeType>;

// A type like `type` but for what `change` does to the fields of the one that `path` (spec.rules.[].http) leads to, for reading JSON.
// Null if there is no such path.
const schema::Type* Changed(MadeTypes& made, const schema::Type& type, std::string_view path, const std::function<void(Fields&)>& change) {
  MadeType& copy = made.emplace_back(MadeType{.type = type, .fields = {}, .by_number = {}, .by_name = {}});
  if (path.starts_with("[]") && type.element != nullptr) {
    copy.type.element = Changed(made, *type.element, path.substr(std::min(path.size(), std::string_view("[].").size())), change);
    return copy.type.element == nullptr ? nullptr : &copy.type;
  }
  Fields& fields = copy.fields;
  fields.assign(type.fields.begin(), type.fields.end());
  if (path.empty()) {
    change(fields);
  } else {
    std::string_view name = path.substr(0, path.find('.'));
    auto field = std::ranges::find(fields, name, &schema::Field::name);
    if (field == fields.end()) return nullptr;
    field->type = Changed(made, *field->type, path.substr(std::min(path.size(), name.size() + 1)), change);
    if (field->type == nullptr) return nullptr;
  }
  copy.by_number.resize(fields.size());
  std::iota(copy.by_number.begin(), copy.by_number.end(), uint16_t{0});
  copy.by_name = copy.by_number;
  std::ranges::sort(copy.by_name, {}, [&](uint16_t index) { return fields[index].name; });
  copy.type.by_number = copy.by_number;
  copy.type.by_name = copy.by_name;
  copy.type.fields = fields;
  copy.type.absent_in_json = copy.type.absent_on_wire = ~uint64_t{0};
  return &copy.type;
}

const schema::Type* TypeAt(const schema::Type* type, std::initializer_list<std::string_view> path) {
  for (std::string_view name : path) {
    const schema::Field* field = type == nullptr ? nullptr : type->FindField(name);
    type = name == "[]" && type != nullptr ? type->element : field == nullptr ? nullptr : field->type;
  }
  return type;
}

// A Scale as it was before autoscaling/v1, whose selector was a map.
const schema::Type* OldScale() {
  static MadeTypes made;
  static const schema::Type* const type = [] {
    const schema::Type* scale = FindTypeOfKind("autoscaling", "v1", "Scale");
    const schema::Type *labels = TypeAt(scale, {"metadata", "labels"}), *text = TypeAt(scale, {"status", "selector"});
    return Changed(made, *scale, "status", [&](Fields& fields) {
      std::ranges::find(fields, "selector", &schema::Field::name)->type = labels;
      fields.push_back({.name = "targetSelector", .number = 3, .flags = schema::kOmitEmpty, .type = text});
    });
  }();
  return type;
}

// An Ingress as it was before v1: a service's name and port stood in the backend itself, and the default one was called backend.
const schema::Type* OldIngress() {
  static MadeTypes made;
  static const schema::Type* const type = [] {
    const schema::Type* ingress = FindTypeOfKind("networking.k8s.io", "v1", "Ingress");
    const schema::Type* text = TypeAt(ingress, {"spec", "ingressClassName"});
    const schema::Type* port = TypeAt(FindTypeOfKind("", "v1", "Service"), {"spec", "ports", "[]", "targetPort"});
    auto flat = [&](Fields& fields) {
      std::erase_if(fields, [](const schema::Field& field) { return field.name == "service"; });
      fields.push_back({.name = "serviceName", .number = 1, .flags = schema::kOmitEmpty, .type = text});
      fields.push_back({.name = "servicePort", .number = 2, .flags = schema::kOmitEmpty, .type = port});
    };
    ingress = Changed(made, *ingress, "spec.rules.[].http.paths.[].backend", flat);
    ingress = Changed(made, *ingress, "spec.defaultBackend", flat);
    return Changed(made, *ingress, "spec", [](Fields& fields) { std::ranges::find(fields, "defaultBackend", &schema::Field::name)->name = "backend"; });
  }();
  return type;
}

}  // namespace

bool IsGroupVersion(std::string_view group, std::string_view version) {
  auto is_old = [&](const OldVersion& old) { return old.group == group && old.version == version; };
  auto is_of = [&](const schema::Kind* kind) { return kind->gvk.group == group && kind->gvk.version == version; };
  return std::ranges::any_of(AllKinds(), is_of) || std::ranges::any_of(kOldVersions, is_old);
}

bool IsOldKind(std::string_view group, std::string_view version, std::string_view kind) {
  if (kind.ends_with("List")) kind.remove_suffix(4);
  return IsInOldVersion(group, version, kind, nullptr);
}

const schema::Type* FindOtherVersion(std::string_view group, std::string_view version, std::string_view kind,
                                     const schema::GroupVersionKind& current, const schema::Type& type) {
  bool same_group = group == current.group && kind == current.kind && version != current.version;
  if (same_group && FindKind(group, version, kind) != nullptr) return FindTypeOfKind(group, version, kind);
  if (kind != current.kind || !IsInOldVersion(group, version, kind, &current.group)) return nullptr;
  if (kind == "Scale") return OldScale();
  if (kind == "Ingress") return OldIngress();
  // Of a group that has a version of its own today, the old one was like that.
  const schema::Type* own = FindKind(group, "v1", kind) == nullptr ? nullptr : FindTypeOfKind(group, "v1", kind);
  return own == nullptr ? &type : own;
}

}  // namespace homeostat::api
