#include "homeostat/base/text.h"
#include "http/internal/syntax.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace homeostat::http::internal {

namespace {

constexpr std::array<bool, 256> Alphabet(std::string_view others) {
  std::array<bool, 256> set{};
  for (int c = '0'; c <= '9'; ++c) set[c] = true;
  for (int c = 'a'; c <= 'z'; ++c) set[c] = set[c - 32] = true;
  for (char c : others) set[static_cast<unsigned char>(c)] = true;
  return set;
}
constexpr auto kTokenCharacters = Alphabet("!#$%&'*+-.^_`|~");
// RFC 3986: unreserved, sub-delims, percent escapes, and what IP literals and ports need.
constexpr auto kHostCharacters = Alphabet("!$%&'()*+,-.:;=[]_~");

bool AllIn(const std::array<bool, 256>& set, std::string_view text) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return set[static_cast<unsigned char>(c)]; });
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::optional<uint64_t> ParseNumber(std::string_view text, int base, size_t most_digits) {
  if (text.empty() || text.size() > most_digits) return std::nullopt;
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string_view Trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool IsToken(std::string_view text) { return !text.empty() && AllIn(kTokenCharacters, text); }

bool IsFieldValue(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return IsControl(c) && c != '\t'; });
}

bool IsHost(std::string_view text) { return AllIn(kHostCharacters, text); }

bool IsPath(std::string_view text) {
  if (text.empty() || text[0] != '/' || !IsQuery(text)) return false;
  for (size_t i = text.find('%'); i != std::string_view::npos; i = text.find('%', i + 1)) {
    if (i + 2 >= text.size() || !IsHex(text[i + 1]) || !IsHex(text[i + 2])) return false;
  }
  return true;
}

bool IsQuery(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return IsControl(c) || c == ' '; });
}

std::optional<uint64_t> ParseLength(std::string_view text) { return ParseNumber(text, 10, 18); }
std::optional<uint64_t> ParseHex(std::string_view text) { return ParseNumber(text, 16, 15); }

std::vector<std::string_view> ListElements(const Headers& headers, std::string_view name) {
  std::vector<std::string_view> elements;
  for (std::string_view value : headers.GetAll(name)) {
    while (!value.empty()) {
      size_t end = std::min(value.find(','), value.size());
      std::string_view element = Trim(value.substr(0, end));
      if (!element.empty()) elements.push_back(element);
      value.remove_prefix(std::min(end + 1, value.size()));
    }
  }
  return elements;
}

bool HasListToken(const Headers& headers, std::string_view name, std::string_view token) {
  for (std::string_view element : ListElements(headers, name)) {
    if (EqualsIgnoreCase(element, token)) return true;
  }
  return false;
}

bool IsConnectionField(std::string_view name) {
  static constexpr std::string_view kNames[] = {"connection",        "keep-alive", "proxy-connection", "te",
                                                "transfer-encoding", "upgrade",    "trailer"};
  return std::any_of(std::begin(kNames), std::end(kNames), [&](auto known) { return EqualsIgnoreCase(name, known); });
}

std::string HttpDate(WallTime time) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  using namespace std::chrono;
  auto seconds_since = floor<seconds>(time);
  auto day = floor<days>(seconds_since);
  year_month_day date(day);
  hh_mm_ss clock(seconds_since - day);
  char text[64];
  std::snprintf(text, sizeof text, "%s, %02u %s %04d %02d:%02d:%02d GMT", kDays[weekday(day).c_encoding()],
                static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
                static_cast<int>(date.year()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
  return text;
}

}  // namespace homeostat::http::internal
