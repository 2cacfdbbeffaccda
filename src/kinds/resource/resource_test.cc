// What the kinds of resource.k8s.io refuse, in upstream's words.
#include "kinds/internal/testing.h"

namespace homeostat::kinds {
namespace {

using internal::Texts;

class ResourceTest : public internal::BehaviourTest {
 protected:
  static constexpr std::string_view kSlice =
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: d.example.com, nodeName: node, "
      "pool: {name: pool, generation: 0, resourceSliceCount: 1}, devices: [{name: a}]}}";
  static constexpr std::string_view kClaim =
      "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c}, spec: {devices: {requests: "
      "[{name: r, exactly: {deviceClassName: x}}, {name: s, firstAvailable: [{name: t, deviceClassName: x}]}]}}}";

  struct Case {
    std::string_view change;
    std::vector<std::string> faults;
  };
};

TEST_F(ResourceTest, ChecksSlices) {
  const Case cases[] = {
      {"{}", {}},
      {"{spec: {driver: null}}", {"spec.driver: Required value"}},
      {"{spec: {pool: {name: a//b}}}",
       {"spec.pool.name: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"}},
      {"{spec: {pool: {resourceSliceCount: 0, generation: -1}}}",
       {"spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
        "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero"}},
      {"{spec: {nodeName: null}}",
       {"spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"}},
      {"{spec: {allNodes: true}}",
       {"spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is "
        "required, but multiple fields are set"}},
      {"{spec: {allNodes: false}}", {"spec.allNodes: Invalid value: false: must be either unset or set to true"}},
      {"{spec: {devices: [{name: a}, {name: a}]}}", {"spec.devices[1]: Duplicate value: \"a\""}},
      {"{spec: {devices: [{name: a, attributes: {x: {version: '1.2'}}}]}}",
       {"spec.devices[0].attributes[x].version: Invalid value: \"1.2\": must be a string compatible with semver.org spec 2.0.0"}},
      {"{spec: {devices: [{name: a, attributes: {x: {version: 1.2.3-rc.1+build.05}}}]}}", {}},
      {"{spec: {devices: [{name: a, attributes: {x: {}}}]}}",
       {"spec.devices[0].attributes[x]: Invalid value: \"\": exactly one value must be specified"}},
      {"{spec: {devices: [{name: a, taints: [{key: k, effect: Sometimes}]}]}}",
       {"spec.devices[0].taints[0].effect: Unsupported value: \"Sometimes\": supported values: \"NoExecute\", \"NoSchedule\", \"None\""}},
      {"{spec: {devices: [{name: a, nodeName: node}]}}",
       {"spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to "
        "true in the ResourceSlice spec"}},
      {"{spec: {devices: [{name: a, capacity: {m: {value: 1, requestPolicy: {default: 1}}}}]}}",
       {"spec.devices[0].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true"}},
      {"{spec: {devices: [{name: a, allowMultipleAllocations: true, capacity: {m: {value: 4, requestPolicy: {default: 3, validRange: "
       "{min: 1, step: 3}}}}}]}}",
       {"spec.devices[0].capacity[m].requestPolicy.validRange.step: Invalid value: \"3\": value is not a multiple of a given step (3) from (1)"}},
      {"{spec: {devices: null, sharedCounters: [{name: c, counters: {}}]}}", {"spec.sharedCounters[0].counters: Required value"}},
  };
  for (const Case& c : cases) EXPECT_EQ(Create(kSlice, c.change).faults, c.faults) << c.change;
}

TEST_F(ResourceTest, GivesTaintsOfDevicesATime) {
  Outcome made = Create(kSlice, "{spec: {devices: [{name: a, taints: [{key: k, effect: NoSchedule}]}]}}");
  EXPECT_NE(At(made.object, "spec.devices.0.taints.0.timeAdded"), "none");
}

TEST_F(ResourceTest, ChecksClaims) {
  const Case cases[] = {
      {"{}", {}},
      {"{spec: {devices: {requests: [{name: r}]}}}",
       {"spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"}},
      {"{spec: {devices: {requests: [{name: r, exactly: {deviceClassName: x, allocationMode: All, count: 2}}]}}}",
       {"spec.devices.requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'"}},
      {"{spec: {devices: {requests: [{name: r, exactly: {deviceClassName: x, tolerations: [{operator: Exists, value: v}]}}]}}}",
       {"spec.devices.requests[0].exactly.tolerations[0].value: Invalid value: \"v\": must be empty for operator `Exists`"}},
      {"{spec: {devices: {constraints: [{requests: [r], matchAttribute: a}]}}}",
       {"spec.devices.constraints[0].matchAttribute: Invalid value: \"a\": a fully qualified name must be a domain and a name separated by a "
        "slash"}},
      {"{spec: {devices: {config: [{requests: [s/t], opaque: {driver: d, parameters: {a: 1}}}]}}}", {}},
      {"{spec: {devices: {config: [{requests: [s/u], opaque: {driver: d, parameters: {a: 1}}}]}}}",
       {"spec.devices.config[0].requests[0]: Invalid value: \"s/u\": must be the name of a request in the claim or the name of a request and a "
        "subrequest separated by '/'"}},
  };
  for (const Case& c : cases) EXPECT_EQ(Create(kClaim, c.change).faults, c.faults) << c.change;
}

TEST_F(ResourceTest, ChecksTheStatusOfClaims) {
  Value claim = Load(kClaim);
  auto faults = [&](std::string_view change) { return Update(Load(kClaim, change), claim, "status").faults; };
  EXPECT_EQ(faults("{status: {reservedFor: [{resource: pods, name: p, uid: u}]}}"),
            Texts({"status.reservedFor: Forbidden: may not be specified when `allocated` is not set"}));
  EXPECT_EQ(faults("{status: {allocation: {devices: {results: [{request: q, driver: d, pool: p, device: x}]}}}}"),
            Texts({"status.allocation.devices.results[0].request: Invalid value: \"q\": must be the name of a request in the claim or the name of "
                   "a request and a subrequest separated by '/'"}));
  EXPECT_EQ(faults("{status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: x, shareID: X}]}}}}"),
            Texts({"status.allocation.devices.results[0].shareID: Invalid value: \"X\": error validating uid: invalid UUID length: 1"}));
}

}  // namespace
}  // namespace homeostat::kinds
