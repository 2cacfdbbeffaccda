// Judgement of certificates by Go's rules, so that what kube-apiserver takes is taken here: names only in the subject
// alternative names, the usage in the leaf's extended key usage, any certificate of the CA file as an anchor.
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <time.h>

#include <algorithm>

#include "base/internal/tls.h"
#include "homeostat/base/hash.h"
#include "homeostat/base/text.h"

namespace homeostat::base_internal {
namespace {

std::string TextOf(const ASN1_STRING* text) {
  unsigned char* utf8 = nullptr;
  int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return {};
  std::string out(reinterpret_cast<char*>(utf8), static_cast<size_t>(size));
  OPENSSL_free(utf8);
  return out;
}

void ReadSubject(X509* certificate, PeerCertificate& out) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, i);
    int kind = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (kind == NID_commonName) out.common_name = TextOf(X509_NAME_ENTRY_get_data(entry));
    if (kind == NID_organizationName) out.organizations.push_back(TextOf(X509_NAME_ENTRY_get_data(entry)));
  }
}

// Years that do not fit into a WallTime (9999 means "for ever") become its last one.
WallTime TimeOf(const ASN1_TIME* time) {
  constexpr int64_t kLast = 9'223'372'036;
  tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return WallTime{};
  return WallTime(std::chrono::seconds(std::clamp<int64_t>(timegm(&parts), -kLast, kLast)));
}

std::string DerOf(X509* certificate) {
  unsigned char* der = nullptr;
  int size = i2d_X509(certificate, &der);
  if (size < 0) return {};
  std::string out(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

std::string DateText(const ASN1_TIME* time) {
  tm parts{};
  char text[32] = "?";
  if (ASN1_TIME_to_tm(time, &parts) == 1) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string DateText(time_t time) {
  tm parts{};
  char text[32] = "?";
  if (gmtime_r(&time, &parts) != nullptr) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// The texts that clients of Go servers know.
std::string FaultText(int error, X509* at, time_t now, const std::string& name) {
  switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "x509: certificate signed by unknown authority";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "x509: certificate has expired or is not yet valid: current time " + DateText(now) + " is after " +
             DateText(X509_get0_notAfter(at));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "x509: certificate has expired or is not yet valid: current time " + DateText(now) + " is before " +
             DateText(X509_get0_notBefore(at));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "x509: certificate is not valid for " + name;
    default:
      return std::string("x509: ") + X509_verify_cert_error_string(error);
  }
}

// A certificate without the extension may be used for anything.
bool MayBeUsedFor(X509* certificate, uint32_t usage) {
  uint32_t allowed = X509_get_extended_key_usage(certificate);
  return allowed == UINT32_MAX || (allowed & (usage | XKU_ANYEKU)) != 0;
}

void SetName(X509_VERIFY_PARAM* rules, const std::string& name) {
  if (name.empty()) return;
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) != 1) X509_VERIFY_PARAM_set1_host(rules, name.data(), name.size());
}

}  // namespace

std::string TakeOpenSslError() {
  unsigned long code = ERR_peek_last_error();
  std::string text = "unknown error";
  if (ERR_SYSTEM_ERROR(code)) {
    text = strerror(ERR_GET_REASON(code));
  } else if (const char* reason = ERR_reason_error_string(code)) {
    text = reason;
  }
  ERR_clear_error();
  return text;
}

PeerCertificate CertificatePolicy::Judge(X509* certificate, STACK_OF(X509) * intermediates) const {
  PeerCertificate out;
  ReadSubject(certificate, out);
  out.der = DerOf(certificate);
  out.sha256 = LowerCase(Sha256Hex(out.der));
  out.not_before = TimeOf(X509_get0_notBefore(certificate));
  out.not_after = TimeOf(X509_get0_notAfter(certificate));

  OpenSslPointer<X509_STORE_CTX> check(X509_STORE_CTX_new());
  if (!check || X509_STORE_CTX_init(check.get(), authorities.get(), certificate, intermediates) != 1) {
    out.verification_error = TakeOpenSslError();
    return out;
  }
  time_t now = clock != nullptr ? std::chrono::duration_cast<std::chrono::seconds>(clock->WallNow().time_since_epoch()).count()
                                : ::time(nullptr);
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(check.get());
  X509_VERIFY_PARAM_set_time(rules, now);
  X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  SetName(rules, name);
  if (X509_verify_cert(check.get()) != 1) {
    X509* at = X509_STORE_CTX_get_current_cert(check.get());
    out.verification_error = FaultText(X509_STORE_CTX_get_error(check.get()), at != nullptr ? at : certificate, now, name);
    ERR_clear_error();
    return out;
  }
  if (!MayBeUsedFor(certificate, usage)) {
    out.verification_error = "x509: certificate specifies an incompatible key usage";
    return out;
  }
  STACK_OF(X509)* chain = X509_STORE_CTX_get0_chain(check.get());
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    out.not_before = std::max(out.not_before, TimeOf(X509_get0_notBefore(sk_X509_value(chain, i))));
    out.not_after = std::min(out.not_after, TimeOf(X509_get0_notAfter(sk_X509_value(chain, i))));
  }
  out.verified = true;
  return out;
}

}  // namespace homeostat::base_internal
