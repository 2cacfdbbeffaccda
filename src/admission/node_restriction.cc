// NodeRestriction: a node touches nothing but its own: its node, lease and CSINode, status and eviction of pods that run on it, their
// claims' progress, tokens of the accounts they run as, and slices of its own devices.
// Source of the rules and texts: plugin/pkg/admission/noderestriction and pkg/auth/nodeidentifier.
#include <algorithm>
#include <optional>
#include <set>

#include "admission/plugins.h"
#include "admission/pod_references.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/schema/diff.h"
#include "kinds/certificates/certificates.h"
#include "kinds/edit.h"
#include "kinds/internal_json.h"

namespace homeostat::admission {
namespace {

namespace types = api::core::v1::types;
using object::Value;

constexpr std::string_view kUserPrefix = "system:node:", kMirror = "kubernetes.io/config.mirror";

// Labels that a node gives itself. Source: k8s.io/kubelet's well known labels.
constexpr std::string_view kNodeLabels[] = {
    "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region", "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type", "kubernetes.io/os",
    "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
};

std::string_view NameOf(const Value& object) { return object.Path({"metadata", "name"}).AsString(); }
std::string_view UidOf(const Value& object) { return object.Path({"metadata", "uid"}).AsString(); }

// The node that the user is; nullopt for other users, empty where the name is missing.
std::optional<std::string> NodeOf(const User& user) {
  if (!user.name.starts_with(kUserPrefix) || !user.InGroup(kGroupNodes)) return std::nullopt;
  return user.name.substr(kUserPrefix.size());
}

bool IsWithin(std::string_view domain, std::string_view of) {
  return domain == of || (domain.size() > of.size() && domain.ends_with(of) && domain[domain.size() - of.size() - 1] == '.');
}

bool IsForbiddenLabel(std::string_view key) {
  size_t slash = key.find('/');
  std::string_view domain = slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
  if (IsWithin(domain, "node-restriction.kubernetes.io")) return true;
  if (!IsWithin(domain, "kubernetes.io") && !IsWithin(domain, "k8s.io")) return false;
  bool own = std::ranges::find(kNodeLabels, key) != std::end(kNodeLabels) || IsWithin(domain, "kubelet.kubernetes.io") ||
             IsWithin(domain, "node.kubernetes.io");
  return !own;
}

// Labels that differ and are not the node's to set, ", " between them.
std::string ForbiddenChanges(const Value& labels, const Value& old) {
  std::set<std::string_view> changed;
  for (auto [a, b] : {std::pair(&labels, &old), std::pair(&old, &labels)}) {
    for (const object::Member& label : a->members()) {
      if (!object::Equal(label.value, b->Get(label.name())) && IsForbiddenLabel(label.name())) changed.insert(label.name());
    }
  }
  std::string text;
  for (std::string_view label : changed) text.append(text.empty() ? "" : ", ").append(label);
  return text;
}

// One write of one node.
class Check {
 public:
  Check(const Request& request, std::string node, const kinds::ObjectReader& objects, auth::Authorizer& authorizer)
      : request_(request), node_(std::move(node)), quoted_(GoQuote(node_)), objects_(objects), authorizer_(authorizer) {}

  Result<void> Run() {
    if (request_.Is("", "pods")) return Pod();
    if (request_.Is("", "nodes")) return Node();
    if (request_.Is("", "persistentvolumeclaims")) {
      return request_.subresource == "status" ? VolumeClaimStatus() : Refuse("may only update PVC status");
    }
    if (request_.Is("", "serviceaccounts")) return request_.creates() && request_.subresource == "token" ? Token() : Result<void>();
    if (request_.Is("coordination.k8s.io", "leases")) return Lease();
    if (request_.Is("storage.k8s.io", "csinodes")) {
      return ObjectName() == node_ ? Result<void>() : Refuse("can only access CSINode with the same name as the requesting node");
    }
    if (request_.Is("resource.k8s.io", "resourceslices")) return ResourceSlice();
    if (request_.Is("certificates.k8s.io", "certificatesigningrequests")) return SigningRequest();
    if (request_.Is("certificates.k8s.io", "podcertificaterequests")) return Refuse("PodCertificateRequest feature gate is disabled");
    return {};
  }

 private:
  Result<void> Refuse(std::string_view why) const { return Fail(Forbid(request_, why)); }
  Result<void> RefuseNode(std::string_view why) const { return Refuse("node " + quoted_ + std::string(why)); }
  // A name that a create has in its object alone.
  std::string_view ObjectName() const { return request_.creates() ? NameOf(request_.object) : request_.name; }
  bool RunsHere(const Value& pod) const { return pod.Path({"spec", "nodeName"}).AsString() == node_; }

  Result<void> Pod() const {
    if (request_.subresource.empty()) {
      if (request_.creates()) return MirrorPod();
      if (request_.operation != Operation::kDelete) {
        return Refuse("unexpected operation " + GoQuote(OperationName(request_.operation)) + ", node " + quoted_ +
                      " can only create and delete mirror pods");
      }
      return RunsHere(request_.old_object) ? Result<void>() : RefuseNode(" can only delete pods with spec.nodeName set to itself");
    }
    if (request_.subresource == "status") return PodStatus();
    if (request_.subresource == "eviction") return Eviction();
    return Refuse("unexpected pod subresource " + GoQuote(request_.subresource) + ", only 'status' and 'eviction' are allowed");
  }

  Result<void> MirrorPod() const {
    const Value& pod = request_.object;
    if (!pod.Path({"metadata", "annotations", kMirror})) {
      return Refuse("pod does not have " + GoQuote(kMirror) + " annotation, node " + quoted_ + " can only create mirror pods");
    }
    if (!RunsHere(pod)) return RefuseNode(" can only create pods with spec.nodeName set to itself");
    Value owners = pod.Path({"metadata", "ownerReferences"});
    if (owners.size() > 1) return RefuseNode(" can only create pods with a single owner reference set to itself");
    Value owner = owners.At(0);
    bool own = owner.Get("apiVersion").AsString() == "v1" && owner.Get("kind").AsString() == "Node" && owner.Get("name").AsString() == node_;
    if (!own) return RefuseNode(" can only create pods with an owner reference set to itself");
    if (!owner.Get("controller").AsBool()) return RefuseNode(" can only create pods with a controller owner reference set to itself");
    if (owner.Get("blockOwnerDeletion").AsBool()) return RefuseNode(" must not set blockOwnerDeletion on an owner reference");
    object::DocumentPtr node = objects_.Get("", "nodes", "", node_);
    if (!node) return Fail(NotFoundError("", "nodes", node_));
    if (owner.Get("uid").AsString() != UidOf(node->root())) {
      return Refuse("node " + node_ + " UID mismatch: expected " + std::string(owner.Get("uid").AsString()) + " got " +
                    std::string(UidOf(node->root())));
    }
    std::string resource = ReferencedResource(pod);
    return resource.empty() ? Result<void>() : RefuseNode(" can not create pods that reference " + resource);
  }

  Result<void> PodStatus() const {
    if (!request_.updates()) return Refuse("unexpected operation " + GoQuote(OperationName(request_.operation)));
    const Value &now = request_.object, &old = request_.old_object;
    if (!RunsHere(old)) return RefuseNode(" can only update pod status for pods with spec.nodeName set to itself");
    auto same = [&](std::initializer_list<std::string_view> path) { return object::Equal(now.Path(path), old.Path(path)); };
    if (!same({"metadata", "labels"})) return RefuseNode(" cannot update labels through pod status");
    if (!same({"status", "resourceClaimStatuses"})) return RefuseNode(" cannot update resource claim statues");
    if (!same({"status", "extendedResourceClaimStatus"})) return RefuseNode(" cannot update extended resource claim status");
    return {};
  }

  Result<void> Eviction() const {
    if (!request_.creates()) return Refuse("unexpected operation " + std::string(OperationName(request_.operation)));
    std::string_view name = request_.name.empty() ? NameOf(request_.object) : request_.name;
    if (name.empty()) return Refuse("could not determine pod from request data");
    object::DocumentPtr pod = objects_.Get("", "pods", request_.ns, name);
    if (!pod) return Fail(NotFoundError("", "pods", name));
    return RunsHere(pod->root()) ? Result<void>() : Refuse("node " + node_ + " can only evict pods with spec.nodeName set to itself");
  }

  Result<void> Node() const {
    if (request_.name != node_) return RefuseNode(" is not allowed to modify node " + GoQuote(request_.name));
    Value spec = request_.object.Get("spec"), old = request_.old_object.Get("spec");
    Value metadata = request_.object.Get("metadata"), old_metadata = request_.old_object.Get("metadata");
    std::string labels = request_.object ? ForbiddenChanges(metadata.Get("labels"), old_metadata.Get("labels")) : std::string();
    if (request_.creates()) {
      if (spec.Get("configSource")) return RefuseNode(" is not allowed to create pods with a non-nil configSource");
      if (!labels.empty()) return RefuseNode(" is not allowed to set the following labels: " + labels);
    }
    if (!request_.updates()) return {};
    if (spec.Get("configSource") && !object::Equal(spec.Get("configSource"), old.Get("configSource"))) {
      return RefuseNode(" is not allowed to update configSource to a new non-nil configSource");
    }
    if (!IsSameList(spec.Get("taints"), old.Get("taints"))) return RefuseNode(" is not allowed to modify taints");
    if (!IsSameList(metadata.Get("ownerReferences"), old_metadata.Get("ownerReferences"))) {
      return RefuseNode(" is not allowed to modify ownerReferences");
    }
    return labels.empty() ? Result<void>() : Refuse("is not allowed to modify labels: " + labels);
  }

  static bool IsSameList(const Value& a, const Value& b) { return (a.empty() && b.empty()) || object::Equal(a, b); }

  Result<void> VolumeClaimStatus() const {
    if (!request_.updates()) return Refuse("unexpected operation " + GoQuote(OperationName(request_.operation)));
    auto rest = [&](const Value& claim) {
      return kinds::Edited(request_.arena(), types::kPersistentVolumeClaim, claim, [](kinds::Edit& edit) {
        edit.In("metadata", [](kinds::Edit& metadata) {
          metadata.Erase("resourceVersion");
          metadata.Erase("managedFields");
        });
        edit.In("status", [](kinds::Edit& status) {
          for (std::string_view field : {"capacity", "conditions", "allocatedResources", "allocatedResourceStatuses"}) status.Erase(field);
        });
      });
    };
    Value old = rest(request_.old_object), now = rest(request_.object);
    if (schema::IsEqual(types::kPersistentVolumeClaim, old, now)) return {};
    return RefuseNode(" is not allowed to update fields other than status.quantity and status.conditions: " +
                      kinds::InternalDiff(types::kPersistentVolumeClaim, old, now));
  }

  Result<void> Lease() const {
    if (request_.ns != "kube-node-lease") return Refuse("can only access leases in the \"kube-node-lease\" system namespace");
    return ObjectName() == node_ ? Result<void>() : Refuse("can only access node lease with the same name as the requesting node");
  }

  // Others are the node authorizer's to check; it doesn't see into what is created or deleted.
  Result<void> ResourceSlice() const {
    bool created = request_.creates();
    if (!created && request_.operation != Operation::kDelete) return {};
    const Value& slice = created ? request_.object : request_.old_object;
    if (slice.Path({"spec", "nodeName"}).AsString() == node_) return {};
    return Refuse("can only " + std::string(created ? "create" : "delete") + " ResourceSlice with the same NodeName as the requesting node");
  }

  Result<void> SigningRequest() const {
    std::string_view signer = request_.object.Path({"spec", "signerName"}).AsString();
    if (!request_.creates() || (signer != "kubernetes.io/kubelet-serving" && signer != "kubernetes.io/kube-apiserver-client-kubelet")) return {};
    auto subject = kinds::SigningRequestSubject(request_.object.Path({"spec", "request"}).AsString());
    if (!subject) return Refuse("unable to parse csr: " + subject.error());
    std::string own = std::string(kUserPrefix) + node_;
    return subject->common_name == own ? Result<void>() : Refuse("can only create a node CSR with CN=" + own);
  }

  Result<void> Token() const {
    Value spec = request_.object.Get("spec"), reference = spec.Get("boundObjectRef");
    std::string_view name = reference.Get("name").AsString(), uid = reference.Get("uid").AsString();
    if (reference.Get("apiVersion").AsString() != "v1" || reference.Get("kind").AsString() != "Pod" || name.empty()) {
      return Refuse("node requested token not bound to a pod");
    }
    if (uid.empty()) return Refuse("node requested token with a pod binding without a uid");
    object::DocumentPtr pod = objects_.Get("", "pods", request_.ns, name);
    if (!pod) return Fail(NotFoundError("", "pods", name));
    if (uid != UidOf(pod->root())) {
      return Refuse("the UID in the bound object reference (" + std::string(uid) +
                    ") does not match the UID in record. The object might have been deleted and then recreated");
    }
    if (!RunsHere(pod->root())) return Refuse("node requested token bound to a pod scheduled on a different node");
    Value audiences = spec.Get("audiences");
    if (audiences.size() > 1) return Refuse("node may only request 0 or 1 audiences");
    return Audience(pod->root(), audiences.At(0).AsString());
  }

  // The pod must have asked for it, by itself or through a driver; else the node must have been allowed to ask.
  Result<void> Audience(const Value& pod, std::string_view audience) const {
    for (const Value& volume : pod.Path({"spec", "volumes"}).items()) {
      for (const Value& source : volume.Path({"projected", "sources"}).items()) {
        Value token = source.Get("serviceAccountToken");
        if (token && token.Get("audience").AsString() == audience) return {};
      }
      if (DriverAsksFor(DriverOf(pod, volume), audience)) return {};
    }
    auth::Attributes asked;
    asked.user = &request_.user();
    asked.verb = "request-serviceaccounts-token-audience";
    asked.resource_request = true;
    asked.version = "v1";
    asked.resource = audience;
    asked.ns = request_.ns;
    asked.name = request_.name;
    if (authorizer_.Authorize(asked).decision == auth::Decision::kAllow) return {};
    return Refuse("audience " + GoQuote(audience) + " not found in pod spec volume, " + request_.user().name +
                  " is not authorized to request tokens for this audience");
  }

  std::string DriverOf(const Value& pod, const Value& volume) const {
    if (Value inline_volume = volume.Get("csi")) return std::string(inline_volume.Get("driver").AsString());
    std::string claim(volume.Path({"persistentVolumeClaim", "claimName"}).AsString());
    if (volume.Path({"ephemeral", "volumeClaimTemplate"})) claim = std::string(NameOf(pod)) + "-" + std::string(volume.Get("name").AsString());
    if (claim.empty()) return {};
    object::DocumentPtr found = objects_.Get("", "persistentvolumeclaims", request_.ns, claim);
    if (!found) return {};
    object::DocumentPtr persistent = objects_.Get("", "persistentvolumes", "", found->root().Path({"spec", "volumeName"}).AsString());
    return persistent ? std::string(persistent->root().Path({"spec", "csi", "driver"}).AsString()) : std::string();
  }

  bool DriverAsksFor(const std::string& driver, std::string_view audience) const {
    if (driver.empty()) return false;
    object::DocumentPtr document = objects_.Get("storage.k8s.io", "csidrivers", "", driver);
    if (!document) return false;
    return std::ranges::any_of(document->root().Path({"spec", "tokenRequests"}).items(),
                               [&](const Value& asked) { return asked.Get("audience").AsString() == audience; });
  }

  const Request& request_;
  std::string node_, quoted_;
  const kinds::ObjectReader& objects_;
  auth::Authorizer& authorizer_;
};

class NodeRestriction : public PlainPlugin {
 public:
  explicit NodeRestriction(const PluginParts& parts) : objects_(parts.objects), authorizer_(parts.authorizer) {}
  std::string_view name() const override { return "NodeRestriction"; }

  bool Handles(const Request& request) const override {
    return request.operation != Operation::kConnect && request.user().name.starts_with(kUserPrefix);
  }

  Result<Value> MutateNow(const Request& request) override {
    std::optional<std::string> node = NodeOf(request.user());
    if (!node) return request.object;
    if (node->empty()) return Fail(Forbid(request, "could not determine node from user " + GoQuote(request.user().name)));
    TRY(Check(request, *std::move(node), objects_, authorizer_).Run());
    return request.object;
  }

 private:
  const kinds::ObjectReader& objects_;
  auth::Authorizer& authorizer_;
};

}  // namespace

std::unique_ptr<Plugin> MakeNodeRestriction(const PluginParts& parts) { return std::make_unique<NodeRestriction>(parts); }

}  // namespace homeostat::admission
