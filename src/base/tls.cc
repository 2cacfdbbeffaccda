// TLS options as OpenSSL contexts. Sessions are not resumed: a resumed one would carry a client's identity past the
// check of its certificate, and a handshake costs less than the care that would need.
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstring>

#include "base/internal/tls.h"

namespace homeostat {
namespace base_internal {
namespace {

OpenSslPointer<BIO> TextSource(const std::string& text) {
  return OpenSslPointer<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Never asks on the terminal: a key with a password is an error.
int NoPassword(char*, int, int, void*) { return 0; }

OpenSslPointer<X509> NextCertificate(BIO* source) {
  return OpenSslPointer<X509>(PEM_read_bio_X509(source, nullptr, &NoPassword, nullptr));
}

// True if the last failure only says that the text is at its end.
bool AtEndOfPem() {
  unsigned long code = ERR_peek_last_error();
  bool end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
  if (end) ERR_clear_error();
  return end;
}

Status LoadFailure(std::string_view what) { return SystemError("tls: " + std::string(what) + ": " + TakeOpenSslError()); }

Result<void> LoadIdentity(SSL_CTX* context, const std::string& chain, const std::string& key_text) {
  auto source = TextSource(chain);
  auto leaf = NextCertificate(source.get());
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) return Fail(LoadFailure("failed to load the certificate"));
  while (auto next = NextCertificate(source.get())) {
    if (SSL_CTX_add1_chain_cert(context, next.get()) != 1) return Fail(LoadFailure("failed to load the certificate chain"));
  }
  if (!AtEndOfPem()) return Fail(LoadFailure("failed to load the certificate chain"));
  auto key_source = TextSource(key_text);
  OpenSslPointer<EVP_PKEY> key(PEM_read_bio_PrivateKey(key_source.get(), nullptr, &NoPassword, nullptr));
  if (!key) return Fail(LoadFailure("failed to load the private key"));
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) return Fail(LoadFailure("private key does not match the certificate"));
  return {};
}

// `names`, if given, collects the subjects for the server's certificate request.
Result<void> LoadAuthorities(X509_STORE* store, const std::string& text, STACK_OF(X509_NAME) * names) {
  auto source = TextSource(text);
  int count = 0;
  while (auto next = NextCertificate(source.get())) {
    if (X509_STORE_add_cert(store, next.get()) != 1) return Fail(LoadFailure("failed to load the CA certificates"));
    if (names != nullptr) sk_X509_NAME_push(names, X509_NAME_dup(X509_get_subject_name(next.get())));
    ++count;
  }
  if (!AtEndOfPem()) return Fail(LoadFailure("failed to load the CA certificates"));
  if (count == 0) return Fail(SystemError("tls: the CA file holds no certificate"));
  return {};
}

Result<std::string> ProtocolsOnWire(const std::vector<std::string>& protocols) {
  std::string out;
  for (const std::string& protocol : protocols) {
    if (protocol.empty() || protocol.size() > 255) return Fail(SystemError("tls: invalid protocol name"));
    out += static_cast<char>(protocol.size());
    out += protocol;
  }
  return out;
}

// Judges what the peer presented, in place of OpenSSL's own rules.
int VerifyPeer(X509_STORE_CTX* presented, void*) {
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(presented, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* peer = static_cast<TlsPeer*>(SSL_get_app_data(ssl));
  X509* leaf = X509_STORE_CTX_get0_cert(presented);
  peer->certificate =
      std::make_unique<PeerCertificate>(peer->context->policy.Judge(leaf, X509_STORE_CTX_get0_untrusted(presented)));
  bool accepted = peer->certificate->verified || !peer->context->require_verified;
  X509_STORE_CTX_set_error(presented, accepted ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION);
  return accepted ? 1 : 0;
}

// Our order decides. A client that offers protocols, none of which is ours, is told so (RFC 7301, section 3.2).
int SelectProtocol(SSL* ssl, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                   unsigned int offered_size, void*) {
  const std::string& ours = static_cast<TlsPeer*>(SSL_get_app_data(ssl))->context->protocols;
  unsigned char* chosen = nullptr;
  int result = SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(ours.data()),
                                     static_cast<unsigned>(ours.size()), offered, offered_size);
  *out = chosen;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Result<OpenSslPointer<SSL_CTX>> NewContext(bool server) {
  OpenSslPointer<SSL_CTX> context(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()));
  if (!context) return Fail(LoadFailure("failed to begin"));
  SSL_CTX* ctx = context.get();
  SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
  SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(ctx, 0);
  // In the order of Go's servers, where the processor has instructions for AES.
  if (SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256") != 1) {
    return Fail(LoadFailure("failed to set the ciphers"));
  }
  // For TLS 1.2 what HTTP/2 allows (RFC 9113, appendix A); TLS 1.3 has no other.
  if (SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) return Fail(LoadFailure("failed to set the ciphers"));
  SSL_CTX_set_cert_verify_callback(ctx, &VerifyPeer, nullptr);
  return context;
}

class Server final : public TlsServer {
 public:
  explicit Server(std::shared_ptr<const TlsContext> context) : context_(std::move(context)) {}
  Result<void> Reload(const TlsServerOptions& options) override {
    TRY_ASSIGN(context_, MakeServerContext(options));
    return {};
  }
  Task<Result<std::unique_ptr<Stream>>> Accept(std::unique_ptr<Stream> plain) override {
    return TlsHandshake(context_, std::move(plain));
  }

 private:
  std::shared_ptr<const TlsContext> context_;
};

class Client final : public TlsClient {
 public:
  explicit Client(std::shared_ptr<const TlsContext> context) : context_(std::move(context)) {}
  Task<Result<std::unique_ptr<Stream>>> Connect(std::unique_ptr<Stream> plain) override {
    return TlsHandshake(context_, std::move(plain));
  }

 private:
  std::shared_ptr<const TlsContext> context_;
};

}  // namespace

Result<std::shared_ptr<const TlsContext>> MakeServerContext(const TlsServerOptions& options) {
  auto out = std::make_shared<TlsContext>();
  TRY_ASSIGN(out->context, NewContext(true));
  out->server = true;
  out->policy.usage = XKU_SSL_CLIENT;
  out->policy.clock = options.clock;
  out->policy.authorities.reset(X509_STORE_new());
  TRY(LoadIdentity(out->context.get(), options.certificate, options.private_key));
  TRY_ASSIGN(out->protocols, ProtocolsOnWire(options.protocols));
  if (!out->protocols.empty()) SSL_CTX_set_alpn_select_cb(out->context.get(), &SelectProtocol, nullptr);
  if (!options.client_ca.empty()) {
    STACK_OF(X509_NAME)* names = sk_X509_NAME_new_null();
    SSL_CTX_set_client_CA_list(out->context.get(), names);  // owns the names from here
    TRY(LoadAuthorities(out->policy.authorities.get(), options.client_ca, names));
    SSL_CTX_set_verify(out->context.get(), SSL_VERIFY_PEER, nullptr);
  }
  return out;
}

Result<std::shared_ptr<const TlsContext>> MakeClientContext(const TlsClientOptions& options) {
  auto out = std::make_shared<TlsContext>();
  TRY_ASSIGN(out->context, NewContext(false));
  out->require_verified = !options.insecure_skip_verify;
  out->policy.usage = XKU_SSL_SERVER;
  out->policy.clock = options.clock;
  out->policy.name = options.server_name;
  out->policy.authorities.reset(X509_STORE_new());
  if (!options.certificate.empty() || !options.private_key.empty()) {
    TRY(LoadIdentity(out->context.get(), options.certificate, options.private_key));
  }
  if (!options.ca.empty()) {
    TRY(LoadAuthorities(out->policy.authorities.get(), options.ca, nullptr));
  } else if (out->require_verified && X509_STORE_set_default_paths(out->policy.authorities.get()) != 1) {
    return Fail(LoadFailure("failed to load the system's CA certificates"));
  }
  if (out->require_verified && options.server_name.empty()) {
    return Fail(SystemError("tls: a server name is needed to verify the server's certificate"));
  }
  SSL_CTX_set_verify(out->context.get(), SSL_VERIFY_PEER, nullptr);
  TRY_ASSIGN(out->protocols, ProtocolsOnWire(options.protocols));
  if (!out->protocols.empty()) {
    SSL_CTX_set_alpn_protos(out->context.get(), reinterpret_cast<const unsigned char*>(out->protocols.data()),
                            static_cast<unsigned>(out->protocols.size()));
  }
  return out;
}

}  // namespace base_internal

Result<std::shared_ptr<TlsServer>> TlsServer::Make(const TlsServerOptions& options) {
  TRY_ASSIGN(auto context, base_internal::MakeServerContext(options));
  return std::make_shared<base_internal::Server>(std::move(context));
}

Result<std::shared_ptr<TlsClient>> TlsClient::Make(const TlsClientOptions& options) {
  TRY_ASSIGN(auto context, base_internal::MakeClientContext(options));
  return std::make_shared<base_internal::Client>(std::move(context));
}

Task<Result<std::unique_ptr<Stream>>> TlsConnect(std::unique_ptr<Stream> plain, TlsClientOptions options) {
  CO_TRY_ASSIGN(auto context, base_internal::MakeClientContext(options));
  auto handshake = base_internal::TlsHandshake(std::move(context), std::move(plain));
  co_return co_await handshake;
}

}  // namespace homeostat
