#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/openssl.h"
#include "homeostat/base/text.h"
#include "kinds/certificates/certificates.h"
#include "kinds/certificates/request_der.h"

namespace homeostat::kinds {
namespace {

using BioPtr = OpenSslPointer<BIO>;
using RequestPtr = OpenSslPointer<X509_REQ>;
using CertificatePtr = OpenSslPointer<X509>;
using KeyPtr = OpenSslPointer<EVP_PKEY>;

// One block, with its label and headers.
struct Block {
  std::string type, headers, der;
};

// False if there is no block (any more).
bool ReadBlock(BIO* input, Block& block) {
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;  // NOLINT: OpenSSL's type
  bool found = PEM_read_bio(input, &name, &header, &data, &size) == 1;
  ERR_clear_error();
  if (!found) return false;
  block.type = name;
  block.headers = header;
  block.der.assign(reinterpret_cast<char*>(data), static_cast<size_t>(size));
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_free(data);
  return true;
}

BioPtr OpenText(std::string_view text) { return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::expected<RequestPtr, std::string> ReadRequest(std::string_view pem) {
  BioPtr input = OpenText(pem);
  Block block;
  if (!ReadBlock(input.get(), block) || block.type != "CERTIFICATE REQUEST") return std::unexpected("PEM block type must be CERTIFICATE REQUEST");
  if (std::string fault = RequestDerFault(block.der); !fault.empty()) return std::unexpected(fault);
  auto* bytes = reinterpret_cast<const unsigned char*>(block.der.data());
  RequestPtr request(d2i_X509_REQ(nullptr, &bytes, static_cast<long>(block.der.size())));  // NOLINT: OpenSSL's type
  ERR_clear_error();
  if (request == nullptr) return std::unexpected("asn1: structure error: malformed certificate request");
  return request;
}

// Every value of that sort in the name, as UTF-8.
std::vector<std::string> EntriesOf(X509_NAME* name, int nid) {
  std::vector<std::string> entries;
  for (int at = X509_NAME_get_index_by_NID(name, nid, -1); at >= 0; at = X509_NAME_get_index_by_NID(name, nid, at)) {
    unsigned char* text = nullptr;
    int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (size >= 0) entries.emplace_back(reinterpret_cast<char*>(text), static_cast<size_t>(size));
    OPENSSL_free(text);
  }
  ERR_clear_error();
  return entries;
}

}  // namespace

std::expected<RequestSubject, std::string> SigningRequestSubject(std::string_view pem) {
  auto request = ReadRequest(pem);
  if (!request) return std::unexpected(request.error());
  X509_NAME* name = X509_REQ_get_subject_name(request->get());
  RequestSubject subject;
  // Of several common names the last counts, as in Go.
  if (auto names = EntriesOf(name, NID_commonName); !names.empty()) subject.common_name = names.back();
  subject.organizations = EntriesOf(name, NID_organizationName);
  return subject;
}

std::string SigningRequestFault(std::string_view pem) {
  auto request = ReadRequest(pem);
  if (!request) return request.error();
  KeyPtr key(X509_REQ_get_pubkey(request->get()));
  bool verified = key != nullptr && X509_REQ_verify(request->get(), key.get()) == 1;
  ERR_clear_error();
  if (verified) return "";
  switch (key == nullptr ? EVP_PKEY_NONE : EVP_PKEY_base_id(key.get())) {
    case EVP_PKEY_RSA: return "crypto/rsa: verification error";
    case EVP_PKEY_EC: return "x509: ECDSA verification failure";
    case EVP_PKEY_ED25519: return "x509: Ed25519 verification failure";
    default: return "x509: cannot verify signature: algorithm unimplemented";
  }
}

std::string CertificatesFault(std::string_view pem) {
  if (pem.empty()) return "";
  BioPtr input = OpenText(pem);
  Block block;
  size_t blocks = 0;
  while (ReadBlock(input.get(), block)) {
    if (block.type != "CERTIFICATE") return "only CERTIFICATE PEM blocks are allowed, found " + GoQuote(block.type);
    if (!block.headers.empty()) return "no PEM block headers are permitted";
    ++blocks;
    auto* bytes = reinterpret_cast<const unsigned char*>(block.der.data());
    CertificatePtr certificate(d2i_X509(nullptr, &bytes, static_cast<long>(block.der.size())));  // NOLINT: OpenSSL's type
    ERR_clear_error();
    if (certificate == nullptr) return "x509: malformed certificate";
  }
  return blocks == 0 ? "must contain at least one CERTIFICATE PEM block" : "";
}

}  // namespace homeostat::kinds
