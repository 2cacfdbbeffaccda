#include "object/go_selector.h"

#include <utility>

namespace homeostat::object {

std::string GoSelectorText(const Value& selector) {
  if (!selector) return "nil";
  std::string text = "&LabelSelector{MatchLabels:map[string]string{";
  for (const Member& label : selector.Get("matchLabels").members()) {
    text += std::string(label.name()) + ": " + std::string(label.value.AsString()) + ",";
  }
  text += "},MatchExpressions:[]LabelSelectorRequirement{";
  for (const Value& one : selector.Get("matchExpressions").items()) {
    text += "LabelSelectorRequirement{Key:" + std::string(one.Get("key").AsString()) + ",Operator:" + std::string(one.Get("operator").AsString()) + ",Values:[";
    bool first = true;
    for (const Value& value : one.Get("values").items()) text += (std::exchange(first, false) ? "" : " ") + std::string(value.AsString());
    text += "],},";
  }
  return text + "},}";
}

}  // namespace homeostat::object
