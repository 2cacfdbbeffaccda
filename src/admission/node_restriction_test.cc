#include "admission/fixture_test.h"

namespace homeostat::admission {
namespace {

class NodeRestrictionTest : public PluginTest {
 protected:
  void SetUp() override {
    user_.name = "system:node:here";
    user_.groups = {"system:nodes"};
    Have("{apiVersion: v1, kind: Node, metadata: {name: here, uid: node-uid}}");
    Have("{metadata: {name: mine, namespace: default, uid: u1}, spec: {nodeName: here, volumes: [{name: t, projected: {sources: [{serviceAccountToken: {audience: vault, path: t}}]}}]}}");
    Have("{metadata: {name: other, namespace: default, uid: u2}, spec: {nodeName: there}}");
  }
  std::string Try(const Write& write) { return Run(*plugin_, write).error; }

  std::unique_ptr<Plugin> plugin_ = MakeNodeRestriction(Parts());
};

TEST_F(NodeRestrictionTest, OthersAreFree) {
  constexpr std::string_view kNode = "{apiVersion: v1, kind: Node, metadata: {name: there}}";
  user_.groups.clear();
  EXPECT_EQ(Try({kNode}), "");
  user_ = {.name = "system:node:", .uid = {}, .groups = {"system:nodes"}, .extra = {}};
  EXPECT_EQ(Try({kNode}), "nodes \"there\" is forbidden: could not determine node from user \"system:node:\"");
}

TEST_F(NodeRestrictionTest, Node) {
  constexpr std::string_view kOwn = "{apiVersion: v1, kind: Node, metadata: {name: here, labels: {kubernetes.io/hostname: here, node.kubernetes.io/x: why, a: b}}}";
  EXPECT_EQ(Try({kOwn}), "");
  EXPECT_EQ(Try({"{apiVersion: v1, kind: Node, metadata: {name: there}}"}), "nodes \"there\" is forbidden: node \"here\" is not allowed to modify node \"there\"");
  EXPECT_EQ(Try({"{apiVersion: v1, kind: Node, metadata: {name: here, labels: {node-restriction.kubernetes.io/z: why, foo.k8s.io/x: why}}}"}),
            "nodes \"here\" is forbidden: node \"here\" is not allowed to set the following labels: foo.k8s.io/x, node-restriction.kubernetes.io/z");
  EXPECT_EQ(Try({"{apiVersion: v1, kind: Node, metadata: {name: here, labels: {role.kubernetes.io/x: why}}}", kOwn, "", Operation::kUpdate}),
            "nodes \"here\" is forbidden: is not allowed to modify labels: role.kubernetes.io/x");
  EXPECT_EQ(Try({"{apiVersion: v1, kind: Node, metadata: {name: here}, spec: {taints: [{key: a, effect: NoSchedule}]}}",
                 "{apiVersion: v1, kind: Node, metadata: {name: here}}", "", Operation::kUpdate}),
            "nodes \"here\" is forbidden: node \"here\" is not allowed to modify taints");
}

TEST_F(NodeRestrictionTest, Pods) {
  auto mirror = [](std::string_view owner, std::string_view spec) {
    return "{metadata: {name: p, annotations: {kubernetes.io/config.mirror: x}, ownerReferences: [{apiVersion: v1, kind: Node, name: here, uid: " + std::string(owner) +
           "}]}, spec: {nodeName: here" + std::string(spec) + "}}";
  };
  EXPECT_EQ(Try({mirror("node-uid, controller: true", "")}), "");
  EXPECT_EQ(Try({"{metadata: {name: p}, spec: {nodeName: here}}"}),
            "pods \"p\" is forbidden: pod does not have \"kubernetes.io/config.mirror\" annotation, node \"here\" can only create mirror pods");
  EXPECT_EQ(Try({mirror("other, controller: true", "")}), "pods \"p\" is forbidden: node here UID mismatch: expected other got node-uid");
  EXPECT_EQ(Try({mirror("node-uid", "")}),
            "pods \"p\" is forbidden: node \"here\" can only create pods with a controller owner reference set to itself");
  EXPECT_EQ(Try({mirror("node-uid, controller: true", ", volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]")}),
            "pods \"p\" is forbidden: node \"here\" can not create pods that reference persistentvolumeclaims");
  constexpr std::string_view kMine = "{metadata: {name: mine}, spec: {nodeName: here}}", kOther = "{metadata: {name: other}, spec: {nodeName: there}}";
  EXPECT_EQ(Try({"", kMine, "", Operation::kDelete}), "");
  EXPECT_EQ(Try({"", kOther, "", Operation::kDelete}), "pods \"other\" is forbidden: node \"here\" can only delete pods with spec.nodeName set to itself");
  EXPECT_EQ(Try({kMine, kMine, "", Operation::kUpdate}),
            "pods \"mine\" is forbidden: unexpected operation \"UPDATE\", node \"here\" can only create and delete mirror pods");
  EXPECT_EQ(Try({kMine, kMine, "status", Operation::kUpdate}), "");
  EXPECT_EQ(Try({kOther, kOther, "status", Operation::kUpdate}),
            "pods \"other\" is forbidden: node \"here\" can only update pod status for pods with spec.nodeName set to itself");
  EXPECT_EQ(Try({"{metadata: {name: mine, labels: {a: b}}, spec: {nodeName: here}}", kMine, "status", Operation::kUpdate}),
            "pods \"mine\" is forbidden: node \"here\" cannot update labels through pod status");
  EXPECT_EQ(Try({kMine, "", "binding"}), "pods \"mine\" is forbidden: unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed");
}

TEST_F(NodeRestrictionTest, LeasesAndCsiNodes) {
  EXPECT_EQ(Try({"{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: here}}"}),
            "leases.coordination.k8s.io \"here\" is forbidden: can only access leases in the \"kube-node-lease\" system namespace");
  EXPECT_EQ(Try({"{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: here}}"}), "");
  EXPECT_EQ(Try({"{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: there}}"}),
            "csinodes.storage.k8s.io \"there\" is forbidden: can only access CSINode with the same name as the requesting node");
  EXPECT_EQ(Try({"{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {nodeName: there}}"}),
            "resourceslices.resource.k8s.io \"s\" is forbidden: can only create ResourceSlice with the same NodeName as the requesting node");
}

TEST_F(NodeRestrictionTest, VolumeClaims) {
  constexpr std::string_view kClaim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}}";
  EXPECT_EQ(Try({kClaim}), "persistentvolumeclaims \"c\" is forbidden: may only update PVC status");
  EXPECT_EQ(Try({"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, status: {capacity: {storage: 1Gi}}}", kClaim, "status", Operation::kUpdate}), "");
  EXPECT_TRUE(Try({"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, labels: {a: b}}}", kClaim, "status", Operation::kUpdate})
                  .starts_with("persistentvolumeclaims \"c\" is forbidden: node \"here\" is not allowed to update fields other than status.quantity and "
                               "status.conditions: "));
}

TEST_F(NodeRestrictionTest, Tokens) {
  written_to_ = api::FindKind("", "v1", "ServiceAccount");
  auto token = [&](std::string_view reference, std::string_view audiences) {
    return Try({"{apiVersion: authentication.k8s.io/v1, kind: TokenRequest, metadata: {name: a}, spec: {audiences: [" + std::string(audiences) + "], boundObjectRef: {" +
                    std::string(reference) + "}}}", "", "token"});
  };
  EXPECT_EQ(token("apiVersion: v1, kind: Pod, name: mine, uid: u1", "vault"), "");
  EXPECT_EQ(token("", "vault"), "serviceaccounts \"a\" is forbidden: node requested token not bound to a pod");
  EXPECT_EQ(token("apiVersion: v1, kind: Pod, name: mine", "vault"), "serviceaccounts \"a\" is forbidden: node requested token with a pod binding without a uid");
  EXPECT_EQ(token("apiVersion: v1, kind: Pod, name: other, uid: u2", "vault"),
            "serviceaccounts \"a\" is forbidden: node requested token bound to a pod scheduled on a different node");
  EXPECT_EQ(token("apiVersion: v1, kind: Pod, name: mine, uid: u1", "bank"),
            "serviceaccounts \"a\" is forbidden: audience \"bank\" not found in pod spec volume, system:node:here is not authorized to request tokens for this audience");
}

}  // namespace
}  // namespace homeostat::admission
