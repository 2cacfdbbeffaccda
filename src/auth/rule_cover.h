// Rules of roles: what a rule lets through, and whether some rules give all that others do. Pure.
// Source: component-helpers/auth/rbac/validation and pkg/apis/rbac/v1/evaluation_helpers.
#pragma once

#include <string>
#include <vector>

#include "auth/authorizer.h"
#include "homeostat/api/rbac/v1.h"

namespace homeostat::auth {

using api::rbac::v1::PolicyRule;

// True if the rule lets the request through.
bool RuleAllows(const PolicyRule& rule, const Attributes& attributes);

// What `needed` gives and `owned` does not, as upstream prints it: sorted texts such as
// {APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}. Empty: everything is covered.
std::vector<std::string> UncoveredRules(const std::vector<PolicyRule>& owned, const std::vector<PolicyRule>& needed);

// The same as rules of one verb, group, resource (and name) or of one verb and path each, in the order they are needed. They live in
// the arena.
std::vector<object::Value> UncoveredParts(object::Arena& arena, const std::vector<PolicyRule>& owned, const std::vector<PolicyRule>& needed);

}  // namespace homeostat::auth
