#include "homeostat/base/http.h"

#include <algorithm>
#include <array>
#include <optional>

#include "homeostat/base/text.h"

namespace homeostat::http {

namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte that "%xy" at `text` stands for; nullopt if it isn't such an escape.
std::optional<char> Escape(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  int high = HexDigit(text[1]), low = HexDigit(text[2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

// nullopt where an escape is broken: Go's parser drops such a parameter, and clients were tested against that.
std::optional<std::string> DecodeParameter(std::string_view text) {
  for (size_t i = text.find('%'); i != std::string_view::npos; i = text.find('%', i + 1)) {
    if (!Escape(text.substr(i))) return std::nullopt;
  }
  return PercentDecode(text, /*plus_is_space=*/true);
}

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

template <class Pairs, class Same>
auto Find(Pairs& pairs, std::string_view name, Same same) {
  return std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return same(pair.first, name); });
}

bool SameText(std::string_view a, std::string_view b) { return a == b; }

Bytes Join(const std::vector<Bytes>& parts, size_t size) {
  if (parts.size() == 1) return parts[0];
  std::string text;
  text.reserve(size);
  for (const Bytes& part : parts) text += part.view();
  return Bytes(std::move(text));
}

Status BodyTooLong(size_t limit) {
  return InternalError("the response body is longer than the " + std::to_string(limit) + " bytes that are read of it");
}

}  // namespace

std::string_view Headers::Get(std::string_view name) const {
  auto line = Find(lines_, name, EqualsIgnoreCase);
  return line == lines_.end() ? std::string_view() : std::string_view(line->second);
}

std::vector<std::string_view> Headers::GetAll(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : lines_) {
    if (EqualsIgnoreCase(key, name)) values.push_back(value);
  }
  return values;
}

bool Headers::Has(std::string_view name) const { return Find(lines_, name, EqualsIgnoreCase) != lines_.end(); }

void Headers::Set(std::string_view name, std::string_view value) {
  std::string owned_name(name), owned_value(value);  // either may be a view of a line that is removed here
  Remove(owned_name);
  lines_.emplace_back(std::move(owned_name), std::move(owned_value));
}

void Headers::Remove(std::string_view name) {
  std::string owned(name);
  std::erase_if(lines_, [&](const auto& line) { return EqualsIgnoreCase(line.first, owned); });
}

Query Query::Parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    size_t end = std::min(text.find('&'), text.size());
    std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    // A semicolon was once a separator; Go drops parameters that hold one, so that nobody reads them differently.
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    size_t equals = std::min(pair.find('='), pair.size());
    auto name = DecodeParameter(pair.substr(0, equals));
    auto value = DecodeParameter(pair.substr(std::min(equals + 1, pair.size())));
    if (name && value) query.parameters_.emplace_back(*std::move(name), *std::move(value));
  }
  return query;
}

std::string_view Query::Get(std::string_view name) const {
  auto parameter = Find(parameters_, name, SameText);
  return parameter == parameters_.end() ? std::string_view() : std::string_view(parameter->second);
}

bool Query::Has(std::string_view name) const { return Find(parameters_, name, SameText) != parameters_.end(); }

std::vector<std::string_view> Query::GetAll(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : parameters_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

std::string Query::Encode() const {
  std::string text;
  for (const auto& [name, value] : parameters_) {
    if (!text.empty()) text += '&';
    text += PercentEncode(name);
    text += '=';
    text += PercentEncode(value);
  }
  return text;
}

Task<Result<Bytes>> ReadAll(Response response, size_t limit) {
  std::vector<Bytes> parts = std::move(response.body);
  size_t size = 0;
  for (const Bytes& part : parts) size += part.size();
  if (size > limit) co_return Fail(BodyTooLong(limit));
  while (response.stream) {
    auto read = response.stream->Read();
    CO_TRY_ASSIGN(Bytes piece, co_await read);
    if (piece.empty()) break;
    size += piece.size();
    if (size > limit) co_return Fail(BodyTooLong(limit));
    parts.push_back(std::move(piece));
  }
  co_return Join(parts, size);
}

std::string PercentDecode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (auto escaped = Escape(text.substr(i))) {
      decoded += *escaped;
      i += 2;
    } else {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

std::string PercentEncode(std::string_view text, std::string_view also_plain) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (char c : text) {
    if (IsUnreserved(c) || also_plain.contains(c)) {
      encoded += c;
    } else {
      auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return encoded;
}

std::string_view ReasonPhrase(int code) {
  struct Entry {
    int code;
    std::string_view phrase;
  };
  // RFC 9110, section 15, and the registry it founds; words as Go writes them.
  static constexpr auto kPhrases = std::to_array<Entry>({
      {100, "Continue"},
      {101, "Switching Protocols"},
      {103, "Early Hints"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {203, "Non-Authoritative Information"},
      {204, "No Content"},
      {205, "Reset Content"},
      {206, "Partial Content"},
      {207, "Multi-Status"},
      {300, "Multiple Choices"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {402, "Payment Required"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {407, "Proxy Authentication Required"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Request Entity Too Large"},
      {414, "Request URI Too Long"},
      {415, "Unsupported Media Type"},
      {416, "Requested Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {418, "I'm a teapot"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Entity"},
      {423, "Locked"},
      {424, "Failed Dependency"},
      {425, "Too Early"},
      {426, "Upgrade Required"},
      {428, "Precondition Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {451, "Unavailable For Legal Reasons"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
      {507, "Insufficient Storage"},
      {511, "Network Authentication Required"},
  });
  for (const Entry& entry : kPhrases) {
    if (entry.code == code) return entry.phrase;
  }
  return {};
}

}  // namespace homeostat::http
