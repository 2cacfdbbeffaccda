#include "cel/rule_cost.h"

#include <cstdio>

namespace homeostat::cel {

uint64_t MultiplySaturating(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t MaxCardinality(const DeclType& type) {
  // At least a comma stands between two of them.
  return static_cast<uint64_t>(kMaxRequestSizeBytes / (type.min_serialized_size() + 1));
}

uint64_t RuleCost(uint64_t expression_max_cost, std::optional<uint64_t> cardinality, const DeclType& type) {
  return MultiplySaturating(expression_max_cost, cardinality.value_or(MaxCardinality(type)));
}

std::string CostErrorMessage(std::string_view cost_name, uint64_t cost, uint64_t limit) {
  double factor = static_cast<double>(cost) / static_cast<double>(limit);
  char text[64] = "more than 100x";
  // Little more than the limit is told exactly: "by factor of 1.0x" would say nothing.
  if (factor <= 100.0) std::snprintf(text, sizeof text, factor < 1.5 ? "%fx" : "%.1fx", factor);
  return std::string(cost_name) + " exceeds budget by factor of " + text +
         " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
}

}  // namespace homeostat::cel
