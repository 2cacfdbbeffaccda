// Network: byte streams and listeners, real (TCP, Unix sockets) or simulated; and TLS over any of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/bytes.h"
#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat {

// The certificate that the peer presented. Its names may be believed only if `verified`: like kube-apiserver, the server
// shakes hands with anyone, so that a bad certificate is answered with 401 and not with a broken connection.
struct PeerCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string der;  // the whole certificate
  std::string sha256;  // of it, in lower-case hexadecimal
  // It chains to the CA, is meant for this use (client or server authentication), and was in its time at the handshake.
  bool verified = false;
  std::string verification_error;  // why not, e.g. "x509: certificate signed by unknown authority"
  // When every certificate of the chain is in its time; connections live longer than a handshake, so whoever believes
  // the names compares with Runtime::WallNow. Of the leaf alone if not verified.
  WallTime not_before, not_after;
};

// An ordered stream of bytes. One Read and one Write at a time; destroying it closes it. Loop only.
class Stream {
 public:
  virtual ~Stream() = default;
  // At least one byte, unless the peer has closed: then 0. A Read that is abandoned loses nothing.
  virtual Task<Result<size_t>> Read(std::span<char> buffer) = 0;
  // All of it. The bytes are kept alive by the stream. After a Write that failed or was abandoned only Close is left.
  virtual Task<Result<void>> Write(std::vector<Bytes> parts) = 0;
  // Sends what the transport takes at once, for last words before Close; not while a Write is on its way.
  virtual size_t WriteNow(std::string_view bytes) {
    static_cast<void>(bytes);
    return 0;
  }
  // Sends the end of our side where the transport can.
  virtual void CloseWrite() = 0;
  // Ends both sides at once; pending calls fail.
  virtual void Close() = 0;

  virtual std::string remote_address() const = 0;          // 127.0.0.1:4711; empty for Unix sockets
  virtual std::string_view application_protocol() const { return {}; }  // ALPN result, e.g. "h2"
  virtual const PeerCertificate* peer_certificate() const { return nullptr; }
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual Task<Result<std::unique_ptr<Stream>>> Accept() = 0;
  virtual std::string address() const = 0;  // with the port that was chosen
  virtual void Close() = 0;
};

class Network {
 public:
  virtual ~Network() = default;
  // "127.0.0.1:0", "[::1]:6443", "0.0.0.0:6443" or "unix:/path". A port in use is an error that says so.
  virtual Result<std::unique_ptr<Listener>> Listen(std::string_view address) = 0;
  virtual Task<Result<std::unique_ptr<Stream>>> Connect(std::string address) = 0;
};

// What a TLS server presents and accepts. PEM texts.
struct TlsServerOptions {
  std::string certificate;           // chain
  std::string private_key;
  std::string client_ca;             // certificates signed by these are read as identities; none is asked for if empty
  std::vector<std::string> protocols = {"h2", "http/1.1"};
  Runtime* clock = nullptr;          // whose wall time certificates are checked against; null: the system's
};
struct TlsClientOptions {
  std::string ca;                    // empty: the system's
  std::string certificate, private_key;  // client identity, optional
  std::string server_name;           // name or address that the certificate must have
  bool insecure_skip_verify = false;
  std::vector<std::string> protocols;
  Runtime* clock = nullptr;          // as above
};

// Options checked and loaded once, used by many connections. TLS 1.2 or newer.
class TlsServer {
 public:
  static Result<std::shared_ptr<TlsServer>> Make(const TlsServerOptions& options);
  virtual ~TlsServer() = default;
  // Replaces certificate and key for connections from now on.
  virtual Result<void> Reload(const TlsServerOptions& options) = 0;
  // Shakes hands on an accepted stream.
  virtual Task<Result<std::unique_ptr<Stream>>> Accept(std::unique_ptr<Stream> plain) = 0;
};

// The client's side, for many connections with the same options.
class TlsClient {
 public:
  static Result<std::shared_ptr<TlsClient>> Make(const TlsClientOptions& options);
  virtual ~TlsClient() = default;
  virtual Task<Result<std::unique_ptr<Stream>>> Connect(std::unique_ptr<Stream> plain) = 0;
};
// The same for a single connection. Loads the options each time.
Task<Result<std::unique_ptr<Stream>>> TlsConnect(std::unique_ptr<Stream> plain, TlsClientOptions options);

}  // namespace homeostat
