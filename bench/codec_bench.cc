// What it costs to read and write one pod of 3 KB: JSON to a typed tree and back, protobuf likewise, defaults.
#include <benchmark/benchmark.h>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/defaults.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"

namespace {

using namespace homeostat;

constexpr std::string_view kPod =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-7d4b9c6f5-x2x7k","generateName":"web-7d4b9c6f5-","namespace":"default","uid":"0e4bcb2a-3a4c-4f6b-9d1e-6f3c1f2f7a55","resourceVersion":"184467","generation":1,"creationTimestamp":"2026-03-01T10:20:30Z","labels":{"app":"web","pod-template-hash":"7d4b9c6f5","tier":"front"},"annotations":{"prometheus.io/scrape":"true","prometheus.io/port":"8080"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d4b9c6f5","uid":"b1f2f7c4-9a53-4c18-8a4d-3d9a52b9f0aa","controller":true,"blockOwnerDeletion":true}]},"spec":{"volumes":[{"name":"config","configMap":{"name":"web-config","defaultMode":420}},{"name":"kube-api-access-abcde","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[{"name":"web","image":"registry.example.com/team/web:1.2.3","args":["--listen=:8080","--log=json"],"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"MODE","value":"production"},{"name":"NODE","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"spec.nodeName"}}}],"resources":{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"config","readOnly":true,"mountPath":"/etc/web"},{"name":"kube-api-access-abcde","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"readinessProbe":{"httpGet":{"path":"/healthz","port":"http","scheme":"HTTP"},"initialDelaySeconds":3,"timeoutSeconds":1,"periodSeconds":5,"successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","nodeName":"node-17","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"observedGeneration":1,"phase":"Running","conditions":[{"type":"Ready","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-01T10:20:40Z"},{"type":"PodScheduled","observedGeneration":1,"status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-01T10:20:30Z"}],"hostIP":"10.0.0.17","hostIPs":[{"ip":"10.0.0.17"}],"podIP":"10.1.17.5","podIPs":[{"ip":"10.1.17.5"}],"startTime":"2026-03-01T10:20:30Z","containerStatuses":[{"name":"web","state":{"running":{"startedAt":"2026-03-01T10:20:35Z"}},"lastState":{},"ready":true,"restartCount":0,"image":"registry.example.com/team/web:1.2.3","imageID":"registry.example.com/team/web@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0","containerID":"containerd://4f5c0b9d8e7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c","started":true}],"qosClass":"Burstable"}})";

const schema::Type& PodType() { return *api::FindTypeOfKind("", "v1", "Pod"); }

object::Value Typed(object::Arena& arena) {
  schema::ConformReport report;
  return *schema::Conform(arena, *object::ParseJson(arena, kPod), PodType(), report);
}

void ParseJson(benchmark::State& state) {
  for (auto _ : state) {
    object::Arena arena;
    benchmark::DoNotOptimize(object::ParseJson(arena, kPod));
  }
}
BENCHMARK(ParseJson);

void Conform(benchmark::State& state) {
  object::Arena source;
  object::Value untyped = *object::ParseJson(source, kPod);
  for (auto _ : state) {
    object::Arena arena;
    schema::ConformReport report;
    benchmark::DoNotOptimize(schema::Conform(arena, untyped, PodType(), report));
  }
}
BENCHMARK(Conform);

void EncodeJson(benchmark::State& state) {
  object::Arena arena;
  object::Value pod = Typed(arena);
  std::string out;
  for (auto _ : state) {
    out.clear();
    schema::EncodeJson(PodType(), pod, out);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["bytes"] = static_cast<double>(out.size());
}
BENCHMARK(EncodeJson);

void EncodeProtobuf(benchmark::State& state) {
  object::Arena arena;
  object::Value pod = Typed(arena);
  for (auto _ : state) benchmark::DoNotOptimize(schema::EncodeProtobufObject(PodType(), pod));
}
BENCHMARK(EncodeProtobuf);

void DecodeProtobuf(benchmark::State& state) {
  object::Arena source;
  std::string bytes = schema::EncodeProtobufObject(PodType(), Typed(source));
  for (auto _ : state) {
    object::Arena arena;
    benchmark::DoNotOptimize(schema::DecodeProtobufObject(arena, bytes, PodType()));
  }
  state.counters["bytes"] = static_cast<double>(bytes.size());
}
BENCHMARK(DecodeProtobuf);

void ApplyDefaults(benchmark::State& state) {
  object::Arena source;
  object::Value pod = Typed(source);
  schema::Defaults defaults;
  for (auto _ : state) {
    object::Arena arena;
    benchmark::DoNotOptimize(defaults.Apply(arena, PodType(), pod));
  }
}
BENCHMARK(ApplyDefaults);

}  // namespace
