#include "cel/environment.h"

#include <algorithm>

#include "cel/internal/checker.h"
#include "cel/internal/estimator.h"
#include "cel/internal/parser.h"
#include "cel/internal/planner.h"
#include "cel/internal/validators.h"

namespace homeostat::cel {

struct CheckedExpression::Rep {
  internal::Source source;
  internal::Ast ast;
  internal::CheckedTypes types;
  Environment environment;
};

namespace {

CompileError ErrorOf(const internal::Source& source, const internal::Issues& issues) {
  CompileError error;
  error.text = issues.Display(source);
  for (const auto& issue : issues.errors()) {
    auto where = source.Locate(issue.offset);
    error.issues.push_back({where.line, where.column, issue.message});
  }
  return error;
}

DeclTypePtr ConstructibleType(std::string_view name) {
  static const DeclTypePtr patch = [] {
    DeclTypePtr text = DeclType::Of(Type::String());
    return DeclType::Object("JSONPatch", {{"op", "op", text}, {"path", "path", text}, {"from", "from", text},
                                          {"value", "value", DeclType::Of(Type::Dyn())}});
  }();
  if (name == "JSONPatch") return patch;
  if (name == "Object" || name.starts_with("Object.")) return DeclType::OpenObject(name);
  return nullptr;
}

void RegisterObjects(std::map<std::string, DeclTypePtr, std::less<>>& types, const DeclTypePtr& type) {
  if (type->shape() == DeclType::Shape::kObject) types[std::string(type->type().name())] = type;
  for (const DeclType::Field& field : type->fields()) RegisterObjects(types, field.type);
  if (type->element()) RegisterObjects(types, type->element());
}

}  // namespace

Environment::Environment(Options options) : data_(std::make_shared<Data>()) { data_->options = std::move(options); }

Environment::Data& Environment::Edit() {
  if (data_.use_count() > 1) data_ = std::make_shared<Data>(*data_);
  return *data_;
}

void Environment::Declare(std::string_view name, Type type) { Edit().variables[std::string(name)] = std::move(type); }

void Environment::Declare(std::string_view name, const DeclTypePtr& type) {
  Data& data = Edit();
  data.variables[std::string(name)] = type->type();
  data.variable_types[std::string(name)] = type;
  RegisterObjects(data.types, type);
}

const Type* Environment::FindVariable(std::string_view name) const {
  auto found = data_->variables.find(name);
  return found == data_->variables.end() ? nullptr : &found->second;
}

DeclTypePtr Environment::FindVariableDecl(std::string_view name) const {
  auto found = data_->variable_types.find(name);
  return found == data_->variable_types.end() ? nullptr : found->second;
}

DeclTypePtr Environment::FindType(std::string_view name) const {
  auto found = data_->types.find(name);
  if (found != data_->types.end()) return found->second;
  return data_->options.object_construction ? ConstructibleType(name) : nullptr;
}

std::expected<CheckedExpression, CompileError> Environment::Check(std::string_view text) const {
  auto rep = std::make_shared<CheckedExpression::Rep>(internal::Source(text), internal::Ast(), internal::CheckedTypes(), *this);
  internal::Issues issues;
  internal::ParserOptions parser_options;
  parser_options.bind = options().extended || options().bindings;
  rep->ast = internal::Parse(rep->source, parser_options, issues);
  if (issues.empty()) rep->types = internal::Check(rep->ast, *this, issues);
  if (issues.empty()) {
    if (options().homogeneous_aggregates) internal::ValidateAggregates(*rep->ast.root, rep->types, issues);
    if (options().validate_literals) internal::ValidateLiterals(*rep->ast.root, rep->types, issues);
  }
  if (!issues.empty()) return std::unexpected(ErrorOf(rep->source, issues));
  CheckedExpression checked;
  checked.rep_ = std::move(rep);
  return checked;
}

std::expected<Program, CompileError> Environment::Compile(std::string_view text) const {
  auto checked = Check(text);
  if (!checked) return std::unexpected(checked.error());
  return checked->MakeProgram();
}

const Type& CheckedExpression::result_type() const { return rep_->types.TypeOf(*rep_->ast.root); }

namespace {

bool Names(const internal::Expr& expr, std::string_view variable) {
  if (expr.kind == internal::ExprKind::kIdent && expr.name == variable) return true;
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](const internal::ExprPtr& arg) { return Names(*arg, variable); });
}

}  // namespace

bool CheckedExpression::References(std::string_view variable) const { return Names(*rep_->ast.root, variable); }

CostEstimate CheckedExpression::EstimateCost() const {
  return internal::EstimateCost(rep_->ast, rep_->types, rep_->environment);
}

std::expected<Program, CompileError> CheckedExpression::MakeProgram() const {
  auto plan = internal::MakePlan(rep_->ast, rep_->types, rep_->environment);
  if (!plan) return std::unexpected(CompileError{plan.error(), {{-1, -1, plan.error()}}});
  return Program(std::move(*plan));
}

}  // namespace homeostat::cel
