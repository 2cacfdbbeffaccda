// From a checked tree to a plan.
//
// Source of the rules: cel-go's interpreter/planner.go and decorators.go.
#pragma once

#include <memory>

#include "cel/internal/checker.h"
#include "cel/internal/plan.h"

namespace homeostat::cel::internal {

// The error is the text of a constant's evaluation that failed (int('x')), or of a bad pattern.
std::expected<std::shared_ptr<const Program::Plan>, std::string> MakePlan(const Ast& ast, const CheckedTypes& checked,
                                                                          const Environment& environment);

}  // namespace homeostat::cel::internal
