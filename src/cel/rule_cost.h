// What the rules of a schema (x-kubernetes-validations) may cost by their estimates, and the messages for those that are
// too dear.
//
// Source of the rules: Kubernetes' apiextensions (validation.go, schema/cel/compilation.go).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cel/decl_type.h"

namespace homeostat::cel {

// The largest estimate of one expression, and of all rules of a CustomResourceDefinition.
inline constexpr uint64_t kRuleCostLimit = 10'000'000;
inline constexpr uint64_t kSchemaCostLimit = 100'000'000;

// How often values of a type can stand in one request at most: what a rule's estimate is multiplied with where the
// lists and maps around it have no bounds.
uint64_t MaxCardinality(const DeclType& type);

// An expression's estimate times the number of places. cardinality: the product of the bounds of the lists and maps
// around; nullopt: at least one has none. The largest number if it does not fit.
uint64_t RuleCost(uint64_t expression_max_cost, std::optional<uint64_t> cardinality, const DeclType& type);
uint64_t MultiplySaturating(uint64_t a, uint64_t b);

// "estimated rule cost exceeds budget by factor of 2.0x (try simplifying the rule, …)"
std::string CostErrorMessage(std::string_view cost_name, uint64_t cost, uint64_t limit);

}  // namespace homeostat::cel
