#include "controllers/service_cidr.h"

#include <gtest/gtest.h>

namespace homeostat::controllers {
namespace {

ServiceRange Range(std::string name, std::vector<std::string> cidrs) {
  ServiceRange range{std::move(name), {}};
  for (const std::string& cidr : cidrs) range.cidrs.push_back(*object::ParseCidr(cidr));
  return range;
}

TEST(IsAddressOfRange, LeavesOutTheNetworkAndTheBroadcastAddress) {
  const struct {
    const char *range, *address;
    bool is;
  } cases[] = {
      {"10.0.0.0/24", "10.0.0.1", true},    {"10.0.0.0/24", "10.0.0.0", false},   {"10.0.0.0/24", "10.0.0.255", false},
      {"10.0.0.0/24", "10.0.1.1", false},   {"2001:db8::/112", "2001:db8::", false}, {"2001:db8::/112", "2001:db8::ffff", true},
      {"2001:db8::/112", "10.0.0.1", false}, {"10.0.0.0/24", "::ffff", false},
  };
  for (const auto& c : cases) EXPECT_EQ(IsAddressOfRange(*object::ParseCidr(c.range), *object::ParseIp(c.address)), c.is) << c.range << " " << c.address;
}

TEST(MayRangeGo, WhenNothingDependsOnItAlone) {
  auto ips = [](std::vector<std::string> texts) {
    std::vector<object::IpAddress> addresses;
    for (const std::string& text : texts) addresses.push_back(*object::ParseIp(text));
    return addresses;
  };
  ServiceRange going = Range("going", {"10.0.1.0/24"});
  EXPECT_TRUE(MayRangeGo(going, {going}, {}));
  EXPECT_TRUE(MayRangeGo(going, {going}, ips({"10.0.2.7"})));
  EXPECT_FALSE(MayRangeGo(going, {going}, ips({"10.0.1.7"})));
  // A wider range, or the same one again, takes its addresses over; a narrower one only its own.
  EXPECT_TRUE(MayRangeGo(going, {going, Range("wide", {"10.0.0.0/16"})}, ips({"10.0.1.7"})));
  EXPECT_TRUE(MayRangeGo(going, {going, Range("same", {"10.0.1.0/24"})}, ips({"10.0.1.7"})));
  EXPECT_TRUE(MayRangeGo(going, {going, Range("narrow", {"10.0.1.0/28"})}, ips({"10.0.1.7"})));
  EXPECT_FALSE(MayRangeGo(going, {going, Range("narrow", {"10.0.1.0/28"})}, ips({"10.0.1.7", "10.0.1.99"})));
  ServiceRange dual = Range("dual", {"10.0.1.0/24", "2001:db8::/112"});
  EXPECT_FALSE(MayRangeGo(dual, {dual, Range("wide", {"10.0.0.0/16"})}, ips({"2001:db8::5"})));
}

}  // namespace
}  // namespace homeostat::controllers
