#include "auth/pki.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include "auth/internal/openssl.h"
#include "homeostat/base/files.h"
#include "homeostat/base/text.h"

namespace homeostat::auth {
namespace {

using internal::BioPtr;
using internal::CertificatePtr;
using internal::AddAuthorityKeyId;
using internal::AddExtension;
using internal::KeyPtr;

// Certificates begin a little before they are made, for clocks that are behind.
constexpr Duration kBackdate = std::chrono::minutes(5);
constexpr Duration kRenewBefore = std::chrono::hours(24 * 30);
constexpr Duration kAuthorityLifetime = std::chrono::hours(24 * 365 * 10);

std::unexpected<Status> OpenSslFault(std::string_view what) {
  char text[256] = "unknown fault";
  if (unsigned long code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return Fail(InternalError(std::string(what) + ": " + text));
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

Result<std::string> KeyText(EVP_PKEY* key) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) return OpenSslFault("writing a private key");
  return TextOf(bio.get());
}

Result<std::string> CertificateText(X509* certificate) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(bio.get(), certificate) != 1) return OpenSslFault("writing a certificate");
  return TextOf(bio.get());
}

Result<KeyPtr> ReadKey(std::string_view pem) {
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  if (!key) return OpenSslFault("reading a private key");
  return key;
}

Result<CertificatePtr> ReadCertificate(std::string_view pem) {
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  CertificatePtr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!certificate) return OpenSslFault("reading a certificate");
  return certificate;
}

time_t SecondsOf(WallTime time) { return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count(); }

void AddName(X509_NAME* name, const char* field, std::string_view text) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                             static_cast<int>(text.size()), -1, 0);
}

// A certificate without extensions or signature.
CertificatePtr Blank(Runtime& runtime, EVP_PKEY* key, std::string_view common_name,
                     const std::vector<std::string>& organizations, Duration lifetime) {
  CertificatePtr certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), runtime.Random() >> 1);
  X509_time_adj_ex(X509_getm_notBefore(certificate.get()), 0, 0, nullptr);
  time_t begin = SecondsOf(runtime.WallNow() - kBackdate), end = SecondsOf(runtime.WallNow() + lifetime);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), begin);
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), end);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (const std::string& organization : organizations) AddName(subject, "O", organization);
  AddName(subject, "CN", common_name);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

std::string AlternativeNames(const CertificateRequest& request) {
  std::string names;
  for (const std::string& name : request.dns_names) names += (names.empty() ? "DNS:" : ",DNS:") + name;
  for (const std::string& address : request.ip_addresses) names += (names.empty() ? "IP:" : ",IP:") + address;
  return names;
}

Result<void> Write(const std::string& directory, std::string_view name, const KeyPair& pair) {
  if (directory.empty()) return {};
  std::string base = directory + "/" + std::string(name);
  TRY(WriteFileAtomically(base + ".crt", pair.certificate, 0600));
  return WriteFileAtomically(base + ".key", pair.private_key, 0600);
}

std::optional<KeyPair> Read(const std::string& directory, std::string_view name) {
  if (directory.empty()) return std::nullopt;
  std::string base = directory + "/" + std::string(name);
  auto certificate = ReadFile(base + ".crt"), key = ReadFile(base + ".key");
  if (!certificate || !key) return std::nullopt;
  return KeyPair{*certificate, *key};
}

// True when the certificate names every host that is asked for.
bool Names(std::string_view pem, const CertificateRequest& request) {
  auto certificate = ReadCertificate(pem);
  if (!certificate) return false;
  for (const std::string& name : request.dns_names) {
    if (X509_check_host(certificate->get(), name.c_str(), name.size(), 0, nullptr) != 1) return false;
  }
  for (const std::string& address : request.ip_addresses) {
    if (X509_check_ip_asc(certificate->get(), address.c_str(), 0) != 1) return false;
  }
  return true;
}

bool SignedBy(std::string_view pem, const KeyPair& authority) {
  auto certificate = ReadCertificate(pem), issuer = ReadCertificate(authority.certificate);
  if (!certificate || !issuer) return false;
  return X509_verify(certificate->get(), X509_get0_pubkey(issuer->get())) == 1;
}

// The stored pair if it will do, else a new one.
Result<KeyPair> LoadOrIssue(Runtime& runtime, const std::string& directory, std::string_view name, const KeyPair& authority,
                            const CertificateRequest& request) {
  if (auto pair = Read(directory, name)) {
    auto valid = IsValidFor(runtime, pair->certificate, kRenewBefore);
    if (valid && *valid && SignedBy(pair->certificate, authority) && Names(pair->certificate, request)) return *pair;
  }
  TRY_ASSIGN(KeyPair pair, IssueCertificate(runtime, authority, request));
  TRY(Write(directory, name, pair));
  return pair;
}

}  // namespace

Result<KeyPair> MakeAuthority(Runtime& runtime, std::string_view common_name) {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return OpenSslFault("making a key");
  CertificatePtr certificate = Blank(runtime, key.get(), common_name, {}, kAuthorityLifetime);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  bool extended = AddExtension(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE") &&
                  AddExtension(certificate.get(), certificate.get(), NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign") &&
                  AddExtension(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash");
  if (!extended || X509_sign(certificate.get(), key.get(), EVP_sha256()) == 0) return OpenSslFault("making the authority");
  TRY_ASSIGN(std::string certificate_text, CertificateText(certificate.get()));
  TRY_ASSIGN(std::string key_text, KeyText(key.get()));
  return KeyPair{std::move(certificate_text), std::move(key_text)};
}

Result<KeyPair> IssueCertificate(Runtime& runtime, const KeyPair& authority, const CertificateRequest& request) {
  TRY_ASSIGN(CertificatePtr issuer, ReadCertificate(authority.certificate));
  TRY_ASSIGN(KeyPtr issuer_key, ReadKey(authority.private_key));
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return OpenSslFault("making a key");
  CertificatePtr certificate = Blank(runtime, key.get(), request.common_name, request.organizations, request.lifetime);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
  std::string names = AlternativeNames(request);
  bool extended = AddExtension(certificate.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
                  AddExtension(certificate.get(), issuer.get(), NID_key_usage, "critical,digitalSignature,keyEncipherment") &&
                  AddExtension(certificate.get(), issuer.get(), NID_ext_key_usage, request.server ? "serverAuth" : "clientAuth") &&
                  AddAuthorityKeyId(certificate.get(), issuer.get()) &&
                  (names.empty() || AddExtension(certificate.get(), issuer.get(), NID_subject_alt_name, names));
  if (!extended || X509_sign(certificate.get(), issuer_key.get(), EVP_sha256()) == 0) return OpenSslFault("issuing a certificate");
  TRY_ASSIGN(std::string certificate_text, CertificateText(certificate.get()));
  TRY_ASSIGN(std::string key_text, KeyText(key.get()));
  return KeyPair{std::move(certificate_text), std::move(key_text)};
}

Result<std::string> MakeRsaKey() {
  KeyPtr key(EVP_RSA_gen(2048));
  if (!key) return OpenSslFault("making a key");
  return KeyText(key.get());
}

Result<bool> IsValidFor(Runtime& runtime, std::string_view pem, Duration time) {
  TRY_ASSIGN(CertificatePtr certificate, ReadCertificate(pem));
  time_t until = SecondsOf(runtime.WallNow() + time);
  return X509_cmp_time(X509_get0_notAfter(certificate.get()), &until) > 0;
}

namespace {
Result<KeyPair> LoadOrMakeAuthority(Runtime& runtime, const std::string& directory, std::string_view name, std::string_view common_name) {
  if (auto authority = Read(directory, name)) return *authority;
  TRY_ASSIGN(KeyPair made, MakeAuthority(runtime, common_name));
  TRY(Write(directory, name, made));
  return made;
}
}  // namespace

Result<Pki> LoadPki(Runtime& runtime, const PkiOptions& options) {
  if (!options.directory.empty()) TRY(MakeDirectories(options.directory, 0700));
  Pki pki;
  TRY_ASSIGN(pki.authority, LoadOrMakeAuthority(runtime, options.directory, "ca", "homeostat-ca"));
  CertificateRequest server;
  server.common_name = "kube-apiserver";
  server.dns_names = options.server_dns_names;
  server.ip_addresses = options.server_ip_addresses;
  server.server = true;
  TRY_ASSIGN(pki.server, LoadOrIssue(runtime, options.directory, "apiserver", pki.authority, server));
  CertificateRequest admin;
  admin.common_name = "admin";
  admin.organizations = {"system:masters"};
  TRY_ASSIGN(pki.admin, LoadOrIssue(runtime, options.directory, "admin", pki.authority, admin));
  TRY_ASSIGN(pki.proxy_authority, LoadOrMakeAuthority(runtime, options.directory, "front-proxy-ca", "front-proxy-ca"));
  CertificateRequest proxy;
  proxy.common_name = kProxyClientName;
  TRY_ASSIGN(pki.proxy_client, LoadOrIssue(runtime, options.directory, "front-proxy-client", pki.proxy_authority, proxy));
  return pki;
}

std::string MakeKubeconfig(std::string_view server_url, std::string_view authority, const KeyPair& user,
                           std::string_view cluster_name, std::string_view user_name) {
  std::string cluster(cluster_name), name(user_name);
  return "apiVersion: v1\nkind: Config\nclusters:\n- name: " + cluster + "\n  cluster:\n    server: " + std::string(server_url) +
         "\n    certificate-authority-data: " + Base64Encode(authority) + "\nusers:\n- name: " + name +
         "\n  user:\n    client-certificate-data: " + Base64Encode(user.certificate) +
         "\n    client-key-data: " + Base64Encode(user.private_key) + "\ncontexts:\n- name: " + cluster +
         "\n  context:\n    cluster: " + cluster + "\n    user: " + name + "\ncurrent-context: " + cluster + "\npreferences: {}\n";
}

}  // namespace homeostat::auth
