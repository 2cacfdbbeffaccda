// What an expression may cost at least and at most, from its tree and the bounds that schemas give.
//
// Source of the rules: cel-go's checker/cost.go, ext/lists.go, ext/sets.go; Kubernetes' cel/library/cost.go.
#pragma once

#include "cel/internal/checker.h"

namespace homeostat::cel::internal {

CostEstimate EstimateCost(const Ast& ast, const CheckedTypes& types, const Environment& environment);

}  // namespace homeostat::cel::internal
