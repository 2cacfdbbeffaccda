#include "kinds/certificates/request_der.h"

#include <gtest/gtest.h>

namespace homeostat::kinds {
namespace {

// Messages as Go's encoding/asn1 gives them.
TEST(RequestDer, IsRefusedInGosWords) {
  using namespace std::string_literals;
  const std::string params = " {optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} ";
  const std::pair<std::string, std::string> cases[] = {
      {"", "asn1: syntax error: sequence truncated"},
      {"\x30", "asn1: syntax error: truncated tag or length"},
      {"\x30\x82\x01", "asn1: syntax error: truncated tag or length"},
      {"\x30\x80", "asn1: syntax error: indefinite length found (not DER)"},
      {"\x30\x05", "asn1: syntax error: data truncated"},
      {"\x30\x81\x05", "asn1: structure error: non-minimal length"},
      {"\x30\x00"s, "asn1: syntax error: sequence truncated"},
      {"\x00\x00\x00"s, "asn1: structure error: tags don't match (16 vs {class:0 tag:0 length:0 isCompound:false})" + params + "certificateRequest @2"},
      {"\x30\x03\x02\x01\x00"s, "asn1: structure error: tags don't match (16 vs {class:0 tag:2 length:1 isCompound:false})" + params + "tbsCertificateRequest @2"},
      {"\x30\x04\x30\x02\x05\x00"s, "asn1: structure error: tags don't match (2 vs {class:0 tag:5 length:0 isCompound:false})" + params + "int @2"},
  };
  for (const auto& [der, fault] : cases) EXPECT_EQ(RequestDerFault(der), fault);
}

// The smallest that is taken apart to its end: version, name, key, attributes; algorithm, signature.
TEST(RequestDer, IsTakenApart) {
  using namespace std::string_literals;
  const std::string algorithm = "\x30\x03\x06\x01\x2a", bits = "\x03\x01\x00"s;
  const std::string key = "\x30\x08" + algorithm + bits, body = "\x02\x01\x00\x30\x00"s + key + "\xa0\x00"s;
  const std::string request = "\x30" + std::string(1, static_cast<char>(body.size())) + body + algorithm + bits;
  const std::string der = "\x30" + std::string(1, static_cast<char>(request.size())) + request;
  EXPECT_EQ(RequestDerFault(der), "");
  EXPECT_EQ(RequestDerFault(der + "x"), "asn1: syntax error: trailing data");
  for (size_t size = 0; size < der.size(); ++size) EXPECT_NE(RequestDerFault(der.substr(0, size)), "") << size;
}

}  // namespace
}  // namespace homeostat::kinds
