// Program: an expression that is ready to be evaluated. Immutable; copies share one plan; any number of threads may
// evaluate it at once, each with an arena of its own.
//
// Source of the rules: cel-go's interpreter, costs included, with the settings of Kubernetes 1.36 (constants folded,
// costs tracked, logical operators cut short).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "cel/type.h"
#include "cel/value.h"

namespace homeostat::cel {

// Kubernetes' limit for one evaluation, and for all that one request makes.
inline constexpr uint64_t kPerCallLimit = 1'000'000;
inline constexpr uint64_t kRuntimeBudget = 10'000'000;

// Where an evaluation finds its variables.
class Activation {
 public:
  virtual ~Activation() = default;
  // nullopt: there is none of that name. Called each time that the variable is read.
  virtual std::optional<Value> Find(std::string_view name) const = 0;
};

// A few variables by name. Names must outlive it.
class MapActivation : public Activation {
 public:
  MapActivation& Set(std::string_view name, const Value& value);
  std::optional<Value> Find(std::string_view name) const override;

 private:
  std::vector<std::pair<std::string_view, Value>> variables_;
};

struct EvaluateOptions {
  // An evaluation that costs more ends.
  uint64_t cost_limit = kPerCallLimit;
  // Asked now and then, after some steps of a loop: true ends the evaluation. Empty: never.
  std::function<bool()> interrupted;
  // How many steps of loops pass between two questions.
  uint32_t interrupt_check_frequency = 100;
};

struct Evaluation {
  enum class Outcome : uint8_t { kValue, kError, kCostExceeded, kInterrupted };
  Outcome outcome = Outcome::kValue;
  // The result; its text for an error ("no such key: a", "operation cancelled: actual cost limit exceeded").
  Value value;
  uint64_t cost = 0;
};

class Program {
 public:
  // Values live in the arena, the activation's trees, or this program.
  Evaluation Evaluate(object::Arena& arena, const Activation& activation, const EvaluateOptions& options = {}) const;
  const Type& result_type() const;
  // Bytes of memory that the plan takes.
  size_t memory_size() const;

  struct Plan;
  explicit Program(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

 private:
  std::shared_ptr<const Plan> plan_;
};

}  // namespace homeostat::cel
