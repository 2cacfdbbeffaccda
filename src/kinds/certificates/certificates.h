// Kinds of the group certificates.k8s.io.
#pragma once

#include <string>
#include <string_view>

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kCertificateSigningRequest;

// What keeps the bytes from being a signing request (PEM) that its own key has signed, or "".
std::string SigningRequestFault(std::string_view pem);
// What keeps the bytes from being certificates (PEM) and nothing else, or "". None at all is fine.
std::string CertificatesFault(std::string_view pem);

}  // namespace homeostat::kinds
