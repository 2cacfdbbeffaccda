#include "cel/internal/checker.h"

#include <optional>

#include "cel/internal/unify.h"

namespace homeostat::cel::internal {

namespace {

// Types of more parts than this (a map of maps of maps …) are refused: they would take the checker forever.
constexpr size_t kMaxTypeSize = 10'000;

size_t SizeOf(const Type& type, size_t limit) {
  size_t size = 1;
  for (const Type& parameter : type.parameters()) {
    if (size > limit) break;
    size += SizeOf(parameter, limit - size);
  }
  return size;
}

const Type* StandardTypeName(std::string_view name) {
  static const std::map<std::string, Type, std::less<>> names = [] {
    std::map<std::string, Type, std::less<>> made;
    for (const Type* type : {&Type::Bool(), &Type::Bytes(), &Type::Double(), &Type::Duration(), &Type::Int(), &Type::Null(),
                             &Type::String(), &Type::Timestamp(), &Type::TypeType(), &Type::Uint()}) {
      made.emplace(type->name(), Type::TypeOf(*type));
    }
    made.emplace("list", Type::TypeOf(Type::List(Type::Param("A"))));
    made.emplace("map", Type::TypeOf(Type::Map(Type::Param("A"), Type::Param("B"))));
    made.emplace("optional_type", Type::TypeOf(Type::Optional(Type::Param("T"))));
    for (std::string_view opaque : {"net.IP", "net.CIDR"}) made.emplace(opaque, Type::TypeOf(Type::Opaque(opaque)));
    for (std::string_view known :
         {"kubernetes.URL", "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.NamedFormat",
          "kubernetes.authorization.Authorizer", "kubernetes.authorization.PathCheck", "kubernetes.authorization.GroupCheck",
          "kubernetes.authorization.ResourceCheck", "kubernetes.authorization.Decision"}) {
      made.emplace(known, Type::TypeOf(Type::Struct(known)));
    }
    return made;
  }();
  auto found = names.find(name);
  return found == names.end() ? nullptr : &found->second;
}

// a.b.c as one name, if it is nothing but names.
std::optional<std::string> QualifiedName(const Expr& expr) {
  if (expr.kind == ExprKind::kIdent) return expr.name;
  if (expr.kind != ExprKind::kSelect || expr.test_only) return std::nullopt;
  auto front = QualifiedName(*expr.args[0]);
  if (front) *front += "." + expr.name;
  return front;
}

class Checker {
 public:
  Checker(Ast& ast, const Environment& environment, Issues& issues) : env_(environment), issues_(issues) {
    size_t size = static_cast<size_t>(ast.id_limit) + 1;
    checked_.types.resize(size);
    checked_.overloads.resize(size);
    checked_.references.resize(size);
  }

  CheckedTypes Run(Expr& root) {
    Visit(root);
    for (Type& type : checked_.types) {
      if (type) type = bindings_.Substitute(type, true);
    }
    return std::move(checked_);
  }

 private:
  struct Ident {
    std::string name;
    Type type;
    uint8_t reference;
  };

  const Type& TypeOf(const Expr& expr) const { return checked_.TypeOf(expr); }
  void SetType(const Expr& expr, Type type) {
    if (SizeOf(type, kMaxTypeSize) > kMaxTypeSize) {
      issues_.Add(expr.offset, "type of the expression is too large");
      type = Type::Error();
    }
    checked_.types[static_cast<size_t>(expr.id)] = std::move(type);
  }
  void SetReference(const Expr& expr, uint8_t reference) { checked_.references[static_cast<size_t>(expr.id)] = reference; }

  std::vector<std::string> Candidates(std::string_view name) const {
    if (name.starts_with('.')) return {std::string(name.substr(1))};
    std::vector<std::string> candidates;
    for (std::string container = env_.options().container; !container.empty();) {
      candidates.push_back(container + "." + std::string(name));
      size_t dot = container.rfind('.');
      container.resize(dot == std::string::npos ? 0 : dot);
    }
    candidates.emplace_back(name);
    return candidates;
  }

  std::optional<Ident> LookUp(std::string_view name) const {
    for (const std::string& candidate : Candidates(name)) {
      for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        if (scope->first == candidate) return Ident{candidate, scope->second, kVariableReference};
      }
      if (const Type* type = env_.FindVariable(candidate)) return Ident{candidate, *type, kVariableReference};
      if (DeclTypePtr type = env_.FindType(candidate)) return Ident{candidate, Type::TypeOf(type->type()), kTypeReference};
      if (const Type* type = StandardTypeName(candidate)) return Ident{candidate, *type, kTypeReference};
    }
    return std::nullopt;
  }

  bool IsEnabled(const Overload& overload) const {
    return overload.library == Library::kBase || (overload.library == Library::kJsonPatch && env_.options().json_patch) ||
           (overload.library == Library::kExtended && env_.options().extended);
  }

  const Function* LookUpFunction(std::string_view name) const {
    for (const std::string& candidate : Candidates(name)) {
      const Function* function = FindFunction(candidate);
      if (function == nullptr) continue;
      for (const Overload& overload : function->overloads) {
        if (IsEnabled(overload)) return function;
      }
    }
    return nullptr;
  }

  void Undeclared(const Expr& expr, std::string_view name) {
    SetType(expr, Type::Error());
    issues_.Add(expr.offset, "undeclared reference to '" + std::string(name) + "' (in container '" +
                                 env_.options().container + "')");
  }

  void Mismatch(const Expr& expr, const Type& expected, const Type& actual) {
    issues_.Add(expr.offset, "expected type '" + expected.ToString() + "' but found '" + actual.ToString() + "'");
  }

  void Visit(Expr& expr) {
    switch (expr.kind) {
      case ExprKind::kLiteral: SetType(expr, LiteralType(expr.literal)); break;
      case ExprKind::kIdent: VisitIdent(expr); break;
      case ExprKind::kSelect: VisitSelect(expr); break;
      case ExprKind::kCall: VisitCall(expr); break;
      case ExprKind::kList: VisitList(expr); break;
      case ExprKind::kMap: VisitMap(expr); break;
      case ExprKind::kStruct: VisitStruct(expr); break;
      case ExprKind::kComprehension: VisitComprehension(expr); break;
      case ExprKind::kUnspecified: SetType(expr, Type::Error()); break;
    }
  }

  static Type LiteralType(const Value& value) {
    switch (value.kind()) {
      case ValueKind::kBool: return Type::Bool();
      case ValueKind::kInt: return Type::Int();
      case ValueKind::kUint: return Type::Uint();
      case ValueKind::kDouble: return Type::Double();
      case ValueKind::kString: return Type::String();
      case ValueKind::kBytes: return Type::Bytes();
      default: return Type::Null();
    }
  }

  void Resolve(Expr& expr, Ident ident) {
    SetType(expr, std::move(ident.type));
    SetReference(expr, ident.reference);
    expr.kind = ExprKind::kIdent;
    expr.name = std::move(ident.name);
    expr.args.clear();
  }

  void VisitIdent(Expr& expr) {
    if (auto ident = LookUp(expr.name)) {
      Resolve(expr, std::move(*ident));
    } else {
      Undeclared(expr, expr.name);
    }
  }

  void VisitSelect(Expr& expr) {
    if (auto name = QualifiedName(expr)) {
      if (auto ident = LookUp(*name)) {
        Resolve(expr, std::move(*ident));
        return;
      }
    }
    Type result = SelectField(expr, *expr.args[0], expr.name, false);
    if (expr.test_only) result = Type::Bool();
    SetType(expr, bindings_.Substitute(result, false));
  }

  Type SelectField(const Expr& expr, Expr& operand, const std::string& field, bool optional) {
    Visit(operand);
    Type target = bindings_.Substitute(TypeOf(operand), false);
    bool was_optional = target.IsOptional();
    if (was_optional) target = Type(target.parameters()[0]);
    Type result = Type::Error();
    switch (target.kind()) {
      case TypeKind::kMap: result = target.parameters()[1]; break;
      case TypeKind::kStruct:
        if (auto type = FieldType(expr.offset, target.name(), field)) result = *type;
        break;
      case TypeKind::kTypeParam:
        bindings_.IsAssignable(Type::Dyn(), target);
        result = Type::Dyn();
        break;
      default:
        if (!target.IsDynOrError()) {
          issues_.Add(expr.offset, "type '" + target.ToString() + "' does not support field selection");
        }
        result = Type::Dyn();
    }
    return was_optional || optional ? Type::Optional(result) : result;
  }

  std::optional<Type> FieldType(int32_t offset, std::string_view type, const std::string& name) {
    DeclTypePtr found = env_.FindType(type);
    if (found == nullptr) {
      if (StandardTypeName(type) == nullptr) {
        issues_.Add(offset, "unexpected failed resolution of '" + std::string(type) + "'");
      } else {
        issues_.Add(offset, "undefined field '" + name + "'");
      }
      return std::nullopt;
    }
    if (const DeclType::Field* field = found->FindField(name)) return field->type->type();
    issues_.Add(offset, "undefined field '" + name + "'");
    return std::nullopt;
  }

  void VisitCall(Expr& expr) {
    if (expr.name == "_?._") {
      Type result = SelectField(expr, *expr.args[0], std::string(expr.args[1]->literal.text()), true);
      SetType(*expr.args[1], Type::String());
      SetType(expr, bindings_.Substitute(result, false));
      checked_.overloads[static_cast<size_t>(expr.id)] = {&FindFunction("_?._")->overloads[0]};
      return;
    }
    for (size_t i = expr.member ? 1 : 0; i < expr.args.size(); ++i) Visit(*expr.args[i]);
    const Function* function = nullptr;
    if (!expr.member) {
      function = LookUpFunction(expr.name);
    } else {
      // a.b.c() is the function a.b.c, if there is one.
      if (auto prefix = QualifiedName(*expr.args[0])) function = LookUpFunction(*prefix + "." + expr.name);
      if (function != nullptr) {
        expr.args.erase(expr.args.begin());
        expr.member = false;
      } else {
        Visit(*expr.args[0]);
        function = LookUpFunction(expr.name);
      }
    }
    if (function == nullptr) return Undeclared(expr, expr.name);
    if (!expr.member) expr.name = function->name;
    ResolveOverload(expr, *function);
  }

  void ResolveOverload(Expr& expr, const Function& function) {
    std::vector<Type> args;
    for (const ExprPtr& arg : expr.args) args.push_back(TypeOf(*arg));
    auto& candidates = checked_.overloads[static_cast<size_t>(expr.id)];
    Type result;
    for (const Overload& overload : function.overloads) {
      if (overload.member != expr.member || !IsEnabled(overload)) continue;
      if (function.name == "_&&_" || function.name == "_||_") return ResolveLogic(expr, overload, args);
      std::vector<Type> wanted = overload.args;
      Type wanted_result = overload.result;
      if (!overload.type_params.empty()) {
        std::unordered_map<std::string, Type> fresh;
        for (const std::string& name : overload.type_params) fresh.emplace(name, bindings_.NewVariable());
        for (Type& type : wanted) type = Instantiate(type, fresh);
        wanted_result = Instantiate(wanted_result, fresh);
      }
      if (!bindings_.IsAssignable(args, wanted)) continue;
      candidates.push_back(&overload);
      Type found = bindings_.Substitute(wanted_result, false);
      if (!result) {
        result = found;
      } else if (!result.IsDyn() && !found.Is(result)) {
        result = Type::Dyn();
      }
    }
    if (!result) {
      for (Type& type : args) type = bindings_.Substitute(type, true);
      issues_.Add(expr.offset, "found no matching overload for '" + std::string(function.name) + "' applied to '" +
                                   FormatSignature(Type(), args, expr.member) + "'");
      result = Type::Error();
    }
    SetType(expr, std::move(result));
  }

  void ResolveLogic(Expr& expr, const Overload& overload, const std::vector<Type>& args) {
    bool good = true;
    for (size_t i = 0; i < args.size(); ++i) {
      if (bindings_.IsAssignable(args[i], Type::Bool())) continue;
      Mismatch(*expr.args[i], Type::Bool(), args[i]);
      good = false;
    }
    checked_.overloads[static_cast<size_t>(expr.id)] = {&overload};
    SetType(expr, good ? Type::Bool() : Type::Error());
  }

  // What is in an optional that stands at a place marked with ?.
  Type Unwrapped(const Expr& expr, const Type& type) {
    if (type.IsOptional()) return type.parameters()[0];
    if (!type.IsDyn()) Mismatch(expr, Type::Optional(type), type);
    return type;
  }

  // The type of items of both types. That all are of one is seen to afterwards (validators.h).
  void Join(Type& joined, const Type& type) {
    if (!joined) {
      joined = type;
    } else if (bindings_.IsAssignable(joined, type)) {
      joined = Type(MostGeneral(joined, type));
    } else {
      joined = Type::Dyn();
    }
  }

  void VisitList(Expr& expr) {
    Type element;
    for (size_t i = 0; i < expr.args.size(); ++i) {
      Expr& item = *expr.args[i];
      Visit(item);
      Type type = TypeOf(item);
      if (!expr.optional.empty() && expr.optional[i]) type = Unwrapped(item, type);
      Join(element, type);
    }
    SetType(expr, Type::List(element ? element : bindings_.NewVariable()));
  }

  void VisitMap(Expr& expr) {
    Type key_type, value_type;
    for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
      Expr& key = *expr.args[i];
      Expr& value = *expr.args[i + 1];
      Visit(key);
      Join(key_type, TypeOf(key));
      Visit(value);
      Type type = TypeOf(value);
      if (!expr.optional.empty() && expr.optional[i / 2]) type = Unwrapped(value, type);
      Join(value_type, type);
    }
    if (!key_type) {
      key_type = bindings_.NewVariable();
      value_type = bindings_.NewVariable();
    }
    SetType(expr, Type::Map(key_type, value_type));
  }

  void VisitStruct(Expr& expr) {
    auto ident = LookUp(expr.name);
    if (!ident) return Undeclared(expr, expr.name);
    expr.name = ident->name;
    Type result = Type::Error();
    if (ident->type.kind() != TypeKind::kType) {
      if (!ident->type.IsError()) issues_.Add(expr.offset, "'" + ident->type.DeclaredName() + "' is not a type");
    } else {
      result = ident->type.parameters().empty() ? Type::TypeType() : ident->type.parameters()[0];
      if (result.kind() != TypeKind::kStruct) {
        issues_.Add(expr.offset, "'" + result.DeclaredName() + "' is not a message type");
        result = Type::Error();
      }
    }
    SetType(expr, result);
    for (size_t i = 0; i < expr.args.size(); ++i) {
      Expr& value = *expr.args[i];
      Visit(value);
      const Expr::Field& field = expr.fields[i];
      Type wanted = FieldType(field.offset, expr.name, field.name).value_or(Type::Error());
      Type type = TypeOf(value);
      if (expr.optional[i]) type = Unwrapped(value, type);
      if (bindings_.IsAssignable(wanted, type)) continue;
      issues_.Add(field.offset, "expected type of field '" + field.name + "' is '" + wanted.ToString() +
                                    "' but provided type is '" + type.ToString() + "'");
    }
  }

  void VisitComprehension(Expr& expr) {
    Expr& range = *expr.args[kIterRange];
    Visit(range);
    Visit(*expr.args[kAccuInit]);
    Type range_type = bindings_.Substitute(TypeOf(range), false);
    Type accumulator = TypeOf(*expr.args[kAccuInit]);
    bool two = !expr.iter_var2.empty();
    Type first, second;
    switch (range_type.kind()) {
      case TypeKind::kList:
        first = two ? Type::Int() : range_type.parameters()[0];
        second = range_type.parameters()[0];
        break;
      case TypeKind::kMap:
        first = range_type.parameters()[0];
        second = range_type.parameters()[1];
        break;
      case TypeKind::kDyn: case TypeKind::kAny: case TypeKind::kError: case TypeKind::kTypeParam:
        bindings_.IsAssignable(Type::Dyn(), range_type);
        first = second = Type::Dyn();
        break;
      default:
        issues_.Add(range.offset, "expression of type '" + range_type.ToString() +
                                      "' cannot be range of a comprehension (must be list, map, or dynamic)");
        first = second = Type::Error();
    }
    scopes_.emplace_back(expr.accu_var, accumulator);
    size_t outer = scopes_.size();
    scopes_.emplace_back(expr.name, first);
    if (two) scopes_.emplace_back(expr.iter_var2, second);
    Visit(*expr.args[kLoopCondition]);
    AssertType(*expr.args[kLoopCondition], Type::Bool());
    Visit(*expr.args[kLoopStep]);
    AssertType(*expr.args[kLoopStep], accumulator);
    scopes_.resize(outer);
    Visit(*expr.args[kLoopResult]);
    scopes_.pop_back();
    SetType(expr, bindings_.Substitute(TypeOf(*expr.args[kLoopResult]), false));
  }

  void AssertType(const Expr& expr, const Type& type) {
    if (!bindings_.IsAssignable(type, TypeOf(expr))) Mismatch(expr, type, TypeOf(expr));
  }

  const Environment& env_;
  Issues& issues_;
  CheckedTypes checked_;
  TypeBindings bindings_;
  std::vector<std::pair<std::string, Type>> scopes_;
};

}  // namespace

CheckedTypes Check(Ast& ast, const Environment& environment, Issues& issues) {
  return Checker(ast, environment, issues).Run(*ast.root);
}

}  // namespace homeostat::cel::internal
