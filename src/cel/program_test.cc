// Compiling and evaluating: messages, costs, limits, values of schemas, what policies need.
#include "cel/program.h"

#include <gtest/gtest.h>

#include "cel/authorizer.h"
#include "cel/environment.h"
#include "cel/lazy_map.h"
#include "cel/rule_cost.h"
#include "homeostat/object/json.h"

namespace homeostat::cel {
namespace {

std::string Evaluate(const Environment& environment, std::string_view text, const Activation& activation, object::Arena& arena) {
  auto program = environment.Compile(text);
  if (!program) return program.error().text;
  Evaluation result = program->Evaluate(arena, activation);
  if (result.outcome != Evaluation::Outcome::kValue) return "error: " + std::string(result.value.text());
  return ToLiteral(result.value);
}
std::string Evaluate(std::string_view text) {
  object::Arena arena;
  return Evaluate(Environment(), text, MapActivation(), arena);
}

TEST(Program, GivesValues) {
  struct Case {
    std::string_view text, value;
  };
  static constexpr Case kCases[] = {
      {"1 + 2 * 3", "7"},
      {"-7 / 2", "-3"},
      {"'ab' + 'c'", "\"abc\""},
      {"[1, 2, 3].map(x, x * 2)", "[2, 4, 6]"},
      {"[1, 2, 3].filter(x, x > 1).exists(x, x == 3)", "true"},
      {"{'a': 1}.transformMap(k, v, v + 1)", "{\"a\": 2}"},
      {"1 / 0 == 1 || true", "true"},
      {"false && 1 / 0 == 1", "false"},
      {"1u < 2.5 && 1 < 2u", "true"},
      {"optional.of(1).optMap(x, x + 1)", "optional.of(2)"},
      {"{'a': 1}.?b.orValue(5)", "5"},
      {"'ä€'.size() + 'x'.size()", "3"},
      {"timestamp('2024-02-29T23:00:00Z') + duration('90m')", "timestamp(\"2024-03-01T00:30:00Z\")"},
      {"'%d of %s'.format([3, 'x'])", "\"3 of x\""},
      {"quantity('1.5Gi').isGreaterThan(quantity('1G'))", "true"},
      {"cidr('10.0.0.0/8').containsIP('10.1.2.3')", "true"},
      {"url('https://example.com:80/a?b=c').getHostname()", "\"example.com\""},
      {"semver('1.2.3').isLessThan(semver('v1.10', true))", "true"},
      {"format.dns1123Label().validate('a-b')", "optional.none()"},
      {"[3, 1, 2].sort().reverse().slice(0, 2)", "[3, 2]"},
      {"sets.equivalent([1, 2], [2, 1, 1])", "true"},
      {"'a1b22'.findAll('[0-9]+')", "[\"1\", \"22\"]"},
  };
  for (const Case& test : kCases) EXPECT_EQ(Evaluate(test.text), test.value) << test.text;
}

TEST(Program, SaysWhatIsWrong) {
  struct Case {
    std::string_view text, error;
  };
  static constexpr Case kCases[] = {
      {"1 +", "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', "
              "'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 +\n | ...^"},
      {"a.b", "ERROR: <input>:1:1: undeclared reference to 'a' (in container '')\n | a.b\n | ^"},
      {"1 + 'a'", "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a'\n | ..^"},
      {"'ä' + 1", "ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, int)'\n | 'ä' + 1\n | .．..^"},
      {"duration('x')", "ERROR: <input>:1:10: invalid duration argument\n | duration('x')\n | .........^"},
      {"int('x')", "type conversion error from 'string' to 'int'"},
      {"[1][dyn(1)]", "error: index out of bounds: 1"},
      {"{'a': 1}['b']", "error: no such key: b"},
      {"9223372036854775807 + 1", "error: integer overflow"},
      {"dyn(true) + dyn(1)", "error: no such overload: _+_"},
  };
  for (const Case& test : kCases) EXPECT_EQ(Evaluate(test.text), test.error) << test.text;
}

TEST(Program, BoundsDepthAndSize) {
  EXPECT_EQ(Evaluate(std::string(300, '(') + "1" + std::string(300, ')')), "ERROR: <input>:-1:0: expression recursion limit exceeded: 250");
  std::string sum = "1";
  for (int i = 0; i < 5000; ++i) sum += "+1";
  EXPECT_EQ(Evaluate(sum), "ERROR: <input>:-1:0: max recursion depth exceeded");
  std::string either = "true";
  for (int i = 0; i < 5000; ++i) either += "||true";
  EXPECT_EQ(Evaluate(either), "true");
  EXPECT_EQ(Evaluate(std::string(100'001, ' ')),
            "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000");
}

TEST(Program, StopsAtItsLimits) {
  Environment environment;
  environment.Declare("n", Type::List(Type::Int()));
  auto program = environment.Compile("n.all(a, n.all(b, n.all(c, a + b + c >= 0)))");
  ASSERT_TRUE(program) << program.error().text;
  object::Arena arena;
  std::vector<Value> items(200, Value::Int(1));
  MapActivation activation;
  activation.Set("n", MakeList(arena, items));
  EvaluateOptions options;
  options.cost_limit = 10'000;
  Evaluation limited = program->Evaluate(arena, activation, options);
  EXPECT_EQ(limited.outcome, Evaluation::Outcome::kCostExceeded);
  EXPECT_EQ(limited.value.text(), "operation cancelled: actual cost limit exceeded");
  EXPECT_GT(limited.cost, 10'000u);
  int asked = 0;
  options.cost_limit = UINT64_MAX;
  options.interrupted = [&] { return ++asked == 5; };
  EXPECT_EQ(program->Evaluate(arena, activation, options).outcome, Evaluation::Outcome::kInterrupted);
  EXPECT_EQ(asked, 5);
}

constexpr std::string_view kSchema = R"({"type": "object", "properties": {"spec": {"type": "object", "properties": {
    "replicas": {"type": "integer"}, "name": {"type": "string", "maxLength": 10}, "namespace": {"type": "string"},
    "port": {"x-kubernetes-int-or-string": true}, "created": {"type": "string", "format": "date-time"},
    "tags": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 4}},
    "items": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
      "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}}}}}})";

TEST(Program, SeesValuesOfASchema) {
  auto schema = object::ParseJsonDocument(kSchema);
  auto data = object::ParseJsonDocument(R"({"metadata": {"name": "x"}, "spec": {"replicas": 2, "name": "web", "namespace": "n", "port": "http",
      "created": "2024-01-01T00:00:00Z", "tags": ["a", "b"], "items": [{"k": "a", "v": 1}, {"k": "b", "v": 2}]}})");
  ASSERT_TRUE(schema && data);
  DeclTypePtr type = DeclType::FromSchema((*schema)->root(), true)->Named("Root");
  Environment environment;
  environment.Declare("self", type);
  object::Arena arena;
  MapActivation activation;
  activation.Set("self", FromJson(arena, (*data)->root(), type.get()));
  for (std::string_view text :
       {"self.spec.replicas == 2 && self.metadata.name == 'x'", "self.spec.__namespace__ == 'n'", "self.spec.port == 'http'",
        "self.spec.created.getFullYear() == 2024", "self.spec.tags == ['b', 'a']", "(self.spec.tags + ['b', 'c']).size() == 3",
        "self.spec.items.exists(i, i.k == 'b' && i.v == 2)", "!has(self.spec.missing) || true"}) {
    std::string result = Evaluate(environment, text, activation, arena);
    if (text.find("missing") != std::string_view::npos) {
      EXPECT_NE(result.find("undefined field 'missing'"), std::string::npos) << result;
    } else {
      EXPECT_EQ(result, "true") << text;
    }
  }
}

TEST(Program, EstimatesFromTheSchemasBounds) {
  auto schema = object::ParseJsonDocument(kSchema);
  Environment environment;
  environment.Declare("self", DeclType::FromSchema((*schema)->root(), true)->Named("Root"));
  auto bounded = environment.Check("self.spec.tags.all(t, t.startsWith('a'))");
  ASSERT_TRUE(bounded) << bounded.error().text;
  EXPECT_LT(bounded->EstimateCost().max, 100u);
  auto unbounded = environment.Check("self.spec.__namespace__.matches('a+')");
  ASSERT_TRUE(unbounded) << unbounded.error().text;
  EXPECT_GT(unbounded->EstimateCost().max, 300'000u);
}

TEST(RuleCost, SaysHowMuchTooDear) {
  EXPECT_EQ(CostErrorMessage("estimated rule cost", 20'000'000, kRuleCostLimit).substr(0, 51),
            "estimated rule cost exceeds budget by factor of 2.0");
  EXPECT_NE(CostErrorMessage("x", 10'000'001, kRuleCostLimit).find("factor of 1.000000x"), std::string::npos);
  EXPECT_NE(CostErrorMessage("x", UINT64_MAX, kRuleCostLimit).find("factor of more than 100x"), std::string::npos);
  EXPECT_EQ(RuleCost(UINT64_MAX / 2, 3, *DeclType::Of(Type::Int())), UINT64_MAX);
  EXPECT_EQ(RuleCost(2, std::nullopt, *DeclType::Of(Type::Int())), 2 * MaxCardinality(*DeclType::Of(Type::Int())));
}

TEST(Program, NamesTheTypeOfAKeyThatIsNone) {
  auto schema = object::ParseJsonDocument(kSchema);
  auto json = object::ParseJsonDocument(R"({"spec": {"tags": ["a"], "items": [{"k": "a"}], "map": {}}})");
  object::Arena arena;
  Environment environment;
  environment.Declare("self", DeclType::FromSchema((*schema)->root(), true)->Named("Root"));
  environment.Declare("json", Type::Dyn());
  auto type = DeclType::FromSchema((*schema)->root(), true);
  MapActivation activation;
  activation.Set("self", FromJson(arena, (*json)->root(), type.get()));
  activation.Set("json", FromJson(arena, (*json)->root()));
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"dyn([3])[json.spec.tags]", "[]interface {}"},
      {"dyn([3])[json.spec.map]", "map[string]interface {}"},
      {"dyn([3])[[json.spec.tags][0]]", "*types.baseList"},
      {"dyn([3])[dyn([1])]", "*types.baseList"},
      {"dyn([3])[dyn(self.spec.tags)]", "*common.unstructuredSetList"},
  };
  for (auto [text, name] : cases) {
    EXPECT_NE(Evaluate(environment, text, activation, arena).find("invalid qualifier type: " + std::string(name)), std::string::npos)
        << text << ": " << Evaluate(environment, text, activation, arena);
  }
}

TEST(Program, KnowsItsVariables) {
  Environment environment;
  environment.Declare("self", Type::Int());
  environment.Declare("oldSelf", Type::Int());
  EXPECT_TRUE(environment.Check("[1].all(x, x < oldSelf)")->References("oldSelf"));
  EXPECT_FALSE(environment.Check("self > 1")->References("oldSelf"));
}

TEST(Program, IsSmallAndShared) {
  Environment environment;
  environment.Declare("s", Type::String());
  auto program = environment.Compile("s.size() < 10 && s.matches('^[a-z]+$') && !s.startsWith('x') && s != 'kube-system'");
  ASSERT_TRUE(program);
  EXPECT_LT(program->memory_size(), 16u << 10);
  Program copy = *program;
  object::Arena arena;
  MapActivation activation;
  activation.Set("s", Value::String("abc"));
  EXPECT_TRUE(copy.Evaluate(arena, activation).value.IsTrue());
}

TEST(Program, ConstructsObjectsForMutations) {
  EnvironmentOptions options;
  options.object_construction = true;
  options.json_patch = true;
  Environment environment(options);
  object::Arena arena;
  auto program = environment.Compile("Object{spec: Object.spec{replicas: 3, ?gone: optional.none()}}");
  ASSERT_TRUE(program) << program.error().text;
  Value value = program->Evaluate(arena, MapActivation()).value;
  EXPECT_EQ(object::JsonText(ToJson(arena, value).value), R"({"spec":{"replicas":3}})");
  EXPECT_EQ(CheckTypeNamesMatchFieldPathNames(value), "");
  auto wrong = environment.Compile("Object{spec: Object.status{replicas: 3}}");
  ASSERT_TRUE(wrong) << wrong.error().text;
  EXPECT_EQ(CheckTypeNamesMatchFieldPathNames(wrong->Evaluate(arena, MapActivation()).value),
            "unexpected type name \"Object.status\", expected \"Object.spec\", which matches field name path from root Object type");
  EXPECT_EQ(Evaluate(environment, "[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('b/c'), value: 1}][0].path", MapActivation(), arena),
            "\"/a/b~1c\"");
}

TEST(Program, ComputesVariablesOnceAndOnlyWhenAsked) {
  Environment environment;
  environment.Declare("variables", DeclType::Object("kubernetes.variables", {{"used", "used", DeclType::Of(Type::Int())},
                                                                             {"unused", "unused", DeclType::Of(Type::Int())}}));
  int computed = 0;
  LazyMap variables;
  variables.Add("used", [&] { ++computed; return Value::Int(4); });
  variables.Add("unused", [&] { ++computed; return Value::Int(5); });
  object::Arena arena;
  MapActivation activation;
  activation.Set("variables", Value::Of(static_cast<const Map*>(&variables)));
  EXPECT_EQ(Evaluate(environment, "variables.used + variables.used", activation, arena), "8");
  EXPECT_EQ(computed, 1);
}

class OnlyPods : public Authorizer {
 public:
  AuthorizationAnswer Authorize(const AuthorizationQuestion& question) const override {
    return {question.is_resource && question.resource == "pods" && question.verb == "get", "because " + question.name, ""};
  }
};

TEST(Program, AsksTheAuthorizer) {
  Environment environment;
  environment.Declare("authorizer", ParseType("kubernetes.authorization.Authorizer"));
  OnlyPods authorizer;
  object::Arena arena;
  MapActivation activation;
  activation.Set("authorizer", AuthorizerValue(arena, authorizer));
  EXPECT_EQ(Evaluate(environment, "authorizer.group('').resource('pods').namespace('a').name('p').check('get').allowed()", activation, arena), "true");
  EXPECT_EQ(Evaluate(environment, "authorizer.path('/x').check('get').allowed()", activation, arena), "false");
  EXPECT_EQ(Evaluate(environment, "authorizer.group('').resource('pods').name('p').check('get').reason()", activation, arena), "\"because p\"");
  EXPECT_EQ(Evaluate(environment, "authorizer.group('').resource(' ')", activation, arena), "error: resource must not be empty");
}

}  // namespace
}  // namespace homeostat::cel
