#include "server/number_literals.h"

#include <cstdlib>

namespace homeostat::server {
namespace {

bool IsNumberPart(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

double Parse(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }

}  // namespace

std::string WithNumberAsSent(std::string message, std::string_view json) {
  constexpr std::string_view kBefore = "cannot unmarshal number ";
  constexpr size_t kLongest = 64;
  size_t start = message.find(kBefore);
  if (start == message.npos) return message;
  start += kBefore.size();
  size_t end = message.find(' ', start);
  if (end == message.npos) return message;
  std::string_view shown = std::string_view(message).substr(start, end - start);
  // A number that is named by its kind alone.
  if (shown.empty() || !(shown[0] == '-' || (shown[0] >= '0' && shown[0] <= '9'))) return message;
  double number = Parse(shown);
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
  return found.empty() ? message : message.replace(start, end - start, found);
}

}  // namespace homeostat::server
