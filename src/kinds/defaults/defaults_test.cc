#include "kinds/internal/testing.h"

namespace homeostat::kinds::internal {
namespace {

class DefaultsTest : public BehaviourTest {};

struct DefaultCase {
  std::string_view yaml, path, json;
};

TEST_F(DefaultsTest, FillWhatTheClientLeftOut) {
  const DefaultCase cases[] = {
      // Pods.
      {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: a}]}}", "spec.containers.0.imagePullPolicy", R"("Always")"},
      {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: 'a:1'}]}}", "spec.containers.0.imagePullPolicy", R"("IfNotPresent")"},
      {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: c}]}}", "spec.securityContext", "{}"},
      {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: c}]}}", "spec.enableServiceLinks", "true"},
      {"{apiVersion: v1, kind: Pod, spec: {serviceAccountName: s, containers: []}}", "spec.serviceAccount", R"("s")"},
      {"{apiVersion: v1, kind: Pod, spec: {serviceAccount: s, containers: []}}", "spec.serviceAccountName", R"("s")"},
      {"{apiVersion: v1, kind: Pod, spec: {hostNetwork: true, containers: [{name: c, ports: [{containerPort: 80}]}]}}",
       "spec.containers.0.ports.0.hostPort", "80"},
      {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}}]}}",
       "spec.containers.0.resources.requests", R"({"cpu":"500m","memory":"1Gi"})"},
      {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, livenessProbe: {httpGet: {port: 80}}}]}}",
       "spec.containers.0.livenessProbe", R"({"httpGet":{"path":"/","port":80,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3})"},
      {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, livenessProbe: {grpc: {port: 1}}}]}}",
       "spec.containers.0.livenessProbe.grpc.service", R"("")"},
      {"{apiVersion: v1, kind: Pod, spec: {containers: [], volumes: [{name: v}]}}", "spec.volumes.0.emptyDir", "{}"},
      {"{apiVersion: v1, kind: Pod, spec: {containers: [], volumes: [{name: v, secret: {secretName: s}}]}}", "spec.volumes.0.secret.defaultMode", "420"},
      {"{apiVersion: v1, kind: Pod, spec: {containers: [], volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}}",
       "spec.volumes.0.projected.sources.0.serviceAccountToken.expirationSeconds", "3600"},
      {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}}",
       "spec.containers.0.env.0.valueFrom.fieldRef.apiVersion", R"("v1")"},
      // Services.
      {"{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}", "spec.ports.0", R"({"protocol":"TCP","port":80,"targetPort":80})"},
      {"{apiVersion: v1, kind: Service, spec: {}}", "spec.internalTrafficPolicy", R"("Cluster")"},
      {"{apiVersion: v1, kind: Service, spec: {type: NodePort}}", "spec.externalTrafficPolicy", R"("Cluster")"},
      {"{apiVersion: v1, kind: Service, spec: {type: ClusterIP}}", "spec.externalTrafficPolicy", "none"},
      {"{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}", "spec.allocateLoadBalancerNodePorts", "true"},
      {"{apiVersion: v1, kind: Service, spec: {type: ExternalName}}", "spec.internalTrafficPolicy", "none"},
      {"{apiVersion: v1, kind: Service, spec: {sessionAffinity: ClientIP}}", "spec.sessionAffinityConfig.clientIP.timeoutSeconds", "10800"},
      // The rest of the core group.
      {"{apiVersion: v1, kind: Secret}", "type", R"("Opaque")"},
      {"{apiVersion: v1, kind: PersistentVolumeClaim, spec: {}}", "spec.volumeMode", R"("Filesystem")"},
      {"{apiVersion: v1, kind: PersistentVolume, spec: {hostPath: {path: /a}}}", "spec.hostPath.type", R"("")"},
      {"{apiVersion: v1, kind: PersistentVolume, spec: {iscsi: {}}}", "spec.iscsi.iscsiInterface", R"("default")"},
      {"{apiVersion: v1, kind: LimitRange, spec: {limits: [{type: Container, max: {cpu: 2}, min: {cpu: 1}}]}}", "spec.limits.0.default", R"({"cpu":"2"})"},
      {"{apiVersion: v1, kind: LimitRange, spec: {limits: [{type: Container, max: {cpu: 2}, min: {cpu: 1}}]}}", "spec.limits.0.defaultRequest", R"({"cpu":"2"})"},
      {"{apiVersion: v1, kind: LimitRange, spec: {limits: [{type: Pod, max: {cpu: 2}}]}}", "spec.limits.0.default", "none"},
      {"{apiVersion: v1, kind: ReplicationController, spec: {template: {metadata: {labels: {a: b}}}}}", "spec.selector", R"({"a":"b"})"},
      {"{apiVersion: v1, kind: ReplicationController, spec: {template: {metadata: {labels: {a: b}}}}}", "metadata.labels", R"({"a":"b"})"},
      {"{apiVersion: v1, kind: Node, status: {capacity: {cpu: 2}}}", "status.allocatable", R"({"cpu":"2"})"},
      // Other groups.
      {"{apiVersion: apps/v1, kind: Deployment, spec: {}}", "spec.strategy",
       R"({"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}})"},
      {"{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {type: Recreate}}}", "spec.strategy", R"({"type":"Recreate"})"},
      {"{apiVersion: apps/v1, kind: DaemonSet, spec: {}}", "spec.updateStrategy.rollingUpdate", R"({"maxUnavailable":1,"maxSurge":0})"},
      {"{apiVersion: apps/v1, kind: StatefulSet, spec: {}}", "spec.updateStrategy", R"({"type":"RollingUpdate","rollingUpdate":{"partition":0}})"},
      {"{apiVersion: batch/v1, kind: Job, spec: {}}", "spec.completions", "1"},
      {"{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2}}", "spec.completions", "none"},
      {"{apiVersion: batch/v1, kind: Job, spec: {completionMode: Indexed, backoffLimitPerIndex: 1}}", "spec.backoffLimit", "2147483647"},
      {"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {egress: []}}", "spec.policyTypes", R"(["Ingress"])"},
      {"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {egress: [{}]}}", "spec.policyTypes", R"(["Ingress","Egress"])"},
      {"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {name: r}, subjects: [{kind: User, name: u}, {kind: ServiceAccount, name: s}]}",
       "subjects.0.apiGroup", R"("rbac.authorization.k8s.io")"},
      {"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {name: r}}", "roleRef.apiGroup", R"("rbac.authorization.k8s.io")"},
      {"{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, ports: [{}]}", "ports.0", R"({"name":"","protocol":"TCP"})"},
      {"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {}}", "spec.metrics.0.resource.target.averageUtilization", "80"},
  };
  for (const DefaultCase& test : cases) EXPECT_EQ(At(Load(test.yaml), test.path), test.json) << test.yaml << " at " << test.path;
}

TEST_F(DefaultsTest, LeaveWhatIsThere) {
  const DefaultCase cases[] = {
      {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: a, imagePullPolicy: Never}]}}", "spec.containers.0.imagePullPolicy", R"("Never")"},
      {"{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, targetPort: http}]}}", "spec.ports.0.targetPort", R"("http")"},
      {"{apiVersion: v1, kind: ReplicationController, spec: {selector: {x: z}, template: {metadata: {labels: {a: b}}}}}", "spec.selector", R"({"x":"z"})"},
      {"{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {rollingUpdate: {maxSurge: 2}}}}", "spec.strategy.rollingUpdate",
       R"({"maxUnavailable":"25%","maxSurge":2})"},
  };
  for (const DefaultCase& test : cases) EXPECT_EQ(At(Load(test.yaml), test.path), test.json) << test.yaml << " at " << test.path;
}

}  // namespace
}  // namespace homeostat::kinds::internal
