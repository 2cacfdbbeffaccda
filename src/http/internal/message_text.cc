#include "http/internal/message_text.h"

#include <algorithm>

#include "homeostat/base/text.h"
#include "http/internal/syntax.h"

namespace homeostat::http::internal {

namespace {

void AppendField(std::string* text, std::string_view name, std::string_view value) {
  text->append(name).append(": ").append(value).append("\r\n");
}

bool IsFramingField(std::string_view name) {
  return IsConnectionField(name) || EqualsIgnoreCase(name, "Content-Length");
}

}  // namespace

std::string_view DateCache::Now() {
  WallTime now = runtime_.WallNow();
  int64_t second = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  if (second != second_) {
    second_ = second;
    text_ = HttpDate(now);
  }
  return text_;
}

std::string_view SendableName(std::string_view name) { return IsToken(name) ? name : std::string_view(); }

std::string SendableValue(std::string_view value) {
  std::string sendable(Trim(value));
  for (char& c : sendable) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = ' ';
  }
  return sendable;
}

bool MayHaveBody(int code) { return code >= 200 && code != 204 && code != 304; }

std::vector<Bytes> OnePart(Bytes part) {
  std::vector<Bytes> parts;
  parts.push_back(std::move(part));
  return parts;
}

size_t BodySize(const Response& response) {
  size_t size = 0;
  for (const Bytes& part : response.body) size += part.size();
  return size;
}

Status ConnectionError(std::string_view what) { return Status(503, "ServiceUnavailable", what); }

Response PlainResponse(int code, std::string_view text) {
  Response response;
  response.code = code;
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.headers.Add("Connection", "close");
  response.body.push_back(Bytes::Copy(text));
  return response;
}

std::string ResponseHeadText(const Response& response, const ResponseFraming& framing, bool answers_head,
                             std::string_view date) {
  std::string text;
  text.reserve(512);
  text.append("HTTP/1.1 ")
      .append(std::to_string(response.code))
      .append(" ")
      .append(ReasonPhrase(response.code))
      .append("\r\n");
  bool has_date = false, has_length = false;
  for (const auto& [name, value] : response.headers.lines()) {
    std::string_view sendable = SendableName(name);
    bool announced = answers_head && EqualsIgnoreCase(name, "Content-Length") && ParseLength(value);
    if (sendable.empty() || (IsFramingField(name) && !(announced && !has_length))) continue;
    has_date = has_date || EqualsIgnoreCase(name, "Date");
    has_length = has_length || announced;
    AppendField(&text, sendable, SendableValue(value));
  }
  if (!has_date) AppendField(&text, "Date", date);
  if (framing.length && !has_length) AppendField(&text, "Content-Length", std::to_string(*framing.length));
  if (framing.chunked) AppendField(&text, "Transfer-Encoding", "chunked");
  if (framing.close) AppendField(&text, "Connection", "close");
  if (!framing.upgrade.empty()) {
    AppendField(&text, "Upgrade", SendableValue(framing.upgrade));
    AppendField(&text, "Connection", "Upgrade");
  }
  if (framing.keep_alive) AppendField(&text, "Connection", "keep-alive");
  text += "\r\n";
  return text;
}

Result<std::string> RequestHeadText(const Request& request, std::string_view host) {
  if (!IsToken(request.method)) return Fail(BadRequestError("the request's method can't be sent"));
  if (!IsPath(request.path) || !IsQuery(request.query))
    return Fail(BadRequestError("the request's path can't be sent"));
  std::string text;
  text.reserve(512);
  text.append(request.method).append(" ").append(request.path);
  if (!request.query.empty()) text.append("?").append(request.query);
  text += " HTTP/1.1\r\n";
  std::string_view given_host = request.headers.Get("Host");
  AppendField(&text, "Host", given_host.empty() ? host : given_host);
  for (const auto& [name, value] : request.headers.lines()) {
    if (EqualsIgnoreCase(name, "Host") || EqualsIgnoreCase(name, "Content-Length") ||
        EqualsIgnoreCase(name, "Transfer-Encoding")) {
      continue;
    }
    if (!IsToken(name) || !IsFieldValue(value)) return Fail(BadRequestError("the header " + name + " can't be sent"));
    AppendField(&text, name, value);
  }
  bool announces =
      !request.body.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (announces) AppendField(&text, "Content-Length", std::to_string(request.body.size()));
  text += "\r\n";
  return text;
}

}  // namespace homeostat::http::internal
