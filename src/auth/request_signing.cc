#include "auth/request_signing.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <memory>
#include <span>

#include "auth/internal/openssl.h"
#include "homeostat/base/text.h"

namespace homeostat::auth {
namespace {

using internal::BioPtr;
using internal::CertificatePtr;
using internal::AddAuthorityKeyId;
using internal::AddExtension;
using internal::KeyPtr;
using RequestPtr = OpenSslPointer<X509_REQ>;
using NamesPtr = OpenSslPointer<GENERAL_NAMES>;

constexpr Duration kBackdate = std::chrono::minutes(5);
// Shorter lifetimes count from now on, so that the five minutes don't cost them much.
constexpr Duration kShort = std::chrono::hours(8);

struct Usage {
  std::string_view name, openssl;
};
constexpr Usage kKeyUsages[] = {
    {"signing", "digitalSignature"}, {"digital signature", "digitalSignature"}, {"content commitment", "nonRepudiation"},
    {"key encipherment", "keyEncipherment"}, {"key agreement", "keyAgreement"}, {"data encipherment", "dataEncipherment"},
    {"cert sign", "keyCertSign"}, {"crl sign", "cRLSign"}, {"encipher only", "encipherOnly"}, {"decipher only", "decipherOnly"},
};
constexpr Usage kExtendedUsages[] = {
    {"any", "anyExtendedKeyUsage"}, {"server auth", "serverAuth"}, {"client auth", "clientAuth"}, {"code signing", "codeSigning"},
    {"email protection", "emailProtection"}, {"s/mime", "emailProtection"}, {"ipsec end system", "ipsecEndSystem"}, {"ipsec tunnel", "ipsecTunnel"},
    {"ipsec user", "ipsecUser"}, {"timestamping", "timeStamping"}, {"ocsp signing", "OCSPSigning"}, {"microsoft sgc", "msSGC"}, {"netscape sgc", "nsSGC"},
};

std::unexpected<Status> Fault(std::string_view what) {
  char text[256] = "unknown fault";
  if (unsigned long code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return Fail(BadRequestError(std::string(what) + ": " + text));
}

BioPtr Source(std::string_view pem) { return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); }

Result<RequestPtr> Parse(std::string_view pem) {
  if (pem.size() > 1'000'000) return Fail(BadRequestError("the request is too large"));
  BioPtr bio = Source(pem);
  RequestPtr request(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  if (!request) return Fault("PEM block type must be CERTIFICATE REQUEST");
  return request;
}

NamesPtr AlternativeNames(X509_REQ* request) {
  STACK_OF(X509_EXTENSION)* extensions = X509_REQ_get_extensions(request);
  NamesPtr names(static_cast<GENERAL_NAMES*>(X509V3_get_d2i(extensions, NID_subject_alt_name, nullptr, nullptr)));
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  return names;
}

std::string TextOf(const X509_NAME_ENTRY* entry) {
  unsigned char* text = nullptr;
  int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
  std::string copy(reinterpret_cast<char*>(text), size > 0 ? static_cast<size_t>(size) : 0);
  OPENSSL_free(text);
  return copy;
}

// The two extensions' texts, each usage once, in the order of the tables.
Result<void> ReadUsages(const std::vector<std::string>& usages, std::string& key, std::string& extended) {
  std::string unknown;
  for (const std::string& usage : usages) {
    auto is = [&usage](const Usage& one) { return one.name == usage; };
    if (std::ranges::none_of(kKeyUsages, is) && std::ranges::none_of(kExtendedUsages, is)) unknown += (unknown.empty() ? "" : " ") + GoQuote(usage);
  }
  if (!unknown.empty()) return Fail(BadRequestError("unrecognized usage values: [" + unknown + "]"));
  auto collect = [&usages](std::span<const Usage> table, std::string& text) {
    std::vector<std::string_view> taken;
    for (const Usage& one : table) {
      bool asked = std::ranges::find(usages, one.name) != usages.end() && std::ranges::find(taken, one.openssl) == taken.end();
      if (!asked) continue;
      taken.push_back(one.openssl);
      text += (text.empty() ? "" : ",") + std::string(one.openssl);
    }
  };
  collect(kKeyUsages, key);
  collect(kExtendedUsages, extended);
  return {};
}

// Times that don't fit into a WallTime (an authority may be good for a thousand years) become its last one.
WallTime TimeOf(const ASN1_TIME* time) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max() / 1'000'000'000;
  tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return WallTime{};
  return WallTime(std::chrono::seconds(std::clamp<int64_t>(timegm(&parts), -kLast, kLast)));
}

time_t SecondsOf(WallTime time) { return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count(); }

Result<CertificatePtr> ReadCertificate(std::string_view pem) {
  BioPtr bio = Source(pem);
  CertificatePtr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!certificate) return Fault("reading a certificate");
  return certificate;
}

}  // namespace

Result<RequestSubject> ReadRequest(std::string_view pem) {
  TRY_ASSIGN(RequestPtr request, Parse(pem));
  RequestSubject subject;
  X509_NAME* name = X509_REQ_get_subject_name(request.get());
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    int id = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (id == NID_commonName) subject.common_name = TextOf(entry);
    if (id == NID_organizationName) subject.organizations.push_back(TextOf(entry));
  }
  NamesPtr names = AlternativeNames(request.get());
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    switch (sk_GENERAL_NAME_value(names.get(), i)->type) {
      case GEN_DNS: ++subject.dns_names; break;
      case GEN_EMAIL: ++subject.emails; break;
      case GEN_IPADD: ++subject.addresses; break;
      case GEN_URI: ++subject.uris; break;
      default: break;
    }
  }
  return subject;
}

Result<std::string> SignRequest(Runtime& runtime, const KeyPair& authority, std::string_view pem, const std::vector<std::string>& usages,
                                Duration lifetime) {
  TRY_ASSIGN(RequestPtr request, Parse(pem));
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr || X509_REQ_verify(request.get(), key) != 1) return Fault("unable to verify certificate request signature");
  TRY_ASSIGN(CertificatePtr issuer, ReadCertificate(authority.certificate));
  BioPtr key_source = Source(authority.private_key);
  KeyPtr issuer_key(PEM_read_bio_PrivateKey(key_source.get(), nullptr, nullptr, nullptr));
  if (!issuer_key) return Fault("reading the authority's key");
  std::string key_usages, extended_usages;
  TRY(ReadUsages(usages, key_usages, extended_usages));
  WallTime now = runtime.WallNow(), last = TimeOf(X509_get0_notAfter(issuer.get()));
  if (now >= last) return Fail(BadRequestError("refusing to sign a certificate that expired in the past"));
  WallTime end = std::min(last, now + (lifetime < kShort ? lifetime : lifetime - kBackdate));

  CertificatePtr certificate(X509_new());
  X509* made = certificate.get();
  X509_set_version(made, 2);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(made), runtime.Random() >> 1);
  ASN1_TIME_set(X509_getm_notBefore(made), SecondsOf(now - kBackdate));
  ASN1_TIME_set(X509_getm_notAfter(made), SecondsOf(end));
  X509_set_subject_name(made, X509_REQ_get_subject_name(request.get()));
  X509_set_issuer_name(made, X509_get_subject_name(issuer.get()));
  X509_set_pubkey(made, key);
  bool good = key_usages.empty() || AddExtension(made, issuer.get(), NID_key_usage, "critical," + key_usages);
  good = good && (extended_usages.empty() || AddExtension(made, issuer.get(), NID_ext_key_usage, extended_usages));
  good = good && AddExtension(made, issuer.get(), NID_basic_constraints, "critical,CA:FALSE");
  good = good && AddAuthorityKeyId(made, issuer.get());
  NamesPtr names = AlternativeNames(request.get());
  if (names) good = good && X509_add1_ext_i2d(made, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
  if (!good || X509_sign(made, issuer_key.get(), EVP_sha256()) == 0) return Fault("signing a certificate");
  BioPtr out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(out.get(), made) != 1) return Fault("writing a certificate");
  char* data = nullptr;
  long size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

Result<WallTime> EndOfCertificate(std::string_view pem) {
  TRY_ASSIGN(CertificatePtr certificate, ReadCertificate(pem));
  return TimeOf(X509_get0_notAfter(certificate.get()));
}

}  // namespace homeostat::auth
