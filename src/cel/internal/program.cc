#include "cel/program.h"

#include "cel/internal/evaluator.h"

namespace homeostat::cel {

MapActivation& MapActivation::Set(std::string_view name, const Value& value) {
  for (auto& [known, old] : variables_) {
    if (known == name) {
      old = value;
      return *this;
    }
  }
  variables_.emplace_back(name, value);
  return *this;
}

std::optional<Value> MapActivation::Find(std::string_view name) const {
  for (const auto& [known, value] : variables_) {
    if (known == name) return value;
  }
  return std::nullopt;
}

Evaluation Program::Evaluate(object::Arena& arena, const Activation& activation, const EvaluateOptions& options) const {
  internal::Evaluator evaluator(arena, activation, options);
  Evaluation result;
  result.value = evaluator.Evaluate(*plan_->root);
  result.cost = evaluator.cost();
  if (evaluator.over_limit()) {
    result.outcome = Evaluation::Outcome::kCostExceeded;
    result.value = Value::Error("operation cancelled: actual cost limit exceeded");
  } else if (!evaluator.broken().empty()) {
    result.outcome = Evaluation::Outcome::kError;
    result.value = Value::Error(evaluator.broken());
  } else if (evaluator.interrupted()) {
    result.outcome = Evaluation::Outcome::kInterrupted;
    result.value = Value::Error("operation interrupted");
  } else if (result.value.IsError()) {
    result.outcome = Evaluation::Outcome::kError;
  }
  return result;
}

const Type& Program::result_type() const { return plan_->result_type; }

size_t Program::memory_size() const {
  size_t size = sizeof(Plan) + plan_->arena.capacity() + plan_->literals->capacity();
  for (const internal::Node& node : plan_->nodes) {
    size += sizeof node + node.args.capacity() * sizeof(void*) + node.fields.capacity() * sizeof(std::string_view);
  }
  for (const internal::Attribute& attribute : plan_->attributes) {
    size += sizeof attribute + attribute.qualifiers.capacity() * sizeof(void*);
  }
  size += plan_->qualifiers.size() * sizeof(internal::Qualifier);
  for (const std::string& name : plan_->names) size += sizeof name + name.capacity();
  return size;
}

}  // namespace homeostat::cel
