// quantity(): resource quantities.
//
// Source of the rules: Kubernetes' cel/library/quantity.go.
#include "homeostat/object/quantity.h"

#include "cel/internal/functions.h"

namespace homeostat::cel::internal {

namespace {

class QuantityValue final : public Opaque {
 public:
  QuantityValue(object::Quantity value, bool is_computed) : quantity(std::move(value)), computed(is_computed) {}
  std::string_view TypeName() const override { return "kubernetes.Quantity"; }
  // The original cannot compare with == what add() and sub() gave.
  std::optional<bool> Equal(const Opaque& other) const override {
    const auto& quantity_other = static_cast<const QuantityValue&>(other);
    if (quantity_other.computed) return std::nullopt;
    return quantity == quantity_other.quantity;
  }
  std::string ToString() const override { return quantity.ToString(); }

  const object::Quantity quantity;
  const bool computed;
};

const object::Quantity& Of(const Value& value) { return static_cast<const QuantityValue&>(value.opaque()).quantity; }

Value Parse(CallContext& context, std::span<const Value> args) {
  auto quantity = object::Quantity::Parse(args[0].text());
  if (!quantity) return MakeError(context.arena, quantity.error().message());
  return MakeOpaque(context.arena, QuantityValue(std::move(*quantity), false));
}
Value IsQuantity(CallContext&, std::span<const Value> args) {
  return Value::Bool(object::Quantity::Parse(args[0].text()).has_value());
}
Value Sign(CallContext&, std::span<const Value> args) { return Value::Int(Of(args[0]).Sign()); }
Value CompareTo(CallContext&, std::span<const Value> args) { return Value::Int(Of(args[0]).Compare(Of(args[1]))); }
Value IsGreater(CallContext&, std::span<const Value> args) { return Value::Bool(Of(args[0]).Compare(Of(args[1])) > 0); }
Value IsLess(CallContext&, std::span<const Value> args) { return Value::Bool(Of(args[0]).Compare(Of(args[1])) < 0); }
Value AsDouble(CallContext&, std::span<const Value> args) { return Value::Double(Of(args[0]).AsApproximateDouble()); }
Value IsInteger(CallContext&, std::span<const Value> args) { return Value::Bool(Of(args[0]).AsInt64().has_value()); }
Value AsInteger(CallContext&, std::span<const Value> args) {
  auto value = Of(args[0]).AsInt64();
  return value ? Value::Int(*value) : Value::Error("cannot convert value to integer");
}

template <bool kAdd>
Value Change(CallContext& context, std::span<const Value> args) {
  object::Quantity result = Of(args[0]);
  object::Quantity other =
      args[1].IsInt() ? object::Quantity::Of(args[1].AsInt(), object::Quantity::Format::kDecimalExponent) : Of(args[1]);
  if (kAdd) {
    result.Add(other);
  } else {
    result.Sub(other);
  }
  return MakeOpaque(context.arena, QuantityValue(std::move(result), true));
}

}  // namespace

std::span<const Binding> QuantityBindings() {
  static constexpr Binding kBindings[] = {
      {"string_to_quantity", Parse}, {"is_quantity_string", IsQuantity}, {"quantity_sign", Sign},
      {"quantity_is_greater_than", IsGreater}, {"quantity_is_less_than", IsLess}, {"quantity_compare_to", CompareTo},
      {"quantity_get_float", AsDouble}, {"quantity_get_int", AsInteger}, {"quantity_is_integer", IsInteger},
      {"quantity_add", Change<true>}, {"quantity_add_int", Change<true>}, {"quantity_sub", Change<false>},
      {"quantity_sub_int", Change<false>},
  };
  return kBindings;
}

}  // namespace homeostat::cel::internal
