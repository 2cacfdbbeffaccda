#include <gtest/gtest.h>

#include "homeostat/object/yaml.h"
#include "quota/charge.h"
#include "quota/pod_resources.h"

namespace homeostat::quota {
namespace {

class Nothing : public Surroundings {
 public:
  WallTime Now() const override { return WallTime(std::chrono::seconds(1'700'000'000)); }
  object::DocumentPtr Get(std::string_view, std::string_view plural, std::string_view, std::string_view name) const override {
    for (const object::DocumentPtr& document : List("", plural, "")) {
      if (document->root().Path({"metadata", "name"}).AsString() == name) return document;
    }
    return nullptr;
  }
  std::vector<object::DocumentPtr> List(std::string_view, std::string_view plural, std::string_view) const override {
    auto found = objects.find(plural);
    return found == objects.end() ? std::vector<object::DocumentPtr>() : found->second;
  }
  std::map<std::string, std::vector<object::DocumentPtr>, std::less<>> objects;
};

object::DocumentPtr Load(std::string_view yaml) {
  auto document = std::make_shared<object::Document>();
  auto value = object::ParseYaml(document->arena(), yaml);
  EXPECT_TRUE(value) << yaml;
  if (value) document->set_root(*value);
  return document;
}

std::string UsageText(std::string_view group, std::string_view plural, std::string_view yaml, const Surroundings& around = Nothing()) {
  return ToText(MakeEvaluator(group, plural)->Usage(Load(yaml)->root(), around));
}

struct UsageCase {
  std::string_view group, plural, object, usage;
};

TEST(Quota, Usage) {
  const UsageCase cases[] = {
      {"", "configmaps", "{}", "configmaps=1,count/configmaps=1"},
      {"apps", "deployments", "{}", "count/deployments.apps=1"},
      {"", "pods", "{spec: {containers: [{name: c}]}}", "count/pods=1,pods=1"},
      {"", "pods", "{spec: {containers: [{name: c}]}, status: {phase: Succeeded}}", "count/pods=1"},
      {"", "pods", "{metadata: {deletionTimestamp: \"2023-11-14T22:13:00Z\", deletionGracePeriodSeconds: 10}, spec: {containers: [{name: c}]}}",
       "count/pods=1"},
      {"", "pods",
       "{spec: {overhead: {cpu: 10m}, containers: [{name: c, resources: {requests: {cpu: 100m, example.com/gpu: 2, hugepages-2Mi: 4Mi}, "
       "limits: {cpu: 200m, memory: 1Gi}}}, {name: d, resources: {requests: {cpu: 1}}}], initContainers: [{name: i, resources: {requests: {memory: 2Gi}}}]}}",
       "count/pods=1,cpu=1110m,hugepages-2Mi=4Mi,limits.cpu=210m,limits.memory=1Gi,memory=2Gi,pods=1,requests.cpu=1110m,"
       "requests.example.com/gpu=2,requests.hugepages-2Mi=4Mi,requests.memory=2Gi"},
      {"", "pods", "{spec: {resources: {requests: {cpu: 3}}, containers: [{name: c, resources: {requests: {cpu: 1, ephemeral-storage: 1Gi}}}]}}",
       "count/pods=1,cpu=3,ephemeral-storage=1Gi,pods=1,requests.cpu=3,requests.ephemeral-storage=1Gi"},
      {"", "services", "{spec: {ports: [{port: 1}]}}", "count/services=1,services=1,services.loadbalancers=0,services.nodeports=0"},
      {"", "services", "{spec: {type: NodePort, ports: [{port: 1}, {port: 2}]}}",
       "count/services=1,services=1,services.loadbalancers=0,services.nodeports=2"},
      {"", "services", "{spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 1}, {port: 2, nodePort: 30000}]}}",
       "count/services=1,services=1,services.loadbalancers=1,services.nodeports=1"},
      {"", "persistentvolumeclaims", "{spec: {storageClassName: gold, resources: {requests: {storage: 1500m}}}}",
       "count/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,"
       "gold.storageclass.storage.k8s.io/requests.storage=2,persistentvolumeclaims=1,requests.storage=2"},
      {"", "persistentvolumeclaims", "{spec: {resources: {requests: {storage: 1Gi}}}, status: {allocatedResources: {storage: 2Gi}}}",
       "count/persistentvolumeclaims=1,persistentvolumeclaims=1,requests.storage=2Gi"},
      {"resource.k8s.io", "resourceclaims",
       "{spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 2}}, "
       "{name: b, firstAvailable: [{deviceClassName: gpu, allocationMode: ExactCount, count: 1}, {deviceClassName: nic, allocationMode: All}]}]}}}",
       "count/resourceclaims.resource.k8s.io=1,gpu.deviceclass.resource.k8s.io/devices=3,nic.deviceclass.resource.k8s.io/devices=32,"
       "requests.deviceclass.resource.kubernetes.io/gpu=3,requests.deviceclass.resource.kubernetes.io/nic=32"},
  };
  for (const UsageCase& test : cases) EXPECT_EQ(UsageText(test.group, test.plural, test.object), test.usage) << test.object;
  EXPECT_EQ(MakeEvaluator("", "events"), nullptr);
  EXPECT_EQ(MakeEvaluator("authorization.k8s.io", "localsubjectaccessreviews"), nullptr);
}

TEST(Quota, DevicesUnderTheNameOfTheirExtendedResource) {
  Nothing around;
  around.objects["deviceclasses"] = {Load("{metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu}}")};
  auto evaluator = MakeEvaluator("resource.k8s.io", "resourceclaims");
  Names hard{"requests.example.com/gpu", "requests.example.com/other", "requests.deviceclass.resource.kubernetes.io/gpu",
             "requests.deviceclass.resource.kubernetes.io/none", "pods"};
  EXPECT_EQ(ToText(evaluator->Matching(hard, around)), "requests.deviceclass.resource.kubernetes.io/gpu,requests.example.com/gpu");
  EXPECT_EQ(UsageText("resource.k8s.io", "resourceclaims",
                      "{spec: {devices: {requests: [{exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}}", around),
            "count/resourceclaims.resource.k8s.io=1,gpu.deviceclass.resource.k8s.io/devices=1,requests.deviceclass.resource.kubernetes.io/gpu=1,"
            "requests.example.com/gpu=1");
  // A claim that stands for a pod's extended resources is paid for by the pod.
  around.objects["pods"] = {Load("{metadata: {name: p, uid: u}, spec: {containers: [{name: c, resources: {requests: {example.com/gpu: 1}}}]}}")};
  EXPECT_EQ(UsageText("resource.k8s.io", "resourceclaims",
                      "{metadata: {name: x, annotations: {resource.kubernetes.io/extended-resource-claim: \"true\"}, ownerReferences: "
                      "[{apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}]}, "
                      "spec: {devices: {requests: [{exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}}", around),
            "count/resourceclaims.resource.k8s.io=1,gpu.deviceclass.resource.k8s.io/devices=1,requests.deviceclass.resource.kubernetes.io/gpu=1");
}

TEST(Quota, ContainersMustNameWhatIsCounted) {
  auto evaluator = MakeEvaluator("", "pods");
  object::DocumentPtr pod = Load("{spec: {containers: [{name: b}, {name: a, resources: {limits: {cpu: 1}, requests: {cpu: 1}}}], initContainers: [{name: c}]}}");
  EXPECT_EQ(evaluator->Fault({"requests.cpu", "limits.memory", "pods"}, pod->root()), "must specify limits.memory for: a,b,c; requests.cpu for: b,c");
  EXPECT_EQ(evaluator->Fault({"pods", "requests.ephemeral-storage"}, pod->root()), "");
  object::DocumentPtr whole = Load("{spec: {resources: {requests: {cpu: 1}}, containers: [{name: b}]}}");
  EXPECT_EQ(evaluator->Fault({"limits.memory"}, whole->root()), "");
}

struct ScopeCase {
  std::string_view scope, op;
  std::vector<std::string_view> values;
  std::string_view pod;
  bool in;
};

TEST(Quota, Scopes) {
  constexpr std::string_view kPlain = "{spec: {containers: [{name: c}]}}";
  constexpr std::string_view kHigh = "{spec: {priorityClassName: high, activeDeadlineSeconds: 5, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}";
  constexpr std::string_view kAffine =
      "{spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{podAffinityTerm: {namespaceSelector: {}}}]}}}}";
  const ScopeCase cases[] = {
      {"Terminating", "Exists", {}, kPlain, false},   {"Terminating", "Exists", {}, kHigh, true},
      {"NotTerminating", "Exists", {}, kPlain, true}, {"BestEffort", "Exists", {}, kPlain, true},
      {"BestEffort", "Exists", {}, kHigh, false},     {"NotBestEffort", "Exists", {}, kHigh, true},
      {"PriorityClass", "Exists", {}, kPlain, false}, {"PriorityClass", "In", {"high", "low"}, kHigh, true},
      {"PriorityClass", "In", {"low"}, kHigh, false}, {"PriorityClass", "NotIn", {"low"}, kHigh, true},
      {"PriorityClass", "NotIn", {"low"}, kPlain, true}, {"PriorityClass", "DoesNotExist", {}, kPlain, true},
      {"PriorityClass", "DoesNotExist", {}, kHigh, false}, {"CrossNamespacePodAffinity", "Exists", {}, kAffine, true},
      {"CrossNamespacePodAffinity", "Exists", {}, kPlain, false}, {"VolumeAttributesClass", "Exists", {}, kPlain, false},
  };
  auto evaluator = MakeEvaluator("", "pods");
  for (const ScopeCase& test : cases) {
    object::Arena arena;
    object::ListBuilder values(arena);
    for (std::string_view value : test.values) values.Append(Value::StringRef(value));
    ScopeRequirement requirement{test.scope, test.op, values.Build()};
    EXPECT_EQ(evaluator->IsInScope(requirement, Load(test.pod)->root()), test.in) << test.scope << " " << test.op << " " << test.pod;
  }
}

std::vector<Balance> Balances(std::initializer_list<std::string_view> quotas) {
  std::vector<Balance> balances;
  for (std::string_view quota : quotas) balances.push_back(ReadBalance(Load(quota)));
  return balances;
}

std::string Try(std::vector<Balance>& balances, std::string_view plural, std::string_view object, std::string_view old = {}, std::string_view subresource = {}) {
  object::DocumentPtr now = Load(object), before = old.empty() ? nullptr : Load(old);
  Attempt attempt{before != nullptr, subresource, now->root(), before ? before->root() : Value()};
  auto charged = Charge(balances, *MakeEvaluator("", plural), attempt, Nothing());
  return charged ? "" : charged.error();
}

TEST(Quota, ChargesEveryQuotaOrNone) {
  auto balances = Balances({"{metadata: {name: a}, status: {hard: {pods: 2}, used: {pods: 0}}}",
                            "{metadata: {name: b}, status: {hard: {pods: 1, secrets: 1}, used: {pods: 0, secrets: 0}}}"});
  EXPECT_EQ(Try(balances, "pods", "{spec: {containers: [{name: c}]}}"), "");
  EXPECT_EQ(ToText(balances[0].used) + ";" + ToText(balances[1].used), "pods=1;pods=1,secrets=0");
  EXPECT_EQ(Try(balances, "pods", "{spec: {containers: [{name: c}]}}"), "exceeded quota: b, requested: pods=1, used: pods=1, limited: pods=1");
  EXPECT_EQ(ToText(balances[0].used), "pods=1");
  EXPECT_EQ(Try(balances, "secrets", "{}"), "");
  EXPECT_EQ(Try(balances, "secrets", "{}"), "exceeded quota: b, requested: secrets=1, used: secrets=1, limited: secrets=1");
}

TEST(Quota, UpdatesCostTheDifference) {
  auto balances = Balances({"{metadata: {name: q}, status: {hard: {requests.storage: 5Gi, persistentvolumeclaims: 1}, "
                            "used: {requests.storage: 2Gi, persistentvolumeclaims: 1}}}"});
  constexpr std::string_view kSmall = "{spec: {resources: {requests: {storage: 2Gi}}}}", kLarge = "{spec: {resources: {requests: {storage: 4Gi}}}}";
  constexpr std::string_view kHuge = "{spec: {resources: {requests: {storage: 9Gi}}}}";
  EXPECT_EQ(Try(balances, "persistentvolumeclaims", kSmall, kSmall), "");
  EXPECT_FALSE(balances[0].changed);
  EXPECT_EQ(Try(balances, "persistentvolumeclaims", kLarge, kSmall), "");
  EXPECT_EQ(ToText(balances[0].used), "persistentvolumeclaims=1,requests.storage=4Gi");
  EXPECT_EQ(Try(balances, "persistentvolumeclaims", kHuge, kLarge),
            "exceeded quota: q, requested: requests.storage=5Gi, used: requests.storage=4Gi, limited: requests.storage=5Gi");
  // Less is given back by the controller alone.
  EXPECT_EQ(Try(balances, "persistentvolumeclaims", kSmall, kLarge), "");
  EXPECT_EQ(ToText(balances[0].used), "persistentvolumeclaims=1,requests.storage=4Gi");
}

TEST(Quota, RefusesWhatItCannotCount) {
  auto unknown = Balances({"{metadata: {name: q}, status: {hard: {pods: 1, requests.cpu: 1}, used: {pods: 0}}}"});
  EXPECT_EQ(Try(unknown, "pods", "{spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}"),
            "status unknown for quota: q, resources: pods,requests.cpu");
  auto balances = Balances({"{metadata: {name: q}, status: {hard: {requests.cpu: 1}, used: {requests.cpu: 0}}}"});
  EXPECT_EQ(Try(balances, "pods", "{spec: {containers: [{name: c}]}}"), "failed quota: q: must specify requests.cpu for: c");
}

TEST(Quota, AScopeMayBeEnteredByAnUpdate) {
  auto balances = Balances({"{metadata: {name: q}, spec: {scopes: [Terminating]}, status: {hard: {pods: 1}, used: {pods: 0}}}"});
  constexpr std::string_view kFree = "{spec: {containers: [{name: c}]}}", kEnding = "{spec: {activeDeadlineSeconds: 5, containers: [{name: c}]}}";
  EXPECT_EQ(Try(balances, "pods", kFree), "");
  EXPECT_FALSE(balances[0].changed);
  EXPECT_EQ(Try(balances, "pods", kEnding, kFree), "");
  EXPECT_EQ(ToText(balances[0].used), "pods=1");
  EXPECT_EQ(Try(balances, "pods", kEnding), "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1");
}

TEST(Quota, CountsAnew) {
  std::vector<object::DocumentPtr> pods{Load("{spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}"),
                                        Load("{spec: {activeDeadlineSeconds: 1, containers: [{name: c, resources: {requests: {cpu: 2}}}]}}")};
  auto evaluator = MakeEvaluator("", "pods");
  Names names{"pods", "requests.cpu", "limits.cpu"};
  EXPECT_EQ(ToText(CalculateUsage(*evaluator, names, {}, pods, Nothing())), "limits.cpu=0,pods=2,requests.cpu=3");
  object::DocumentPtr quota = Load("{spec: {scopes: [NotTerminating]}}");
  EXPECT_EQ(ToText(CalculateUsage(*evaluator, names, ScopesOf(quota->root()), pods, Nothing())), "limits.cpu=0,pods=1,requests.cpu=1");
  EXPECT_EQ(CountedResource("count/deployments.apps"), (GroupResource{"apps", "deployments"}));
  EXPECT_EQ(CountedResource("count/pods"), (GroupResource{"", "pods"}));
  EXPECT_EQ(CountedResource("pods"), GroupResource());
}

TEST(PodResources, SidecarsRunBesideWhatFollows) {
  object::DocumentPtr pod = Load(
      "{spec: {initContainers: [{name: a, resources: {requests: {cpu: 5}}}, {name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}, "
      "{name: b, resources: {requests: {cpu: 6}}}], containers: [{name: c, resources: {requests: {cpu: 2}}}]}}");
  EXPECT_EQ(ToText(PodRequests(pod->root())), "cpu=7");
}

TEST(PodResources, OfAPodBeingResizedTheGreaterCounts) {
  constexpr std::string_view kPod =
      "{spec: {containers: [{name: c, resources: {requests: {cpu: 1}, limits: {cpu: 4}}}]}, status: {%s containerStatuses: [{name: c, "
      "allocatedResources: {cpu: 2}, resources: {requests: {cpu: 3}, limits: {cpu: 3}}}]}}";
  auto with = [&](std::string_view conditions) {
    std::string text(kPod);
    return text.replace(text.find("%s"), 2, conditions);
  };
  PodResourceOptions status{.use_status = true};
  object::DocumentPtr pod = Load(with("")), stuck = Load(with("conditions: [{type: PodResizePending, reason: Infeasible}],"));
  EXPECT_EQ(ToText(PodRequests(pod->root())), "cpu=1");
  EXPECT_EQ(ToText(PodRequests(pod->root(), status)) + " " + ToText(PodLimits(pod->root(), status)), "cpu=3 cpu=4");
  EXPECT_EQ(ToText(PodLimits(stuck->root(), status)), "cpu=3");
}

}  // namespace
}  // namespace homeostat::quota
