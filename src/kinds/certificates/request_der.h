// The DER of a certificate request, looked at as Go's encoding/asn1 does, for its messages: OpenSSL's are others.
#pragma once

#include <string>
#include <string_view>

namespace homeostat::kinds {

// Why Go can't take the octets apart, "" if it can. What the parts mean (the name, the key, the signature) is not looked at.
std::string RequestDerFault(std::string_view der);

}  // namespace homeostat::kinds
