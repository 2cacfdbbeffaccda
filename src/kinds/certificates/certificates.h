// Kinds of the group certificates.k8s.io.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "kinds/behaviour.h"

namespace homeostat::kinds {

extern const Behaviour kCertificateSigningRequest;

// What keeps the bytes from being a signing request (PEM) that its own key has signed, or "".
std::string SigningRequestFault(std::string_view pem);
// Who a signing request (PEM) is for.
struct RequestSubject {
  std::string common_name;
  std::vector<std::string> organizations;
};
// An error says why it is no request; whether it is signed by its key is not looked at.
std::expected<RequestSubject, std::string> SigningRequestSubject(std::string_view pem);

// What keeps the bytes from being certificates (PEM) and nothing else, or "". None at all is fine.
std::string CertificatesFault(std::string_view pem);

}  // namespace homeostat::kinds
