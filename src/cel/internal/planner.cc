#include "cel/internal/planner.h"

#include <unordered_map>

#include "cel/internal/evaluator.h"
#include "cel/internal/operators.h"

namespace homeostat::cel::internal {

namespace {

bool IsConversion(std::string_view name) {
  for (std::string_view known : {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}) {
    if (name == known) return true;
  }
  return false;
}

// Functions of one or two arguments that the original binds in the form for any number.
bool IsVarArgs(std::string_view overload) { return overload == "string_format"; }

class Planner {
 public:
  Planner(const CheckedTypes& checked, const Environment& environment, Program::Plan& plan)
      : checked_(checked), env_(environment), plan_(plan) {}

  const Node* Run(const Expr& root) { return Plan(root); }
  const std::string& error() const { return error_; }

 private:
  Node& New(NodeKind kind, int32_t id) {
    Node& node = plan_.nodes.emplace_back();
    node.kind = kind;
    node.id = id;
    return node;
  }
  Node* Constant(int32_t id, const Value& value) {
    Node& node = New(NodeKind::kConst, id);
    node.constant = value;
    return &node;
  }
  // One pointer for one name.
  std::string_view Name(std::string_view name) {
    auto [found, added] = names_.try_emplace(std::string(name));
    if (added) found->second = plan_.names.emplace_back(name);
    return found->second;
  }

  Node* Plan(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kLiteral: return Constant(expr.id, expr.literal);
      case ExprKind::kIdent: return PlanIdent(expr);
      case ExprKind::kSelect: return PlanSelect(expr);
      case ExprKind::kCall: return PlanCall(expr);
      case ExprKind::kList: case ExprKind::kMap: return PlanAggregate(expr);
      case ExprKind::kStruct: return PlanStruct(expr);
      case ExprKind::kComprehension: return PlanFold(expr);
      case ExprKind::kUnspecified: break;
    }
    return Fail(expr.id, "unsupported expr");
  }

  Node* Fail(int32_t id, std::string text) {
    if (error_.empty()) error_ = text.empty() ? "failed" : std::move(text);
    return Constant(id, Value::Error("failed"));
  }

  Node* AttributeNode(Attribute& attribute) {
    Node& node = New(NodeKind::kAttribute, attribute.id);
    node.attribute = &attribute;
    return &node;
  }
  Attribute& NewAttribute(Attribute::Kind kind, int32_t id) {
    Attribute& attribute = plan_.attributes.emplace_back();
    attribute.kind = kind;
    attribute.id = id;
    return attribute;
  }

  Node* PlanIdent(const Expr& expr) {
    if (checked_.references[static_cast<size_t>(expr.id)] == kTypeReference) {
      // The name of a type: of what it is the type of.
      return Constant(expr.id, Value::TypeNamed(Name(expr.name)));
    }
    Attribute& attribute = NewAttribute(Attribute::Kind::kAbsolute, expr.id);
    attribute.name = Name(expr.name);
    return AttributeNode(attribute);
  }

  // The operand as something that qualifiers can be added to.
  Node* AsAttribute(Node* operand, int32_t id) {
    if (operand->kind == NodeKind::kAttribute) return operand;
    Attribute& attribute = NewAttribute(Attribute::Kind::kRelative, id);
    attribute.operand = operand;
    return AttributeNode(attribute);
  }

  Qualifier& NewQualifier(int32_t id) {
    Qualifier& qualifier = plan_.qualifiers.emplace_back();
    qualifier.id = id;
    return qualifier;
  }

  void Add(Attribute& attribute, Qualifier& qualifier) {
    if (attribute.kind != Attribute::Kind::kConditional) {
      attribute.qualifiers.push_back(&qualifier);
      return;
    }
    Add(*attribute.if_true, qualifier);
    Add(*attribute.if_false, qualifier);
  }

  Node* PlanSelect(const Expr& expr) {
    Node* operand = AsAttribute(Plan(*expr.args[0]), IdOfExpr(*expr.args[0]));
    Qualifier& qualifier = NewQualifier(expr.id);
    qualifier.key = Value::String(Name(expr.name));
    if (!expr.test_only) {
      Add(*operand->attribute, qualifier);
      return operand;
    }
    qualifier.test_only = true;
    Add(*operand->attribute, qualifier);
    Node& test = New(NodeKind::kAttribute, expr.id);
    test.attribute = operand->attribute;
    test.test_only = true;
    return &test;
  }

  static int32_t IdOfExpr(const Expr& expr) { return expr.id; }

  Node* PlanCall(const Expr& expr) {
    std::vector<const Node*> args;
    std::vector<Node*> nodes;
    for (const ExprPtr& arg : expr.args) {
      nodes.push_back(Plan(*arg));
      args.push_back(nodes.back());
    }
    if (expr.name == "_?_:_") return PlanConditional(expr, nodes);
    if (expr.name == "_[_]" || expr.name == "_[?_]" || expr.name == "_?._") return PlanIndex(expr, nodes);
    const auto& overloads = checked_.overloads[static_cast<size_t>(expr.id)];
    const Overload* overload = overloads.size() == 1 ? overloads[0] : nullptr;
    std::string_view overload_id = overload ? overload->id : std::string_view();
    NodeKind kind = NodeKind::kCall;
    if (expr.name == "_&&_") kind = NodeKind::kAnd;
    if (expr.name == "_||_") kind = NodeKind::kOr;
    if (expr.name == "_==_") kind = NodeKind::kEqual;
    if (expr.name == "_!=_") kind = NodeKind::kNotEqual;
    if (expr.name == "or" && args.size() == 2) kind = NodeKind::kOptionalOr;
    if (expr.name == "orValue" && args.size() == 2) kind = NodeKind::kOptionalOrValue;
    if (kind == NodeKind::kCall && overload_id == "in_list" && args[1]->kind == NodeKind::kConst) {
      if (Node* membership = SetMembership(expr, args)) return membership;
    }
    Node& node = New(kind, expr.id);
    node.args = std::move(args);
    node.function = FindFunction(expr.name);
    node.overload = overload;
    if (kind == NodeKind::kEqual) overload_id = "equals";
    if (kind == NodeKind::kNotEqual) overload_id = "not_equals";
    node.cost_rule = CostRuleFor(expr.name, overload_id);
    if (kind != NodeKind::kCall) return &node;
    node.var_args = node.args.size() > 2 || IsVarArgs(overload_id) ||
                    (overload == nullptr && node.function->code == nullptr && node.function->overloads.size() > 1);
    if (IsConversion(expr.name) && node.args.size() == 1 && node.args[0]->kind == NodeKind::kConst) return FoldConversion(node);
    return PrecompilePattern(node);
  }

  Node* FoldConversion(const Node& node) {
    EvaluateOptions options;
    MapActivation nothing;
    Evaluator evaluator(plan_.arena, nothing, options);
    Value value = evaluator.Evaluate(node);
    if (value.IsError()) return Fail(node.id, std::string(value.text()));
    return Constant(node.id, value);
  }

  Node* PrecompilePattern(Node& node) {
    std::string_view name = node.function->name;
    if ((name != "matches" && name != "find" && name != "findAll") || node.args.size() < 2) return &node;
    const Node& pattern = *node.args[1];
    if (pattern.kind != NodeKind::kConst || !pattern.constant.IsString()) return &node;
    CompiledPattern compiled = CompilePattern(pattern.constant.text());
    if (!compiled.pattern) return Fail(node.id, compiled.error);
    node.pattern = compiled.pattern;
    node.var_args = true;
    return &node;
  }

  // x in [constants…] becomes a look-up in a set; of numbers the other types' are in it as well.
  Node* SetMembership(const Expr& expr, const std::vector<const Node*>& args) {
    const Value& constant = args[1]->constant;
    if (!constant.IsList()) return nullptr;
    const List& list = constant.list();
    if (list.size() == 0) return Constant(expr.id, Value::Bool(false));
    auto* members = MakeInArena<ArrayMap>(plan_.arena);
    auto add = [&](const Value& value) { members->Set(plan_.arena, value, Value::Bool(true)); };
    for (uint64_t i = 0; i < list.size(); ++i) {
      Value item = list.At(i);
      if (!item.IsBool() && !item.IsNumber() && !item.IsString()) return nullptr;
      add(item);
      if (item.IsDouble()) {
        double d = item.AsDouble();
        if (d > -9223372036854775808.0 && d < 9223372036854775808.0 && static_cast<double>(static_cast<int64_t>(d)) == d) {
          add(Value::Int(static_cast<int64_t>(d)));
        }
        if (d >= 0 && d < 18446744073709551616.0 && static_cast<double>(static_cast<uint64_t>(d)) == d) {
          add(Value::Uint(static_cast<uint64_t>(d)));
        }
      } else if (item.IsInt()) {
        add(Value::Double(static_cast<double>(item.AsInt())));
        if (item.AsInt() >= 0) add(Value::Uint(static_cast<uint64_t>(item.AsInt())));
      } else if (item.IsUint()) {
        add(Value::Double(static_cast<double>(item.AsUint())));
        if (item.AsUint() <= INT64_MAX) add(Value::Int(static_cast<int64_t>(item.AsUint())));
      }
    }
    Node& node = New(NodeKind::kSetMembership, expr.id);
    node.args = {args[0]};
    node.members = members;
    return &node;
  }

  Attribute* BranchAttribute(Node* branch, const Expr& expr) {
    if (branch->kind == NodeKind::kAttribute) return branch->attribute;
    Attribute& attribute = NewAttribute(Attribute::Kind::kRelative, IdOfExpr(expr));
    attribute.operand = branch;
    return &attribute;
  }

  Node* PlanConditional(const Expr& expr, const std::vector<Node*>& args) {
    Attribute& attribute = NewAttribute(Attribute::Kind::kConditional, expr.id);
    attribute.operand = args[0];
    attribute.if_true = BranchAttribute(args[1], *expr.args[1]);
    attribute.if_false = BranchAttribute(args[2], *expr.args[2]);
    return AttributeNode(attribute);
  }

  Node* PlanIndex(const Expr& expr, const std::vector<Node*>& args) {
    Node* operand = AsAttribute(args[0], IdOfExpr(*expr.args[0]));
    Qualifier& qualifier = NewQualifier(expr.id);
    qualifier.optional = expr.name != "_[_]";
    Node* index = args[1];
    if (index->kind == NodeKind::kConst) {
      qualifier.key = index->constant;
      if (!IsKey(qualifier.key)) {
        return Fail(expr.id, "invalid qualifier type: " + std::string(GoTypeName(qualifier.key)));
      }
    } else {
      qualifier.constant = false;
      if (index->kind == NodeKind::kAttribute) {
        qualifier.attribute = index->attribute;
      } else {
        Attribute& attribute = NewAttribute(Attribute::Kind::kRelative, expr.id);
        attribute.operand = index;
        qualifier.attribute = &attribute;
        qualifier.counts_as_attribute = true;
      }
    }
    Add(*operand->attribute, qualifier);
    return operand;
  }

  static bool IsKey(const Value& value) {
    return value.IsString() || value.IsNumber() || value.IsBool();
  }

  Node* PlanAggregate(const Expr& expr) {
    bool constant = true;
    std::vector<const Node*> args;
    for (const ExprPtr& arg : expr.args) {
      args.push_back(Plan(*arg));
      constant = constant && args.back()->kind == NodeKind::kConst;
    }
    Node& node = New(expr.kind == ExprKind::kList ? NodeKind::kList : NodeKind::kMap, expr.id);
    node.args = std::move(args);
    node.optional = expr.optional;
    if (!constant) return &node;
    EvaluateOptions options;
    MapActivation nothing;
    Evaluator evaluator(plan_.arena, nothing, options);
    return Constant(node.id, evaluator.Evaluate(node));
  }

  Node* PlanStruct(const Expr& expr) {
    std::vector<const Node*> args;
    for (const ExprPtr& arg : expr.args) args.push_back(Plan(*arg));
    Node& node = New(NodeKind::kStruct, expr.id);
    node.args = std::move(args);
    node.name = Name(expr.name);
    node.optional = expr.optional;
    for (const Expr::Field& field : expr.fields) node.fields.push_back(Name(field.name));
    node.type = env_.FindType(expr.name);
    if (!node.type) return Fail(expr.id, "unknown type: " + expr.name);
    return &node;
  }

  Node* PlanFold(const Expr& expr) {
    const Node* init = Plan(*expr.args[kAccuInit]);
    const Node* range = Plan(*expr.args[kIterRange]);
    const Node* condition = Plan(*expr.args[kLoopCondition]);
    const Node* step = Plan(*expr.args[kLoopStep]);
    const Node* result = Plan(*expr.args[kLoopResult]);
    Node& node = New(NodeKind::kFold, expr.id);
    node.args = {range, init, condition, step, result};
    node.name = Name(expr.name);
    if (!expr.iter_var2.empty()) node.name2 = Name(expr.iter_var2);
    node.accumulator = Name(expr.accu_var);
    return &node;
  }

  const CheckedTypes& checked_;
  const Environment& env_;
  Program::Plan& plan_;
  std::unordered_map<std::string, std::string_view> names_;
  std::string error_;
};

}  // namespace

std::expected<std::shared_ptr<const Program::Plan>, std::string> MakePlan(const Ast& ast, const CheckedTypes& checked,
                                                                          const Environment& environment) {
  auto plan = std::make_shared<Program::Plan>();
  plan->literals = ast.arena;
  plan->result_type = checked.TypeOf(*ast.root);
  Planner planner(checked, environment, *plan);
  plan->root = planner.Run(*ast.root);
  if (!planner.error().empty()) return std::unexpected(planner.error());
  return plan;
}

}  // namespace homeostat::cel::internal
