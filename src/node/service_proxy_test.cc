// What the service proxy makes of services and endpoint slices.
#include "node/service_proxy.h"

#include <gtest/gtest.h>

#include "homeostat/object/yaml.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/api/discovery/v1.h"
#include "homeostat/schema/conform.h"

namespace homeostat::node {
namespace {

object::DocumentPtr Load(const schema::Type& type, std::string_view yaml) {
  auto document = std::make_shared<object::Document>();
  auto tree = object::ParseYaml(document->arena(), yaml);
  EXPECT_TRUE(tree) << yaml;
  schema::ConformReport report;
  auto typed = schema::Conform(document->arena(), tree.value_or(object::Value()), type, report);
  EXPECT_TRUE(typed) << yaml;
  EXPECT_TRUE(report.problems.empty()) << yaml << ": " << report.problems.front();
  document->set_root(typed.value_or(object::Value()));
  return document;
}

object::DocumentPtr Service(std::string_view name, std::string_view spec, std::string_view labels = "{}") {
  return Load(api::core::v1::Service::SchemaType(), "{metadata: {namespace: shop, name: " + std::string(name) + ", labels: " + std::string(labels) +
                                                        "}, spec: {type: ClusterIP, " + std::string(spec) + "}}");
}

object::DocumentPtr Slice(std::string_view service, std::string_view endpoints, std::string_view ports) {
  return Load(api::discovery::v1::EndpointSlice::SchemaType(),
              "{metadata: {namespace: shop, name: s, labels: {kubernetes.io/service-name: " + std::string(service) + "}}, addressType: IPv4, endpoints: [" +
                  std::string(endpoints) + "], ports: [" + std::string(ports) + "]}");
}

std::string Shown(const std::vector<network::ServicePort>& ports) {
  std::string text;
  for (const network::ServicePort& port : ports) {
    text += port.protocol + " ";
    for (const std::string& address : port.addresses) text += address + ",";
    text += ":" + std::to_string(port.port) + (port.node_port != 0 ? "/" + std::to_string(port.node_port) : "") + " ->";
    if (port.session_seconds != 0) text += " (" + std::to_string(port.session_seconds) + " s)";
    for (const auto& [address, number] : port.endpoints) text += " " + address + ":" + std::to_string(number);
    text += "\n";
  }
  return text;
}

constexpr std::string_view kWeb = "clusterIP: 10.96.0.5, clusterIPs: [10.96.0.5], ports: [{name: http, protocol: TCP, port: 80}]";

TEST(ServicePortsTest, ReadyEndpointsOfTheNamedPort) {
  struct Case {
    std::string_view spec, endpoints, shown;
  };
  const Case kCases[] = {
      {kWeb, "{addresses: [10.244.0.6]}, {addresses: [10.244.0.5], conditions: {ready: true}}, {addresses: [10.244.0.7], conditions: {ready: false}}",
       "tcp 10.96.0.5,:80 -> 10.244.0.5:8080 10.244.0.6:8080\n"},
      {kWeb, "{addresses: [10.244.0.5], conditions: {ready: false, serving: true, terminating: true}}, {addresses: [10.244.0.6], conditions: {ready: false}}",
       "tcp 10.96.0.5,:80 -> 10.244.0.5:8080\n"},
      {"clusterIP: 10.96.0.5, clusterIPs: [10.96.0.5], sessionAffinity: ClientIP, ports: [{name: http, protocol: TCP, port: 53}, {name: dns, protocol: UDP, port: 53}]",
       "{addresses: [10.244.0.6]}", "tcp 10.96.0.5,:53 -> (10800 s) 10.244.0.6:8080\nudp 10.96.0.5,:53 -> (10800 s)\n"},
      {"clusterIP: 10.96.0.5, clusterIPs: [10.96.0.5], sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}, "
       "ports: [{name: http, protocol: TCP, port: 80}]",
       "{addresses: [10.244.0.6]}", "tcp 10.96.0.5,:80 -> (60 s) 10.244.0.6:8080\n"},
      {kWeb, "", "tcp 10.96.0.5,:80 ->\n"},
      {"clusterIP: 10.96.0.5, clusterIPs: [10.96.0.5], externalIPs: [192.0.2.9], ports: [{name: other, protocol: UDP, port: 53, nodePort: 30053}, {name: http, protocol: TCP, port: 80}]",
       "{addresses: [10.244.0.6]}", "udp 10.96.0.5,192.0.2.9,:53/30053 ->\ntcp 10.96.0.5,192.0.2.9,:80 -> 10.244.0.6:8080\n"},
      {"clusterIP: None, clusterIPs: [None], ports: [{name: http, protocol: TCP, port: 80}]", "{addresses: [10.244.0.6]}", ""},
      {"externalName: a.example", "{addresses: [10.244.0.6]}", ""},
  };
  for (const Case& test : kCases) {
    auto ports = ServicePortsOf({Service("web", test.spec)}, {Slice("web", test.endpoints, "{name: http, protocol: TCP, port: 8080}"),
                                                              Slice("else", "{addresses: [10.244.0.99]}", "{name: http, port: 1}")});
    EXPECT_EQ(Shown(ports), test.shown) << test.spec;
  }
}

TEST(ServicePortsTest, ClientsAreReadAgain) {
  std::string list = R"({"nftables":[{"metainfo":{}},{"set":{"name":"sticky-a","table":"x-services","elem":[{"elem":{"val":"10.0.0.1","expires":99}},
      {"elem":{"val":"10.0.0.2","timeout":60,"expires":49}},"10.0.0.3"]}},{"set":{"name":"sticky-a","table":"y-services","elem":[{"elem":{"val":"10.0.0.4","expires":9}}]}},
      {"set":{"name":"silent4","table":"x-services"}}]})";
  network::Sessions sessions = ReadSessions(list, "x-services");
  ASSERT_EQ(sessions.size(), 1u);
  ASSERT_EQ(sessions["sticky-a"].size(), 2u);
  EXPECT_EQ(sessions["sticky-a"][1].client, "10.0.0.2");
  EXPECT_EQ(sessions["sticky-a"][1].seconds, 49u);
  EXPECT_TRUE(ReadSessions("", "x-services").empty());
}

TEST(ServicePortsTest, ServicesOfAnotherProxyAreItsOwn) {
  EXPECT_TRUE(ServicePortsOf({Service("web", kWeb, "{service.kubernetes.io/service-proxy-name: mine}")}, {}).empty());
  // An endpoint that is in two slices while it moves counts once.
  std::string_view ports = "{name: http, protocol: TCP, port: 8080}";
  EXPECT_EQ(Shown(ServicePortsOf({Service("web", kWeb)}, {Slice("web", "{addresses: [10.244.0.5]}", ports), Slice("web", "{addresses: [10.244.0.5]}", ports)})),
            "tcp 10.96.0.5,:80 -> 10.244.0.5:8080\n");
}

}  // namespace
}  // namespace homeostat::node
