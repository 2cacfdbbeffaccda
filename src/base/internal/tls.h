// The parts of TLS that both sides share: loaded options, judgement of certificates, and the stream over OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/openssl.h"
#include "homeostat/base/net.h"

namespace homeostat::base_internal {

// What OpenSSL complained about last; clears its queue.
std::string TakeOpenSslError();

// Who is believed, and for what.
struct CertificatePolicy {
  OpenSslPointer<X509_STORE> authorities;
  uint32_t usage = 0;        // XKU_SSL_CLIENT or XKU_SSL_SERVER
  std::string name;          // the host name or address that the certificate must be for; empty: any
  Runtime* clock = nullptr;  // null: the system's

  // Reads the names out of the certificate and judges it. `intermediates` may be null.
  PeerCertificate Judge(X509* certificate, STACK_OF(X509) * intermediates) const;
};

// Options as OpenSSL wants them; immutable, shared by connections.
struct TlsContext {
  OpenSslPointer<SSL_CTX> context;
  CertificatePolicy policy;
  bool server = false;
  bool require_verified = false;  // a peer that is not verified fails the handshake
  std::string protocols;          // ALPN's wire form
};

Result<std::shared_ptr<const TlsContext>> MakeServerContext(const TlsServerOptions& options);
Result<std::shared_ptr<const TlsContext>> MakeClientContext(const TlsClientOptions& options);

// Shakes hands and gives the stream of what is said inside.
Task<Result<std::unique_ptr<Stream>>> TlsHandshake(std::shared_ptr<const TlsContext> context, std::unique_ptr<Stream> plain);

// What a connection's handshake found out; OpenSSL's callbacks reach it as the application data of the SSL.
struct TlsPeer {
  const TlsContext* context = nullptr;
  std::unique_ptr<PeerCertificate> certificate;
};

}  // namespace homeostat::base_internal
