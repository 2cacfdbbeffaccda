#include "http/internal/parser.h"

#include <algorithm>
#include <optional>

#include "homeostat/base/text.h"
#include "http/internal/syntax.h"

namespace homeostat::http::internal {

namespace {

// Chunk extensions and trailers are read and dropped; these bound what a peer can make us read for nothing.
constexpr size_t kMaxChunkLine = 4096;
constexpr uint64_t kMaxChunkOverhead = 16 * 1024;
constexpr size_t kMaxTrailerBytes = 16 * 1024;

std::unexpected<ParseError> Bad(std::string_view reason, int code = 400) {
  return std::unexpected(ParseError{code, reason});
}

// The next line of a head, without its CRLF. HeadScanner has seen to it that every line has one.
std::string_view TakeLine(std::string_view* head) {
  size_t end = head->find("\r\n");
  if (end == std::string_view::npos) end = head->size();
  std::string_view line = head->substr(0, end);
  head->remove_prefix(std::min(end + 2, head->size()));
  return line;
}

Parsed<void> ParseFieldLine(std::string_view line, Headers* headers) {
  if (line[0] == ' ' || line[0] == '\t') return Bad("folded header line");
  size_t colon = line.find(':');
  if (colon == std::string_view::npos) return Bad("header line without a colon");
  std::string_view name = line.substr(0, colon);
  if (!IsToken(name)) return Bad("bad header name");
  std::string_view value = Trim(line.substr(colon + 1));
  if (!IsFieldValue(value)) return Bad("bad header value");
  headers->Add(name, value);
  return {};
}

Parsed<void> ParseFields(std::string_view head, Headers* headers) {
  for (size_t lines = 0; !head.empty(); ++lines) {
    std::string_view line = TakeLine(&head);
    if (line.empty()) return {};
    if (lines == kMaxFieldLines) return Bad("too many header lines", 431);
    if (auto parsed = ParseFieldLine(line, headers); !parsed) return parsed;
  }
  return {};
}

// RFC 9112, section 6, without its allowances: what could be read in two ways is refused.
Parsed<BodyFraming> ParseFraming(const Headers& headers, bool http10) {
  auto lengths = headers.GetAll("Content-Length");
  auto codings = headers.GetAll("Transfer-Encoding");
  if (!codings.empty()) {
    if (!lengths.empty()) return Bad("both Content-Length and Transfer-Encoding");
    if (http10) return Bad("Transfer-Encoding in HTTP/1.0");
    if (codings.size() > 1) return Bad("more than one Transfer-Encoding");
    if (!EqualsIgnoreCase(codings[0], "chunked")) return Bad("unsupported transfer encoding", 501);
    return BodyFraming{BodyKind::kChunked, 0};
  }
  if (lengths.empty()) return BodyFraming{};
  if (lengths.size() > 1) return Bad("more than one Content-Length");
  auto length = ParseLength(lengths[0]);
  if (!length) return Bad("bad Content-Length");
  return BodyFraming{*length == 0 ? BodyKind::kNone : BodyKind::kLength, *length};
}

bool KeepAlive(const Headers& headers, bool http10) {
  if (HasListToken(headers, "Connection", "close")) return false;
  return !http10 || HasListToken(headers, "Connection", "keep-alive");
}

// Splits a target into path and query; an absolute one also replaces Host (RFC 9112, section 3.2.2).
Parsed<void> ParseTarget(std::string_view target, Request* request) {
  if (target == "*" && request->method == "OPTIONS") {
    request->path = "*";
    return {};
  }
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!EqualsIgnoreCase(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    size_t end = std::min(target.find_first_of("/?"), target.size());
    std::string_view host = target.substr(0, end);
    if (host.empty() || !IsHost(host)) return Bad("bad host in the request target");
    request->headers.Set("Host", host);
    target.remove_prefix(end);
    if (target.empty() || target[0] == '?') request->path = "/";
    break;
  }
  size_t question = std::min(target.find('?'), target.size());
  if (question > 0 || request->path.empty()) request->path = target.substr(0, question);
  if (question < target.size()) request->query = target.substr(question + 1);
  if (!IsPath(request->path) || !IsQuery(request->query)) return Bad("bad request target");
  return {};
}

Parsed<void> ParseHost(const Headers& headers, bool http10) {
  auto hosts = headers.GetAll("Host");
  if (hosts.size() > 1) return Bad("too many Host headers");
  if (hosts.empty() && !http10) return Bad("missing required Host header");
  if (!hosts.empty() && !IsHost(hosts[0])) return Bad("malformed Host header");
  return {};
}

// "HTTP/1.1" or "HTTP/1.0"; says which in *http10.
Parsed<void> ParseVersion(std::string_view version, bool* http10) {
  if (!version.starts_with("HTTP/") || version.size() != 8 || version[6] != '.') return Bad("malformed HTTP version");
  for (char digit : {version[5], version[7]}) {
    if (digit < '0' || digit > '9') return Bad("malformed HTTP version");
  }
  *http10 = version == "HTTP/1.0";
  if (version != "HTTP/1.1" && !*http10) return Bad("unsupported HTTP version", 505);
  return {};
}

Parsed<std::string_view> ParseRequestLine(std::string_view line, RequestHead* parsed) {
  size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return Bad("malformed request line");
  std::string_view method = line.substr(0, first), target = line.substr(first + 1, last - first - 1);
  if (!IsToken(method)) return Bad("invalid method");
  if (auto version = ParseVersion(line.substr(last + 1), &parsed->http10); !version)
    return std::unexpected(version.error());
  // We are no proxy: a tunnel is nothing that any handler could answer.
  if (method == "CONNECT") return Bad("CONNECT is not supported", 405);
  parsed->request.method = method;
  parsed->request.protocol = parsed->http10 ? "HTTP/1.0" : "HTTP/1.1";
  return target;
}

Parsed<void> ParseExpect(const Headers& headers, bool http10, bool* expects_continue) {
  auto expectations = headers.GetAll("Expect");
  if (expectations.empty() || http10) return {};
  if (expectations.size() > 1 || !EqualsIgnoreCase(expectations[0], "100-continue"))
    return Bad("unknown expectation", 417);
  *expects_continue = true;
  return {};
}

// nullopt: no CRLF yet.
Parsed<std::optional<std::string_view>> LineAt(std::string_view input, size_t limit) {
  size_t end = input.substr(0, limit).find('\n');
  if (end == std::string_view::npos) {
    if (input.size() >= limit) return Bad("line too long in a chunked body");
    return std::nullopt;
  }
  if (end == 0 || input[end - 1] != '\r') return Bad("bare line feed in a chunked body");
  return input.substr(0, end - 1);
}

}  // namespace

Parsed<size_t> HeadScanner::Scan(std::string_view buffer) {
  // Whoever speaks TLS or noise to us is told so at once instead of being waited for.
  if (scanned_ == 0 && !buffer.empty() && buffer[0] != '\r' && !IsToken(buffer.substr(0, 1))) {
    return Bad("malformed request line");
  }
  while (true) {
    size_t feed = buffer.substr(0, limit_).find('\n', scanned_);
    if (feed == std::string_view::npos) {
      scanned_ = buffer.size();
      if (buffer.size() >= limit_) return Bad("header too large", 431);
      return 0;
    }
    if (feed == 0 || buffer[feed - 1] != '\r') return Bad("bare line feed");
    bool empty = feed - 1 == line_start_;
    bool leading = line_start_ == 0;
    scanned_ = line_start_ = feed + 1;
    if (empty && !leading) return feed + 1;
  }
}

Parsed<RequestHead> ParseRequestHead(std::string_view head) {
  RequestHead parsed;
  if (head.starts_with("\r\n")) head.remove_prefix(2);
  auto target = ParseRequestLine(TakeLine(&head), &parsed);
  if (!target) return std::unexpected(target.error());
  Request& request = parsed.request;
  if (auto fields = ParseFields(head, &request.headers); !fields) return std::unexpected(fields.error());
  if (auto host = ParseHost(request.headers, parsed.http10); !host) return std::unexpected(host.error());
  if (auto done = ParseTarget(*target, &request); !done) return std::unexpected(done.error());
  auto framing = ParseFraming(request.headers, parsed.http10);
  if (!framing) return std::unexpected(framing.error());
  parsed.framing = *framing;
  parsed.keep_alive = KeepAlive(request.headers, parsed.http10);
  if (auto expect = ParseExpect(request.headers, parsed.http10, &parsed.expects_continue); !expect) {
    return std::unexpected(expect.error());
  }
  return parsed;
}

Parsed<ResponseHead> ParseResponseHead(std::string_view head, std::string_view method) {
  ResponseHead parsed;
  std::string_view line = TakeLine(&head);
  bool http10 = false;
  if (auto version = ParseVersion(line.substr(0, 8), &http10); !version) return std::unexpected(version.error());
  auto digit = [&](size_t at) { return at < line.size() && line[at] >= '0' && line[at] <= '9'; };
  bool shaped = line.size() >= 12 && line[8] == ' ' && digit(9) && digit(10) && digit(11) && line[9] != '0';
  if (!shaped || (line.size() > 12 && line[12] != ' ') || !IsFieldValue(line)) return Bad("malformed status line");
  parsed.code = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  if (auto fields = ParseFields(head, &parsed.headers); !fields) return std::unexpected(fields.error());
  parsed.keep_alive = KeepAlive(parsed.headers, http10);
  if (parsed.code < 200 || parsed.code == 204 || parsed.code == 304 || method == "HEAD") return parsed;
  auto framing = ParseFraming(parsed.headers, http10);
  if (!framing) return std::unexpected(framing.error());
  parsed.framing = *framing;
  if (framing->kind == BodyKind::kNone && !parsed.headers.Has("Content-Length")) {
    parsed.framing.kind = BodyKind::kUntilClose;
    parsed.keep_alive = false;
  }
  return parsed;
}

BodyDecoder::BodyDecoder(BodyFraming framing) : left_(framing.length) {
  switch (framing.kind) {
    case BodyKind::kNone:
      state_ = State::kDone;
      break;
    case BodyKind::kLength:
      state_ = left_ == 0 ? State::kDone : State::kLength;
      break;
    case BodyKind::kChunked:
      state_ = State::kSize;
      break;
    case BodyKind::kUntilClose:
      state_ = State::kUntilClose;
      break;
  }
}

Parsed<BodyDecoder::Step> BodyDecoder::Next(std::string_view input) {
  switch (state_) {
    case State::kLength:
      return Content(input, State::kDone);
    case State::kSize:
      return Size(input);
    case State::kChunk:
      return Content(input, State::kChunkEnd);
    case State::kChunkEnd:
      return ChunkEnd(input);
    case State::kTrailer:
      return Trailer(input);
    case State::kUntilClose:
      return Step{input.size(), input, false};
    case State::kDone:
      break;
  }
  return Step{0, {}, true};
}

Parsed<BodyDecoder::Step> BodyDecoder::Content(std::string_view input, State then) {
  size_t count = static_cast<size_t>(std::min<uint64_t>(left_, input.size()));
  left_ -= count;
  overhead_ -= std::min<uint64_t>(overhead_, count);
  if (left_ == 0) state_ = then;
  return Step{count, input.substr(0, count), state_ == State::kDone};
}

Parsed<BodyDecoder::Step> BodyDecoder::Size(std::string_view input) {
  auto line = LineAt(input, kMaxChunkLine);
  if (!line) return std::unexpected(line.error());
  if (!*line) return Step{};
  std::string_view digits = (*line)->substr(0, (*line)->find(';'));
  auto size = ParseHex(digits);
  if (!size || !IsFieldValue(**line)) return Bad("bad chunk size");
  overhead_ += (*line)->size() - digits.size();
  if (digits.size() > 8) overhead_ += digits.size();  // leading zeros cost too
  if (overhead_ > kMaxChunkOverhead) return Bad("too many chunk extensions");
  left_ = *size;
  state_ = *size == 0 ? State::kTrailer : State::kChunk;
  return Step{(*line)->size() + 2, {}, false};
}

Parsed<BodyDecoder::Step> BodyDecoder::ChunkEnd(std::string_view input) {
  if (!input.empty() && input[0] != '\r') return Bad("chunk longer than its size");
  if (input.size() < 2) return Step{};
  if (input[1] != '\n') return Bad("chunk longer than its size");
  state_ = State::kSize;
  return Step{2, {}, false};
}

Parsed<BodyDecoder::Step> BodyDecoder::Trailer(std::string_view input) {
  auto line = LineAt(input, kMaxTrailerBytes);
  if (!line) return std::unexpected(line.error());
  if (!*line) return Step{};
  size_t consumed = (*line)->size() + 2;
  if ((*line)->empty()) {
    state_ = State::kDone;
    return Step{consumed, {}, true};
  }
  trailer_bytes_ += consumed;
  if (trailer_bytes_ > kMaxTrailerBytes) return Bad("trailer too large", 431);
  Headers dropped;
  if (auto field = ParseFieldLine(**line, &dropped); !field) return std::unexpected(field.error());
  return Step{consumed, {}, false};
}

}  // namespace homeostat::http::internal
