#include "kinds/internal/testing.h"

namespace homeostat::kinds::internal {
namespace {

class ServiceTest : public BehaviourTest {
 protected:
  void SetUp() override {
    Have("networking.k8s.io", "servicecidrs", "{metadata: {name: kubernetes}, spec: {cidrs: [10.96.0.0/24]}}");
  }
  static constexpr std::string_view kService = "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {ports: [{port: 80}]}}";
};

TEST_F(ServiceTest, GetsAnAddress) {
  Outcome made = Create(kService);
  EXPECT_EQ(made.faults, Texts());
  EXPECT_TRUE(At(made.object, "spec.clusterIP").starts_with("\"10.96.0.")) << At(made.object, "spec.clusterIP");
  EXPECT_EQ(At(made.object, "spec.clusterIPs.0"), At(made.object, "spec.clusterIP"));
  EXPECT_EQ(At(made.object, "spec.ipFamilies"), R"(["IPv4"])");
  EXPECT_EQ(At(made.object, "spec.ipFamilyPolicy"), R"("SingleStack")");
  EXPECT_EQ(claims_.taken.size(), 1u);
  // What it holds is what was taken.
  std::set<std::string> held;
  Of(made.object).holds(made.object, [&](std::string_view pool, std::string_view thing) { held.insert(std::string(pool) + " " + std::string(thing)); });
  EXPECT_EQ(held, claims_.taken);
}

TEST_F(ServiceTest, HeadlessAndExternalOnesGetNone) {
  EXPECT_EQ(At(Create(kService, "{spec: {clusterIP: None}}").object, "spec.clusterIPs"), R"(["None"])");
  EXPECT_EQ(At(Create(kService, "{spec: {type: ExternalName, externalName: a.example.com}}").object, "spec.clusterIPs"), "none");
  EXPECT_EQ(claims_.taken, std::set<std::string>());
}

TEST_F(ServiceTest, NeverGetsWhatAnotherHas) {
  std::set<std::string> addresses;
  for (int i = 0; i < 254; ++i) {
    Outcome made = Create(kService);
    ASSERT_EQ(made.faults, Texts());
    EXPECT_TRUE(addresses.insert(At(made.object, "spec.clusterIP")).second);
  }
  EXPECT_EQ(Create(kService).faults, Texts({": failed to allocate a serviceIP for Service \"s\": range is full"}));
}

TEST_F(ServiceTest, AsksForCertainThings) {
  EXPECT_EQ(At(Create(kService, "{spec: {clusterIP: 10.96.0.7}}").object, "spec.clusterIPs"), R"(["10.96.0.7"])");
  EXPECT_EQ(Create(kService, "{spec: {clusterIP: 10.96.0.7}}").faults,
            Texts({R"(spec.clusterIPs: Invalid value: ["10.96.0.7"]: failed to allocate IP 10.96.0.7: provided IP is already allocated)"}));
  EXPECT_EQ(Create(kService, "{spec: {clusterIP: 192.0.2.1}}").faults,
            Texts({R"(spec.clusterIPs: Invalid value: ["192.0.2.1"]: failed to allocate IP 192.0.2.1: the provided network does not match the current range)"}));
  EXPECT_EQ(At(Create(kService, "{spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}}").object, "spec.ports.0.nodePort"), "30080");
  EXPECT_EQ(Create(kService, "{spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}}").faults,
            Texts({"spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated"}));
  EXPECT_EQ(Create(kService, "{spec: {type: NodePort, ports: [{port: 80, nodePort: 80}]}}").faults,
            Texts({"spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"}));
}

TEST_F(ServiceTest, TypeChangesFreeAndTake) {
  Value service = Create(kService, "{spec: {type: NodePort}}").object;
  EXPECT_EQ(claims_.taken.size(), 2u);
  Value changed = Load(kService, "{spec: {type: ClusterIP}}");
  Outcome plain = Update(changed, service);
  EXPECT_EQ(plain.faults, Texts());
  EXPECT_EQ(At(plain.object, "spec.clusterIP"), At(service, "spec.clusterIP"));   // a PUT need not repeat it
  EXPECT_EQ(At(plain.object, "spec.ports.0.nodePort"), "none");
  EXPECT_EQ(claims_.taken.size(), 1u);
  Outcome external = Update(Load(kService, "{spec: {type: ExternalName, externalName: a.example.com}}"), plain.object);
  EXPECT_EQ(external.faults, Texts());
  EXPECT_EQ(At(external.object, "spec.clusterIP"), "none");
  EXPECT_EQ(claims_.taken, std::set<std::string>());
}

TEST_F(ServiceTest, Rules) {
  const std::pair<std::string_view, Texts> cases[] = {
      {"{spec: {ports: []}}", {"spec.ports: Required value"}},
      {"{spec: {ports: [{port: 0}]}}",
       {"spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive", "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive"}},
      {"{spec: {ports: [{port: 80}, {port: 81}]}}", {"spec.ports[0].name: Required value", "spec.ports[1].name: Required value"}},
      {"{spec: {ports: [{port: 80, name: a}, {port: 81, name: a}]}}", {"spec.ports[1].name: Duplicate value: \"a\""}},
      {"{spec: {ports: [{port: 80, name: a}, {port: 80, name: b}]}}", {"spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\"TargetPort\":0,\"NodePort\":0}"}},
      {"{spec: {sessionAffinity: Sticky}}", {"spec.sessionAffinity: Unsupported value: \"Sticky\": supported values: \"ClientIP\", \"None\""}},
      {"{spec: {ports: [{port: 80, protocol: HTTP}]}}",
       {"spec.ports[0].protocol: Unsupported value: \"HTTP\": supported values: \"SCTP\", \"TCP\", \"UDP\""}},
      {"{spec: {externalIPs: [127.0.0.1]}}",
       {"spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)"}},
      {"{spec: {selector: {'a b': c}}}",
       {"spec.selector: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"}},
  };
  for (const auto& [change, faults] : cases) EXPECT_EQ(Create(kService, change).faults, faults) << change;
}

TEST_F(ServiceTest, AddressStays) {
  Value service = Create(kService, "{spec: {clusterIP: 10.96.0.9}}").object;
  EXPECT_EQ(Update(Load(kService, "{spec: {clusterIP: 10.96.0.10}}"), service).faults,
            Texts({R"(spec.clusterIPs[0]: Invalid value: ["10.96.0.10"]: may not change once set)"}));
}

TEST_F(ServiceTest, Cells) {
  Value service = Load(kService, "{spec: {type: LoadBalancer, clusterIP: 10.96.0.9, ports: [{port: 80, nodePort: 30080}, {port: 53, protocol: UDP}]}}");
  EXPECT_EQ(Cell(service, "external_ip"), "<pending>");
  EXPECT_EQ(Cell(service, "ports"), "80:30080/TCP,53/UDP");
  EXPECT_EQ(Cell(Load(kService), "external_ip"), "<none>");
}

}  // namespace
}  // namespace homeostat::kinds::internal
