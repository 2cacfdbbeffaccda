// Expressions: whatever the text, it is refused with a message or becomes a program, whose evaluation ends within its
// limit of cost and costs no more than was estimated.
#include <cstdlib>

#include "cel/environment.h"
#include "homeostat/object/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace homeostat;
  static const auto document = object::ParseJsonDocument(
      R"({"schema": {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string", "maxLength": 9},
          "l": {"type": "array", "maxItems": 4, "items": {"type": "string", "maxLength": 9}},
          "m": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "integer"}}}},
          "self": {"n": 3, "s": "text", "l": ["a", "b"], "m": {"k": 1}}})");
  static const cel::DeclTypePtr type = cel::DeclType::FromSchema((*document)->root().Get("schema"), false)->Named("Root");
  static const cel::Environment environment = [] {
    cel::Environment made;
    made.Declare("self", type);
    made.Declare("any", cel::Type::Dyn());
    return made;
  }();
  auto checked = environment.Check({reinterpret_cast<const char*>(data), size});
  if (!checked) {
    if (checked.error().text.empty()) std::abort();
    return 0;
  }
  cel::CostEstimate estimate = checked->EstimateCost();
  if (estimate.min > estimate.max) std::abort();
  auto program = checked->MakeProgram();
  if (!program) return 0;
  object::Arena arena;
  cel::MapActivation activation;
  activation.Set("self", cel::FromJson(arena, (*document)->root().Get("self"), type.get()));
  activation.Set("any", cel::FromJson(arena, (*document)->root().Get("self")));
  cel::EvaluateOptions options;
  options.cost_limit = 100'000;
  cel::Evaluation result = program->Evaluate(arena, activation, options);
  if (result.outcome == cel::Evaluation::Outcome::kValue) (void)cel::ToLiteral(result.value);
  return 0;
}
