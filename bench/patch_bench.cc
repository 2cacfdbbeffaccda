// What a patch of a pod of some 3 KB costs: the patch alone, and with decoding and encoding around it.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "patch/field_manager.h"
#include "patch/json_patch.h"
#include "patch/strategic_merge_patch.h"

namespace homeostat::patch {
namespace {

constexpr std::string_view kConfig =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-6d4b75cb6d-hx7gk","namespace":"default",
"labels":{"app":"web","pod-template-hash":"6d4b75cb6d","tier":"front"},"annotations":{"example.com/team":"a","example.com/note":"some text"}},
"spec":{"containers":[{"name":"web","image":"registry.example.com/web:1.2.3","command":["/bin/web"],"args":["--port=8080","--log=json"],
"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"},{"name":"metrics","containerPort":9090,"protocol":"TCP"}],
"env":[{"name":"A","value":"1"},{"name":"B","value":"2"},{"name":"NODE","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"spec.nodeName"}}}],
"resources":{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},
"volumeMounts":[{"name":"config","mountPath":"/etc/web","readOnly":true},{"name":"data","mountPath":"/data"}],
"readinessProbe":{"httpGet":{"path":"/ready","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":5,"successThreshold":1,"failureThreshold":3},
"livenessProbe":{"httpGet":{"path":"/live","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},
"imagePullPolicy":"IfNotPresent","securityContext":{"runAsNonRoot":true,"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}},
{"name":"proxy","image":"registry.example.com/proxy:4.5","ports":[{"name":"admin","containerPort":15000,"protocol":"TCP"}],
"resources":{"limits":{"cpu":"200m","memory":"64Mi"},"requests":{"cpu":"50m","memory":"32Mi"}},"imagePullPolicy":"IfNotPresent"}],
"volumes":[{"name":"config","configMap":{"name":"web","defaultMode":420}},{"name":"data","emptyDir":{}}],
"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"web","nodeName":"node-17",
"securityContext":{"fsGroup":1000},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists",
"effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}})";

constexpr std::string_view kStatus =
    R"({"phase":"Running","hostIP":"10.0.0.17","podIP":"10.244.3.9","podIPs":[{"ip":"10.244.3.9"}],"qosClass":"Burstable",
"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Initialized","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"},
{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:09Z"},{"type":"ContainersReady","status":"True","lastTransitionTime":"2026-01-01T00:00:09Z"},
{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}],"containerStatuses":[{"name":"web","ready":true,"restartCount":0,
"image":"registry.example.com/web:1.2.3","imageID":"sha256:aaaa","containerID":"containerd://bbbb","started":true,"state":{"running":{"startedAt":"2026-01-01T00:00:05Z"}}}]})";

const schema::Type& PodType() { return *api::FindTypeOfKind("", "v1", "Pod"); }
FieldManager Manager(std::string_view subresource) {
  return FieldManager(
      {.kind = {"", "v1", "Pod"}, .type = &PodType(), .subresource = subresource, .reset_fields = {}, .versions = {}});
}
constexpr WallTime kNow{std::chrono::seconds(1'800'000'000)};

Value Parse(Arena& arena, std::string_view json) {
  auto parsed = object::ParseJson(arena, json);
  if (!parsed) std::abort();
  return *parsed;
}

Value Typed(Arena& arena, const Value& untyped) {
  schema::ConformReport report;
  report.collect = false;
  auto typed = schema::Conform(arena, untyped, PodType(), report);
  if (!typed) std::abort();
  return *typed;
}

// A pod that was applied, and whose status the node agent has written.
Value LivePod(Arena& arena) {
  auto created = Manager("").Apply(arena, {}, Parse(arena, kConfig), "deployer", false, kNow);
  if (!created) std::abort();
  Value pod = object::WithPath(arena, Typed(arena, created->object), {"metadata", "uid"}, Value::StringRef("0b5c"));
  Value with_status = Typed(arena, object::WithPath(arena, pod, {"status"}, Parse(arena, kStatus)));
  return Manager("status").Update(arena, pod, with_status, "kubelet", kNow);
}

void ApplyUnchanged(benchmark::State& state) {
  Arena base;
  Value live = LivePod(base), config = Parse(base, kConfig);
  FieldManager manager = Manager("");
  for (auto _ : state) {
    Arena arena;
    benchmark::DoNotOptimize(manager.Apply(arena, live, config, "deployer", false, kNow));
  }
}
BENCHMARK(ApplyUnchanged);

void ApplyChangedImage(benchmark::State& state) {
  Arena base;
  Value live = LivePod(base);
  std::string text(kConfig);
  text.replace(text.find("web:1.2.3"), 9, "web:1.2.4");
  Value config = Parse(base, text);
  FieldManager manager = Manager("");
  for (auto _ : state) {
    Arena arena;
    benchmark::DoNotOptimize(manager.Apply(arena, live, config, "deployer", false, kNow));
  }
}
BENCHMARK(ApplyChangedImage);

// Fewer fields than the last time: what is no longer said is pruned.
void ApplyRemovedFields(benchmark::State& state) {
  Arena base;
  Value live = LivePod(base),
        config = object::WithPath(base, Parse(base, kConfig), {"metadata", "annotations"}, Value());
  FieldManager manager = Manager("");
  for (auto _ : state) {
    Arena arena;
    benchmark::DoNotOptimize(manager.Apply(arena, live, config, "deployer", false, kNow));
  }
}
BENCHMARK(ApplyRemovedFields);

// All of a request's work on the object but the store's: parse, apply, conform, encode.
void ApplyFromTextToText(benchmark::State& state) {
  Arena base;
  Value live = LivePod(base);
  std::string text(kConfig);
  text.replace(text.find("web:1.2.3"), 9, "web:1.2.4");
  FieldManager manager = Manager("");
  for (auto _ : state) {
    Arena arena;
    auto applied = manager.Apply(arena, live, Parse(arena, text), "deployer", false, kNow);
    std::string out;
    schema::EncodeJson(PodType(), Typed(arena, applied->object), out);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(ApplyFromTextToText);

void TrackStatusUpdate(benchmark::State& state) {
  Arena base;
  Value live = LivePod(base), updated = object::WithPath(base, live, {"status", "phase"}, Value::StringRef("Failed"));
  updated = Typed(base, updated);
  FieldManager manager = Manager("status");
  for (auto _ : state) {
    Arena arena;
    benchmark::DoNotOptimize(manager.Update(arena, live, updated, "kubelet", kNow));
  }
}
BENCHMARK(TrackStatusUpdate);

void StrategicMerge(benchmark::State& state) {
  Arena base;
  Value
      live = LivePod(base),
      patch = Parse(
          base,
          R"({"spec":{"$setElementOrder/containers":[{"name":"web"},{"name":"proxy"}],"containers":[{"name":"web","image":"y"}]}})");
  for (auto _ : state) {
    Arena arena;
    benchmark::DoNotOptimize(
        ApplyStrategicMergePatch(arena, PodType(), schema::ToJsonForm(arena, PodType(), live), patch));
  }
}
BENCHMARK(StrategicMerge);

void JsonPatchReplace(benchmark::State& state) {
  Arena base;
  Value live = LivePod(base),
        patch = Parse(base, R"([{"op":"replace","path":"/spec/containers/0/image","value":"y"}])");
  for (auto _ : state) {
    Arena arena;
    benchmark::DoNotOptimize(ApplyJsonPatch(arena, schema::ToJsonForm(arena, PodType(), live), patch));
  }
}
BENCHMARK(JsonPatchReplace);

}  // namespace
}  // namespace homeostat::patch
