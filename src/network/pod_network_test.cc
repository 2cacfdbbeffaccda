#include "network/pod_network.h"

#include <gtest/gtest.h>

namespace homeostat::network {
namespace {

TEST(CheckCidr, AcceptsRangesOfBothFamilies) {
  for (std::string_view cidr : {"10.244.0.0/24", "10.0.0.0/8", "192.168.4.0/30", "fd00:10:244::/64"}) {
    EXPECT_TRUE(CheckCidr(cidr)) << cidr;
  }
}

TEST(CheckCidr, SaysWhatIsWrong) {
  struct Case {
    std::string_view cidr, why;
  };
  for (const Case& c : {Case{"10.244.0.0", "no prefix length"}, Case{"10.244.0.0/x", "bad prefix length"},
                        Case{"10.244.0.300/24", "bad address"}, Case{"10.244.0.1/24", "bits are set"},
                        Case{"10.244.0.0/31", "no room"}, Case{"10.244.0.0/33", "no room"},
                        Case{"fd00::1/64", "bits are set"}, Case{"10.244.0.0/24\"", "bad prefix length"}}) {
    Result<void> checked = CheckCidr(c.cidr);
    ASSERT_FALSE(checked) << c.cidr;
    EXPECT_NE(checked.error().message().find(c.why), std::string::npos) << checked.error().message();
  }
}

TEST(CniConfiguration, HasBridgeRangeAndPortmap) {
  PodNetworkOptions options;
  options.address_directory = "/data/addresses";
  Result<std::string> text = CniConfiguration(options);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, R"({
  "cniVersion": "0.4.0",
  "name": "homeostat",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "homeostat0",
      "isGateway": true,
      "hairpinMode": true,
      "ipMasq": false,
      "ipam": {
        "type": "host-local",
        "dataDir": "/data/addresses",
        "ranges": [[{"subnet": "10.244.0.0/24"}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
)");
}

TEST(CniConfiguration, TwoFamiliesHaveTwoRangesAndRoutes) {
  PodNetworkOptions options;
  options.pod_cidrs = {"10.244.0.0/24", "fd00::/64"};
  options.portmap = false;
  options.mtu = 1400;
  Result<std::string> text = CniConfiguration(options);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find(R"("ranges": [[{"subnet": "10.244.0.0/24"}], [{"subnet": "fd00::/64"}]])"), std::string::npos);
  EXPECT_NE(text->find(R"("routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}])"), std::string::npos);
  EXPECT_NE(text->find("\"mtu\": 1400"), std::string::npos);
  EXPECT_EQ(text->find("portmap"), std::string::npos);
}

TEST(CniConfiguration, RefusesNamesThatCouldEscape) {
  PodNetworkOptions options;
  options.bridge = "a-name-that-is-too-long";
  EXPECT_FALSE(CniConfiguration(options));
  options.bridge = "br0\"";
  EXPECT_FALSE(CniConfiguration(options));
  options.bridge = "br0";
  options.name = "a; flush ruleset";
  EXPECT_FALSE(CniConfiguration(options));
  EXPECT_FALSE(MasqueradeScript(options));
}

TEST(MasqueradeScript, KeepsAddressesInsideTheCluster) {
  PodNetworkOptions options;
  options.pod_cidrs = {"10.244.3.0/24", "fd00:3::/64"};
  options.cluster_cidrs = {"10.244.0.0/16"};
  Result<std::string> script = MasqueradeScript(options);
  ASSERT_TRUE(script);
  EXPECT_EQ(*script, R"(add table inet homeostat-pods
delete table inet homeostat-pods
table inet homeostat-pods {
  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr { 10.244.3.0/24 } ip daddr != { 10.244.0.0/16, 224.0.0.0/4 } masquerade
    ip6 saddr { fd00:3::/64 } ip6 daddr != { ff00::/8 } masquerade
  }
}
)");
}

}  // namespace
}  // namespace homeostat::network
