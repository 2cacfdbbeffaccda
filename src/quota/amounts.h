// Amounts: quantities by the name of a resource, as quotas, limits and requests have them, and arithmetic on them.
// Source of the rules: apiserver's quota/v1 resources.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/object/quantity.h"
#include "homeostat/object/value.h"

namespace homeostat::quota {

using object::Value;
using Amounts = std::map<std::string, object::Quantity, std::less<>>;
using Names = std::set<std::string, std::less<>>;

// A map of quantities such as spec.hard; whole numbers count as such. What is no quantity is left out.
Amounts ParseAmounts(const Value& list);
// In canonical text, sorted by name; an empty map for none.
Value ToValue(object::Arena& arena, const Amounts& amounts);
Names NamesOf(const Amounts& amounts);

// The same names with equal quantities.
bool IsEqual(const Amounts& a, const Amounts& b);
void AddTo(Amounts& sum, const Amounts& more);
// Every name of `other` at least as much as there.
void RaiseTo(Amounts& maximum, const Amounts& other);
// a - b, nothing below zero; names of b that a lacks become zero.
Amounts SubtractToZero(const Amounts& a, const Amounts& b);
Amounts Mask(const Amounts& amounts, const Names& names);
Amounts WithoutZeros(const Amounts& amounts);
Names Negative(const Amounts& amounts);
// Names that both have, and of which `used` has more than `hard`.
Names Exceeding(const Amounts& used, const Amounts& hard);

// "cpu=1,memory=2Gi" and "cpu,memory", sorted.
std::string ToText(const Amounts& amounts);
std::string ToText(const Names& names);

}  // namespace homeostat::quota
