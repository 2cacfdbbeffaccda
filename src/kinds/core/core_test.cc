// The kinds of the core group that have no test of their own.
#include "kinds/internal/testing.h"

namespace homeostat::kinds::internal {
namespace {

class CoreTest : public BehaviourTest {
 protected:
  struct Case {
    std::string_view change;
    Texts faults;
  };
  void ExpectFaults(std::string_view yaml, std::initializer_list<Case> cases) {
    EXPECT_EQ(Create(yaml).faults, Texts()) << yaml;
    for (const Case& test : cases) EXPECT_EQ(Create(yaml, test.change).faults, test.faults) << test.change;
  }
  void ExpectUpdateFaults(std::string_view yaml, std::initializer_list<Case> cases) {
    Value old = Create(yaml).object;
    EXPECT_EQ(Update(Load(yaml), old).faults, Texts()) << yaml;
    for (const Case& test : cases) EXPECT_EQ(Update(Load(yaml, test.change), old).faults, test.faults) << test.change;
  }
};

TEST_F(CoreTest, NamespaceIsHeldByItsFinalizer) {
  Outcome made = Create("{apiVersion: v1, kind: Namespace, metadata: {name: first}}");
  EXPECT_EQ(made.faults, Texts());
  EXPECT_EQ(At(made.object, "spec.finalizers"), R"(["kubernetes"])");
  EXPECT_EQ(At(made.object, "metadata.labels"), R"({"kubernetes.io/metadata.name":"first"})");
  EXPECT_EQ(At(made.object, "status.phase"), R"("Active")");
  const Behaviour& behaviour = Of(made.object);
  EXPECT_TRUE(behaviour.held(made.object));
  RuleContext context = Context(made.object);
  Value going = behaviour.mark_deleting(context, made.object);
  EXPECT_EQ(At(going, "status.phase"), R"("Terminating")");
  Outcome freed = Update(Load("{apiVersion: v1, kind: Namespace, metadata: {name: first, deletionTimestamp: '2031-01-01T00:00:00Z'}, spec: {finalizers: []}}"),
                         going, "finalize");
  EXPECT_EQ(freed.faults, Texts());
  EXPECT_FALSE(behaviour.held(freed.object));
  EXPECT_TRUE(behaviour.held(Load("{apiVersion: v1, kind: Namespace, metadata: {name: first}}"))) << "the first deletion only marks it";
  EXPECT_EQ(At(freed.object, "status.phase"), R"("Terminating")");
  // Not by the object itself.
  EXPECT_TRUE(behaviour.held(Update(Load("{apiVersion: v1, kind: Namespace, metadata: {name: first}, spec: {finalizers: []}}"), made.object).object));
}

TEST_F(CoreTest, Namespace) {
  ExpectFaults("{apiVersion: v1, kind: Namespace, metadata: {name: first}}",
               {{"{spec: {finalizers: [nodomain]}}",
                 {"spec.finalizers: Invalid value: \"nodomain\": name is neither a standard finalizer name nor is it fully qualified"}}});
}

TEST_F(CoreTest, Node) {
  constexpr std::string_view kNode = "{apiVersion: v1, kind: Node, metadata: {name: first}}";
  ExpectFaults(kNode, {
      {"{spec: {taints: [{key: a, effect: Never}]}}",
       {"metadata.taints[0].effect: Unsupported value: \"Never\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\""}},
      {"{spec: {taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoSchedule}]}}",
       {"metadata.taints[1]: Duplicate value: {\"Key\":\"a\",\"Value\":\"\",\"Effect\":\"NoSchedule\",\"TimeAdded\":null}: taints must be unique by key and "
        "effect pair"}},
      {"{spec: {podCIDR: nonsense, podCIDRs: [nonsense]}}",
       {"spec.podCIDRs[0]: Invalid value: \"nonsense\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"}},
  });
  Value old = Create(kNode, "{spec: {providerID: a}}").object;
  EXPECT_EQ(Update(Load(kNode, "{spec: {providerID: b}}"), old).faults,
            Texts({"spec.providerID: Forbidden: node updates may not change providerID except from \"\" to valid"}));
}

TEST_F(CoreTest, NodeCells) {
  Value node = Load("{apiVersion: v1, kind: Node, metadata: {name: first, labels: {node-role.kubernetes.io/worker: '', kubernetes.io/role: gpu}}, "
                    "spec: {unschedulable: true}, status: {conditions: [{type: Ready, status: 'True'}], addresses: [{type: InternalIP, address: 10.0.0.1}]}}");
  EXPECT_EQ(Cell(node, "status"), "Ready,SchedulingDisabled");
  EXPECT_EQ(Cell(node, "roles"), "gpu,worker");
  EXPECT_EQ(Cell(node, "internal_ip"), "10.0.0.1");
  EXPECT_EQ(Cell(node, "external_ip"), "<none>");
  EXPECT_EQ(Cell(Load("{apiVersion: v1, kind: Node}"), "status"), "Unknown");
}

TEST_F(CoreTest, ConfigMap) {
  constexpr std::string_view kMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: b}}";
  const std::string big(1048577, 'x');
  ExpectFaults(kMap, {
      {"{data: {'a/b': c}}",
       {"data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
        "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"}},
      {"{binaryData: {a: YQ==}}", {"data[a]: Invalid value: \"a\": duplicate of key present in binaryData"}},
      {"{data: {a: " + big + "}}", {"[]: Too long: may not be more than 1048576 bytes"}},
  });
  Value old = Create(kMap, "{immutable: true}").object;
  EXPECT_EQ(Update(Load(kMap, "{immutable: true, data: {a: c}}"), old).faults, Texts({"data: Forbidden: field is immutable when `immutable` is set"}));
  EXPECT_EQ(Update(Load(kMap), old).faults, Texts({"immutable: Forbidden: field is immutable when `immutable` is set"}));
}

TEST_F(CoreTest, Secret) {
  constexpr std::string_view kSecret = "{apiVersion: v1, kind: Secret, metadata: {name: s}}";
  ExpectFaults(kSecret, {
      {"{type: kubernetes.io/tls}", {"data[tls.crt]: Required value", "data[tls.key]: Required value"}},
      {"{type: kubernetes.io/ssh-auth}", {"data[ssh-privatekey]: Required value"}},
      {"{type: kubernetes.io/service-account-token}", {"metadata.annotations[kubernetes.io/service-account.name]: Required value"}},
      {"{type: kubernetes.io/dockerconfigjson}", {"data[.dockerconfigjson]: Required value"}},
  });
  // stringData goes into data, and is gone.
  Value made = Create(kSecret, "{data: {a: YQ==, b: Yg==}, stringData: {a: x}}").object;
  EXPECT_EQ(made.Get("data").Get("a").AsString(), "x");
  EXPECT_EQ(made.Get("data").Get("b").AsString(), "b");
  EXPECT_FALSE(made.Get("stringData"));
  ExpectUpdateFaults(kSecret, {{"{type: other}", {"type: Invalid value: \"other\": field is immutable"}}});
}

TEST_F(CoreTest, PersistentVolume) {
  constexpr std::string_view kVolume =
      "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}}";
  ExpectFaults(kVolume, {
      {"{spec: {capacity: {storage: 0}}}", {"spec.capacity[storage]: Invalid value: \"0\": must be greater than zero"}},
      {"{spec: {accessModes: null}}", {"spec.accessModes: Required value"}},
      {"{spec: {hostPath: null}}", {"spec: Required value: must specify a volume type"}},
      {"{spec: {nfs: {server: s, path: /a}}}", {"spec.nfs: Forbidden: may not specify more than 1 volume type"}},
      {"{spec: {hostPath: null, local: {path: /d}, csi: {driver: d.x, volumeHandle: h}}}",
       {"spec.nodeAffinity: Required value: Local volume requires node affinity", "spec.csi: Forbidden: may not specify more than 1 volume type"}},
      {"{spec: {persistentVolumeReclaimPolicy: Burn}}",
       {"spec.persistentVolumeReclaimPolicy: Unsupported value: \"Burn\": supported values: \"Delete\", \"Recycle\", \"Retain\""}},
  });
  ExpectUpdateFaults(kVolume, {{"{spec: {capacity: {storage: 2Gi}}}", {}}});
  Value volume = Load(kVolume, "{spec: {claimRef: {namespace: a, name: b}}}");
  EXPECT_EQ(Cell(volume, "claim"), "a/b");
  EXPECT_EQ(Cell(volume, "access_modes"), "RWO");
  EXPECT_EQ(Cell(volume, "capacity"), "1Gi");
}

TEST_F(CoreTest, PersistentVolumeClaim) {
  constexpr std::string_view kClaim =
      "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}";
  EXPECT_EQ(At(Create(kClaim).object, "status.phase"), R"("Pending")");
  ExpectFaults(kClaim, {
      {"{spec: {accessModes: null}}", {"spec.accessModes: Required value: at least 1 access mode is required"}},
      {"{spec: {resources: null}}", {"spec.resources[storage]: Required value"}},
      {"{spec: {accessModes: [Write]}}",
       {"spec.accessModes: Unsupported value: \"Write\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\""}},
  });
}

TEST_F(CoreTest, ResourceQuota) {
  constexpr std::string_view kQuota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: 1}}}";
  ExpectFaults(kQuota, {
      {"{spec: {hard: {pods: -1}}}", {"spec.hard[pods]: Invalid value: \"-1\": must be greater than or equal to 0"}},
      {"{spec: {hard: {pods: 1500m}}}", {"spec.hard[pods]: Invalid value: \"1500m\": must be an integer"}},
      {"{spec: {scopes: [Wobbly]}}", {"spec.scopes: Invalid value: [\"Wobbly\"]: unsupported scope"}},
      {"{spec: {scopes: [BestEffort, NotBestEffort]}}", {"spec.scopes: Invalid value: [\"BestEffort\",\"NotBestEffort\"]: conflicting scopes"}},
  });
  ExpectUpdateFaults(kQuota, {{"{spec: {scopes: [Terminating]}}", {"spec.scopes: Invalid value: [\"Terminating\"]: field is immutable"}}});
}

TEST_F(CoreTest, LimitRange) {
  ExpectFaults("{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Container, max: {cpu: 2}}]}}", {
      {"{spec: {limits: [{type: Container, max: {cpu: 1}, min: {cpu: 2}}]}}",
       {"spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1",
        "spec.limits[0].defaultRequest[cpu]: Invalid value: \"1\": min value 2 is greater than default request value 1",
        "spec.limits[0].default[cpu]: Invalid value: \"2\": min value 2 is greater than default value 1"}},
      {"{spec: {limits: [{type: Pod, default: {cpu: 1}}]}}", {"spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"}},
      {"{spec: {limits: [{type: Pod}, {type: Pod}]}}", {"spec.limits[1].type: Duplicate value: \"Pod\""}},
  });
}

TEST_F(CoreTest, ReplicationController) {
  constexpr std::string_view kController =
      "{apiVersion: v1, kind: ReplicationController, metadata: {name: r}, spec: {selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: "
      "[{name: c, image: x}]}}}}";
  ExpectFaults(kController, {
      {"{spec: {replicas: -1}}", {"spec.replicas: Invalid value: -1: must be greater than or equal to 0"}},
      {"{spec: {template: null}}", {"spec.template: Required value"}},
      {"{spec: {selector: {x: z}}}", {"spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"}},
      {"{spec: {template: {spec: {restartPolicy: Never}}}}", {"spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""}},
  });
}

TEST_F(CoreTest, ServiceAccountAndEndpoints) {
  ExpectFaults("{apiVersion: v1, kind: ServiceAccount, metadata: {name: s}}", {});
  ExpectFaults("{apiVersion: v1, kind: Endpoints, metadata: {name: e}, subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 80}]}]}", {
      {"{subsets: [{ports: [{port: 80}]}]}", {"subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"}},
      {"{subsets: [{addresses: [{ip: nonsense}]}]}",
       {"subsets[0].addresses[0].ip: Invalid value: \"nonsense\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        "subsets[0].addresses[0].ip: Invalid value: \"nonsense\": must be a valid IP address"}},
  });
}

}  // namespace
}  // namespace homeostat::kinds::internal
