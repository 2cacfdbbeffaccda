// What a compiler can see in literals: durations, points in time, patterns and formats that are none.
//
// Source of the rules: cel-go's cel/validator.go and ext/formatting.go, as Kubernetes enables them.
#pragma once

#include "cel/internal/ast.h"
#include "cel/internal/checker.h"

namespace homeostat::cel::internal {

void ValidateLiterals(const Expr& root, const CheckedTypes& types, Issues& issues);

// That the items of each list literal, and the keys and values of each map literal, are of one type; but for what is
// given to format().
void ValidateAggregates(const Expr& root, const CheckedTypes& types, Issues& issues);

}  // namespace homeostat::cel::internal
