// Makes nodes of a tree: for the parser and its macros.
#pragma once

#include <initializer_list>

#include "cel/internal/ast.h"

namespace homeostat::cel::internal {

class TreeBuilder {
 public:
  explicit TreeBuilder(Ast& ast) : ast_(ast) {}

  // The position that nodes get until it is changed; macros give all they make the position of their call.
  void set_offset(int32_t offset) { offset_ = offset; }
  int32_t offset() const { return offset_; }

  int32_t NewId() { return ++ast_.id_limit; }
  ExprPtr New(ExprKind kind) {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->id = NewId();
    expr->offset = offset_;
    return expr;
  }
  ExprPtr Literal(const Value& value) {
    ExprPtr expr = New(ExprKind::kLiteral);
    expr->literal = value;
    return expr;
  }
  ExprPtr StringLiteral(std::string_view text) { return Literal(MakeString(*ast_.arena, text)); }
  ExprPtr BytesLiteral(std::string_view octets) { return Literal(Value::Bytes(ast_.arena->Copy(octets))); }
  ExprPtr Ident(std::string_view name) {
    ExprPtr expr = New(ExprKind::kIdent);
    expr->name = name;
    return expr;
  }
  ExprPtr Accumulator() { return Ident(kAccumulator); }
  ExprPtr Select(ExprPtr operand, std::string_view field, bool test_only = false) {
    ExprPtr expr = New(ExprKind::kSelect);
    expr->name = field;
    expr->test_only = test_only;
    expr->args.push_back(std::move(operand));
    return expr;
  }
  template <class... Args>
  ExprPtr Call(std::string_view function, Args... args) {
    ExprPtr expr = New(ExprKind::kCall);
    expr->name = function;
    (expr->args.push_back(std::move(args)), ...);
    return expr;
  }
  template <class... Args>
  ExprPtr MemberCall(std::string_view function, ExprPtr target, Args... args) {
    ExprPtr expr = Call(function, std::move(target), std::move(args)...);
    expr->member = true;
    return expr;
  }
  template <class... Args>
  ExprPtr List(Args... items) {
    ExprPtr expr = New(ExprKind::kList);
    (expr->args.push_back(std::move(items)), ...);
    return expr;
  }
  ExprPtr Comprehension(ExprPtr range, std::string_view variable, std::string_view variable2, std::string_view accumulator,
                        ExprPtr init, ExprPtr condition, ExprPtr step, ExprPtr result) {
    ExprPtr expr = New(ExprKind::kComprehension);
    expr->name = variable;
    expr->iter_var2 = variable2;
    expr->accu_var = accumulator;
    for (ExprPtr* part : {&range, &init, &condition, &step, &result}) expr->args.push_back(std::move(*part));
    return expr;
  }
  // The same tree with new ids, at the same positions.
  ExprPtr Copy(const Expr& from) {
    auto expr = std::make_unique<Expr>();
    expr->kind = from.kind;
    expr->test_only = from.test_only;
    expr->member = from.member;
    expr->id = NewId();
    expr->offset = from.offset;
    expr->name = from.name;
    expr->literal = from.literal;
    expr->optional = from.optional;
    expr->iter_var2 = from.iter_var2;
    expr->accu_var = from.accu_var;
    for (const Expr::Field& field : from.fields) expr->fields.push_back({field.name, NewId(), offset_});
    for (const ExprPtr& arg : from.args) expr->args.push_back(Copy(*arg));
    return expr;
  }

 private:
  Ast& ast_;
  int32_t offset_ = 0;
};

}  // namespace homeostat::cel::internal
