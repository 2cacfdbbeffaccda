// Optional values.
//
// Source of the rules: cel-go's cel/library.go. or() and orValue() are steps of the evaluator, since they do not always
// look at their second operand.
#include "cel/internal/functions.h"

namespace homeostat::cel::internal {

namespace {

constexpr int64_t kYearOne = -62135596800;  // Go's zero time

bool IsZero(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull: return true;
    case ValueKind::kBool: case ValueKind::kInt: case ValueKind::kUint: case ValueKind::kDuration: return value.AsInt() == 0;
    case ValueKind::kDouble: return value.AsDouble() == 0;
    case ValueKind::kString: case ValueKind::kBytes: return value.text().empty();
    case ValueKind::kTimestamp: return value.seconds() == kYearOne && value.nanos() == 0;
    case ValueKind::kList: return value.list().size() == 0;
    case ValueKind::kMap: return value.map().size() == 0;
    case ValueKind::kOptional: return value.optional() == nullptr;
    case ValueKind::kOpaque: return value.opaque().IsZero();
    default: return false;
  }
}

Value None(CallContext&, std::span<const Value>) { return Value::Optional(nullptr); }
Value Of(CallContext& context, std::span<const Value> args) { return MakeOptional(context.arena, args[0]); }
Value OfNonZero(CallContext& context, std::span<const Value> args) {
  return IsZero(args[0]) ? Value::Optional(nullptr) : MakeOptional(context.arena, args[0]);
}
Value Get(CallContext&, std::span<const Value> args) {
  return args[0].optional() ? *args[0].optional() : Value::Error("optional.none() dereference");
}
Value HasValue(CallContext&, std::span<const Value> args) { return Value::Bool(args[0].optional() != nullptr); }

Value Unwrap(CallContext& context, std::span<const Value> args) {
  std::vector<Value> items;
  for (uint64_t i = 0; i < args[0].list().size(); ++i) {
    Value item = args[0].list().At(i);
    if (!item.IsOptional()) return MakeError(context.arena, "value " + ToText(item) + " is not optional");
    if (item.optional()) items.push_back(*item.optional());
  }
  return MakeList(context.arena, items);
}

Value First(CallContext& context, std::span<const Value> args) {
  const List& list = args[0].list();
  return list.size() == 0 ? Value::Optional(nullptr) : MakeOptional(context.arena, list.At(0));
}
Value Last(CallContext& context, std::span<const Value> args) {
  const List& list = args[0].list();
  return list.size() == 0 ? Value::Optional(nullptr) : MakeOptional(context.arena, list.At(list.size() - 1));
}

}  // namespace

std::span<const Binding> OptionalBindings() {
  static constexpr Binding kBindings[] = {
      {"optional_none", None}, {"optional_of", Of}, {"optional_ofNonZeroValue", OfNonZero}, {"optional_value", Get},
      {"optional_hasValue", HasValue}, {"optional_unwrap", Unwrap}, {"optional_unwrapOpt", Unwrap}, {"list_first", First},
      {"list_last", Last},
  };
  return kBindings;
}

}  // namespace homeostat::cel::internal
