#include "homeostat/base/go_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace homeostat {

std::string AggregateText(const std::vector<std::string>& faults) {
  std::vector<std::string_view> once;
  for (const std::string& fault : faults) {
    if (std::ranges::find(once, fault) == once.end()) once.push_back(fault);
  }
  std::string text = JoinTexts(once, ", ");
  return once.size() == 1 ? text : "[" + text + "]";
}

std::string GoFloat(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[64];
  auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  std::string scientific(text, end);
  int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent < -4 || exponent >= 6) return scientific;
  end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr;
  return std::string(text, end);
}

}  // namespace homeostat
