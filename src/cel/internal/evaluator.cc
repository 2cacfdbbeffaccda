#include "cel/internal/evaluator.h"

#include <cmath>

#include "cel/internal/operators.h"

namespace homeostat::cel::internal {

Value Evaluator::Evaluate(const Node& node) {
  if (stopped()) return Value::Error("operation cancelled");
  Value value = Step(node);
  if (!stopped()) Observe(node, value);
  return value;
}

Value Evaluator::Step(const Node& node) {
  switch (node.kind) {
    case NodeKind::kConst: return node.constant;
    case NodeKind::kAttribute: {
      Value value = Resolve(*node.attribute);
      // has(a.?b.c): whether there is something in it.
      if (node.test_only && value.IsOptional()) return Value::Bool(value.optional() != nullptr);
      return value;
    }
    case NodeKind::kAnd: return Logic(node, false);
    case NodeKind::kOr: return Logic(node, true);
    case NodeKind::kEqual: return EqualStep(node, false);
    case NodeKind::kNotEqual: return EqualStep(node, true);
    case NodeKind::kCall: return CallStep(node);
    case NodeKind::kOptionalOr: case NodeKind::kOptionalOrValue: {
      Value left = Evaluate(*node.args[0]);
      if (!left.IsOptional()) return left;
      if (left.optional() != nullptr) return node.kind == NodeKind::kOptionalOr ? left : *left.optional();
      return Evaluate(*node.args[1]);
    }
    case NodeKind::kList: return ListStep(node);
    case NodeKind::kMap: return MapStep(node);
    case NodeKind::kStruct: return StructStep(node);
    case NodeKind::kFold: return FoldStep(node);
    case NodeKind::kSetMembership: return SetMembershipStep(node);
  }
  return NoSuchOverload();
}

Value Evaluator::Logic(const Node& node, bool absorbing) {
  Value error;
  for (const Node* term : node.args) {
    Value value = Evaluate(*term);
    if (value.IsBool()) {
      if (value.AsBool() == absorbing) return value;
    } else if (!error.IsError()) {
      error = value.IsError() ? value : NoSuchOverload();
    }
  }
  return error.IsError() ? error : Value::Bool(!absorbing);
}

Value Evaluator::EqualStep(const Node& node, bool negate) {
  Value left = Evaluate(*node.args[0]);
  Value right = Evaluate(*node.args[1]);
  if (left.IsError()) return left;
  if (right.IsError()) return right;
  if (left.IsOpaque() && !right.IsNull()) {
    bool comparable = right.IsOpaque() && right.TypeName() == left.TypeName() && left.opaque().Equal(right.opaque());
    if (!comparable) return negate ? Value::Bool(true) : NoSuchOverload();
  }
  return Value::Bool(Equal(left, right) != negate);
}

Value Evaluator::CallStep(const Node& node) {
  Value few[4];
  std::vector<Value> many;
  std::span<Value> args(few, node.args.size());
  if (node.args.size() > 4) {
    many.resize(node.args.size());
    args = many;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    args[i] = Evaluate(*node.args[i]);
    if (args[i].IsError() && node.var_args) return args[i];
  }
  if (node.function->name == "@not_strictly_false") return args[0].IsBool() ? args[0] : Value::Bool(true);
  for (const Value& arg : args) {
    if (arg.IsError()) return arg;
  }
  bool done = false;
  Value grown = Grow(node, args, done);
  return done ? grown : Dispatch(node, args);
}

Value Evaluator::Dispatch(const Node& node, std::span<const Value> args) {
  const Function& function = *node.function;
  if (node.pattern) return CallWithPattern(context_, *node.pattern, function.name, args);
  if (function.code != nullptr) {
    if (HasTrait(args[0], function.trait)) return function.code(context_, args);
    if (IsReceiver(args[0])) return NoSuchOverload();
    std::string text = "no such overload: " + std::string(function.name);
    if (args.size() > 2) text += " " + std::to_string(node.id);
    return Error(text);
  }
  auto matches = [&](const Overload& overload) {
    if (overload.args.size() != args.size() || overload.code == nullptr) return false;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!function.unguarded && !IsAssignableAtRunTime(overload.args[i], args[i])) return false;
    }
    return true;
  };
  if (node.overload != nullptr) {
    if (matches(*node.overload)) return node.overload->code(context_, args);
  } else {
    for (const Overload& overload : function.overloads) {
      if (matches(overload)) return overload.code(context_, args);
    }
  }
  return NoSuchOverload(context_, function.name, args);
}

// Loops append to their accumulator in place.
Value Evaluator::Grow(const Node& node, std::span<const Value> args, bool& done) {
  if (scope_ == nullptr || args.empty()) return {};
  if (node.function->name == "_+_" && args[0].IsList() && args[1].IsList()) {
    for (Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
      if (scope->growing_list == nullptr || &args[0].list() != scope->growing_list) continue;
      done = true;
      const List& more = args[1].list();
      for (uint64_t i = 0; i < more.size(); ++i) scope->growing_list->Append(context_.arena, more.At(i));
      return args[0];
    }
  }
  if (node.function->name != "cel.@mapInsert" || !args[0].IsMap()) return {};
  for (Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    if (scope->growing_map == nullptr || &args[0].map() != scope->growing_map) continue;
    done = true;
    auto insert = [&](const Value& key, const Value& value) {
      if (!Hashes(key)) return true;
      if (scope->growing_map->Find(key)) return false;
      scope->growing_map->Set(context_.arena, key, value);
      return true;
    };
    if (args.size() == 3) {
      return insert(args[1], args[2]) ? args[0] : Error("insert failed: key " + ToText(args[1]) + " already exists");
    }
    if (!args[1].IsMap()) return NoSuchOverload(context_, node.function->name, args);
    const Map& more = args[1].map();
    for (uint64_t i = 0; i < more.size(); ++i) {
      if (!insert(more.KeyAt(i), more.ValueAt(i))) {
        return Error("insert failed: key " + ToText(more.KeyAt(i)) + " already exists");
      }
    }
    return args[0];
  }
  return {};
}

Value Evaluator::ListStep(const Node& node) {
  std::vector<Value> items;
  items.reserve(node.args.size());
  for (size_t i = 0; i < node.args.size(); ++i) {
    Value item = Evaluate(*node.args[i]);
    if (item.IsError()) return item;
    if (!node.optional.empty() && node.optional[i]) {
      if (!item.IsOptional()) {
        return Error("cannot initialize optional list element from non-optional value " + ToText(item));
      }
      if (item.optional() == nullptr) continue;
      item = *item.optional();
    }
    items.push_back(item);
  }
  return MakeList(context_.arena, items);
}

bool Evaluator::Hashes(const Value& key) {
  if (!key.IsBytes()) return true;
  // What cel-go's maps do of such a key, which only dyn() gets past the checker.
  broken_ = "internal error: runtime error: hash of unhashable type types.Bytes";
  return false;
}

Value Evaluator::MapStep(const Node& node) {
  auto* map = MakeInArena<ArrayMap>(context_.arena);
  for (size_t i = 0; i + 1 < node.args.size(); i += 2) {
    Value key = Evaluate(*node.args[i]);
    if (key.IsError()) return key;
    Value value = Evaluate(*node.args[i + 1]);
    if (value.IsError()) return value;
    if (!node.optional.empty() && node.optional[i / 2]) {
      if (!value.IsOptional()) {
        return Error("cannot initialize optional entry '" + ToText(key) + "' from non-optional value " + ToText(value));
      }
      if (value.optional() == nullptr) {
        if (!Hashes(key)) break;
        map->Erase(key);
        continue;
      }
      value = *value.optional();
    }
    if (!Hashes(key)) break;
    map->Set(context_.arena, key, value);
  }
  return Value::Of(map);
}

Value Evaluator::StructStep(const Node& node) {
  std::vector<std::string_view> names;
  std::vector<Value> values;
  for (size_t i = 0; i < node.args.size(); ++i) {
    Value value = Evaluate(*node.args[i]);
    if (value.IsError()) return value;
    if (!node.optional.empty() && node.optional[i]) {
      if (!value.IsOptional()) {
        return Error("cannot initialize optional entry '" + std::string(node.fields[i]) + "' from non-optional value " +
                     ToText(value));
      }
      if (value.optional() == nullptr) continue;
      value = *value.optional();
    }
    names.push_back(node.fields[i]);
    values.push_back(value);
  }
  return MakeObject(context_.arena, *node.type, names, values);
}

Value Evaluator::SetMembershipStep(const Node& node) {
  Value value = Evaluate(*node.args[0]);
  if (value.IsError()) return value;
  return Value::Bool(node.members->HasSame(value));
}

Value Evaluator::FoldStep(const Node& node) {
  Scope scope{&node, scope_};
  Value range = Evaluate(*node.args[0]);
  if (range.IsError()) return range;
  bool two = !node.name2.empty();
  if (!range.IsList() && !range.IsMap()) {
    if (two) return Error("unsupported comprehension range type: " + std::string(GoTypeName(range)));
    return Error("got '" + std::string(GoTypeName(range)) + "', expected iterable type");
  }
  scope_ = &scope;
  uint64_t size = range.IsList() ? range.list().size() : range.map().size();
  for (uint64_t i = 0; i < size && !stopped(); ++i) {
    if (range.IsMap()) {
      scope.first = range.map().KeyAt(i);
      if (two) scope.second = range.map().ValueAt(i);
    } else {
      scope.first = two ? Value::Int(static_cast<int64_t>(i)) : range.list().At(i);
      if (two) scope.second = range.list().At(i);
    }
    if (!LoopOnce(scope)) break;
  }
  Value result = FoldResult(scope);
  scope_ = scope.outer;
  return result;
}

// false: the loop is over.
bool Evaluator::LoopOnce(Scope& scope) {
  Value condition = Evaluate(*scope.fold->args[2]);
  if (condition.IsFalse()) return false;
  scope.accumulator = Evaluate(*scope.fold->args[3]);
  scope.initialized = true;
  if (options_.interrupted && ++steps_ % options_.interrupt_check_frequency == 0 && options_.interrupted()) interrupted_ = true;
  return !interrupted_;
}

Value Evaluator::FoldResult(Scope& scope) {
  scope.in_result = true;
  if (stopped()) return Value::Error("operation interrupted");
  return Evaluate(*scope.fold->args[4]);
}

Value Evaluator::ResolveName(std::string_view name) {
  for (Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    const Node& fold = *scope->fold;
    if (name.data() == fold.accumulator.data()) {
      if (!scope->initialized) {
        scope->initialized = true;
        Scope* inner = scope_;
        scope_ = scope->outer;
        Value initial = Evaluate(*fold.args[1]);
        scope_ = inner;
        if (initial.IsList() && initial.list().size() == 0) {
          scope->growing_list = MakeInArena<ArrayList>(context_.arena);
          initial = Value::Of(static_cast<const List*>(scope->growing_list));
        } else if (initial.IsMap() && initial.map().size() == 0) {
          scope->growing_map = MakeInArena<ArrayMap>(context_.arena);
          initial = Value::Of(static_cast<const Map*>(scope->growing_map));
        }
        scope->accumulator = initial;
      }
      return scope->accumulator;
    }
    if (scope->in_result) continue;
    if (name.data() == fold.name.data()) return scope->first;
    if (!fold.name2.empty() && name.data() == fold.name2.data()) return scope->second;
  }
  if (auto value = activation_.Find(name)) return *value;
  return Error("no such attribute(s): " + std::string(name));
}

Value Evaluator::Resolve(const Attribute& attribute) {
  switch (attribute.kind) {
    case Attribute::Kind::kAbsolute: {
      Value value = ResolveName(attribute.name);
      return value.IsError() ? value : Qualified(value, attribute.qualifiers);
    }
    case Attribute::Kind::kRelative: {
      Value value = Evaluate(*attribute.operand);
      return value.IsError() ? value : Qualified(value, attribute.qualifiers);
    }
    case Attribute::Kind::kConditional: {
      Value condition = Evaluate(*attribute.operand);
      if (condition.IsBool()) return Resolve(condition.AsBool() ? *attribute.if_true : *attribute.if_false);
      return condition.IsError() ? condition : NoSuchOverload();
    }
  }
  return NoSuchOverload();
}

Value Evaluator::Qualified(Value object, const std::vector<Qualifier*>& qualifiers) {
  if (qualifiers.empty()) return object;
  bool optional = object.IsOptional();
  if (optional) {
    if (object.optional() == nullptr) return object;
    object = *object.optional();
  }
  for (const Qualifier* qualifier : qualifiers) {
    optional = optional || qualifier->optional;
    bool present = true;
    object = Qualify(*qualifier, object, optional, present);
    if (object.IsError()) return object;
    if (!present) return Value::Optional(nullptr);
  }
  return optional ? MakeOptional(context_.arena, object) : object;
}

Value Evaluator::Qualify(const Qualifier& qualifier, const Value& object, bool test, bool& present) {
  Value key = qualifier.constant ? qualifier.key : KeyOf(qualifier);
  Value value;
  bool observed = true;
  if (key.IsError()) {
    value = key;
    observed = !test;
  } else if (qualifier.test_only) {
    value = QualifyKey(object, key, true, true, present);
    observed = !test || (present && !value.IsError());
    if (!test) {
      if (!value.IsError()) value = Value::Bool(present);
      present = true;
    }
  } else {
    value = QualifyKey(object, key, test, false, present);
    observed = !test || (present && !value.IsError());
  }
  if (observed) ObserveQualifier(qualifier, value);
  return value;
}

Value Evaluator::KeyOf(const Qualifier& qualifier) {
  Value key = Resolve(*qualifier.attribute);
  switch (key.kind()) {
    case ValueKind::kString: case ValueKind::kInt: case ValueKind::kUint: case ValueKind::kBool: case ValueKind::kDouble:
    case ValueKind::kError: return key;
    default: break;
  }
  std::string_view type = GoTypeName(key);
  if (qualifier.attribute->kind == Attribute::Kind::kAbsolute) {
    if (key.IsList()) type = key.list().NativeGoTypeName();
    if (key.IsMap()) type = key.map().NativeGoTypeName();
  }
  return Error("invalid qualifier type: " + std::string(type));
}

Value Evaluator::QualifyKey(const Value& object, const Value& key, bool test, bool only_presence, bool& present) {
  present = true;
  if (object.IsError()) return object;
  if (object.IsMap()) {
    if (auto found = object.map().Find(key)) return only_presence && !found->IsError() ? Value::Bool(true) : *found;
    present = false;
    return test ? Value() : Error("no such key: " + ToText(key));
  }
  if (object.IsList()) {
    int64_t index = 0;
    if (const char* error = ListIndex(key, index)) return Error(ListIndexError(key, error));
    if (index >= 0 && static_cast<uint64_t>(index) < object.list().size()) {
      return object.list().At(static_cast<uint64_t>(index));
    }
    present = false;
    return test ? Value() : Error("index out of bounds: " + ToText(key));
  }
  present = false;
  return test ? Value() : Error("no such key: " + ToText(key));
}

std::string_view GoTypeName(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull: return "types.Null";
    case ValueKind::kBool: return "types.Bool";
    case ValueKind::kInt: return "types.Int";
    case ValueKind::kUint: return "types.Uint";
    case ValueKind::kDouble: return "types.Double";
    case ValueKind::kString: return "types.String";
    case ValueKind::kBytes: return "types.Bytes";
    case ValueKind::kTimestamp: return "types.Timestamp";
    case ValueKind::kDuration: return "types.Duration";
    case ValueKind::kList: return value.list().GoTypeName();
    case ValueKind::kMap: return value.map().GoTypeName();
    case ValueKind::kType: return "*types.Type";
    case ValueKind::kOptional: return "*types.Optional";
    case ValueKind::kOpaque: return value.TypeName();
    case ValueKind::kError: return "*types.Err";
  }
  return "";
}

}  // namespace homeostat::cel::internal
