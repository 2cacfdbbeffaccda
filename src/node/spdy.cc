#include "node/spdy.h"

#include <zlib.h>

#include "homeostat/base/text.h"
#include "node/errors.h"

namespace homeostat::node {

namespace {

enum FrameType : uint16_t { kSynStream = 1, kSynReply = 2, kRstStream = 3, kSettings = 4, kPing = 6, kGoAway = 7, kHeaders = 8, kWindowUpdate = 9 };
constexpr uint8_t kFlagFin = 1;
constexpr size_t kHeaderSize = 8;
constexpr size_t kLongestFrame = (1 << 24) - 1;
constexpr size_t kPiece = 32 * 1024;

void Append32(std::string& out, uint32_t value) {
  for (int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift);
}
void Append24(std::string& out, size_t value) {
  for (int shift : {16, 8, 0}) out += static_cast<char>(value >> shift);
}
uint32_t Read32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

std::string ControlFrame(uint16_t type, uint8_t flags, std::string_view payload) {
  std::string out("\x80\x03", 2);
  out += static_cast<char>(type >> 8);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  Append24(out, payload.size());
  return out.append(payload);
}

}  // namespace

namespace spdy {

const std::string& Dictionary() {
  static const std::string kDictionary = [] {
    std::string out;
    for (std::string_view word :
         {"options", "head", "post", "put", "delete", "trace", "accept", "accept-charset", "accept-encoding", "accept-language",
          "accept-ranges", "age", "allow", "authorization", "cache-control", "connection", "content-base", "content-encoding",
          "content-language", "content-length", "content-location", "content-md5", "content-range", "content-type", "date",
          "etag", "expect", "expires", "from", "host", "if-match", "if-modified-since", "if-none-match", "if-range",
          "if-unmodified-since", "last-modified", "location", "max-forwards", "pragma", "proxy-authenticate",
          "proxy-authorization", "range", "referer", "retry-after", "server", "te", "trailer", "transfer-encoding", "upgrade",
          "user-agent", "vary", "via", "warning", "www-authenticate", "method", "get", "status", "200 OK", "version",
          "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin"}) {
      Append32(out, static_cast<uint32_t>(word.size()));
      out += word;
    }
    return out +
           "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
           "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
           "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
           "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
           "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset="
           "iso-8859-1,utf-,*,enq=0.";
  }();
  return kDictionary;
}

std::string HeaderBlock(const SpdyHeaders& headers) {
  std::string out;
  Append32(out, static_cast<uint32_t>(headers.size()));
  for (const auto& [name, value] : headers) {
    std::string lower = LowerCase(name);
    Append32(out, static_cast<uint32_t>(lower.size()));
    out += lower;
    Append32(out, static_cast<uint32_t>(value.size()));
    out += value;
  }
  return out;
}

std::string DataFrame(uint32_t stream, std::string_view data, bool fin) {
  std::string out;
  Append32(out, stream & 0x7fffffff);
  out += static_cast<char>(fin ? kFlagFin : 0);
  Append24(out, data.size());
  return out.append(data);
}

}  // namespace spdy

// All header blocks of a session are one compressed stream that is flushed after each.
struct SpdySession::Compressor {
  z_stream state = {};
  bool ok = false;
  Compressor() {
    ok = deflateInit(&state, Z_BEST_COMPRESSION) == Z_OK &&
         deflateSetDictionary(&state, reinterpret_cast<const Bytef*>(spdy::Dictionary().data()),
                              static_cast<uInt>(spdy::Dictionary().size())) == Z_OK;
  }
  ~Compressor() { deflateEnd(&state); }
  std::string Compress(const std::string& block) {
    std::string out(deflateBound(&state, block.size()) + 64, '\0');
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.data()));
    state.avail_in = static_cast<uInt>(block.size());
    state.next_out = reinterpret_cast<Bytef*>(out.data());
    state.avail_out = static_cast<uInt>(out.size());
    deflate(&state, Z_SYNC_FLUSH);
    out.resize(out.size() - state.avail_out);
    return out;
  }
};

SpdySession::SpdySession(Runtime& runtime, std::unique_ptr<Stream> stream)
    : runtime_(runtime), stream_(std::move(stream)), compressor_(std::make_unique<Compressor>()), written_(runtime) {}
SpdySession::~SpdySession() = default;

// Several tasks write; the stream takes one write at a time.
Task<Result<void>> SpdySession::WriteFrame(std::string frame) {
  while (writing_) {
    auto wait = written_.Wait();
    co_await wait;
  }
  writing_ = true;
  std::vector<Bytes> parts;
  parts.emplace_back(std::move(frame));
  auto write = stream_->Write(std::move(parts));
  Result<void> done = co_await std::move(write);
  writing_ = false;
  written_.Notify();
  co_return done;
}

Task<Result<uint32_t>> SpdySession::Open(SpdyHeaders headers) {
  if (!compressor_->ok) co_return Fail(NodeError("can't compress headers"));
  uint32_t id = next_stream_;
  next_stream_ += 2;
  std::string payload;
  Append32(payload, id);
  Append32(payload, 0);
  payload.append(2, '\0');
  payload += compressor_->Compress(spdy::HeaderBlock(headers));
  auto write = WriteFrame(ControlFrame(kSynStream, 0, payload));
  CO_TRY(co_await std::move(write));
  co_return id;
}

Task<Result<void>> SpdySession::Send(uint32_t stream, Bytes data, bool fin) {
  size_t at = 0;
  do {
    Bytes piece = data.Slice(at, kPiece);
    at += piece.size();
    auto write = WriteFrame(spdy::DataFrame(stream, piece.view(), fin && at >= data.size()));
    CO_TRY(co_await std::move(write));
  } while (at < data.size());
  co_return Done();
}

// True once the buffer holds that many bytes; false if the peer closed before.
Task<Result<bool>> SpdySession::Fill(size_t size) {
  while (buffer_.size() < size) {
    std::array<char, 16384> piece;
    auto read = stream_->Read(piece);
    CO_TRY_ASSIGN(size_t got, co_await std::move(read));
    if (got == 0) co_return false;
    buffer_.append(piece.data(), got);
  }
  co_return true;
}

Task<Result<std::optional<SpdySession::Frame>>> SpdySession::ReadFrame() {
  auto fill_header = Fill(kHeaderSize);
  CO_TRY_ASSIGN(bool header, co_await std::move(fill_header));
  if (!header) co_return std::optional<Frame>();
  uint32_t first = Read32(buffer_), second = Read32(std::string_view(buffer_).substr(4));
  size_t length = second & kLongestFrame;
  auto fill = Fill(kHeaderSize + length);
  CO_TRY_ASSIGN(bool whole, co_await std::move(fill));
  if (!whole) co_return std::optional<Frame>();
  Frame frame;
  frame.control = (first & 0x80000000) != 0;
  frame.type = static_cast<uint16_t>(first & 0xffff);
  frame.stream = first & 0x7fffffff;
  frame.flags = static_cast<uint8_t>(second >> 24);
  frame.payload = buffer_.substr(kHeaderSize, length);
  buffer_.erase(0, kHeaderSize + length);
  if (frame.control && frame.payload.size() >= 4) frame.stream = Read32(frame.payload) & 0x7fffffff;
  co_return std::optional<Frame>(std::move(frame));
}

Task<Result<std::optional<SpdyData>>> SpdySession::Receive() {
  for (;;) {
    auto read = ReadFrame();
    CO_TRY_ASSIGN(std::optional<Frame> frame, co_await std::move(read));
    if (!frame) co_return std::optional<SpdyData>();
    if (!frame->control) {
      bool fin = (frame->flags & kFlagFin) != 0;
      co_return std::optional<SpdyData>(SpdyData{frame->stream, Bytes(std::move(frame->payload)), fin, false});
    }
    bool fin = (frame->flags & kFlagFin) != 0;
    if (frame->type == kRstStream) co_return std::optional<SpdyData>(SpdyData{frame->stream, Bytes(), true, true});
    if (frame->type == kGoAway) co_return std::optional<SpdyData>();
    if ((frame->type == kSynReply || frame->type == kHeaders) && fin) {
      co_return std::optional<SpdyData>(SpdyData{frame->stream, Bytes(), true, false});
    }
    // Pings with odd numbers would be our own; we send none.
    if (frame->type == kPing && frame->stream % 2 == 0) {
      auto answer = WriteFrame(ControlFrame(kPing, 0, frame->payload));
      CO_TRY(co_await std::move(answer));
    }
  }
}

}  // namespace homeostat::node
