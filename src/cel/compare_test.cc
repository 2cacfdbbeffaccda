// The half of tests/cel/compare.py that is ours: evaluates the expressions of a file and writes the answers into another.
// Without the files' names in the environment there is nothing to do.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cel/environment.h"
#include "homeostat/object/json.h"

namespace homeostat::cel {
namespace {

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// As ToLiteral, but library values by their type only.
std::string Literal(const Value& value) {
  std::string out;
  switch (value.kind()) {
    case ValueKind::kOpaque: return "<" + std::string(value.TypeName()) + ">";
    case ValueKind::kOptional: return value.optional() ? "optional.of(" + Literal(*value.optional()) + ")" : "optional.none()";
    case ValueKind::kList:
      for (uint64_t i = 0; i < value.list().size(); ++i) out += (i > 0 ? ", " : "") + Literal(value.list().At(i));
      return "[" + out + "]";
    case ValueKind::kMap: {
      std::vector<std::string> entries;
      for (uint64_t i = 0; i < value.map().size(); ++i) {
        entries.push_back(Literal(value.map().KeyAt(i)) + ": " + Literal(value.map().ValueAt(i)));
      }
      std::sort(entries.begin(), entries.end());
      for (const std::string& entry : entries) out += (out.empty() ? "" : ", ") + entry;
      return "{" + out + "}";
    }
    default: return ToLiteral(value);
  }
}

void AppendField(std::string& out, std::string_view name, std::string_view text) {
  out += out.size() > 1 ? ",\"" : "\"";
  out += name;
  out += "\":";
  object::AppendJsonString(out, text);
}

std::string Answer(const Environment& environment, const Activation& activation, std::string_view text) {
  std::string out = "{";
  auto finish = [&](CostEstimate estimate) {
    out += ",\"min\":" + std::to_string(estimate.min) + ",\"max\":" + std::to_string(estimate.max) + "}";
    return out;
  };
  auto checked = environment.Check(text);
  if (!checked) {
    AppendField(out, "compile", checked.error().text);
    return finish({});
  }
  AppendField(out, "type", checked->result_type().ToString());
  CostEstimate estimate = checked->EstimateCost();
  auto program = checked->MakeProgram();
  if (!program) {
    AppendField(out, "program", program.error().text);
    return finish(estimate);
  }
  object::Arena arena;
  Evaluation result = program->Evaluate(arena, activation);
  if (result.outcome == Evaluation::Outcome::kValue) {
    AppendField(out, "value", Literal(result.value));
  } else {
    AppendField(out, "error", result.value.text());
  }
  out += ",\"cost\":" + std::to_string(result.cost);
  return finish(estimate);
}

TEST(Compare, AnswersExpressionsOfAFile) {
  const char* fixtures_path = std::getenv("CEL_COMPARE_FIXTURES");
  const char* expressions_path = std::getenv("CEL_COMPARE_EXPRESSIONS");
  const char* answers_path = std::getenv("CEL_COMPARE_ANSWERS");
  if (!fixtures_path || !expressions_path || !answers_path) GTEST_SKIP() << "run by tests/cel/compare.py";
  auto fixtures = object::ParseJsonDocument(ReadFile(fixtures_path));
  ASSERT_TRUE(fixtures);
  object::Value root = (*fixtures)->root();
  EnvironmentOptions options;
  options.json_patch = true;
  Environment environment(options);
  DeclTypePtr self = DeclType::FromSchema(root.Get("schema"), true)->Named("Root");
  environment.Declare("self", self);
  environment.Declare("json", Type::Dyn());
  object::Arena arena;
  MapActivation activation;
  std::vector<Program> programs;
  for (const object::Member& variable : root.Get("variables").members()) {
    auto program = environment.Compile(variable.value.Get("value").AsString());
    ASSERT_TRUE(program) << program.error().text;
    programs.push_back(*program);
    MapActivation none;
    activation.Set(variable.name(), program->Evaluate(arena, none).value);
    environment.Declare(variable.name(), ParseType(variable.value.Get("type").AsString()));
  }
  activation.Set("self", FromJson(arena, root.Get("self"), self.get()));
  activation.Set("json", FromJson(arena, root.Get("self")));
  std::ifstream expressions(expressions_path);
  std::ofstream answers(answers_path);
  for (std::string line; std::getline(expressions, line);) {
    auto text = object::ParseJsonDocument(line);
    ASSERT_TRUE(text) << line;
    answers << Answer(environment, activation, (*text)->root().AsString()) << "\n";
  }
}

}  // namespace
}  // namespace homeostat::cel
