#include "cel/internal/validators.h"

#include "cel/internal/operators.h"
#include "cel/internal/string_format.h"

namespace homeostat::cel::internal {

namespace {

class Validator {
 public:
  Validator(const CheckedTypes& types, Issues& issues) : types_(types), issues_(issues) {}

  void Visit(const Expr& expr) {
    for (const ExprPtr& arg : expr.args) Visit(*arg);
    if (expr.kind == ExprKind::kCall) VisitCall(expr);
  }

 private:
  void VisitCall(const Expr& call) {
    if ((call.name == "duration" || call.name == "timestamp") && call.args.size() == 1) {
      const Expr& arg = *call.args[0];
      if (arg.kind == ExprKind::kLiteral && !Converts(call, arg.literal)) Bad(arg, call.name);
    }
    if (call.name == "matches" && call.args.size() == 2) {
      const Expr& arg = *call.args[1];
      // Of the function with two arguments, the original looks at the first.
      const Expr& pattern = call.member ? arg : *call.args[0];
      if (pattern.kind == ExprKind::kLiteral && pattern.literal.IsString() && !CompilePattern(pattern.literal.text()).pattern) {
        Bad(pattern, "matches");
      }
    }
    bool format = call.name == "format" && call.member && call.args.size() == 2;
    if (format && call.args[0]->kind == ExprKind::kLiteral && call.args[0]->literal.IsString() &&
        call.args[1]->kind == ExprKind::kList) {
      VisitFormat(call);
    }
  }

  void Bad(const Expr& arg, const std::string& function) { issues_.Add(arg.offset, "invalid " + function + " argument"); }

  bool Converts(const Expr& call, const Value& literal) {
    if (literal.IsNull()) return false;
    object::Arena arena;
    CallContext context{arena};
    const auto& overloads = types_.overloads[static_cast<size_t>(call.id)];
    if (overloads.size() != 1 || overloads[0]->code == nullptr) return true;
    return !overloads[0]->code(context, std::span<const Value>(&literal, 1)).IsError();
  }

  void VisitFormat(const Expr& call) {
    const Expr& list = *call.args[1];
    int32_t where = call.offset;
    uint64_t used = 0;
    std::string error = WalkFormat(
        call.args[0]->literal.text(), list.args.size(), [](std::string_view) {},
        [&](const FormatClause& clause, uint64_t argument) {
          used = argument + 1;
          const Expr* bad = Refused(clause.verb, *list.args[argument]);
          if (bad == nullptr) return std::string();
          where = bad->offset;
          return FormatClauseError(clause.verb, types_.TypeOf(*bad).name());
        });
    if (!error.empty()) {
      issues_.Add(where, error);
    } else if (list.args.size() > used) {
      issues_.Add(call.offset, "too many arguments supplied to string.format (expected " + std::to_string(used) + ", got " +
                                   std::to_string(list.args.size()) + ")");
    }
  }

  // The part of an argument that a clause cannot take; nullptr if it takes all of it.
  const Expr* Refused(char verb, const Expr& arg) {
    TypeKind kind = types_.TypeOf(arg).kind();
    bool integer = kind == TypeKind::kInt || kind == TypeKind::kUint;
    if (kind == TypeKind::kDyn) return nullptr;
    switch (verb) {
      case 'd': case 'o': return integer ? nullptr : &arg;
      case 'b': return integer || kind == TypeKind::kBool ? nullptr : &arg;
      case 'f': case 'e': return kind == TypeKind::kDouble || kind == TypeKind::kString ? nullptr : &arg;
      case 'x': case 'X': return integer || kind == TypeKind::kString || kind == TypeKind::kBytes ? nullptr : &arg;
      default: break;
    }
    switch (kind) {
      case TypeKind::kList: case TypeKind::kMap: case TypeKind::kInt: case TypeKind::kUint: case TypeKind::kDouble:
      case TypeKind::kBool: case TypeKind::kString: case TypeKind::kTimestamp: case TypeKind::kBytes: case TypeKind::kDuration:
      case TypeKind::kType: case TypeKind::kNull: break;
      default: return &arg;
    }
    if (arg.kind != ExprKind::kList && arg.kind != ExprKind::kMap) return nullptr;
    for (const ExprPtr& inner : arg.args) {
      if (const Expr* bad = Refused('s', *inner)) return bad;
    }
    return nullptr;
  }

  const CheckedTypes& types_;
  Issues& issues_;
};

// The same type, whatever type parameters are called.
bool IsEquivalent(const Type& a, const Type& b) {
  if (a.kind() != b.kind() || a.parameters().size() != b.parameters().size()) return false;
  if (a.kind() != TypeKind::kTypeParam && a.name() != b.name()) return false;
  for (size_t i = 0; i < a.parameters().size(); ++i) {
    if (!IsEquivalent(a.parameters()[i], b.parameters()[i])) return false;
  }
  return true;
}

class AggregateValidator {
 public:
  AggregateValidator(const CheckedTypes& types, Issues& issues) : types_(types), issues_(issues) {}

  void Visit(const Expr& expr, bool exempt) {
    if (expr.kind == ExprKind::kCall && expr.name == "format") exempt = true;
    if (!exempt && expr.kind == ExprKind::kList) VisitList(expr);
    if (!exempt && expr.kind == ExprKind::kMap) VisitMap(expr);
    for (const ExprPtr& arg : expr.args) Visit(*arg, exempt);
  }

 private:
  Type TypeOf(const Expr& expr, bool optional) const {
    const Type& type = types_.TypeOf(expr);
    return optional && type.IsOptional() ? type.parameters()[0] : type;
  }

  // false if that is another type than those before it.
  bool Compare(const Expr& expr, Type& first, const Type& type) {
    if (!first) first = type;
    if (IsEquivalent(first, type)) return true;
    issues_.Add(expr.offset, "expected type '" + first.ToString() + "' but found '" + type.ToString() + "'");
    return false;
  }

  void VisitList(const Expr& expr) {
    Type first;
    for (size_t i = 0; i < expr.args.size(); ++i) {
      bool optional = !expr.optional.empty() && expr.optional[i];
      if (!Compare(*expr.args[i], first, TypeOf(*expr.args[i], optional))) return;
    }
  }

  void VisitMap(const Expr& expr) {
    Type key, value;
    for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
      bool optional = !expr.optional.empty() && expr.optional[i / 2];
      Compare(*expr.args[i], key, TypeOf(*expr.args[i], false));
      Compare(*expr.args[i + 1], value, TypeOf(*expr.args[i + 1], optional));
    }
  }

  const CheckedTypes& types_;
  Issues& issues_;
};

}  // namespace

void ValidateAggregates(const Expr& root, const CheckedTypes& types, Issues& issues) {
  AggregateValidator(types, issues).Visit(root, false);
}

void ValidateLiterals(const Expr& root, const CheckedTypes& types, Issues& issues) { Validator(types, issues).Visit(root); }

}  // namespace homeostat::cel::internal
