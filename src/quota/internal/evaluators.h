// The evaluators that count more than objects, and what they share.
#pragma once

#include "quota/evaluator.h"

namespace homeostat::quota::internal {

std::unique_ptr<const Evaluator> MakePodEvaluator();
std::unique_ptr<const Evaluator> MakeVolumeClaimEvaluator();
std::unique_ptr<const Evaluator> MakeResourceClaimEvaluator();

Names Intersection(const Names& a, const Names& b);
// Whether one of an object's names of that scope fits the requirement; no names at all fit NotIn and DoesNotExist.
bool MatchesNames(const ScopeRequirement& requirement, const std::vector<std::string_view>& names);
// An extended resource as quotas name it: "requests.example.com/gpu".
bool IsExtendedResourceForQuota(std::string_view name);

}  // namespace homeostat::quota::internal
