#include "kinds/internal/testing.h"

namespace homeostat::kinds {
namespace {

class SigningRequestTest : public internal::BehaviourTest {};

TEST_F(SigningRequestTest, SignersHaveADomainAndAPath) {
  const std::string fault = "spec.request: Invalid value: \"eA==\": PEM block type must be CERTIFICATE REQUEST", at = "spec.signerName: Invalid value: ";
  const std::string label = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character "
                            "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
  const std::string subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
                                "character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"a.b/c", {fault}},
      {"a.b/", {fault, at + "\"\": validating label \"\": " + subdomain}},
      {"UP.b/c.D", {fault, at + "\"UP.b\": validating label \"UP\": " + label, at + "\"c.D\": validating label \"D\": " + subdomain}},
      {"a/c", {fault, at + "\"a\": should be a domain with at least two segments separated by dots"}},
      {"a.b", {fault, at + "\"a.b\": must be a fully qualified domain and path of the form 'example.com/signer-name'"}},
  };
  for (const auto& [signer, faults] : cases) {
    EXPECT_EQ(Create("{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: c}, spec: {request: eA==, usages: [client auth], signerName: '" +
                     signer + "'}}").faults, faults) << signer;
  }
}

}  // namespace
}  // namespace homeostat::kinds
