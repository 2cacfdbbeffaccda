// Plugins that change or refuse pods.
#include "admission/fixture_test.h"

namespace homeostat::admission {
namespace {

using LimitRangerTest = PluginTest;
using PriorityTest = PluginTest;
using TolerationTest = PluginTest;
using RuntimeClassTest = PluginTest;
using ServiceAccountTest = PluginTest;
using PodTopologyLabelsTest = PluginTest;
using PodResizeTest = PluginTest;

constexpr std::string_view kLimits =
    "{apiVersion: v1, kind: LimitRange, metadata: {name: lr, namespace: default}, spec: {limits: [{type: Container, default: {cpu: 200m}, "
    "defaultRequest: {cpu: 100m, memory: 32Mi}, max: {cpu: 1, memory: 1Gi}, min: {cpu: 50m}, maxLimitRequestRatio: {cpu: 4}}, "
    "{type: Pod, max: {cpu: 1500m}}, {type: PersistentVolumeClaim, min: {storage: 1Gi}, max: {storage: 3Gi}}]}}";

TEST_F(LimitRangerTest, FillsInDefaults) {
  Have(kLimits);
  auto plugin = MakeLimitRanger(Parts());
  Outcome outcome = Run(*plugin, {"{metadata: {name: p}, spec: {containers: [{name: c, image: x}], initContainers: [{name: i, image: x, resources: {requests: {cpu: 150m}}}]}}"});
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(At(outcome.object, "spec.containers.0.resources"),
            R"({"limits":{"cpu":"200m","memory":"1Gi"},"requests":{"cpu":"100m","memory":"32Mi"}})");
  EXPECT_EQ(At(outcome.object, "spec.initContainers.0.resources.requests.cpu"), R"("150m")");
  EXPECT_EQ(At(outcome.object, "metadata.annotations"),
            R"({"kubernetes.io/limit-ranger":"LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c; )"
            R"(memory request for init container i; cpu, memory limit for init container i"})");
}

struct LimitCase {
  std::string_view object, error;
};

TEST_F(LimitRangerTest, KeepsWithinLimits) {
  Have(kLimits);
  auto plugin = MakeLimitRanger(Parts());
  const LimitCase cases[] = {
      {"{metadata: {name: r}, spec: {containers: [{name: c, image: x, resources: {limits: {cpu: 2}, requests: {cpu: 1}}}]}}",
       "pods \"r\" is forbidden: [maximum cpu usage per Container is 1, but limit is 2, maximum cpu usage per Pod is 1500m, but limit is 2]"},
      {"{metadata: {name: r}, spec: {containers: [{name: c, image: x, resources: {limits: {cpu: 900m}, requests: {cpu: 100m}}}]}}",
       "pods \"r\" is forbidden: cpu max limit to request ratio per Container is 4, but provided ratio is 9.000000"},
      {"{metadata: {generateName: r-}, spec: {containers: [{name: c, image: x, resources: {limits: {cpu: 40m}, requests: {cpu: 10m}}}]}}",
       "pods \"r-\" is forbidden: minimum cpu usage per Container is 50m, but request is 10m"},
      {"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {resources: {requests: {storage: 1Mi}}}}",
       "persistentvolumeclaims \"c\" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"},
      {"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {resources: {requests: {storage: 4Gi}}}}",
       "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per PersistentVolumeClaim is 3Gi, but request is 4Gi"},
  };
  for (const LimitCase& test : cases) EXPECT_EQ(Run(*plugin, {test.object}).error, test.error);
  // Containers of a stored pod change through resize alone.
  Write update{cases[0].object, cases[1].object, "", Operation::kUpdate};
  EXPECT_EQ(Run(*plugin, update).error, "");
  update.subresource = "resize";
  EXPECT_NE(Run(*plugin, update).error, "");
}

TEST_F(PriorityTest, ComesFromTheClass) {
  Have("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 4321, preemptionPolicy: Never}");
  auto plugin = MakePriority(Parts());
  Outcome named = Run(*plugin, {"{metadata: {name: p}, spec: {priorityClassName: high}}"});
  EXPECT_EQ(At(named.object, "spec.priority") + At(named.object, "spec.preemptionPolicy"), "4321\"Never\"");
  Outcome none = Run(*plugin, {"{metadata: {name: p}, spec: {}}"});
  EXPECT_EQ(At(none.object, "spec.priority") + At(none.object, "spec.preemptionPolicy"), "0\"PreemptLowerPriority\"");
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: p}, spec: {priorityClassName: low}}"}).error,
            "pods \"p\" is forbidden: no PriorityClass with name low was found");
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: p}, spec: {priority: 7, priorityClassName: high}}"}).error,
            "pods \"p\" is forbidden: the integer value of priority (7) must not be provided in pod spec; priority admission controller "
            "computed 4321 from the given PriorityClass name");
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: p}, spec: {preemptionPolicy: PreemptLowerPriority, priorityClassName: high}}"}).error,
            "pods \"p\" is forbidden: the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority "
            "admission controller computed Never from the given PriorityClass name");
}

TEST_F(PriorityTest, OneClassIsTheDefault) {
  constexpr std::string_view kUsual = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 5, globalDefault: true}";
  constexpr std::string_view kOther = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: other}, value: 6, globalDefault: true}";
  auto plugin = MakePriority(Parts());
  EXPECT_EQ(Run(*plugin, {kUsual}).error, "");
  Have(kUsual);
  EXPECT_EQ(Run(*plugin, {kOther}).error,
            "priorityclasses.scheduling.k8s.io \"other\" is forbidden: PriorityClass usual is already marked as default. Only one default can exist");
  EXPECT_EQ(Run(*plugin, {kUsual, kUsual, "", Operation::kUpdate}).error, "");
  Outcome pod = Run(*plugin, {"{metadata: {name: p}, spec: {}}"});
  EXPECT_EQ(At(pod.object, "spec.priorityClassName") + At(pod.object, "spec.priority"), "\"usual\"5");
}

TEST_F(PriorityTest, IsKeptByUpdates) {
  auto plugin = MakePriority(Parts());
  Outcome outcome = Run(*plugin, {"{metadata: {name: p}, spec: {}}", "{metadata: {name: p}, spec: {priority: 3, preemptionPolicy: Never}}", "",
                                  Operation::kUpdate});
  EXPECT_EQ(At(outcome.object, "spec.priority") + At(outcome.object, "spec.preemptionPolicy"), "3\"Never\"");
}

TEST_F(TolerationTest, OfNodesThatFailForAWhile) {
  auto plugin = MakeDefaultTolerationSeconds(Parts());
  Outcome outcome = Run(*plugin, {"{metadata: {name: p}, spec: {tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}]}}"});
  EXPECT_EQ(At(outcome.object, "spec.tolerations.1"),
            R"({"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300})");
  EXPECT_EQ(outcome.object.Path({"spec", "tolerations"}).size(), 2u);
  Outcome all = Run(*plugin, {"{metadata: {name: p}, spec: {tolerations: [{operator: Exists}]}}"});
  EXPECT_EQ(all.object.Path({"spec", "tolerations"}).size(), 1u);
}

TEST_F(RuntimeClassTest, AddsOverheadAndPlace) {
  Have("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: rc}, handler: h, overhead: {podFixed: {cpu: 25m}}, "
       "scheduling: {nodeSelector: {rt: h}, tolerations: [{key: rt, operator: Exists}, {key: a, operator: Exists}]}}");
  auto plugin = MakeRuntimeClass(Parts());
  Outcome outcome = Run(*plugin, {"{metadata: {name: p}, spec: {runtimeClassName: rc, nodeSelector: {a: b}, tolerations: [{key: a, operator: Equal, value: x}, {key: z}]}}"});
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(At(outcome.object, "spec.overhead") + At(outcome.object, "spec.nodeSelector"), R"({"cpu":"25m"}{"a":"b","rt":"h"})");
  EXPECT_EQ(At(outcome.object, "spec.tolerations"), R"([{"key":"z"},{"key":"rt","operator":"Exists"},{"key":"a","operator":"Exists"}])");
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: p}, spec: {runtimeClassName: none}}"}).error,
            "pods \"p\" is forbidden: pod rejected: RuntimeClass \"none\" not found");
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: p}, spec: {runtimeClassName: rc, nodeSelector: {rt: other}}}"}).error,
            "pods \"p\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[rt] = h; pod.spec.nodeSelector[rt] = other");
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: p}, spec: {runtimeClassName: rc, overhead: {cpu: 1}}}"}).error,
            "pods \"p\" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: p}, spec: {overhead: {cpu: 1}}}"}).error,
            "pods \"p\" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
}

TEST_F(ServiceAccountTest, TheDefaultIsWaitedFor) {
  auto plugin = MakeServiceAccount(Parts());
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: p}, spec: {containers: [{name: c, image: x}]}}"}).error,
            "pods \"p\" is forbidden: error looking up service account default/default: serviceaccount \"default\" not found");
  runtime_->After(std::chrono::milliseconds(300), [this] { Have("{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: default}}"); });
  Outcome outcome = Run(*plugin, {"{metadata: {name: p}, spec: {containers: [{name: c, image: x}]}}"});
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(At(outcome.object, "spec.serviceAccountName"), "\"default\"");
  EXPECT_EQ(At(outcome.object, "spec.containers.0.volumeMounts.0.mountPath"), "\"/var/run/secrets/kubernetes.io/serviceaccount\"");
}

TEST_F(ServiceAccountTest, LimitsSecretsWhereTheAccountSaysSo) {
  Have("{apiVersion: v1, kind: ServiceAccount, metadata: {name: strict, namespace: default, annotations: {kubernetes.io/enforce-mountable-secrets: \"true\"}}, "
       "secrets: [{name: known}], automountServiceAccountToken: false}");
  auto plugin = MakeServiceAccount(Parts());
  auto with = [](std::string_view more) { return "{metadata: {name: p}, spec: {serviceAccountName: strict, " + std::string(more) + "}}"; };
  EXPECT_EQ(Run(*plugin, {with("volumes: [{name: v, secret: {secretName: known}}]")}).error, "");
  EXPECT_EQ(Run(*plugin, {with("volumes: [{name: v, secret: {secretName: other}}]")}).error,
            "pods \"p\" is forbidden: volume with secret.secretName=\"other\" is not allowed because service account strict does not reference that secret");
  EXPECT_EQ(Run(*plugin, {with("containers: [{name: c, envFrom: [{secretRef: {name: other}}]}]")}).error,
            "pods \"p\" is forbidden: container c with envFrom referencing secret.secretName=\"other\" is not allowed because service account strict "
            "does not reference that secret");
  EXPECT_EQ(Run(*plugin, {with("imagePullSecrets: [{name: other}]")}).error,
            "pods \"p\" is forbidden: imagePullSecrets[0].name=\"other\" is not allowed because service account strict does not reference that imagePullSecret");
}

TEST_F(ServiceAccountTest, MirrorPodsUseNothingOfTheApi) {
  auto plugin = MakeServiceAccount(Parts());
  auto mirror = [](std::string_view spec) {
    return "{metadata: {name: p, annotations: {kubernetes.io/config.mirror: x}}, spec: {" + std::string(spec) + "}}";
  };
  EXPECT_EQ(Run(*plugin, {mirror("nodeName: here")}).error, "");
  EXPECT_EQ(Run(*plugin, {mirror("serviceAccountName: a")}).error, "pods \"p\" is forbidden: a mirror pod may not reference service accounts");
  EXPECT_EQ(Run(*plugin, {mirror("imagePullSecrets: [{name: s}]")}).error, "pods \"p\" is forbidden: a mirror pod may not reference secrets");
  EXPECT_EQ(Run(*plugin, {mirror("volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]")}).error,
            "pods \"p\" is forbidden: a mirror pod may not use ServiceAccountToken volume projections");
}

TEST_F(PodTopologyLabelsTest, FollowTheNode) {
  Have("{apiVersion: v1, kind: Node, metadata: {name: here, labels: {topology.kubernetes.io/zone: z, topology.kubernetes.io/region: r, other: x}}}");
  auto plugin = MakePodTopologyLabels(Parts());
  EXPECT_EQ(At(Run(*plugin, {"{metadata: {name: p, labels: {a: b}}, spec: {nodeName: here}}"}).object, "metadata.labels"),
            R"({"a":"b","topology.kubernetes.io/region":"r","topology.kubernetes.io/zone":"z"})");
  EXPECT_EQ(At(Run(*plugin, {"{metadata: {name: p}, spec: {}}"}).object, "metadata.labels"), "none");
  written_to_ = api::FindKind("", "v1", "Pod");
  Outcome binding = Run(*plugin, {"{apiVersion: v1, kind: Binding, metadata: {name: p}, target: {kind: Node, name: here}}", "", "binding"});
  EXPECT_EQ(At(binding.object, "metadata.labels"), R"({"topology.kubernetes.io/region":"r","topology.kubernetes.io/zone":"z"})");
}

TEST_F(PodResizeTest, StaysWithinTheNode) {
  Have("{apiVersion: v1, kind: Node, metadata: {name: here}, status: {allocatable: {cpu: 2, memory: 1Gi}}}");
  auto plugin = MakePodResizeValidator(Parts());
  constexpr std::string_view kOld = "{metadata: {name: p, generation: 1}, spec: {nodeName: here, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}";
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: p, generation: 2}, spec: {nodeName: here, containers: [{name: c, resources: {requests: {cpu: 2}}}]}}", kOld, "resize",
                          Operation::kUpdate}).error, "");
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: p, generation: 2}, spec: {nodeName: here, containers: [{name: c, resources: {requests: {cpu: 3, memory: 2Gi}}}]}}", kOld,
                          "resize", Operation::kUpdate}).error,
            "pods \"p\" is forbidden: node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000; memory, requested: "
            "2147483648, allocatable: 1073741824");
}

}  // namespace
}  // namespace homeostat::admission
