// Arithmetic, order, membership, size.
#include "cel/internal/operators.h"

#include <cmath>

#include "cel/internal/source.h"

namespace homeostat::cel::internal {

namespace {

constexpr int64_t kMinSeconds = -62135596800;  // of year 1
constexpr int64_t kMaxSeconds = 253402300799;  // of year 9999
constexpr int64_t kSecond = 1'000'000'000;

Value IntOverflow() { return Value::Error("integer overflow"); }
Value UintOverflow() { return Value::Error("unsigned integer overflow"); }

// A list behind another; neither is copied.
class ConcatList final : public List {
 public:
  ConcatList(const List& front, const List& back) : front_(front), back_(back), size_(front.size() + back.size()) {}
  uint64_t size() const override { return size_; }
  Value At(uint64_t position) const override {
    // Along the chain of fronts without recursion: lists grow at their ends.
    const ConcatList* list = this;
    while (true) {
      if (position >= list->front_.size()) return list->back_.At(position - list->front_.size());
      auto* next = dynamic_cast<const ConcatList*>(&list->front_);
      if (next == nullptr) return list->front_.At(position);
      list = next;
    }
  }

 private:
  const List& front_;
  const List& back_;
  uint64_t size_;
};

Value AddDuration(const Value& time, int64_t nanoseconds) {
  int64_t seconds = 0;
  if (__builtin_add_overflow(time.seconds(), nanoseconds / kSecond, &seconds)) return IntOverflow();
  int64_t nanos = static_cast<int64_t>(time.nanos()) + nanoseconds % kSecond;
  if (nanos < 0) {
    --seconds;
    nanos += kSecond;
  } else if (nanos >= kSecond) {
    ++seconds;
    nanos -= kSecond;
  }
  if (seconds < kMinSeconds || seconds > kMaxSeconds) return Value::Error("timestamp overflow");
  return Value::Timestamp(seconds, static_cast<uint32_t>(nanos), time.offset_minutes());
}

Value AddLists(CallContext& context, const Value& a, const Value& b) {
  if (const List* joined = a.list().Joined(context.arena, b.list())) return Value::Of(joined);
  if (a.list().size() == 0) return b;
  if (b.list().size() == 0) return a;
  uint64_t size = 0;
  if (__builtin_add_overflow(a.list().size(), b.list().size(), &size)) return Value::Error("list is too long");
  return Value::Of(static_cast<const List*>(MakeInArena<ConcatList>(context.arena, a.list(), b.list())));
}

Value Add(CallContext& context, std::span<const Value> args) { return AddValues(context, args[0], args[1]); }

Value Subtract(CallContext&, std::span<const Value> args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.IsTimestamp()) {
    if (b.IsDuration()) {
      if (b.nanoseconds() == INT64_MIN) return IntOverflow();
      return AddDuration(a, -b.nanoseconds());
    }
    if (!b.IsTimestamp()) return NoSuchOverload();
    int64_t nanos = 0;
    if (__builtin_mul_overflow(a.seconds() - b.seconds(), kSecond, &nanos) ||
        __builtin_add_overflow(nanos, static_cast<int64_t>(a.nanos()) - static_cast<int64_t>(b.nanos()), &nanos)) {
      return IntOverflow();
    }
    return Value::Duration(nanos);
  }
  if (a.kind() != b.kind()) return NoSuchOverload();
  int64_t difference = 0;
  switch (a.kind()) {
    case ValueKind::kInt:
      return __builtin_sub_overflow(a.AsInt(), b.AsInt(), &difference) ? IntOverflow() : Value::Int(difference);
    case ValueKind::kUint: return a.AsUint() < b.AsUint() ? UintOverflow() : Value::Uint(a.AsUint() - b.AsUint());
    case ValueKind::kDouble: return Value::Double(a.AsDouble() - b.AsDouble());
    case ValueKind::kDuration:
      return __builtin_sub_overflow(a.nanoseconds(), b.nanoseconds(), &difference) ? IntOverflow() : Value::Duration(difference);
    default: return NoSuchOverload();
  }
}

Value Multiply(CallContext&, std::span<const Value> args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.kind() != b.kind()) return NoSuchOverload();
  if (a.IsDouble()) return Value::Double(a.AsDouble() * b.AsDouble());
  if (a.IsInt()) {
    int64_t product = 0;
    return __builtin_mul_overflow(a.AsInt(), b.AsInt(), &product) ? IntOverflow() : Value::Int(product);
  }
  uint64_t product = 0;
  return __builtin_mul_overflow(a.AsUint(), b.AsUint(), &product) ? UintOverflow() : Value::Uint(product);
}

Value Divide(CallContext&, std::span<const Value> args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.kind() != b.kind()) return NoSuchOverload();
  if (a.IsDouble()) return Value::Double(a.AsDouble() / b.AsDouble());
  if (b.AsInt() == 0) return Value::Error("division by zero");
  if (a.IsUint()) return Value::Uint(a.AsUint() / b.AsUint());
  if (a.AsInt() == INT64_MIN && b.AsInt() == -1) return IntOverflow();
  return Value::Int(a.AsInt() / b.AsInt());
}

Value Modulo(CallContext&, std::span<const Value> args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.kind() != b.kind()) return NoSuchOverload();
  if (b.AsInt() == 0) return Value::Error("modulus by zero");
  if (a.IsUint()) return Value::Uint(a.AsUint() % b.AsUint());
  if (a.AsInt() == INT64_MIN && b.AsInt() == -1) return IntOverflow();
  return Value::Int(a.AsInt() % b.AsInt());
}

Value Negate(CallContext&, std::span<const Value> args) {
  const Value& a = args[0];
  if (a.IsBool()) return NoSuchOverload();
  if (a.IsDouble()) return Value::Double(-a.AsDouble());
  if (a.AsInt() == INT64_MIN) return IntOverflow();
  return a.IsInt() ? Value::Int(-a.AsInt()) : Value::Duration(-a.nanoseconds());
}

Value Not(CallContext&, std::span<const Value> args) {
  return args[0].IsBool() ? Value::Bool(!args[0].AsBool()) : NoSuchOverload();
}

// The order as -1, 0, 1, or an error.
Value Order(const Value& a, const Value& b) {
  if (auto order = Compare(a, b)) return Value::Int(*order);
  if (a.IsNumber() && b.IsNumber()) return Value::Error("NaN values cannot be ordered");
  return NoSuchOverload();
}
Value Less(CallContext&, std::span<const Value> args) {
  Value order = Order(args[0], args[1]);
  return order.IsError() ? order : Value::Bool(order.AsInt() < 0);
}
Value LessEquals(CallContext&, std::span<const Value> args) {
  Value order = Order(args[0], args[1]);
  return order.IsError() ? order : Value::Bool(order.AsInt() <= 0);
}
Value Greater(CallContext&, std::span<const Value> args) {
  Value order = Order(args[0], args[1]);
  return order.IsError() ? order : Value::Bool(order.AsInt() > 0);
}
Value GreaterEquals(CallContext&, std::span<const Value> args) {
  Value order = Order(args[0], args[1]);
  return order.IsError() ? order : Value::Bool(order.AsInt() >= 0);
}

Value In(CallContext&, std::span<const Value> args) {
  if (args[1].IsMap()) {
    auto found = args[1].map().Find(args[0]);
    if (found && found->IsError()) return *found;
    return Value::Bool(found.has_value());
  }
  if (!args[1].IsList()) return NoSuchOverload();
  const List& list = args[1].list();
  for (uint64_t i = 0; i < list.size(); ++i) {
    if (Equal(args[0], list.At(i))) return Value::Bool(true);
  }
  return Value::Bool(false);
}

Value Size(CallContext&, std::span<const Value> args) {
  const Value& a = args[0];
  switch (a.kind()) {
    case ValueKind::kString: return Value::Int(static_cast<int64_t>(CountCodePoints(a.text())));
    case ValueKind::kBytes: return Value::Int(static_cast<int64_t>(a.text().size()));
    case ValueKind::kList: return Value::Int(static_cast<int64_t>(a.list().size()));
    default: return Value::Int(static_cast<int64_t>(a.map().size()));
  }
}

Value CopyInsert(CallContext& context, const Map& map, std::span<const Value> keys, std::span<const Value> values) {
  auto* copy = MakeInArena<ArrayMap>(context.arena);
  for (uint64_t i = 0; i < map.size(); ++i) copy->Set(context.arena, map.KeyAt(i), map.ValueAt(i));
  for (size_t i = 0; i < keys.size(); ++i) {
    if (copy->Find(keys[i])) return MakeError(context.arena, "insert failed: key " + ToText(keys[i]) + " already exists");
    copy->Set(context.arena, keys[i], values[i]);
  }
  return Value::Of(static_cast<const Map*>(copy));
}
Value InsertKey(CallContext& context, std::span<const Value> args) {
  return CopyInsert(context, args[0].map(), args.subspan(1, 1), args.subspan(2, 1));
}
Value InsertMap(CallContext& context, std::span<const Value> args) {
  std::vector<Value> keys, values;
  for (uint64_t i = 0; i < args[1].map().size(); ++i) {
    keys.push_back(args[1].map().KeyAt(i));
    values.push_back(args[1].map().ValueAt(i));
  }
  return CopyInsert(context, args[0].map(), keys, values);
}

}  // namespace

Value AddValues(CallContext& context, const Value& a, const Value& b) {
  if (a.IsDuration() && b.IsTimestamp()) return AddDuration(b, a.nanoseconds());
  if (a.IsTimestamp()) return b.IsDuration() ? AddDuration(a, b.nanoseconds()) : NoSuchOverload();
  if (a.kind() != b.kind()) return NoSuchOverload();
  int64_t sum = 0;
  switch (a.kind()) {
    case ValueKind::kInt: return __builtin_add_overflow(a.AsInt(), b.AsInt(), &sum) ? IntOverflow() : Value::Int(sum);
    case ValueKind::kDuration:
      return __builtin_add_overflow(a.nanoseconds(), b.nanoseconds(), &sum) ? IntOverflow() : Value::Duration(sum);
    case ValueKind::kUint: {
      uint64_t total = 0;
      return __builtin_add_overflow(a.AsUint(), b.AsUint(), &total) ? UintOverflow() : Value::Uint(total);
    }
    case ValueKind::kDouble: return Value::Double(a.AsDouble() + b.AsDouble());
    case ValueKind::kString: case ValueKind::kBytes: {
      if (b.text().empty()) return a;
      if (a.text().empty()) return b;
      size_t size = a.text().size() + b.text().size();
      if (size > UINT32_MAX) return Value::Error("text is too long");
      char* text = context.arena.AllocateArray<char>(size);
      std::copy(a.text().begin(), a.text().end(), text);
      std::copy(b.text().begin(), b.text().end(), text + a.text().size());
      return a.IsString() ? Value::String({text, size}) : Value::Bytes({text, size});
    }
    case ValueKind::kList: return AddLists(context, a, b);
    default: return NoSuchOverload();
  }
}

const char* ListIndex(const Value& key, int64_t& index) {
  switch (key.kind()) {
    case ValueKind::kInt: index = key.AsInt(); return nullptr;
    case ValueKind::kUint:
      if (key.AsUint() > INT64_MAX) return "unsupported index value ";
      index = static_cast<int64_t>(key.AsUint());
      return nullptr;
    case ValueKind::kDouble:
      index = 0;
      if (!(key.AsDouble() > -9223372036854775808.0 && key.AsDouble() < 9223372036854775808.0)) return "unsupported index value ";
      index = static_cast<int64_t>(key.AsDouble());
      return static_cast<double>(index) == key.AsDouble() ? nullptr : "unsupported index value ";
    default: return "unsupported index type '";
  }
}

std::string ListIndexError(const Value& key, const char* beginning) {
  if (key.IsUint() || key.IsDouble()) return beginning + ToText(key) + " in list";
  return beginning + std::string(key.TypeName()) + "' in list";
}

std::span<const Binding> OperatorBindings() {
  static constexpr Binding kBindings[] = {
      {"_+_()", Add, Trait::kAdder},
      {"_-_()", Subtract, Trait::kSubtractor},
      {"_*_()", Multiply, Trait::kMultiplier},
      {"_/_()", Divide, Trait::kDivider},
      {"_%_()", Modulo, Trait::kModder},
      {"-_()", Negate, Trait::kNegator},
      {"!_()", Not},
      {"_<_()", Less, Trait::kComparer},
      {"_<=_()", LessEquals, Trait::kComparer},
      {"_>_()", Greater, Trait::kComparer},
      {"_>=_()", GreaterEquals, Trait::kComparer},
      {"@in()", In},
      {"size()", Size, Trait::kSizer},
      {"@mapInsert_map_key_value", InsertKey},
      {"@mapInsert_map_map", InsertMap},
  };
  return kBindings;
}

}  // namespace homeostat::cel::internal
