#include "homeostat/base/hash.h"

#include <openssl/evp.h>

namespace homeostat {

std::string Sha256(std::string_view bytes) {
  // Fetched once: EVP_sha256() would look for its provider, under locks, at every call.
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, sha256 != nullptr ? sha256 : EVP_sha256(), nullptr);
  return std::string(reinterpret_cast<const char*>(digest), size);
}

std::string Sha256Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string hex;
  for (unsigned char c : Sha256(bytes)) {
    hex.push_back(kDigits[c >> 4]);
    hex.push_back(kDigits[c & 15]);
  }
  return hex;
}

}  // namespace homeostat
