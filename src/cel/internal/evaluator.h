// Evaluates a plan, counting what it costs.
//
// Source of the rules: cel-go's interpreter (attributes.go, interpretable.go, runtimecost.go).
#pragma once

#include <vector>

#include "cel/internal/plan.h"

namespace homeostat::cel::internal {

// One evaluation. Names of one plan are one pointer each, so looking variables of loops up compares pointers.
class Evaluator {
 public:
  Evaluator(object::Arena& arena, const Activation& activation, const EvaluateOptions& options)
      : context_{arena}, activation_(activation), options_(options) {
    constexpr size_t kDepth = 32;  // of what most expressions leave there
    stack_.reserve(kDepth);
  }

  Value Evaluate(const Node& node);
  uint64_t cost() const { return cost_; }
  bool over_limit() const { return over_limit_; }
  bool interrupted() const { return interrupted_; }
  // Not empty: the original's evaluation breaks off with this message, whatever stands around.
  std::string_view broken() const { return broken_; }

 private:
  // One loop that is being run.
  struct Scope {
    const Node* fold;
    Scope* outer;
    Value accumulator;
    Value first;
    Value second;
    bool initialized = false;
    bool in_result = false;
    ArrayList* growing_list = nullptr;  // the accumulator, while nobody else sees it
    ArrayMap* growing_map = nullptr;
  };
  struct StackEntry {
    int32_t id;
    Value value;
  };

  bool stopped() const { return over_limit_ || interrupted_ || !broken_.empty(); }
  Value Error(std::string_view text) { return MakeError(context_.arena, text); }

  Value Step(const Node& node);
  Value Logic(const Node& node, bool absorbing);
  Value EqualStep(const Node& node, bool negate);
  Value CallStep(const Node& node);
  Value Dispatch(const Node& node, std::span<const Value> args);
  Value Grow(const Node& node, std::span<const Value> args, bool& done);
  Value ListStep(const Node& node);
  bool Hashes(const Value& key);
  Value MapStep(const Node& node);
  Value StructStep(const Node& node);
  Value FoldStep(const Node& node);
  bool LoopOnce(Scope& scope);
  Value FoldResult(Scope& scope);
  Value SetMembershipStep(const Node& node);

  Value Resolve(const Attribute& attribute);
  Value ResolveName(std::string_view name);
  Value Qualified(Value object, const std::vector<Qualifier*>& qualifiers);
  // present is set to whether it was there; only_presence: the value is not needed.
  Value QualifyKey(const Value& object, const Value& key, bool test, bool only_presence, bool& present);
  Value Qualify(const Qualifier& qualifier, const Value& object, bool test, bool& present);
  Value KeyOf(const Qualifier& qualifier);

  // Cost.
  void Charge(uint64_t cost);
  void Observe(const Node& node, const Value& value);
  void ObserveQualifier(const Qualifier& qualifier, const Value& value);
  void Push(int32_t id, const Value& value) {
    stack_.push_back({id, value});
    if (cost_ > options_.cost_limit) over_limit_ = true;
  }
  // Everything from the newest value of that id on goes.
  void Drop(int32_t id) {
    for (size_t i = stack_.size(); i-- > 0;) {
      if (stack_[i].id == id) return stack_.resize(i);
    }
  }
  void ObserveCall(const Node& node, const Value& result);

  CallContext context_;
  const Activation& activation_;
  const EvaluateOptions& options_;
  Scope* scope_ = nullptr;
  std::vector<StackEntry> stack_;
  uint64_t cost_ = 0;
  uint32_t steps_ = 0;
  bool over_limit_ = false;
  bool interrupted_ = false;
  std::string_view broken_;
};

// What one call costs.
uint64_t CallCost(const Node& node, std::span<const Value> args, const Value& result);
CostRule CostRuleFor(std::string_view function, std::string_view overload);

// What Go would call the value's type in messages.
std::string_view GoTypeName(const Value& value);

// An object of a struct type, from its fields' values; absent fields are not in it.
Value MakeObject(object::Arena& arena, const DeclType& type, std::span<const std::string_view> names,
                 std::span<const Value> values);

}  // namespace homeostat::cel::internal
