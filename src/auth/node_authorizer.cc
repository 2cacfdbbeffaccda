#include "auth/node_authorizer.h"

#include "auth/pod_references.h"
#include "homeostat/base/text.h"

namespace homeostat::auth {
namespace {

using object::Value;

constexpr std::string_view kNodeUserPrefix = "system:node:";
constexpr std::string_view kLeaseNamespace = "kube-node-lease";
constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> list) {
  for (std::string_view item : list) if (item == text) return true;
  return false;
}

Verdict Allow() { return Verdict{Decision::kAllow, "", ""}; }
Verdict No(std::string reason = "") { return Verdict{Decision::kNoOpinion, std::move(reason), ""}; }

bool SelectsField(const Attributes& attributes, std::string_view field, std::string_view value) {
  for (const object::FieldRequirement& requirement : attributes.field_selector) {
    if (requirement.equals && requirement.field == field && requirement.value == value) return true;
  }
  return false;
}

bool IsWatchedSort(std::string_view verb) { return IsOneOf(verb, {"list", "watch"}); }

// A visitor that looks for one name; the visit then stops.
NameVisitor Seek(std::string_view name, bool& found) {
  return [name, &found](std::string_view visited) {
    found = found || visited == name;
    return !found;
  };
}

bool Mentions(bool (*visit)(const Value&, const NameVisitor&), const Value& pod, std::string_view name) {
  bool found = false;
  visit(pod, Seek(name, found));
  return found;
}

Verdict Lease(std::string_view node, const Attributes& a) {
  if (!IsOneOf(a.verb, {"get", "create", "update", "patch", "delete"})) {
    return No("can only get, create, update, patch, or delete a node lease");
  }
  if (a.ns != kLeaseNamespace) return No("can only access leases in the " + GoQuote(kLeaseNamespace) + " system namespace");
  // A creation's name is not known yet; admission looks at it.
  if (a.verb != "create" && a.name != node) return No("can only access node lease with the same name as the requesting node");
  return Allow();
}

Verdict CsiNode(std::string_view node, const Attributes& a) {
  if (!IsOneOf(a.verb, {"get", "create", "update", "patch", "delete"})) {
    return No("can only get, create, update, patch, or delete a CSINode");
  }
  if (!a.subresource.empty()) return No("cannot authorize CSINode subresources");
  if (a.verb != "create" && a.name != node) return No("can only access CSINode with the same name as the requesting node");
  return Allow();
}

Verdict Node(std::string_view node, const Attributes& a) {
  if (a.subresource.empty()) {
    if (IsOneOf(a.verb, {"create", "update", "patch"})) return Allow();
    if (!IsOneOf(a.verb, {"get", "list", "watch"})) return No();
    if (a.name == node) return Allow();
    std::string who = "node '" + std::string(node) + "' cannot read ";
    return No(who + (a.name.empty() ? "all nodes" : "'" + a.name + "'") + ", only its own Node object");
  }
  if (a.subresource == "status" && IsOneOf(a.verb, {"update", "patch"})) return Allow();
  return No();
}

}  // namespace

std::optional<std::string_view> NodeOf(const User& user) {
  std::string_view name = user.name;
  if (!name.starts_with(kNodeUserPrefix) || !user.InGroup(kGroupNodes)) return std::nullopt;
  return name.substr(kNodeUserPrefix.size());
}

void NodePods::Make() {
  made_ = true;
  for (const object::DocumentPtr& pod : objects_.List("", "pods", "")) PodStored(pod->root());
}

void NodePods::PodStored(const Value& pod) {
  std::string_view node = pod.Path({"spec", "nodeName"}).AsString();
  if (!made_ || node.empty()) return;
  Value metadata = pod.Get("metadata");
  by_node_[std::string(node)].insert(std::string(metadata.Get("namespace").AsString()) + "/" + std::string(metadata.Get("name").AsString()));
}

void NodePods::PodRemoved(const Value& last) {
  auto found = by_node_.find(std::string(last.Path({"spec", "nodeName"}).AsString()));
  if (found == by_node_.end()) return;
  Value metadata = last.Get("metadata");
  found->second.erase(std::string(metadata.Get("namespace").AsString()) + "/" + std::string(metadata.Get("name").AsString()));
  if (found->second.empty()) by_node_.erase(found);
}

bool NodePods::Visit(std::string_view node, const std::function<bool(const Value& pod)>& visit) {
  if (!made_) Make();
  auto found = by_node_.find(std::string(node));
  if (found == by_node_.end()) return true;
  for (const std::string& key : found->second) {
    size_t slash = key.find('/');
    object::DocumentPtr pod = objects_.Get("", "pods", std::string_view(key).substr(0, slash), std::string_view(key).substr(slash + 1));
    if (pod && !visit(pod->root())) return false;
  }
  return true;
}

NodeAuthorizer::NodeAuthorizer(const kinds::ObjectReader& objects, std::function<object::OwnedValue()> rules)
    : objects_(objects), make_rules_(std::move(rules)), pods_(objects) {}

// Mirror pods are the node's own making and give it nothing.
bool NodeAuthorizer::PodsUse(std::string_view node, std::string_view ns, const std::function<bool(const Value& pod)>& uses) {
  return !pods_.Visit(node, [&](const Value& pod) {
    if (!ns.empty() && pod.Path({"metadata", "namespace"}).AsString() != ns) return true;
    return pod.Path({"metadata", "annotations", kMirrorAnnotation}) || !uses(pod);
  });
}

bool NodeAuthorizer::UsesVolume(std::string_view node, const Value& volume) {
  Value claim = volume.Path({"spec", "claimRef"});
  std::string_view name = claim.Get("name").AsString();
  return claim && PodsUse(node, claim.Get("namespace").AsString(),
                          [&](const Value& pod) { return Mentions(VisitPodVolumeClaims, pod, name); });
}

// A secret of a volume whose claim one of the node's pods uses.
bool NodeAuthorizer::UsesVolumeSecret(std::string_view node, std::string_view ns, std::string_view name) {
  return PodsUse(node, "", [&](const Value& pod) {
    std::string_view pod_namespace = pod.Path({"metadata", "namespace"}).AsString();
    return !VisitPodVolumeClaims(pod, [&](std::string_view claim_name) {
      object::DocumentPtr claim = objects_.Get("", "persistentvolumeclaims", pod_namespace, claim_name);
      if (!claim) return true;
      object::DocumentPtr volume = objects_.Get("", "persistentvolumes", "", claim->root().Path({"spec", "volumeName"}).AsString());
      if (!volume) return true;
      Value reference = volume->root().Path({"spec", "claimRef"});
      if (reference.Get("namespace").AsString() != pod_namespace || reference.Get("name").AsString() != claim_name) return true;
      return VisitVolumeNodeSecrets(volume->root(), [&](std::string_view secret_namespace, std::string_view secret) {
        return secret_namespace != ns || secret != name;
      });
    });
  });
}

bool NodeAuthorizer::IsRelated(std::string_view node, const Attributes& a) {
  auto pods_mention = [&](bool (*visit)(const Value&, const NameVisitor&)) {
    return PodsUse(node, a.ns, [&](const Value& pod) { return Mentions(visit, pod, a.name); });
  };
  if (a.resource == "secrets") return pods_mention(VisitPodSecrets) || UsesVolumeSecret(node, a.ns, a.name);
  if (a.resource == "configmaps") return pods_mention(VisitPodConfigMaps);
  if (a.resource == "persistentvolumeclaims") return pods_mention(VisitPodVolumeClaims);
  if (a.resource == "resourceclaims") return pods_mention(VisitPodResourceClaims);
  if (a.resource == "serviceaccounts") {
    return PodsUse(node, a.ns, [&](const Value& pod) { return pod.Path({"spec", "serviceAccountName"}).AsString() == a.name; });
  }
  // The rest say themselves whose they are.
  object::DocumentPtr object = objects_.Get(a.group, a.resource, a.ns, a.name);
  if (!object) return false;
  if (a.resource == "persistentvolumes") return UsesVolume(node, object->root());
  return object->root().Path({"spec", "nodeName"}).AsString() == node;
}

Verdict NodeAuthorizer::Related(std::string_view node, const Attributes& a) {
  if (a.name.empty()) return No("No Object name found");
  if (IsRelated(node, a)) return Allow();
  return No("no relationship found between node '" + std::string(node) + "' and this object");
}

Verdict NodeAuthorizer::Get(std::string_view node, const Attributes& a) {
  if (a.verb != "get") return No("can only get individual resources of this type");
  if (!a.subresource.empty()) return No("cannot get subresource");
  return Related(node, a);
}

Verdict NodeAuthorizer::Read(std::string_view node, const Attributes& a) {
  if (a.verb != "get" && !IsWatchedSort(a.verb)) return No("can only read resources of this type");
  if (!a.subresource.empty()) return No("cannot read subresource");
  if (a.ns.empty()) return No("can only read namespaced object of this type");
  return Related(node, a);
}

Verdict NodeAuthorizer::Claim(std::string_view node, const Attributes& a) {
  if (a.subresource != "status") return Get(node, a);
  if (!IsOneOf(a.verb, {"update", "patch"})) return No("can only get/update/patch this type");
  return Related(node, a);
}

Verdict NodeAuthorizer::ServiceAccount(std::string_view node, const Attributes& a) {
  if (a.verb == "get" && a.subresource.empty()) return Read(node, a);
  if (a.verb != "create" || a.name.empty()) return No("can only create tokens for individual service accounts");
  if (a.subresource != "token") return No("can only create token subresource of serviceaccount");
  return Related(node, a);
}

Verdict NodeAuthorizer::Slice(std::string_view node, const Attributes& a) {
  if (!a.subresource.empty()) return No("cannot authorize ResourceSlice subresources");
  // Whose a new one is, admission sees.
  if (a.verb == "create") return Allow();
  if (IsOneOf(a.verb, {"get", "update", "patch", "delete"})) return Related(node, a);
  if (IsWatchedSort(a.verb) || a.verb == "deletecollection") {
    if (SelectsField(a, "spec.nodeName", node)) return Allow();
    return No("can only list/watch/deletecollection resourceslices with nodeName field selector");
  }
  return No(
      "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection");
}

Verdict NodeAuthorizer::Pod(std::string_view node, const Attributes& a) {
  if (a.subresource.empty()) {
    if (a.verb == "get") return Get(node, a);
    if (IsWatchedSort(a.verb)) {
      if (SelectsField(a, "spec.nodeName", node)) return Allow();
      if (!a.name.empty()) return Related(node, a);
      return No("can only list/watch pods with spec.nodeName field selector");
    }
    // Mirror pods; which ones, admission sees.
    return IsOneOf(a.verb, {"create", "delete"}) ? Allow() : No();
  }
  if (a.subresource == "status") return IsOneOf(a.verb, {"update", "patch"}) ? Allow() : No();
  return a.subresource == "eviction" && a.verb == "create" ? Allow() : No();
}

Verdict NodeAuthorizer::Authorize(const Attributes& a) {
  std::optional<std::string_view> name = NodeOf(*a.user);
  if (!name) return No();
  if (name->empty()) return No("unknown node for user " + GoQuote(a.user->name));
  std::string_view node = *name;
  auto is = [&](std::string_view group, std::string_view resource) { return a.resource_request && a.group == group && a.resource == resource; };
  if (is("", "secrets") || is("", "configmaps")) return Read(node, a);
  if (is("", "persistentvolumeclaims")) return Claim(node, a);
  if (is("", "persistentvolumes") || is("resource.k8s.io", "resourceclaims") || is("storage.k8s.io", "volumeattachments")) return Get(node, a);
  if (is("", "serviceaccounts")) return ServiceAccount(node, a);
  if (is("coordination.k8s.io", "leases")) return Lease(node, a);
  if (is("storage.k8s.io", "csinodes")) return CsiNode(node, a);
  if (is("resource.k8s.io", "resourceslices")) return Slice(node, a);
  if (is("", "nodes")) return Node(node, a);
  if (is("", "pods")) return Pod(node, a);
  if (is("certificates.k8s.io", "podcertificaterequests")) return No();
  if (!rules_) rules_ = make_rules_();
  for (const Value& rule : rules_->value.items()) if (RuleAllows(PolicyRule(rule), a)) return Allow();
  return No();
}

RuleList NodeAuthorizer::RulesFor(const User& user, std::string_view) {
  RuleList list;
  if (NodeOf(user)) {
    list.incomplete = true;
    list.faults.push_back("node authorizer does not support user rule resolution");
  }
  return list;
}

}  // namespace homeostat::auth
