#include "homeostat/object/ip.h"

#include <gtest/gtest.h>

#include "object/internal/test_table.h"

namespace homeostat::object {
namespace {

TEST(IpTest, SaysWhatUpstreamSays) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable("ip_cases.tsv");
  ASSERT_GT(rows.size(), 200u);
  for (const std::vector<std::string>& row : rows) {
    const std::string& text = row[0];
    const Messages answers[] = {IsValidIP(text),
                                IsValidIPForLegacyField(text, true),
                                IsValidIPForLegacyField(text, false),
                                IsValidCIDR(text),
                                IsValidCIDRForLegacyField(text, true),
                                IsValidCIDRForLegacyField(text, false),
                                IsValidInterfaceAddress(text),
                                GetWarningsForIP("f", text),
                                GetWarningsForCIDR("f", text)};
    ASSERT_EQ(row.size(), std::size(answers) + 1);
    for (size_t i = 0; i < std::size(answers); ++i) {
      EXPECT_EQ(internal::Join(answers[i], "; "), row[i + 1]) << text << " by function " << i;
    }
  }
}

TEST(IpTest, CanonicalText) {
  const std::pair<const char*, const char*> cases[] = {
      {"1.2.3.4", "1.2.3.4"}, {"001.2.3.4", "1.2.3.4"}, {"::", "::"}, {"0:0:0:0:0:0:0:1", "::1"},
      {"2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"}, {"1:0:2:0:3:0:4:0", "1:0:2:0:3:0:4:0"}, {"1:0:0:0:0:0:0:0", "1::"},
      {"::ffff:10.0.0.1", "10.0.0.1"}, {"::1.2.3.4", "::102:304"}};
  for (auto [text, canonical] : cases) {
    std::optional<IpAddress> ip = ParseIp(text);
    ASSERT_TRUE(ip.has_value()) << text;
    EXPECT_EQ(ip->ToString(), canonical);
  }
  for (const char* bad : {"", "1", "1.2.3", "1.2.3.4.5", "256.0.0.1", ":", ":::", "1::2::3", "1:2:3:4:5:6:7:8:9", "::g"}) {
    EXPECT_FALSE(ParseIp(bad).has_value()) << bad;
  }
}

TEST(IpTest, Networks) {
  Cidr v4 = *ParseCidr("10.1.2.3/20");
  EXPECT_EQ(v4.ToString(), "10.1.0.0/20");
  EXPECT_TRUE(v4.Contains(*ParseIp("10.1.15.255")));
  EXPECT_FALSE(v4.Contains(*ParseIp("10.1.16.0")));
  EXPECT_FALSE(v4.Contains(*ParseIp("::a01:203")));
  Cidr v6 = *ParseCidr("2001:db8::/33");
  EXPECT_TRUE(v6.Contains(*ParseIp("2001:db8:7fff::1")));
  EXPECT_FALSE(v6.Contains(*ParseIp("2001:db8:8000::1")));
  EXPECT_TRUE(ParseCidr("0.0.0.0/0")->Contains(*ParseIp("255.255.255.255")));
  EXPECT_FALSE(ParseCidr("0.0.0.0/0")->Contains(*ParseIp("::1")));
}

TEST(IpTest, Kinds) {
  EXPECT_TRUE(ParseIp("127.3.2.1")->IsLoopback());
  EXPECT_TRUE(ParseIp("::1")->IsLoopback());
  EXPECT_TRUE(ParseIp("0.0.0.0")->IsUnspecified());
  EXPECT_TRUE(ParseIp("::")->IsUnspecified());
  EXPECT_TRUE(ParseIp("169.254.1.1")->IsLinkLocalUnicast());
  EXPECT_TRUE(ParseIp("fe80::1")->IsLinkLocalUnicast());
  EXPECT_TRUE(ParseIp("224.0.0.1")->IsLinkLocalMulticast());
  EXPECT_TRUE(ParseIp("ff02::1")->IsLinkLocalMulticast());
  EXPECT_TRUE(ParseIp("239.1.1.1")->IsMulticast());
  EXPECT_FALSE(ParseIp("10.0.0.1")->IsMulticast());
}

}  // namespace
}  // namespace homeostat::object
