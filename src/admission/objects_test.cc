// Plugins that see to objects other than pods, and the list of plugins.
#include <algorithm>

#include "admission/fixture_test.h"

namespace homeostat::admission {
namespace {

using PluginsTest = PluginTest;
using NamespaceLifecycleTest = PluginTest;
using StorageTest = PluginTest;
using IngressTest = PluginTest;
using NodeTaintTest = PluginTest;
using CertificatesTest = PluginTest;
using OwnersTest = PluginTest;
using OptionalTest = PluginTest;

TEST_F(PluginsTest, InOrderAndByChoice) {
  Chain usual;
  ASSERT_TRUE(AddPlugins(usual, Parts()));
  auto names = usual.names();
  EXPECT_EQ(names.front(), "NamespaceLifecycle");
  EXPECT_EQ(names.back(), "ResourceQuota");
  EXPECT_EQ(std::ranges::find(names, "NodeRestriction"), names.end());
  Chain chosen;
  ASSERT_TRUE(AddPlugins(chosen, Parts(), {{"NodeRestriction"}, {"PodSecurity", "Priority"}}));
  names = chosen.names();
  EXPECT_EQ(names[3], "NodeRestriction");
  EXPECT_EQ(std::ranges::find(names, "PodSecurity"), names.end());
  Chain none;
  EXPECT_EQ(AddPlugins(none, Parts(), {{"Nonesuch"}, {}}).error().message(), "enable-admission-plugins plugin \"Nonesuch\" is unknown");
  EXPECT_EQ(AddPlugins(none, Parts(), {{}, {"Nonesuch"}}).error().message(), "disable-admission-plugins plugin \"Nonesuch\" is unknown");
  EXPECT_EQ(AddPlugins(none, Parts(), {{"Priority"}, {"Priority"}}).error().message(),
            "[Priority] in enable-admission-plugins and disable-admission-plugins overlapped");
}

TEST_F(NamespaceLifecycleTest, NothingComesIntoANamespaceThatGoes) {
  auto plugin = MakeNamespaceLifecycle(Parts());
  constexpr std::string_view kSecret = "{apiVersion: v1, kind: Secret, metadata: {name: s}}";
  EXPECT_EQ(Run(*plugin, {kSecret}).error, "namespaces \"default\" not found");
  Have("{apiVersion: v1, kind: Namespace, metadata: {name: default}, status: {phase: Terminating}}");
  EXPECT_EQ(Run(*plugin, {kSecret}).error,
            "secrets \"s\" is forbidden: unable to create new content in namespace default because it is being terminated");
  EXPECT_EQ(Run(*plugin, {kSecret, kSecret, "", Operation::kUpdate}).error, "");
  EXPECT_EQ(Run(*plugin, {"", kSecret, "", Operation::kDelete}).error, "");
  EXPECT_EQ(Run(*plugin, {"", "{apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}", "", Operation::kDelete}).error,
            "namespaces \"kube-system\" is forbidden: this namespace may not be deleted");
}

TEST_F(StorageTest, ClaimsGetTheNewestDefaultClass) {
  auto plugin = MakeDefaultStorageClass(Parts());
  auto with = [&](std::string_view spec) {
    return At(Run(*plugin, {"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {" + std::string(spec) + "}}"}).object, "spec.storageClassName");
  };
  EXPECT_EQ(with(""), "none");
  for (std::string_view text : {"{name: a, creationTimestamp: \"2024-01-01T00:00:00Z\"", "{name: b, creationTimestamp: \"2024-01-02T00:00:00Z\"",
                                "{name: c, creationTimestamp: \"2024-01-02T00:00:00Z\""}) {
    Have("{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: x, metadata: " + std::string(text) +
         ", annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}}}");
  }
  EXPECT_EQ(with(""), "\"b\"");
  EXPECT_EQ(with("storageClassName: \"\""), "\"\"");
  EXPECT_EQ(with("storageClassName: own"), "\"own\"");
}

TEST_F(StorageTest, ThingsInUseStay) {
  auto plugin = MakeStorageObjectInUseProtection(Parts());
  EXPECT_EQ(At(Run(*plugin, {"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, finalizers: [x]}}"}).object, "metadata.finalizers"),
            R"(["x","kubernetes.io/pvc-protection"])");
  EXPECT_EQ(At(Run(*plugin, {"{apiVersion: v1, kind: PersistentVolume, metadata: {name: c, finalizers: [kubernetes.io/pv-protection]}}"}).object,
               "metadata.finalizers"), R"(["kubernetes.io/pv-protection"])");
}

TEST_F(StorageTest, ClaimsGrowWhereTheirClassAllowsIt) {
  auto plugin = MakePersistentVolumeClaimResize(Parts());
  auto claim = [](std::string_view size, std::string_view phase) {
    return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {storageClassName: sc, resources: {requests: {storage: " + std::string(size) +
           "}}}, status: {phase: " + std::string(phase) + "}}";
  };
  auto resize = [&](std::string_view from, std::string_view to, std::string_view phase) {
    return Run(*plugin, {claim(to, phase), claim(from, phase), "", Operation::kUpdate}).error;
  };
  EXPECT_EQ(resize("2Gi", "1Gi", "Pending"), "");
  EXPECT_EQ(resize("1Gi", "2Gi", "Pending"), "persistentvolumeclaims \"c\" is forbidden: Only bound persistent volume claims can be expanded");
  EXPECT_EQ(resize("1Gi", "2Gi", "Bound"),
            "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc "
            "must support resize");
  Have("{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: x, metadata: {name: sc}, allowVolumeExpansion: true}");
  EXPECT_EQ(resize("1Gi", "2Gi", "Bound"), "");
}

TEST_F(IngressTest, GetsTheDefaultClass) {
  Have("{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: k, annotations: {ingressclass.kubernetes.io/is-default-class: \"true\"}}}");
  auto plugin = MakeDefaultIngressClass(Parts());
  EXPECT_EQ(At(Run(*plugin, {"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}}"}).object, "spec.ingressClassName"), "\"k\"");
  EXPECT_EQ(At(Run(*plugin, {"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, annotations: {kubernetes.io/ingress.class: a}}}"}).object,
               "spec.ingressClassName"), "none");
}

TEST_F(NodeTaintTest, NewNodesAreNotReady) {
  auto plugin = MakeTaintNodesByCondition(Parts());
  EXPECT_EQ(At(Run(*plugin, {"{apiVersion: v1, kind: Node, metadata: {name: here}}"}).object, "spec.taints"),
            R"([{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}])");
}

TEST_F(CertificatesTest, SignersHaveTheirOwnPermissions) {
  constexpr std::string_view kRequest = "{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: c}, spec: {signerName: example.com/a}}";
  constexpr std::string_view kSigned =
      "{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: c}, spec: {signerName: example.com/a}, status: {certificate: eA==}}";
  auto approval = MakeCertificateApproval(Parts()), signing = MakeCertificateSigning(Parts());
  EXPECT_EQ(Run(*approval, {kRequest, kRequest, "approval", Operation::kUpdate}).error,
            "certificatesigningrequests.certificates.k8s.io \"c\" is forbidden: user not permitted to approve requests with signerName \"example.com/a\"");
  EXPECT_EQ(Run(*signing, {kSigned, kRequest, "status", Operation::kUpdate}).error,
            "certificatesigningrequests.certificates.k8s.io \"c\" is forbidden: user not permitted to sign requests with signerName \"example.com/a\"");
  EXPECT_EQ(Run(*signing, {kRequest, kRequest, "status", Operation::kUpdate}).error, "");
  authorizer_.allowed = {"approve signers example.com/*", "sign signers example.com/a"};
  EXPECT_EQ(Run(*approval, {kRequest, kRequest, "approval", Operation::kUpdate}).error, "");
  EXPECT_EQ(Run(*signing, {kSigned, kRequest, "status", Operation::kUpdate}).error, "");
}

TEST_F(CertificatesTest, NobodyBecomesAMaster) {
  auto plugin = MakeCertificateSubjectRestriction(Parts());
  EXPECT_EQ(Run(*plugin, {"{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: c}, spec: "
                          "{signerName: kubernetes.io/kube-apiserver-client, request: eA==}}"}).error,
            "certificatesigningrequests.certificates.k8s.io \"c\" is forbidden: failed to parse CSR: PEM block type must be CERTIFICATE REQUEST");
}

TEST_F(OwnersTest, WhoHoldsUpAnOwnerMayFinalizeIt) {
  constexpr std::string_view kPlain = "{apiVersion: v1, kind: Secret, metadata: {name: s}}";
  constexpr std::string_view kOwned =
      "{apiVersion: v1, kind: Secret, metadata: {name: s, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: d, uid: u, blockOwnerDeletion: true}]}}";
  constexpr std::string_view kUnknown =
      "{apiVersion: v1, kind: Secret, metadata: {name: s, ownerReferences: [{apiVersion: x/v1, kind: What, name: d, uid: u, blockOwnerDeletion: true}]}}";
  auto plugin = MakeOwnerReferencesPermissionEnforcement(Parts());
  EXPECT_EQ(Run(*plugin, {kPlain, kPlain, "", Operation::kUpdate}).error, "");
  EXPECT_EQ(Run(*plugin, {kOwned}).error,
            "secrets \"s\" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: no rule, <nil>");
  EXPECT_EQ(Run(*plugin, {kOwned, kPlain, "", Operation::kUpdate}).error,
            "secrets \"s\" is forbidden: cannot set an ownerRef on a resource you can't delete: no rule, <nil>");
  EXPECT_EQ(Run(*plugin, {kUnknown}).error,
            "secrets \"s\" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion x/v1 Kind What: "
            "no matches for kind \"What\" in version \"x/v1\"");
  authorizer_.allowed = {"update deployments/finalizers d", "delete secrets s"};
  EXPECT_EQ(Run(*plugin, {kOwned}).error, "");
  EXPECT_EQ(Run(*plugin, {kOwned, kPlain, "", Operation::kUpdate}).error, "");
}

TEST_F(OptionalTest, Pods) {
  constexpr std::string_view kPod =
      "{metadata: {name: p}, spec: {containers: [{name: c, image: x, imagePullPolicy: Never, resources: {requests: {example.com/gpu: 1, cpu: 1}}}], affinity: "
      "{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}}}";
  auto pull = MakeAlwaysPullImages(Parts()), tolerate = MakeExtendedResourceToleration(Parts()), spread = MakeLimitPodHardAntiAffinityTopology(Parts());
  EXPECT_EQ(At(Run(*pull, {kPod}).object, "spec.containers.0.imagePullPolicy"), "\"Always\"");
  EXPECT_EQ(At(Run(*pull, {kPod, kPod, "", Operation::kUpdate}).object, "spec.containers.0.imagePullPolicy"), "\"Never\"");
  EXPECT_EQ(At(Run(*tolerate, {kPod}).object, "spec.tolerations"), R"([{"key":"example.com/gpu","operator":"Exists","effect":"NoSchedule"}])");
  EXPECT_EQ(Run(*spread, {kPod}).error,
            "pods \"p\" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed");
  auto deny = MakeAlwaysDeny(Parts());
  EXPECT_EQ(Run(*deny, {kPod}).error, "pods \"p\" is forbidden: admission control is denying all modifications");
}

TEST_F(OptionalTest, ExternalAddressesStayButDontCome) {
  constexpr std::string_view kWith = "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {externalIPs: [1.2.3.4]}}";
  auto plugin = MakeDenyServiceExternalIPs(Parts());
  EXPECT_EQ(Run(*plugin, {kWith}).error, "services \"s\" is forbidden: Use of external IPs is denied by admission control");
  EXPECT_EQ(Run(*plugin, {kWith, kWith, "", Operation::kUpdate}).error, "");
}

}  // namespace
}  // namespace homeostat::admission
