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

// CN=plain; version 1, so without any extension; until the year 3122.
constexpr std::string_view kPlainAuthority =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBHTCBwwIUIXwdYujfgdbayUU7C8MCEjfxzEMwCgYIKoZIzj0EAwIwEDEOMAwG\n"
    "A1UEAwwFcGxhaW4wIBcNMjYxMTMwMDEzMjUxWhgPMzEyMjAxMjkwMTMyNTFaMBAx\n"
    "DjAMBgNVBAMMBXBsYWluMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE0cUAXRPM\n"
    "OJ6jMHB8NUMjszAroxzNQGFfgGVn2vHtckJ7lvaLh4Whxifs4f1LAEfnt9LjaJCm\n"
    "UXiSwSkSJp6c0jAKBggqhkjOPQQDAgNJADBGAiEAvMdCacHWI9SWIr7yC91xMO1q\n"
    "TCjX70A/pBHeQ76wyBoCIQDuozMY0w4RSmnZ5KjisikSTxGmYto4ct/fFyQdQLqJ\n"
    "7w==\n"
    "-----END CERTIFICATE-----\n";
constexpr std::string_view kPlainKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgHNIHV68NZ9zW1ONx\n"
    "JYDRxbMs2bes6buNe91VKr0gFEihRANCAATRxQBdE8w4nqMwcHw1QyOzMCujHM1A\n"
    "YV+AZWfa8e1yQnuW9ouHhaHGJ+zh/UsAR+e30uNokKZReJLBKRImnpzS\n"
    "-----END PRIVATE KEY-----\n";

TEST(RequestSigningTest, AnAuthorityNeedsNoKeyIdentifierAndMayLastAThousandYears) {
  auto runtime = SimulatedRuntime::Make(1);
  KeyPair authority{std::string(kPlainAuthority), std::string(kPlainKey)};
  auto signed_request = SignRequest(*runtime, authority, kRequest, {"client auth"}, std::chrono::hours(1));
  EXPECT_TRUE(signed_request.has_value()) << signed_request.error().message();
  CertificateRequest request;
  request.common_name = "admin";
  auto issued = IssueCertificate(*runtime, authority, request);
  EXPECT_TRUE(issued.has_value()) << issued.error().message();
}

}  // namespace
}  // namespace homeostat::auth
