// The public conformance cases (testdata/conformance.jsonl, made by tests/cel/convert_conformance.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "cel/environment.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "homeostat/object/time.h"

namespace homeostat::cel {
namespace {

// Cases that Kubernetes' expressions answer otherwise, or refuse, with the reason.
const std::set<std::string, std::less<>>& Different() {
  static const std::set<std::string, std::less<>> names = [] {
    std::set<std::string, std::less<>> made;
    std::ifstream file(HOMEOSTAT_CEL_TESTDATA "/kubernetes_differs.txt");
    for (std::string line; std::getline(file, line);) {
      if (!line.empty() && line[0] != '#') made.insert(line.substr(0, line.find('\t')));
    }
    return made;
  }();
  return names;
}

Value FromProto(object::Arena& arena, const object::Value& value) {
  if (value.members().empty()) return Value::Null();
  const object::Member& member = value.members()[0];
  std::string_view kind = member.name();
  const object::Value& content = member.value;
  if (kind == "boolValue") return Value::Bool(content.AsBool());
  if (kind == "int64Value") return Value::Int(std::strtoll(std::string(content.AsString()).c_str(), nullptr, 10));
  if (kind == "uint64Value") return Value::Uint(std::strtoull(std::string(content.AsString()).c_str(), nullptr, 10));
  if (kind == "doubleValue") {
    if (content.AsString() == "NaN") return Value::Double(std::nan(""));
    if (content.IsString()) return Value::Double(content.AsString() == "-Infinity" ? -HUGE_VAL : HUGE_VAL);
    return Value::Double(content.AsDouble());
  }
  if (kind == "stringValue") return Value::String(content.AsString());
  if (kind == "bytesValue") return Value::Bytes(arena.Copy(Base64Decode(content.AsString()).value_or("?")));
  if (kind == "typeValue") return Value::TypeNamed(content.AsString());
  if (kind == "listValue") {
    std::vector<Value> items;
    for (const object::Value& item : content.Get("values").items()) items.push_back(FromProto(arena, item));
    return MakeList(arena, items);
  }
  if (kind == "mapValue") {
    auto* map = MakeInArena<ArrayMap>(arena);
    for (const object::Value& entry : content.Get("entries").items()) {
      map->Set(arena, FromProto(arena, entry.Get("key")), FromProto(arena, entry.Get("value")));
    }
    return Value::Of(static_cast<const Map*>(map));
  }
  if (kind == "objectValue") {
    std::string_view text = content.Get("value").AsString();
    if (content.Get("@type").AsString().ends_with("Duration")) return Value::Duration(object::ParseDuration(text)->count());
    auto time = object::ParseTime(text);
    return Value::Timestamp(time->seconds, static_cast<uint32_t>(time->nanos));
  }
  return Value::Null();
}

// The same value of the same type; not-a-number is itself here.
bool Same(const Value& a, const Value& b) {
  if (a.IsDouble() && b.IsDouble() && std::isnan(a.AsDouble()) && std::isnan(b.AsDouble())) return true;
  if (a.IsList() && b.IsList() && a.list().size() == b.list().size()) {
    for (uint64_t i = 0; i < a.list().size(); ++i) {
      if (!Same(a.list().At(i), b.list().At(i))) return false;
    }
    return true;
  }
  return a.TypeName() == b.TypeName() && Equal(a, b);
}

std::string RunCase(const object::Value& test) {
  object::Arena arena;
  EnvironmentOptions options;
  options.extended = true;
  options.validate_literals = false;
  options.homogeneous_aggregates = false;
  options.container = std::string(test.Get("container").AsString());
  Environment environment(options);
  MapActivation activation;
  for (const object::Member& variable : test.Get("vars").members()) {
    environment.Declare(variable.name(), ParseType(variable.value.At(0).AsString()));
    if (variable.value.At(1)) activation.Set(variable.name(), FromProto(arena, variable.value.At(1)));
  }
  bool wants_error = !test.Get("error").IsAbsent();
  auto checked = environment.Check(test.Get("expr").AsString());
  // What only runs unchecked does not run in Kubernetes.
  if (!checked) return wants_error || test.Get("unchecked").AsBool() ? "" : checked.error().text;
  std::string_view type = test.Get("type").AsString();
  if (!type.empty() && checked->result_type().ToString() != ParseType(type).ToString()) {
    return "type " + checked->result_type().ToString() + ", not " + ParseType(type).ToString();
  }
  if (test.Get("check_only").AsBool() || (!wants_error && test.Get("value").IsAbsent())) return "";
  auto program = checked->MakeProgram();
  if (!program) return wants_error ? "" : program.error().text;
  Evaluation result = program->Evaluate(arena, activation);
  if (wants_error) return result.value.IsError() ? "" : "no error but " + ToLiteral(result.value);
  if (result.value.IsError()) return "error " + std::string(result.value.text());
  Value wanted = FromProto(arena, test.Get("value"));
  return Same(result.value, wanted) ? "" : ToLiteral(result.value) + ", not " + ToLiteral(wanted);
}

TEST(Conformance, AllCases) {
  std::ifstream file(HOMEOSTAT_CEL_TESTDATA "/conformance.jsonl");
  ASSERT_TRUE(file);
  size_t passed = 0, left_out = 0, different = 0;
  for (std::string line; std::getline(file, line);) {
    auto test = object::ParseJsonDocument(line);
    ASSERT_TRUE(test) << line;
    object::Value root = (*test)->root();
    std::string name(root.Get("name").AsString());
    if (!root.Get("out").IsAbsent()) {
      ++left_out;
      continue;
    }
    std::string problem = RunCase(root);
    if (Different().contains(name)) {
      ++different;
      EXPECT_FALSE(problem.empty()) << name << " passes: take it out of kubernetes_differs.txt";
      continue;
    }
    EXPECT_EQ(problem, "") << name << ": " << root.Get("expr").AsString();
    passed += problem.empty();
  }
  std::cout << passed << " cases pass, " << different << " differ in Kubernetes, " << left_out << " left out\n";
  EXPECT_GT(passed, 1400u);
}

}  // namespace
}  // namespace homeostat::cel
