// The functions of lists and sets.
//
// Source of the rules: Kubernetes' cel/library/lists.go; cel-go's ext/lists.go, version 3, and ext/sets.go.
#include <algorithm>
#include <numeric>

#include "cel/internal/functions.h"
#include "cel/internal/operators.h"

namespace homeostat::cel::internal {

namespace {

Value IsSorted(CallContext&, std::span<const Value> args) {
  const List& list = args[0].list();
  for (uint64_t i = 0; i < list.size(); ++i) {
    Value item = list.At(i);
    if (!HasTrait(item, Trait::kComparer)) return item.IsError() ? item : NoSuchOverload();
    if (i > 0 && Compare(list.At(i - 1), item) == 1) return Value::Bool(false);
  }
  return Value::Bool(true);
}

template <ValueKind kZero>
Value Sum(CallContext& context, std::span<const Value> args) {
  const List& list = args[0].list();
  Value sum = kZero == ValueKind::kInt ? Value::Int(0) : kZero == ValueKind::kUint ? Value::Uint(0)
              : kZero == ValueKind::kDouble ? Value::Double(0) : Value::Duration(0);
  for (uint64_t i = 0; i < list.size(); ++i) {
    Value item = list.At(i);
    if (!HasTrait(item, Trait::kAdder)) return item.IsError() ? item : NoSuchOverload();
    sum = AddValues(context, sum, item);
    if (sum.IsError()) return sum;
  }
  return sum;
}

// The first of the least (kSign 1) or greatest (-1).
template <int kSign>
Value Extreme(CallContext&, std::span<const Value> args) {
  const List& list = args[0].list();
  if (list.size() == 0) return Value::Error(kSign > 0 ? "min called on empty list" : "max called on empty list");
  Value best;
  for (uint64_t i = 0; i < list.size(); ++i) {
    Value item = list.At(i);
    if (!HasTrait(item, Trait::kComparer)) return item.IsError() ? item : NoSuchOverload();
    if (i == 0 || Compare(best, item) == kSign) best = item;
  }
  return best;
}

Value IndexOf(CallContext&, std::span<const Value> args) {
  const List& list = args[0].list();
  for (uint64_t i = 0; i < list.size(); ++i) {
    if (Equal(list.At(i), args[1])) return Value::Int(static_cast<int64_t>(i));
  }
  return Value::Int(-1);
}
Value LastIndexOf(CallContext&, std::span<const Value> args) {
  const List& list = args[0].list();
  for (uint64_t i = list.size(); i-- > 0;) {
    if (Equal(list.At(i), args[1])) return Value::Int(static_cast<int64_t>(i));
  }
  return Value::Int(-1);
}

Value Slice(CallContext& context, std::span<const Value> args) {
  const List& list = args[0].list();
  int64_t start = args[1].AsInt(), end = args[2].AsInt();
  std::string what = "cannot slice(" + std::to_string(start) + ", " + std::to_string(end) + "), ";
  if (start < 0 || end < 0) return MakeError(context.arena, what + "negative indexes not supported");
  if (start > end) return MakeError(context.arena, what + "start index must be less than or equal to end index");
  if (static_cast<int64_t>(list.size()) < end) {
    return MakeError(context.arena, what + "list is length " + std::to_string(list.size()));
  }
  std::vector<Value> items;
  for (int64_t i = start; i < end; ++i) items.push_back(list.At(static_cast<uint64_t>(i)));
  return MakeList(context.arena, items);
}

void FlattenInto(std::vector<Value>& out, const List& list, int64_t depth) {
  for (uint64_t i = 0; i < list.size(); ++i) {
    Value item = list.At(i);
    if (item.IsList() && depth > 0) {
      FlattenInto(out, item.list(), depth - 1);
    } else {
      out.push_back(item);
    }
  }
}
Value Flatten(CallContext& context, std::span<const Value> args) {
  if (!args[0].IsList() || (args.size() > 1 && !args[1].IsInt())) {
    std::string text = "no such overload: " + std::string(args[0].TypeName()) + ".flatten(";
    if (args.size() > 1) text += args[1].TypeName();
    return MakeError(context.arena, text + ")");
  }
  int64_t depth = args.size() > 1 ? args[1].AsInt() : 1;
  if (depth < 0) return Value::Error("level must be non-negative");
  std::vector<Value> items;
  FlattenInto(items, args[0].list(), depth);
  return MakeList(context.arena, items);
}

Value SortByKeys(CallContext& context, std::span<const Value> args) {
  const List& list = args[0].list();
  const Value& key_value = args.back();
  if (!key_value.IsList()) return NoSuchOverload();
  const List& keys = key_value.list();
  if (list.size() != keys.size()) {
    return MakeError(context.arena, "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got " +
                                        std::to_string(list.size()) + " and " + std::to_string(keys.size()) +
                                        " elements respectively");
  }
  if (list.size() == 0) return args[0];
  Value first = keys.At(0);
  if (!HasTrait(first, Trait::kComparer)) return Value::Error("list elements must be comparable");
  for (uint64_t i = 1; i < keys.size(); ++i) {
    if (keys.At(i).kind() != first.kind()) return Value::Error("list elements must have the same type");
  }
  std::vector<uint64_t> order(list.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint64_t a, uint64_t b) { return Compare(keys.At(a), keys.At(b)) == -1; });
  std::vector<Value> sorted;
  for (uint64_t i : order) sorted.push_back(list.At(i));
  return MakeList(context.arena, sorted);
}

Value Range(CallContext& context, std::span<const Value> args) {
  // The original makes what it is asked for; a list of that size costs more than any limit, and memory before that.
  constexpr int64_t kMost = 20'000'000;
  if (args[0].AsInt() > kMost) return Value::Error("range is too long");
  std::vector<Value> items;
  for (int64_t i = 0; i < args[0].AsInt(); ++i) items.push_back(Value::Int(i));
  return MakeList(context.arena, items);
}

Value Reverse(CallContext& context, std::span<const Value> args) {
  std::vector<Value> items;
  for (uint64_t i = args[0].list().size(); i-- > 0;) items.push_back(args[0].list().At(i));
  return MakeList(context.arena, items);
}

bool Contains(const std::vector<Value>& items, const Value& value) {
  return std::any_of(items.begin(), items.end(), [&](const Value& item) { return Equal(value, item); });
}

Value Distinct(CallContext& context, std::span<const Value> args) {
  const List& list = args[0].list();
  if (list.size() == 0) return args[0];
  std::vector<Value> items;
  for (uint64_t i = 0; i < list.size(); ++i) {
    if (Value item = list.At(i); !Contains(items, item)) items.push_back(item);
  }
  return MakeList(context.arena, items);
}

bool ListHas(const List& list, const Value& value) {
  for (uint64_t i = 0; i < list.size(); ++i) {
    if (Equal(value, list.At(i))) return true;
  }
  return false;
}
bool HasAll(const List& list, const List& wanted) {
  for (uint64_t i = 0; i < wanted.size(); ++i) {
    if (!ListHas(list, wanted.At(i))) return false;
  }
  return true;
}
Value SetContains(CallContext&, std::span<const Value> args) { return Value::Bool(HasAll(args[0].list(), args[1].list())); }
Value SetEquivalent(CallContext&, std::span<const Value> args) {
  return Value::Bool(HasAll(args[0].list(), args[1].list()) && HasAll(args[1].list(), args[0].list()));
}
Value SetIntersects(CallContext&, std::span<const Value> args) {
  for (uint64_t i = 0; i < args[0].list().size(); ++i) {
    if (ListHas(args[1].list(), args[0].list().At(i))) return Value::Bool(true);
  }
  return Value::Bool(false);
}

}  // namespace

std::span<const Binding> ListBindings() {
  static const std::vector<Binding> bindings = [] {
    std::vector<Binding> made = {
        {"list_a_index_of_int", IndexOf}, {"list_a_last_index_of_int", LastIndexOf}, {"list_slice", Slice},
        {"list_flatten", Flatten}, {"list_flatten_int", Flatten}, {"sort()", SortByKeys, Trait::kLister},
        {"@sortByAssociatedKeys()", SortByKeys, Trait::kLister}, {"lists_range", Range}, {"list_reverse", Reverse},
        {"list_distinct", Distinct}, {"list_sets_contains_list", SetContains}, {"list_sets_equivalent_list", SetEquivalent},
        {"list_sets_intersects_list", SetIntersects}, {"list_int_sum_int", Sum<ValueKind::kInt>},
        {"list_uint_sum_uint", Sum<ValueKind::kUint>}, {"list_double_sum_double", Sum<ValueKind::kDouble>},
        {"list_duration_sum_duration", Sum<ValueKind::kDuration>}};
    struct Names {
      std::string_view sorted, min, max;
    };
    static constexpr Names kNames[] = {
        {"list_int_is_sorted_bool", "list_int_min_int", "list_int_max_int"},
        {"list_uint_is_sorted_bool", "list_uint_min_uint", "list_uint_max_uint"},
        {"list_double_is_sorted_bool", "list_double_min_double", "list_double_max_double"},
        {"list_bool_is_sorted_bool", "list_bool_min_bool", "list_bool_max_bool"},
        {"list_duration_is_sorted_bool", "list_duration_min_duration", "list_duration_max_duration"},
        {"list_timestamp_is_sorted_bool", "list_timestamp_min_timestamp", "list_timestamp_max_timestamp"},
        {"list_string_is_sorted_bool", "list_string_min_string", "list_string_max_string"},
        {"list_bytes_is_sorted_bool", "list_bytes_min_bytes", "list_bytes_max_bytes"}};
    for (const Names& names : kNames) {
      made.push_back({names.sorted, IsSorted});
      made.push_back({names.min, Extreme<1>});
      made.push_back({names.max, Extreme<-1>});
    }
    return made;
  }();
  return bindings;
}

}  // namespace homeostat::cel::internal
