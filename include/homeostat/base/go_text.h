// Go's forms of values in texts, where clients see them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace homeostat {

// Texts (of any range of what appends to a string) with that between them, as strings.Join gives them.
template <class Texts>
std::string JoinTexts(const Texts& texts, std::string_view between) {
  std::string joined;
  bool first = true;
  for (const auto& text : texts) {
    if (!first) joined += between;
    first = false;
    joined += text;
  }
  return joined;
}

// The texts of several errors as Kubernetes' aggregate prints them: each once, and in brackets if they are several.
std::string AggregateText(const std::vector<std::string>& faults);

// %v of a float64: the shortest text that reads as the same number, with an exponent below 1e-4 and from 1e+06 on.
std::string GoFloat(double value);

}  // namespace homeostat
