#include "auth/request_signing.h"

#include <gtest/gtest.h>

namespace homeostat::auth {
namespace {

// O=crew, CN=deck-A; ECDSA P-256, without alternative names.
constexpr std::string_view kRequest =
    "-----BEGIN CERTIFICATE REQUEST-----\n"
    "MIHcMIGCAgEAMCAxDTALBgNVBAoMBGNyZXcxDzANBgNVBAMMBmRlY2stQTBZMBMG\n"
    "ByqGSM49AgEGCCqGSM49AwEHA0IABOgjXSXjlaGKlYgeTyBLZjDoITv4uK+p0hpN\n"
    "oR2gKbmKojnEkb/HsK0OozeooOJ+ggAwNzIJbqObwXYGzjSbm2egADAKBggqhkjO\n"
    "PQQDAgNJADBGAiEA/slxh9eWypN0ud/K3M1546urj1+Wp3KcYBGkuuz/dK4CIQCw\n"
    "ZOz66TpYf/8X71j9KwxfG7BUI1/0lFutaoiLtgwUPA==\n"
    "-----END CERTIFICATE REQUEST-----\n";

TEST(RequestSigningTest, ReadsWhatIsAsked) {
  auto subject = ReadRequest(kRequest);
  ASSERT_TRUE(subject.has_value());
  EXPECT_EQ(subject->common_name, "deck-A");
  EXPECT_EQ(subject->organizations, std::vector<std::string>{"crew"});
  EXPECT_EQ(subject->dns_names + subject->addresses + subject->emails + subject->uris, 0u);
  EXPECT_FALSE(ReadRequest("nonsense").has_value());
  EXPECT_FALSE(ReadRequest("").has_value());
}

TEST(RequestSigningTest, SignsForAsLongAsIsAskedAndTheAuthorityLasts) {
  auto runtime = SimulatedRuntime::Make(1);
  KeyPair authority = MakeAuthority(*runtime, "homeostat").value();
  auto certificate = SignRequest(*runtime, authority, kRequest, {"client auth", "digital signature"}, std::chrono::hours(1));
  ASSERT_TRUE(certificate.has_value());
  EXPECT_TRUE(certificate->starts_with("-----BEGIN CERTIFICATE-----"));
  WallTime now = std::chrono::floor<std::chrono::seconds>(runtime->WallNow());
  EXPECT_EQ(EndOfCertificate(*certificate).value(), now + std::chrono::hours(1));
  auto day = SignRequest(*runtime, authority, kRequest, {"client auth"}, std::chrono::hours(24));
  EXPECT_EQ(EndOfCertificate(*day).value(), now + std::chrono::hours(24) - std::chrono::minutes(5));
  auto forever = SignRequest(*runtime, authority, kRequest, {"client auth"}, std::chrono::hours(24 * 365 * 100));
  EXPECT_EQ(EndOfCertificate(*forever).value(), EndOfCertificate(authority.certificate).value());
  EXPECT_EQ(SignRequest(*runtime, authority, kRequest, {"flying", "client auth"}, std::chrono::hours(1)).error().message(),
            "unrecognized usage values: [\"flying\"]");
}

}  // namespace
}  // namespace homeostat::auth
