// Expressions of policies and webhooks at work on one request: what their names stand for, the budget they share, and the match
// conditions that policies and webhooks have in common.
//
// Source of the rules and texts: apiserver's admission/plugin/cel (activation.go, condition.go) and webhook/matchconditions.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admission/user/attributes.h"
#include "auth/authorizer.h"
#include "cel/authorizer.h"
#include "cel/lazy_map.h"
#include "cel/policy_environment.h"

namespace homeostat::admission {

// What all expressions of one policy for one request may cost, and those of match conditions alone.
inline constexpr int64_t kExpressionBudget = 10'000'000;
inline constexpr int64_t kMatchConditionBudget = 2'500'000;
// What expressions may cost before others get their turn on the loop: some milliseconds.
inline constexpr int64_t kCostOfOneTurn = 50'000;

// Asks the server's authorizer on behalf of the user who sent the request, or a service account.
class ExpressionAuthorizer final : public cel::Authorizer {
 public:
  ExpressionAuthorizer(auth::Authorizer& authorizer, const User& user) : authorizer_(authorizer), user_(user) {}
  cel::AuthorizationAnswer Authorize(const cel::AuthorizationQuestion& question) const override;

 private:
  auth::Authorizer& authorizer_;
  const User& user_;
};

// A named expression of a policy: what `variables.NAME` gives.
struct PolicyVariable {
  std::string name;
  cel::PolicyExpression expression;
};

// One expression with its text, as messages show it.
struct TextExpression {
  std::string_view text;  // outlives it; a placeholder has none
  cel::PolicyExpression expression;
  bool placeholder = false;
};

// What the names of expressions stand for in one request. Everything referred to outlives it; values go to the request's arena.
class ExpressionInput final : public cel::Activation {
 public:
  // params, namespace_object: JSON forms; absent: null. authorizer: null for expressions
  // that have none.
  ExpressionInput(const Attributes& attributes, const VersionedObjects& objects, const object::Value& params,
                  const object::Value& namespace_object, const cel::Authorizer* authorizer);
  // Names what `variables` has; each is computed when it is first asked for. Not for webhooks.
  void SetVariables(std::span<const PolicyVariable> variables);

  std::optional<cel::Value> Find(std::string_view name) const override;
  object::Arena& arena() const { return arena_; }
  Runtime& runtime() const { return runtime_; }
  // What variables have cost since it was last asked.
  int64_t TakeCost() const;

 private:
  object::Arena& arena_;
  Runtime& runtime_;
  cel::Value object_, old_object_, params_, request_, namespace_;
  std::optional<cel::Value> authorizer_, request_resource_, variables_value_;
  cel::LazyMap variables_;
  mutable int64_t cost_ = 0;
};

struct ExpressionOutcome {
  cel::Value value;
  std::string error;       // empty: there is a value
  bool placeholder = false;
};

// What a list of expressions gave. fault: why the rest of them was not evaluated; there are no outcomes then.
struct ExpressionOutcomes {
  std::vector<ExpressionOutcome> outcomes;
  std::string fault;
  int64_t remaining = -1;  // of the budget
};
// Others get their turn between expressions that cost much. Everything referred to outlives the task.
Task<ExpressionOutcomes> EvaluateAll(std::span<const TextExpression> expressions, const ExpressionInput& input, int64_t budget);

// A namespace as expressions see it: without its managed fields and owners. Absent for none.
object::Value NamespaceValue(object::Arena& arena, const object::Value& ns);

// The matchConditions of a policy or webhook, compiled once.
class MatchConditions {
 public:
  MatchConditions() = default;
  // list: of {name, expression}; its texts outlive this. ignores_faults: the failurePolicy is Ignore.
  MatchConditions(const object::Value& list, const cel::PolicyEnvironment& environment, bool ignores_faults);
  bool empty() const { return conditions_.empty(); }

  struct Answer {
    bool matches = true;
    std::string_view failed;  // the name of the condition that is false; empty: a fault decided, or all are true
    std::string fault;        // why it can't be said, where that is not to be ignored
    size_t faults = 0;        // how many of them could not be evaluated
  };
  // Everything referred to outlives the task, this included.
  Task<Answer> Match(const ExpressionInput& input) const;

 private:
  std::vector<TextExpression> conditions_;
  std::vector<std::string_view> names_;
  bool ignores_faults_ = false;
};

}  // namespace homeostat::admission
