#include "server/number_literals.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "homeostat/object/json.h"

namespace homeostat::server {
namespace {

bool IsNumberPart(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

// What is beyond them is the largest double, as where it was read.
double Parse(std::string_view text) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  return std::clamp(std::strtod(std::string(text).c_str(), nullptr), -kLargest, kLargest);
}

// Where the message has the number: npos if it has none.
struct Span {
  size_t start = std::string::npos, end = std::string::npos;
  bool found() const { return end != std::string::npos; }
};
Span NumberIn(const std::string& message) {
  constexpr std::string_view kBefore = "cannot unmarshal number ";
  size_t start = message.find(kBefore);
  if (start == message.npos) return {};
  start += kBefore.size();
  size_t end = message.find(' ', start);
  // It may be named by its kind alone.
  bool number = end != message.npos && end > start && (message[start] == '-' || (message[start] >= '0' && message[start] <= '9'));
  return number ? Span{start, end} : Span{};
}

}  // namespace

std::string WithNumberAsSent(std::string message, std::string_view json) {
  constexpr size_t kLongest = 64;
  Span place = NumberIn(message);
  if (!place.found()) return message;
  double number = Parse(std::string_view(message).substr(place.start, place.end - place.start));
  std::string_view found;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    if (in_text) {
      if (json[i] == '\\') ++i;
      else in_text = json[i] != '"';
      continue;
    }
    in_text = json[i] == '"';
    if (in_text || !((json[i] >= '0' && json[i] <= '9') || json[i] == '-')) continue;
    size_t last = i;
    while (last < json.size() && IsNumberPart(json[last])) ++last;
    std::string_view token = json.substr(i, last - i);
    i = last - 1;
    if (token.size() > kLongest || Parse(token) != number) continue;
    // A plain integer is seldom what can't be read: one that is written as something else comes before it.
    bool plain = token.find_first_of(".eE") == token.npos;
    if (found.empty() || !plain) found = token;
    if (!plain) break;
  }
  return found.empty() ? message : message.replace(place.start, place.end - place.start, found);
}

std::string WithNumberFromYaml(std::string message, std::string_view yaml) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  Span place = NumberIn(message);
  if (!place.found()) return message;
  double number = Parse(std::string_view(message).substr(place.start, place.end - place.start));
  if (std::abs(number) < kTwoTo63) return message;
  std::string digits;
  object::AppendJsonDouble(digits, number);
  for (size_t i = 0; i < yaml.size(); ++i) {
    size_t last = std::min(yaml.find_first_not_of("0123456789", i), yaml.size());
    uint64_t integer = 0;
    auto [end, error] = std::from_chars(yaml.data() + i, yaml.data() + last, integer);
    bool whole = (i == 0 || yaml[i - 1] != '.') && (last == yaml.size() || std::string_view(".eE").find(yaml[last]) == std::string_view::npos);
    if (whole && last > i && error == std::errc() && static_cast<double>(integer) == number) digits = yaml.substr(i, last - i);
    i = last;
  }
  return message.replace(place.start, place.end - place.start, digits);
}

}  // namespace homeostat::server
