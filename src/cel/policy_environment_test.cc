// What expressions of admission may name, and what they must give.
#include "cel/policy_environment.h"

#include <gtest/gtest.h>

namespace homeostat::cel {
namespace {

TEST(PolicyEnvironment, NamesWhatItsKindOfExpressionHas) {
  struct Case {
    PolicyNames names;
    bool variables;
    std::string_view text, error;  // the error's beginning; empty: it compiles
  };
  constexpr std::string_view kUndeclared = "compilation failed: ERROR: <input>:1:1: undeclared reference to ";
  static const Case kCases[] = {
      {{}, false, "object.anything == oldObject.x && request.namespace == 'a' && request.userInfo.extra['k'][0] == 'v'", ""},
      {{}, false, "namespaceObject.metadata.labels['a'] == 'b' && namespaceObject.status.phase == 'Active'", ""},
      {{}, false, "params.x == 1", kUndeclared},
      {{.params = true}, false, "params.x == 1", ""},
      {{}, false, "authorizer.path('/').check('get').allowed()", kUndeclared},
      {{.authorizer = true}, false, "authorizer.serviceAccount('a', 'b').group('apps').resource('x').check('get').allowed()", ""},
      {{.authorizer = true}, false, "authorizer.requestResource.check('get').allowed()", ""},
      {{.authorizer = true, .request_resource = false}, false, "authorizer.requestResource.check('get').allowed()",
       "compilation failed: ERROR: <input>:1:11: undefined field 'requestResource'"},
      {{}, false, "variables.a", kUndeclared},
      {{}, true, "variables.a", "compilation failed: ERROR: <input>:1:10: undefined field 'a'"},
      {{}, false, "request.uid == ''", "compilation failed: ERROR: <input>:1:8: undefined field 'uid'"},
      {{}, false, "Object{} == null", "compilation failed: ERROR: <input>:1:7: undeclared reference to 'Object'"},
  };
  for (const Case& test : kCases) {
    std::string error = PolicyEnvironment(test.names, test.variables).Compile(test.text, {}).error;
    EXPECT_TRUE(test.error.empty() ? error.empty() : error.starts_with(test.error)) << test.text << ": " << error;
  }
}

TEST(PolicyEnvironment, VariablesKeepTheirTypes) {
  PolicyEnvironment environment({}, true);
  for (auto [name, text] : {std::pair("list", "[1, 2]"), std::pair("who", "request.userInfo"), std::pair("maybe", "optional.of(1)"),
                            std::pair("bad", "1 + 'a'")}) {
    environment.AddVariable(name, environment.Compile(text, {}).type);
  }
  const Type boolean[] = {Type::Bool()};
  EXPECT_EQ(environment.Compile("variables.list.size() == 2 && variables.who.anything && variables.maybe.value() == 1 && variables.bad", boolean).error, "");
  EXPECT_NE(environment.Compile("variables.list == 1", boolean).error.find("applied to '(list(int), int)'"), std::string::npos);
  PolicyEnvironment other = environment.WithNames({.params = true});
  EXPECT_EQ(other.Compile("variables.list[0] == params.first", boolean).error, "");
}

TEST(PolicyEnvironment, SaysWhatAnExpressionMustGive) {
  PolicyEnvironment environment({.patch_types = true}, false);
  struct Case {
    std::string_view text;
    std::vector<Type> results;
    std::string_view error;
  };
  const Case cases[] = {
      {"1", {Type::Bool()}, "must evaluate to bool but got int"},
      {"1", {Type::String(), Type::Null()}, "must evaluate to one of [string null_type] but got int"},
      {"timestamp('2020-01-01T00:00:00Z')", {Type::Bool()}, "must evaluate to bool but got google.protobuf.Timestamp"},
      {"[JSONPatch{op: 'add', path: '/a', value: 1}]", {Type::List(Type::Struct("JSONPatch"))}, ""},
      {"{'a': 1}", {Type::Struct("Object")}, "must evaluate to Object but got map(string, int)"},
      {"Object{spec: Object.spec{a: jsonpatch.escapeKey('x/y')}}", {Type::Struct("Object")}, ""},
  };
  for (const Case& test : cases) EXPECT_EQ(environment.Compile(test.text, test.results).error, test.error) << test.text;
}

}  // namespace
}  // namespace homeostat::cel
