#include "homeostat/object/time.h"
#include "kinds/core/pod_template.h"
#include "kinds/internal/testing.h"

namespace homeostat::kinds::internal {
namespace {

constexpr std::string_view kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric "
    "character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kMayNotChange =
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
    "previously negative)\n";

class PodTest : public BehaviourTest {
 protected:
  static constexpr std::string_view kPod =
      "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [{name: c, image: 'a:1'}]}}";
};

TEST_F(PodTest, StartsPending) {
  Outcome made = Create(kPod, "{status: {phase: Running, podIP: 10.0.0.1}}");
  EXPECT_EQ(made.faults, Texts());
  EXPECT_EQ(At(made.object, "status"), R"({"phase":"Pending","qosClass":"BestEffort"})");
  EXPECT_EQ(At(Create(kPod, "{spec: {schedulingGates: [{name: wait}]}}").object, "status.conditions.0.reason"), R"("SchedulingGated")");
}

TEST_F(PodTest, NegativePeriodsBecomeOne) {
  EXPECT_EQ(At(Create(kPod, "{spec: {terminationGracePeriodSeconds: -7}}").object, "spec.terminationGracePeriodSeconds"), "1");
}

TEST_F(PodTest, ServiceClassFollowsResources) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{limits: {cpu: 1, memory: 1Gi}}", "Guaranteed"},
      {"{limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}", "Burstable"},
      {"{requests: {cpu: 1}}", "Burstable"},
      {"{limits: {cpu: 1}}", "Burstable"},
      {"{}", "BestEffort"},
  };
  for (const auto& [resources, expected] : cases) {
    Outcome made = Create(kPod, "{spec: {containers: [{name: c, image: a, resources: " + std::string(resources) + "}]}}");
    EXPECT_EQ(At(made.object, "status.qosClass"), "\"" + std::string(expected) + "\"") << resources;
  }
}

TEST_F(PodTest, Rules) {
  const std::pair<std::string, Texts> cases[] = {
      {"{spec: {containers: []}}", {"spec.containers: Required value"}},
      {"{spec: {containers: [{name: c}]}}", {"spec.containers[0].image: Required value"}},
      {"{spec: {containers: [{name: c, image: ' a'}]}}",
       {"spec.containers[0].image: Invalid value: \" a\": must not have leading or trailing whitespace"}},
      {"{spec: {containers: [{name: c, image: a}, {name: c, image: a}]}}", {"spec.containers[1].name: Duplicate value: \"c\""}},
      {"{spec: {containers: [{name: C, image: a}]}}", {"spec.containers[0].name: Invalid value: \"C\": " + std::string(kLabelRule)}},
      {"{spec: {restartPolicy: Sometimes}}", {"spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\""}},
      {"{spec: {dnsPolicy: Mine}}",
       {"spec.dnsPolicy: Unsupported value: \"Mine\": supported values: \"ClusterFirstWithHostNet\", \"ClusterFirst\", \"Default\", \"None\""}},
      {"{spec: {dnsPolicy: None}}", {"spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"}},
      {"{spec: {activeDeadlineSeconds: 0}}", {"spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"}},
      {"{spec: {hostNetwork: true, containers: [{name: c, image: a, ports: [{containerPort: 80, hostPort: 81}]}]}}",
       {"spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"}},
      {"{spec: {containers: [{name: c, image: a, ports: [{containerPort: 0}]}]}}", {"spec.containers[0].ports[0].containerPort: Required value"}},
      {"{spec: {containers: [{name: c, image: a, ports: [{containerPort: 70000}]}]}}",
       {"spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"}},
      {"{spec: {containers: [{name: c, image: a, volumeMounts: [{name: v, mountPath: /a}]}]}}",
       {"spec.containers[0].volumeMounts[0].name: Not found: \"v\""}},
      {"{spec: {volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]}}", {"spec.volumes[1].name: Duplicate value: \"v\""}},
      {"{spec: {volumes: [{name: v, emptyDir: {}, hostPath: {path: /a}}]}}", {"spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"}},
      {"{spec: {volumes: [{name: v, hostPath: {path: '/a/../b'}}]}}", {"spec.volumes[0].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"}},
      {"{spec: {containers: [{name: c, image: a, env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}}",
       {"spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty"}},
      {"{spec: {containers: [{name: c, image: a, env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.priority}}}]}]}}",
       {"spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.priority\": error converting fieldPath: field label not "
        "supported: spec.priority"}},
      {"{spec: {containers: [{name: c, image: a, livenessProbe: {}}]}}", {"spec.containers[0].livenessProbe: Required value: must specify a handler type"}},
      {"{spec: {containers: [{name: c, image: a, livenessProbe: {exec: {command: [x]}, successThreshold: 2}}]}}",
       {"spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"}},
      {"{spec: {containers: [{name: c, image: a, resources: {limits: {cpu: 1}, requests: {cpu: 2}}}]}}",
       {"spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"}},
      {"{spec: {containers: [{name: c, image: a, resources: {limits: {cpu: -1}, requests: {cpu: -1}}}]}}",
       {"spec.containers[0].resources.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
        "spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"}},
      {"{spec: {initContainers: [{name: i, image: a, readinessProbe: {exec: {command: [x]}}}]}}",
       {"spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always"}},
      {"{spec: {ephemeralContainers: [{name: e, image: a}]}}", {"spec.ephemeralContainers: Forbidden: cannot be set on create"}},
      {"{spec: {tolerations: [{operator: Equal}]}}",
       {"spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which means \"match all values and all keys\""}},
      {"{spec: {topologySpreadConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}}",
       {"spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"}},
      {"{spec: {os: {name: plan9}}}", {"spec.os: Unsupported value: \"plan9\": supported values: \"linux\", \"windows\""}},
      {"{spec: {readinessGates: [{conditionType: 'a b'}]}}",
       {"spec.readinessGates[0].conditionType: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
        "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"}},
      {"{spec: {nodeName: first, schedulingGates: [{name: wait}]}}", {"spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"}},
  };
  for (const auto& [change, faults] : cases) EXPECT_EQ(Create(kPod, change).faults, faults) << change;
}

TEST_F(PodTest, UpdatesMayChangeLittle) {
  Value old = Create(kPod).object;
  EXPECT_EQ(Update(Load(kPod, "{spec: {containers: [{name: c, image: 'a:2'}]}}"), old).faults, Texts());
  EXPECT_EQ(Update(Load(kPod, "{spec: {activeDeadlineSeconds: 9}}"), old).faults, Texts());
  EXPECT_EQ(Update(Load(kPod, "{spec: {tolerations: [{key: a, operator: Exists}]}}"), old).faults, Texts());
  EXPECT_EQ(Update(Load(kPod, "{spec: {containers: [{name: c, image: 'a:1'}, {name: d, image: 'a:1'}]}}"), old).faults,
            Texts({"spec.containers: Forbidden: pod updates may not add or remove containers"}));
  Outcome refused = Update(Load(kPod, "{spec: {containers: [{name: c, image: 'a:1', tty: true}]}}"), old);
  ASSERT_EQ(refused.faults.size(), 1u);
  EXPECT_EQ(refused.faults[0], "spec: Forbidden: " + std::string(kMayNotChange) +
                                   "@@ -31,7 +31,7 @@\n"
                                   "    \"SecurityContext\": null,\n"
                                   "    \"Stdin\": false,\n"
                                   "    \"StdinOnce\": false,\n"
                                   "-   \"TTY\": false\n"
                                   "+   \"TTY\": true\n"
                                   "   }\n"
                                   "  ],\n"
                                   "  \"EphemeralContainers\": null,\n");
}

TEST_F(PodTest, SubresourcesChangeTheirPartOnly) {
  Value old = Create(kPod).object;
  Value other = Load(kPod, "{spec: {ephemeralContainers: [{name: e, image: a}]}, status: {phase: Running}}");
  Outcome status = Update(other, old, "status");
  EXPECT_EQ(status.faults, Texts());
  EXPECT_EQ(At(status.object, "status.phase"), R"("Running")");
  EXPECT_EQ(At(status.object, "status.qosClass"), R"("BestEffort")");
  EXPECT_EQ(Update(Load(kPod, "{status: {qosClass: Guaranteed}}"), old, "status").faults,
            Texts({"status.qosClass: Invalid value: \"Guaranteed\": field is immutable"}));
  Outcome debug = Update(other, old, "ephemeralcontainers");
  EXPECT_EQ(debug.faults, Texts());
  EXPECT_EQ(At(debug.object, "spec.ephemeralContainers.0.name"), R"("e")");
  EXPECT_EQ(At(debug.object, "status.phase"), R"("Pending")");
}

TEST_F(PodTest, Warns) {
  const std::pair<std::string_view, Texts> cases[] = {
      {"{}", {}},
      {"{spec: {nodeSelector: {beta.kubernetes.io/os: linux}}}",
       {"spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead"}},
      {"{spec: {containers: [{name: c, image: a, env: [{name: A, value: b}, {name: A, value: c}]}]}}",
       {"spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply"}},
  };
  for (const auto& [change, warnings] : cases) EXPECT_EQ(Create(kPod, change).warnings, warnings) << change;
}

TEST_F(PodTest, GoesAtLeisureWhenANodeHasIt) {
  auto period = [&](std::string_view change, std::optional<int64_t> asked) {
    Value pod = Load(kPod, change);
    RuleContext context = Context(pod);
    return Of(pod).graceful(context, pod, asked)->grace_period_seconds;
  };
  EXPECT_EQ(period("{}", std::nullopt), 0);
  EXPECT_EQ(period("{spec: {nodeName: first}}", std::nullopt), 30);
  EXPECT_EQ(period("{spec: {nodeName: first}}", 5), 5);
  EXPECT_EQ(period("{spec: {nodeName: first, terminationGracePeriodSeconds: 7}}", std::nullopt), 7);
  EXPECT_EQ(period("{spec: {nodeName: first, terminationGracePeriodSeconds: -7}}", std::nullopt), 1);
  EXPECT_EQ(period("{spec: {nodeName: first}, status: {phase: Succeeded}}", 5), 0);
}

struct CellCase {
  std::string change, ready, status, restarts;
};

TEST_F(PodTest, Cells) {
  const std::string running = "state: {running: {startedAt: '2020-01-01T00:00:00Z'}}";
  const CellCase cases[] = {
      {"{status: {phase: Pending}}", "0/1", "Pending", "0"},
      {"{status: {phase: Failed, reason: Evicted}}", "0/1", "Evicted", "0"},
      {"{status: {phase: Running, containerStatuses: [{name: c, ready: true, restartCount: 0, " + running + "}]}}", "1/1", "Running", "0"},
      {"{status: {phase: Running, containerStatuses: [{name: c, ready: true, restartCount: 3, " + running +
           ", lastState: {terminated: {exitCode: 1, finishedAt: 'AGO'}}}]}}",
       "1/1", "Running", "3 (5m ago)"},
      {"{status: {phase: Running, containerStatuses: [{name: c, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}}]}}", "0/1", "CrashLoopBackOff", "2"},
      {"{status: {phase: Failed, containerStatuses: [{name: c, restartCount: 0, state: {terminated: {exitCode: 3}}}]}}", "0/1", "ExitCode:3", "0"},
      {"{status: {phase: Failed, containerStatuses: [{name: c, restartCount: 0, state: {terminated: {exitCode: 137, signal: 9}}}]}}", "0/1", "Signal:9", "0"},
      {"{status: {phase: Succeeded, containerStatuses: [{name: c, restartCount: 0, state: {terminated: {reason: Completed}}}]}}", "0/1", "Completed", "0"},
      {"{spec: {initContainers: [{name: i, image: a}, {name: j, image: a}]}, status: {phase: Pending, initContainerStatuses: [{name: i, state: {terminated: "
       "{exitCode: 0}}}, {name: j, state: {waiting: {reason: PodInitializing}}}]}}",
       "0/1", "Init:1/2", "0"},
      {"{spec: {initContainers: [{name: i, image: a}]}, status: {phase: Pending, initContainerStatuses: [{name: i, restartCount: 1, state: {waiting: {reason: "
       "ImagePullBackOff}}}]}}",
       "0/1", "Init:ImagePullBackOff", "1"},
      {"{metadata: {deletionTimestamp: '2020-01-01T00:00:00Z'}, status: {phase: Running, containerStatuses: [{name: c, ready: true, restartCount: 0, " + running +
           "}]}}",
       "1/1", "Terminating", "0"},
      {"{status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: SchedulingGated}]}}", "0/1", "SchedulingGated", "0"},
  };
  std::string ago = object::FormatTime(object::Timestamp::FromClock(Now() - std::chrono::minutes(5)));
  for (CellCase test : cases) {
    if (size_t at = test.change.find("AGO"); at != std::string::npos) test.change.replace(at, 3, ago);
    Value pod = Load(kPod, test.change);
    EXPECT_EQ(Cell(pod, "ready"), test.ready) << test.change;
    EXPECT_EQ(Cell(pod, "status"), test.status) << test.change;
    EXPECT_EQ(Cell(pod, "restarts"), test.restarts) << test.change;
  }
  EXPECT_EQ(Cell(Load(kPod), "readiness_gates"), "<none>");
  EXPECT_EQ(Cell(Load(kPod, "{spec: {readinessGates: [{conditionType: a}, {conditionType: b}]}, status: {conditions: [{type: a, status: 'True'}]}}"),
                 "readiness_gates"),
            "1/2");
}

TEST_F(PodTest, IsDoneInTheEnd) {
  EXPECT_FALSE(Of(Load(kPod)).completed(Load(kPod, "{status: {phase: Running}}")));
  EXPECT_EQ(Of(Load(kPod)).completed(Load(kPod, "{status: {phase: Failed}}"))->message, "The pod failed.");
}

TEST_F(PodTest, TemplatesAreCheckedWithoutAName) {
  Value controller = Load("{apiVersion: v1, kind: ReplicationController, spec: {template: {metadata: {labels: {a: '!'}}, spec: {containers: [{name: c}]}}}}");
  FieldErrors errors;
  FieldPath spec("spec");
  CheckPodTemplateSpec(controller.Path({"spec", "template"}), Value(), spec.Child("template"), errors);
  ASSERT_EQ(errors.causes().size(), 2u);
  EXPECT_EQ(errors.causes()[0].field, "spec.template.labels");
  EXPECT_EQ(errors.causes()[1].field, "spec.template.spec.containers[0].image");
}

}  // namespace
}  // namespace homeostat::kinds::internal
