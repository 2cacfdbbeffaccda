// The rules of the service proxy: which addresses lead where.
#include "network/service_proxy.h"

#include <gtest/gtest.h>

namespace homeostat::network {
namespace {

std::string Script(const std::vector<ServicePort>& ports) {
  auto script = ServiceProxyScript({"test", "test0", {"10.244.0.0/24", "fd00:1::/64"}}, ports);
  EXPECT_TRUE(script);
  return script.value_or("");
}

TEST(ServiceProxyTest, AddressesLeadToEndpoints) {
  std::string script = Script({
      {"tcp", {"10.96.0.1"}, 443, 0, {{"192.0.2.7", 6443}}},
      {"udp", {"10.96.0.9", "fd00:96::9", "198.51.100.4"}, 53, 30053, {{"10.244.0.5", 5353}, {"10.244.0.6", 53}, {"fd00:1::5", 53}}},
      {"tcp", {"10.96.0.10"}, 80, 30080, {}},
  });
  EXPECT_TRUE(script.starts_with("add table inet test-services\ndelete table inet test-services\ntable inet test-services {\n"));
  for (std::string_view part : {
           "chain service-0-4 {\n    meta l4proto tcp dnat ip to 192.0.2.7:6443\n  }",
           "chain service-1-4 {\n    meta l4proto udp dnat ip addr . port to numgen random mod 2 map { 0 : 10.244.0.5 . 5353, 1 : 10.244.0.6 . 53 }\n  }",
           "chain service-1-6 {\n    meta l4proto udp dnat ip6 to [fd00:1::5]:53\n  }",
           "elements = { 10.96.0.1 . tcp . 443 : goto service-0-4, 10.96.0.9 . udp . 53 : goto service-1-4, 198.51.100.4 . udp . 53 : goto service-1-4 }",
           "elements = { fd00:96::9 . udp . 53 : goto service-1-6 }",
           "elements = { udp . 30053 : goto service-1-4 }",
           "iifname \"test0\" jump dispatch\n    jump node-ports\n",
           "set silent4 {\n    type ipv4_addr . inet_proto . inet_service\n    elements = { 10.96.0.10 . tcp . 80 }\n  }",
           "ct status dnat ip saddr { 10.244.0.0/24 } ip daddr { 10.244.0.0/24 } masquerade",
           "ct status dnat ip6 saddr { fd00:1::/64 } ip6 daddr { fd00:1::/64 } masquerade",
       }) {
    EXPECT_TRUE(script.contains(part)) << part << "\nis not in\n" << script;
  }
  EXPECT_FALSE(script.contains("service-2"));
}

TEST(ServiceProxyTest, SessionsStayWithAnEndpoint) {
  ServicePort port{"tcp", {"10.96.0.5", "fd00:96::5"}, 80, 30080, {{"10.244.0.5", 8080}, {"10.244.0.6", 8080}, {"fd00:1::5", 8080}}, 600};
  Sessions sessions{{"sticky-10.96.0.5-tcp-80-30080-10.244.0.5-8080", {{"10.244.0.9", 120}, {"192.0.2.1", 5000}, {"} flush ruleset", 9}, {"192.0.2.2", 0}}},
                    {"sticky-10.96.0.5-tcp-80-30080-10.244.0.4-8080", {{"10.244.0.8", 120}}}};
  auto script = ServiceProxyScript({"test", "test0", {}}, std::vector<ServicePort>{port}, sessions);
  ASSERT_TRUE(script);
  for (std::string_view part : {
           "  set sticky-10.96.0.5-tcp-80-30080-10.244.0.5-8080 {\n    type ipv4_addr\n    flags dynamic,timeout\n    timeout 600s\n"
           "    elements = { 10.244.0.9 expires 120s, 192.0.2.1 expires 600s }\n  }\n"
           "  chain service-0-4-0 {\n    update @sticky-10.96.0.5-tcp-80-30080-10.244.0.5-8080 { ip saddr }\n    meta l4proto tcp dnat ip to 10.244.0.5:8080\n  }\n"
           "  set sticky-10.96.0.5-tcp-80-30080-10.244.0.6-8080 {\n    type ipv4_addr\n    flags dynamic,timeout\n    timeout 600s\n  }\n",
           "  chain service-0-4 {\n    ip saddr @sticky-10.96.0.5-tcp-80-30080-10.244.0.5-8080 goto service-0-4-0\n"
           "    ip saddr @sticky-10.96.0.5-tcp-80-30080-10.244.0.6-8080 goto service-0-4-1\n"
           "    numgen random mod 2 vmap { 0 : goto service-0-4-0, 1 : goto service-0-4-1 }\n  }\n",
           "  set sticky-fd00_96__5-tcp-80-30080-fd00_1__5-8080 {\n    type ipv6_addr\n",
           "update @sticky-fd00_96__5-tcp-80-30080-fd00_1__5-8080 { ip6 saddr }\n    meta l4proto tcp dnat ip6 to [fd00:1::5]:8080\n",
           "elements = { tcp . 30080 : goto service-0-4 }",
       }) {
    EXPECT_TRUE(script->contains(part)) << part << "\nis not in\n" << *script;
  }
  EXPECT_FALSE(script->contains("10.244.0.8")) << "of an endpoint that is gone";
}

TEST(ServiceProxyTest, WhatIsNoAddressDoesNoHarm) {
  const std::string bare = Script({});
  for (const ServicePort& port : std::vector<ServicePort>{
           {"tcp; flush ruleset", {"10.96.0.1"}, 80, 0, {{"10.244.0.5", 80}}},
           {"tcp", {"10.96.0.1 } flush ruleset"}, 80, 0, {{"10.244.0.5", 80}}},
           {"tcp", {"None"}, 80, 0, {{"10.244.0.5", 80}}},
           {"tcp", {"10.96.0.1"}, 0, 0, {{"10.244.0.5", 80}}},
       }) {
    EXPECT_EQ(Script({port}), bare) << port.protocol;
  }
  std::string script = Script({{"tcp", {"10.96.0.1"}, 80, 0, {{"web.example", 80}, {"10.244.0.5", 0}, {"10.244.0.6", 80}}},
                               {"tcp", {"10.96.0.1"}, 80, 0, {{"10.244.0.9", 80}}}});
  EXPECT_TRUE(script.contains("dnat ip to 10.244.0.6:80\n"));
  EXPECT_FALSE(script.contains("10.244.0.9"));
  EXPECT_FALSE(ServiceProxyScript({"a b", "c", {}}, {}));
  EXPECT_FALSE(ServiceProxyScript({"a", "b", {"10.0.0.0"}}, {}));
}

}  // namespace
}  // namespace homeostat::network
