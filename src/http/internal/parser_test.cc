#include "http/internal/parser.h"

#include <gtest/gtest.h>

#include "http/internal/syntax.h"

namespace homeostat::http::internal {
namespace {

struct ReadMessage {
  int code = 0;  // of the error; 0: read
  RequestHead head;
  std::string body;
  std::string rest;
  bool complete = false;
};

// Reads a request that arrives in pieces of the given ends.
ReadMessage Read(std::string_view text, const std::vector<size_t>& ends, size_t limit = 1 << 20) {
  ReadMessage read;
  std::string buffer;
  HeadScanner scanner(limit);
  std::optional<BodyDecoder> decoder;
  size_t begin = 0;
  for (size_t end : ends) {
    buffer += text.substr(begin, end - begin);
    begin = end;
    if (!decoder) {
      auto size = scanner.Scan(buffer);
      if (!size) return {size.error().code};
      if (*size == 0) continue;
      auto head = ParseRequestHead(std::string_view(buffer).substr(0, *size));
      if (!head) return {head.error().code};
      read.head = *std::move(head);
      buffer.erase(0, *size);
      decoder.emplace(read.head.framing);
    }
    while (!read.complete) {
      auto step = decoder->Next(buffer);
      if (!step) return {step.error().code};
      read.body += step->content;
      buffer.erase(0, step->consumed);
      read.complete = step->done;
      if (step->consumed == 0) break;
    }
  }
  read.rest = buffer;
  return read;
}

struct GoodCase {
  std::string text;
  std::string method, path, query, host, body, rest;
  bool keep_alive = true;
};

const GoodCase kGood[] = {
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/", "", "a", "", ""},
    {"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/", "", "a", "", ""},
    {"GET /api?x=1&y=%20 HTTP/1.1\r\nhost:[::1]:6443\r\n\r\n", "GET", "/api", "x=1&y=%20", "[::1]:6443", "", ""},
    {"GET /a%2Fb?c?d HTTP/1.1\r\nHost:\t a \t\r\nX: \t\r\n\r\n", "GET", "/a%2Fb", "c?d", "a", "", ""},
    {"GET http://b:80/x?y HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/x", "y", "b:80", "", ""},
    {"GET https://b?y HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/", "y", "b", "", ""},
    {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS", "*", "", "a", "", ""},
    {"GET / HTTP/1.0\r\n\r\n", "GET", "/", "", "", "", "", false},
    {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET", "/", "", "", "", "", true},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", "GET", "/", "", "a", "", "", false},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET", "POST", "/", "", "a", "abc", "GET"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGET", "POST", "/", "", "a", "", "GET"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
     "Chunked\r\n\r\n3\r\nabc\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\nG",
     "POST", "/", "", "a", "abc0123456789", "G"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n00\r\nTrailer: x\r\n\r\n", "POST", "/", "", "a",
     "", ""},
    {"PATCH /caf\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", "PATCH", "/caf\xc3\xa9", "", "a", "", ""},
};

void ExpectGood(const GoodCase& want, const ReadMessage& got, const std::string& how) {
  ASSERT_EQ(got.code, 0) << how;
  EXPECT_TRUE(got.complete) << how;
  EXPECT_EQ(got.head.request.method, want.method) << how;
  EXPECT_EQ(got.head.request.path, want.path) << how;
  EXPECT_EQ(got.head.request.query, want.query) << how;
  EXPECT_EQ(got.head.request.headers.Get("Host"), want.host) << how;
  EXPECT_EQ(got.body, want.body) << how;
  EXPECT_EQ(got.rest, want.rest) << how;
  EXPECT_EQ(got.head.keep_alive, want.keep_alive) << how;
}

TEST(RequestParserTest, GoodRequestsInAnySplit) {
  for (const GoodCase& good : kGood) {
    size_t size = good.text.size();
    for (size_t at = 0; at <= size; ++at) {
      ExpectGood(good, Read(good.text, {at, size}), good.text + " split at " + std::to_string(at));
    }
    std::vector<size_t> each;
    for (size_t at = 1; at <= size; ++at) each.push_back(at);
    ExpectGood(good, Read(good.text, each), good.text + " byte by byte");
  }
}

std::string WithHeaders(const std::string& lines, const std::string& body = "") {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n" + body;
}

TEST(RequestParserTest, BadRequestsInAnySplit) {
  const std::pair<std::string, int> kBad[] = {
      {"GET / HTTP/1.1\r\n\r\n", 400},  // no Host
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400},
      {"GET / HTTP/1.1\nHost: a\n\n", 400},  // bare line feeds
      {"GET / HTTP/1.1\r\nHost: a\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400},  // bare carriage return
      {"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400},
      {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /\r\nHost: a\r\n\r\n", 400},
      {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET api HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /%2 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 405},
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\n", 505},
      {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505},
      {"GET / HTTP/11\r\nHost: a\r\n\r\n", 400},
      {"GET / http/1.1\r\nHost: a\r\n\r\n", 400},
      {std::string("\x16\x03\x01", 3), 400},  // TLS to a plain port
      {WithHeaders("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {WithHeaders("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), 400},
      {WithHeaders("Content-Length: 3, 3\r\n", "abc"), 400},
      {WithHeaders("Content-Length: +3\r\n", "abc"), 400},
      {WithHeaders("Content-Length: -1\r\n"), 400},
      {WithHeaders("Content-Length: 0x3\r\n", "abc"), 400},
      {WithHeaders("Content-Length: \r\n"), 400},
      {WithHeaders("Content-Length: 99999999999999999999\r\n"), 400},
      {WithHeaders("Transfer-Encoding: gzip\r\n"), 501},
      {WithHeaders("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {WithHeaders("Transfer-Encoding: chunked, chunked\r\n"), 501},
      {WithHeaders("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {WithHeaders("Transfer-Encoding: xchunked\r\n"), 501},
      {WithHeaders("Transfer-Encoding: \x0b"
                   "chunked\r\n"),
       400},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {WithHeaders("X: a\r\n b\r\n"), 400},  // folded
      {WithHeaders("X: a\r\n\tb\r\n"), 400},
      {WithHeaders("X : a\r\n"), 400},  // space before the colon
      {WithHeaders("X\r\n"), 400},
      {WithHeaders(": a\r\n"), 400},
      {WithHeaders("X(: a\r\n"), 400},
      {WithHeaders(std::string("X: a\0b\r\n", 8)), 400},
      {WithHeaders("X: a\x7f\r\n"), 400},
      {WithHeaders("Expect: 200-ok\r\n"), 417},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "g\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "-1\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "0x3\r\nabc\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "3 \r\nabc\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", " 3\r\nabc\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "3\nabc\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "3\r\nabcd\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "3\r\nabc\r0\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "3;a\rb\r\nabc\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "0\r\nX : y\r\n\r\n"), 400},
      {WithHeaders("Transfer-Encoding: chunked\r\n", "0\r\n folded\r\n\r\n"), 400},
  };
  for (const auto& [text, code] : kBad) {
    for (size_t at = 0; at <= text.size(); ++at) {
      EXPECT_EQ(Read(text, {at, text.size()}).code, code) << text << " split at " << at;
    }
  }
}

TEST(RequestParserTest, HeadLimit) {
  std::string text = "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(1000, 'x') + "\r\n\r\n";
  EXPECT_EQ(Read(text, {text.size()}, text.size()).code, 0);
  EXPECT_EQ(Read(text, {text.size()}, text.size() - 1).code, 431);
  EXPECT_EQ(Read(text, {500, 600, 700}, 600).code, 431);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (size_t i = 0; i < kMaxFieldLines; ++i) many += "a:\r\n";
  many += "\r\n";
  EXPECT_EQ(Read(many, {many.size()}).code, 431);
}

TEST(RequestParserTest, ChunkOverheadIsBounded) {
  std::string head = WithHeaders("Transfer-Encoding: chunked\r\n");
  std::string extensions = head, content = head, trailers = head + "0\r\n", line = head + "1;";
  for (int i = 0; i < 20; ++i) extensions += "1;" + std::string(1000, 'e') + "\r\nx\r\n";
  for (int i = 0; i < 20000; ++i) content += "1\r\nx\r\n";
  for (int i = 0; i < 2000; ++i) trailers += "Trailer: x\r\n";
  line += std::string(5000, 'e');
  EXPECT_EQ(Read(extensions, {extensions.size()}).code, 400);
  EXPECT_EQ(Read(content + "0\r\n\r\n", {content.size() + 5}).code, 0);
  EXPECT_EQ(Read(trailers, {trailers.size()}).code, 431);
  EXPECT_EQ(Read(line, {line.size()}).code, 400);
}

TEST(ResponseParserTest, Framing) {
  struct Case {
    std::string_view text, method;
    BodyKind kind;
    bool keep_alive;
    int code;  // 0: refused
  };
  const Case kCases[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "GET", BodyKind::kLength, true, 200},
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HEAD", BodyKind::kNone, true, 200},
      {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "GET", BodyKind::kNone, true, 200},
      {"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n", "GET", BodyKind::kChunked, true, 200},
      {"HTTP/1.1 200 OK\r\n\r\n", "GET", BodyKind::kUntilClose, false, 200},
      {"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n", "GET", BodyKind::kLength, false, 200},
      {"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", "GET", BodyKind::kNone, true, 304},
      {"HTTP/1.1 204 No Content\r\n\r\n", "GET", BodyKind::kNone, true, 204},
      {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "GET", BodyKind::kNone, true, 101},
      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\n", "GET", BodyKind::kLength, false, 200},
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", BodyKind::kNone, true, 0},
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", "GET", BodyKind::kNone, true, 0},
      {"HTTP/1.1 2000 OK\r\n\r\n", "GET", BodyKind::kNone, true, 0},
      {"HTTP/1.1 20 OK\r\n\r\n", "GET", BodyKind::kNone, true, 0},
      {"HTTP/1.1 099 OK\r\n\r\n", "GET", BodyKind::kNone, true, 0},
      {"HTTP/2 200 OK\r\n\r\n", "GET", BodyKind::kNone, true, 0},
      {"ICY 200 OK\r\n\r\n", "GET", BodyKind::kNone, true, 0},
      {"\r\nHTTP/1.1 200 OK\r\n\r\n", "GET", BodyKind::kNone, true, 0},
  };
  for (const Case& wanted : kCases) {
    auto head = ParseResponseHead(wanted.text, wanted.method);
    ASSERT_EQ(head.has_value(), wanted.code != 0) << wanted.text;
    if (!head) continue;
    EXPECT_EQ(head->code, wanted.code) << wanted.text;
    EXPECT_EQ(head->framing.kind, wanted.kind) << wanted.text;
    EXPECT_EQ(head->keep_alive, wanted.keep_alive) << wanted.text;
  }
}

TEST(SyntaxTest, HttpDate) {
  auto at = [](int64_t seconds) { return HttpDate(WallTime(std::chrono::seconds(seconds))); };
  EXPECT_EQ(at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(at(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(at(951827696), "Tue, 29 Feb 2000 12:34:56 GMT");
}

TEST(SyntaxTest, ListElements) {
  Headers headers{{"Connection", " keep-alive , ,Upgrade"}, {"connection", "X"}};
  EXPECT_EQ(ListElements(headers, "Connection"), (std::vector<std::string_view>{"keep-alive", "Upgrade", "X"}));
  EXPECT_TRUE(HasListToken(headers, "Connection", "upgrade"));
  EXPECT_FALSE(HasListToken(headers, "Connection", "up"));
}

}  // namespace
}  // namespace homeostat::http::internal
