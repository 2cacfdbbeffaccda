// HTTP/1.1 messages out of bytes that arrive in any split (RFC 9112). Pure: bytes in, values out, no waiting.
//
// Strict where two readers could disagree about where a message ends: a bare CR or LF, folded lines, a space before a
// colon, more than one length, both a length and a transfer coding, and any coding but chunked are refused.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "homeostat/base/http.h"

namespace homeostat::http::internal {

// Why a message can't be read. `code` is what a server answers: 400, 405, 417, 431, 501 or 505.
struct ParseError {
  int code = 400;
  std::string_view reason;  // lives as long as the program
};
template <class T>
using Parsed = std::expected<T, ParseError>;

// Field lines a head may have. Go has only the limit on bytes; each line costs us far more memory than its bytes.
inline constexpr size_t kMaxFieldLines = 4096;

// Finds the end of a head in a buffer that grows.
class HeadScanner {
 public:
  // limit: bytes a head may have, its empty line included.
  explicit HeadScanner(size_t limit) : limit_(limit) {}
  // The buffer holds the message from its first byte; bytes seen by an earlier call are not looked at again.
  // Returns the size of the head with its empty line, or 0 if it isn't complete yet.
  Parsed<size_t> Scan(std::string_view buffer);

 private:
  size_t limit_;
  size_t scanned_ = 0;
  size_t line_start_ = 0;
};

enum class BodyKind : uint8_t { kNone, kLength, kChunked, kUntilClose };

// How the body that follows a head is delimited.
struct BodyFraming {
  BodyKind kind = BodyKind::kNone;
  uint64_t length = 0;  // for kLength
};

struct RequestHead {
  Request request;  // method, path, query, headers and protocol are filled; an absolute target has become Host and path
  BodyFraming framing;
  bool http10 = false;
  bool keep_alive = true;  // what the client asks for
  bool expects_continue = false;
};
// `head` is what HeadScanner delimited; one empty line in front of the request line is passed over.
Parsed<RequestHead> ParseRequestHead(std::string_view head);

struct ResponseHead {
  int code = 0;
  Headers headers;
  BodyFraming framing;
  bool keep_alive = true;  // the server will take another request on this connection
};
// `method` is the request's: it decides whether a body follows (HEAD has none).
Parsed<ResponseHead> ParseResponseHead(std::string_view head, std::string_view method);

// Takes a body's content out of its framing.
class BodyDecoder {
 public:
  explicit BodyDecoder(BodyFraming framing);

  struct Step {
    size_t consumed = 0;       // bytes of the input that are used up
    std::string_view content;  // a part of the input that is content
    bool done = false;         // the body has ended; what follows is the next message
  };
  // Looks at the front of the input. When nothing is consumed and it isn't done, more bytes are needed than were given.
  Parsed<Step> Next(std::string_view input);
  // Whether a body that stops here, with the connection, is whole.
  bool may_end() const { return state_ == State::kUntilClose || state_ == State::kDone; }

 private:
  enum class State : uint8_t { kLength, kSize, kChunk, kChunkEnd, kTrailer, kUntilClose, kDone };
  Parsed<Step> Content(std::string_view input, State then);
  Parsed<Step> Size(std::string_view input);
  Parsed<Step> ChunkEnd(std::string_view input);
  Parsed<Step> Trailer(std::string_view input);

  State state_;
  uint64_t left_ = 0;      // of the content or of the chunk
  uint64_t overhead_ = 0;  // bytes of chunk extensions, paid back by content
  size_t trailer_bytes_ = 0;
};

}  // namespace homeostat::http::internal
