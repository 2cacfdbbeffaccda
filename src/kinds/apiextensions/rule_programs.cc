#include "kinds/apiextensions/rule_programs.h"

#include "homeostat/base/text.h"
#include "kinds/apiextensions/schema_rules.h"

namespace homeostat::kinds {
namespace {

constexpr std::string_view kSelf = "self", kOldSelf = "oldSelf", kSelfType = "selfType1";

// What rules of one part may name.
struct Environments {
  explicit Environments(const cel::DeclTypePtr& type) {
    cel::DeclTypePtr named = type->Named(kSelfType);
    both.Declare(kSelf, named);
    optional = both;
    both.Declare(kOldSelf, named);
    optional.Declare(kOldSelf, cel::Type::Optional(named->type()));
  }
  cel::Environment both, optional;
};

std::expected<cel::CheckedExpression, cel::CompileError> Check(const Environments& environments, std::string_view text,
                                                               bool optional_old_self) {
  return (optional_old_self ? environments.optional : environments.both).Check(text);
}

void CompileMessage(const Environments& environments, RuleProgram& result) {
  std::string_view text = result.rule.Get("messageExpression").AsString();
  if (text.empty()) return;
  auto checked = Check(environments, text, result.optional_old_self);
  if (!checked) {
    result.message_error = "messageExpression compilation failed: " + checked.error().text;
    return;
  }
  if (checked->result_type().kind() != cel::TypeKind::kString) {
    result.message_error = "messageExpression must evaluate to a string";
    return;
  }
  auto program = checked->MakeProgram();
  if (!program) {
    result.message_error = "messageExpression instantiation failed: " + program.error().text;
    return;
  }
  result.message = *std::move(program);
  result.message_max_cost = checked->EstimateCost().max;
}

void CompileRule(const Environments& environments, const object::Value& schema, RuleProgram& result) {
  std::string_view text = result.rule.Get("rule").AsString();
  if (TrimSpace(text).empty()) return;
  auto checked = Check(environments, text, result.optional_old_self);
  if (!checked) {
    result.error = "compilation failed: " + checked.error().text;
    return;
  }
  if (checked->result_type().kind() != cel::TypeKind::kBool) {
    result.error = "cel expression must evaluate to a bool";
    return;
  }
  result.uses_old_self = checked->References(kOldSelf);
  auto program = checked->MakeProgram();
  if (!program) {
    result.error = "program instantiation failed: " + program.error().text;
    return;
  }
  result.program = *std::move(program);
  result.max_cost = checked->EstimateCost().max;
  CompileMessage(environments, result);
  std::string_view field = result.rule.Get("fieldPath").AsString();
  if (field.empty()) return;
  SchemaPath path = FollowSchemaPath(field, schema, true);
  if (path.fault.empty()) result.field_path = path.text;
}

}  // namespace

std::vector<RuleProgram> CompileRules(const object::Value& schema, const cel::DeclTypePtr& type) {
  Environments environments(type);
  std::vector<RuleProgram> programs;
  for (const object::Value& rule : schema.Get("x-kubernetes-validations").items()) {
    RuleProgram& program = programs.emplace_back();
    program.rule = rule;
    program.optional_old_self = rule.Get("optionalOldSelf").AsBool();
    CompileRule(environments, schema, program);
  }
  return programs;
}

}  // namespace homeostat::kinds
