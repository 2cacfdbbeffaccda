// A stream inside TLS. OpenSSL reads from and writes to memory of ours, so that it copies each byte once.
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <climits>

#include "base/internal/tls.h"

namespace homeostat::base_internal {
namespace {

constexpr size_t kRecord = 16 * 1024;         // the most that one record carries
constexpr size_t kFlush = 64 * 1024;          // encrypted bytes that are sent at once
constexpr size_t kRecordOverhead = 5 + 1 + 16;  // header, inner type, tag
constexpr size_t kSmallInput = 4 * 1024;
constexpr size_t kLargeInput = 4 * (kRecord + kRecordOverhead);

// What lies between OpenSSL and the plain stream.
struct Wire {
  std::string_view arrived;  // encrypted, not yet taken by OpenSSL
  bool ended = false;        // nothing more will arrive
  std::string leaving;       // encrypted, not yet sent
};

int WireRead(BIO* bio, char* buffer, int size) {
  auto& wire = *static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (wire.arrived.empty()) {
    if (wire.ended) return 0;
    BIO_set_retry_read(bio);
    return -1;
  }
  size_t count = std::min(static_cast<size_t>(size), wire.arrived.size());
  wire.arrived.copy(buffer, count);
  wire.arrived.remove_prefix(count);
  return static_cast<int>(count);
}

int WireWrite(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  static_cast<Wire*>(BIO_get_data(bio))->leaving.append(bytes, static_cast<size_t>(size));
  return size;
}

long WireControl(BIO* bio, int command, long, void*) {
  const auto& wire = *static_cast<Wire*>(BIO_get_data(bio));
  switch (command) {
    case BIO_CTRL_FLUSH: return 1;
    case BIO_CTRL_EOF: return wire.ended && wire.arrived.empty() ? 1 : 0;
    default: return 0;
  }
}

const BIO_METHOD* WireMethod() {
  static BIO_METHOD* method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "homeostat stream");
    BIO_meth_set_read(made, &WireRead);
    BIO_meth_set_write(made, &WireWrite);
    BIO_meth_set_ctrl(made, &WireControl);
    return made;
  }();
  return method;
}

// So that what OpenSSL says of the next call is of that call. Looking is cheaper than clearing.
void ForgetErrors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

bool IsAddress(const std::string& name) {
  ASN1_OCTET_STRING* address = a2i_IPADDRESS(name.c_str());
  bool is = address != nullptr;
  ASN1_OCTET_STRING_free(address);
  ERR_clear_error();
  return is;
}

class TlsStream final : public Stream {
 public:
  TlsStream(std::shared_ptr<const TlsContext> context, std::unique_ptr<Stream> plain)
      : context_(std::move(context)), plain_(std::move(plain)), ssl_(SSL_new(context_->context.get())) {
    peer_.context = context_.get();
    SSL_set_app_data(ssl_.get(), &peer_);
    BIO* bio = BIO_new(WireMethod());
    BIO_set_data(bio, &wire_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    if (context_->server) {
      SSL_set_accept_state(ssl_.get());
    } else {
      SSL_set_connect_state(ssl_.get());
      const std::string& name = context_->policy.name;
      if (!name.empty() && !IsAddress(name)) SSL_set_tlsext_host_name(ssl_.get(), name.c_str());
    }
  }
  ~TlsStream() override { Close(); }

  Task<Result<void>> Handshake();
  Task<Result<size_t>> Read(std::span<char> buffer) override;
  Task<Result<void>> Write(std::vector<Bytes> parts) override;
  void CloseWrite() override {
    SayGoodbye();
    plain_->CloseWrite();
  }
  void Close() override {
    if (std::exchange(closed_, true)) return;
    SayGoodbye();
    plain_->Close();
  }

  std::string remote_address() const override { return plain_->remote_address(); }
  std::string_view application_protocol() const override { return protocol_; }
  const PeerCertificate* peer_certificate() const override { return peer_.certificate.get(); }

 private:
  Task<Result<void>> Receive();
  Task<Result<void>> Flush();
  Status HandshakeFailure();
  Result<void> Encrypt(std::string_view bytes);
  // Whether OpenSSL has nothing left to give of what has arrived, as far as it can tell without being asked to decrypt.
  bool IsDry() const {
    return wire_.arrived.empty() && !wire_.ended && SSL_has_pending(ssl_.get()) == 0 && SSL_get_shutdown(ssl_.get()) == 0;
  }
  // Decrypts what has arrived; 0 with SSL_get_error in `outcome` if there is nothing.
  size_t Decrypt(std::span<char> buffer, int& outcome);
  void SendNow() {
    if (writing_ || wire_.leaving.empty()) return;
    plain_->WriteNow(wire_.leaving);
    wire_.leaving.clear();
  }
  void SayGoodbye() {
    if (!shaken_ || writing_ || broken_ || said_goodbye_) return;
    said_goodbye_ = true;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
    SendNow();
  }

  std::shared_ptr<const TlsContext> context_;
  std::unique_ptr<Stream> plain_;
  OpenSslPointer<SSL> ssl_;
  Wire wire_;
  TlsPeer peer_;
  std::string protocol_;
  std::unique_ptr<char[]> input_;
  size_t input_size_ = 0;
  bool dry_ = false;      // what has arrived was decrypted, and no more has since
  bool filled_ = false;   // the last read from below filled the buffer
  bool shaken_ = false;
  bool writing_ = false;  // until a Write has ended well: one that was abandoned has torn a record
  bool broken_ = false;
  bool closed_ = false;
  bool said_goodbye_ = false;
};

// One read from below. Connections that are idle hold a small buffer, busy ones a large one.
Task<Result<void>> TlsStream::Receive() {
  if (!input_) {
    input_size_ = kSmallInput;
    input_ = std::make_unique_for_overwrite<char[]>(input_size_);
  }
  auto read = plain_->Read(std::span(input_.get(), input_size_));
  CO_TRY_ASSIGN(size_t count, co_await read);
  wire_.arrived = std::string_view(input_.get(), count);
  wire_.ended = count == 0;
  filled_ = count == input_size_;
  dry_ = false;
  co_return Result<void>();
}

Task<Result<void>> TlsStream::Flush() {
  while (!wire_.leaving.empty()) {
    std::vector<Bytes> parts;
    parts.emplace_back(std::exchange(wire_.leaving, {}));
    auto write = plain_->Write(std::move(parts));
    CO_TRY(co_await write);
  }
  co_return Result<void>();
}

Status TlsStream::HandshakeFailure() {
  // To a browser or a script that speaks HTTP to this port, as Go's server does.
  if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_HTTP_REQUEST && context_->server) {
    ERR_clear_error();
    plain_->WriteNow("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
    return SystemError("tls: client sent an HTTP request to an HTTPS server");
  }
  if (peer_.certificate && context_->require_verified && !peer_.certificate->verified) {
    ERR_clear_error();
    return SystemError("tls: failed to verify certificate: " + peer_.certificate->verification_error);
  }
  if (wire_.ended) {
    ERR_clear_error();
    return SystemError("tls: handshake: unexpected EOF");
  }
  return SystemError("tls: handshake: " + TakeOpenSslError());
}

Task<Result<void>> TlsStream::Handshake() {
  if (!ssl_) co_return Fail(SystemError("tls: " + TakeOpenSslError()));
  while (true) {
    ERR_clear_error();
    int result = SSL_do_handshake(ssl_.get());
    int outcome = result == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), result);
    if (outcome != SSL_ERROR_NONE && outcome != SSL_ERROR_WANT_READ) {
      broken_ = true;
      Status failure = HandshakeFailure();
      SendNow();  // the alert
      co_return Fail(std::move(failure));
    }
    auto flush = Flush();
    CO_TRY(co_await flush);
    if (outcome == SSL_ERROR_NONE) break;
    auto receive = Receive();
    CO_TRY(co_await receive);
  }
  shaken_ = true;
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &protocol, &size);
  protocol_.assign(reinterpret_cast<const char*>(protocol), size);
  co_return Result<void>();
}

size_t TlsStream::Decrypt(std::span<char> buffer, int& outcome) {
  size_t have = 0;
  outcome = dry_ ? SSL_ERROR_WANT_READ : SSL_ERROR_NONE;
  while (!dry_ && have < buffer.size()) {
    size_t got = 0;
    ForgetErrors();
    int result = SSL_read_ex(ssl_.get(), buffer.data() + have, buffer.size() - have, &got);
    if (result == 1) {
      have += got;
      dry_ = IsDry();
      continue;
    }
    // What was decrypted before a fault is delivered; the next call meets the fault again.
    if (have == 0) outcome = SSL_get_error(ssl_.get(), result);
    break;
  }
  return have;
}

Task<Result<size_t>> TlsStream::Read(std::span<char> buffer) {
  while (!closed_) {
    int outcome = SSL_ERROR_NONE;
    size_t have = Decrypt(buffer, outcome);
    if (have > 0 || outcome == SSL_ERROR_NONE) co_return have;
    if (outcome == SSL_ERROR_ZERO_RETURN) co_return size_t{0};
    if (outcome != SSL_ERROR_WANT_READ) {
      broken_ = true;
      std::string fault = wire_.ended ? "unexpected EOF" : TakeOpenSslError();
      ERR_clear_error();
      SendNow();  // the alert
      co_return Fail(SystemError("tls: read: " + fault));
    }
    // A full buffer says that the peer has more to say.
    if (filled_ && input_size_ == kSmallInput) {
      input_size_ = kLargeInput;
      input_ = std::make_unique_for_overwrite<char[]>(input_size_);
    }
    auto receive = Receive();
    CO_TRY(co_await receive);
  }
  co_return Fail(SystemError("tls: read: use of closed connection"));
}

Result<void> TlsStream::Encrypt(std::string_view bytes) {
  ForgetErrors();
  size_t written = 0;
  if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written) == 1) return {};
  broken_ = true;
  return Fail(SystemError("tls: write: " + TakeOpenSslError()));
}

// Parts smaller than a record are joined until one is full, so that a response of many small parts becomes few records;
// larger ones are encrypted where they lie.
Task<Result<void>> TlsStream::Write(std::vector<Bytes> parts) {
  if (closed_ || broken_ || writing_ || said_goodbye_) co_return Fail(SystemError("tls: write: use of closed connection"));
  size_t total = 0;
  for (const Bytes& part : parts) total += part.size();
  if (total == 0) co_return Result<void>();
  writing_ = true;
  size_t expected = total + (total / kRecord + 2) * kRecordOverhead;
  std::string joined;
  size_t left = total;
  for (Bytes& part : parts) {
    std::string_view rest = part.view();
    while (!rest.empty()) {
      std::string_view piece = rest.substr(0, kRecord - joined.size());
      rest.remove_prefix(piece.size());
      left -= piece.size();
      if (piece.size() < kRecord && left > 0) {
        if (joined.empty()) joined.reserve(std::min(kRecord, piece.size() + left));
        joined += piece;
        if (joined.size() < kRecord) continue;
        piece = joined;
      } else if (!joined.empty()) {
        joined += piece;
        piece = joined;
      }
      if (wire_.leaving.empty()) wire_.leaving.reserve(std::min(expected, kFlush + kRecord + kRecordOverhead));
      CO_TRY(Encrypt(piece));
      joined.clear();
      if (wire_.leaving.size() >= kFlush) {
        auto flush = Flush();
        CO_TRY(co_await flush);
        expected = left + (left / kRecord + 2) * kRecordOverhead;
      }
    }
    part = Bytes();
  }
  auto flush = Flush();
  CO_TRY(co_await flush);
  writing_ = false;
  co_return Result<void>();
}

}  // namespace

Task<Result<std::unique_ptr<Stream>>> TlsHandshake(std::shared_ptr<const TlsContext> context, std::unique_ptr<Stream> plain) {
  auto stream = std::make_unique<TlsStream>(std::move(context), std::move(plain));
  auto handshake = stream->Handshake();
  CO_TRY(co_await handshake);
  co_return std::move(stream);
}

}  // namespace homeostat::base_internal
