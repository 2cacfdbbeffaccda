// Signing requests (PKCS #10, PEM): what is asked for, and the certificate for it. Source of the rules: upstream's certificate
// authority of the signing controllers (usages, backdating, lifetimes).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/pki.h"

namespace homeostat::auth {

struct RequestSubject {
  std::string common_name;
  std::vector<std::string> organizations;
  size_t dns_names = 0, emails = 0, addresses = 0, uris = 0;   // how many alternative names of each sort
};
// BadRequest if it is no signing request.
Result<RequestSubject> ReadRequest(std::string_view request);

// A certificate (PEM) for the request's key, subject and alternative names, signed by the authority. usages: as the API names
// them ("digital signature", "client auth"). It never outlives the authority. BadRequest for an unknown usage.
Result<std::string> SignRequest(Runtime& runtime, const KeyPair& authority, std::string_view request, const std::vector<std::string>& usages,
                                Duration lifetime);

// When the first certificate of the text ends.
Result<WallTime> EndOfCertificate(std::string_view certificate);

}  // namespace homeostat::auth
