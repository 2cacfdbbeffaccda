#include "homeostat/object/jsonpath.h"

#include <gtest/gtest.h>

#include "homeostat/object/json.h"
#include "object/internal/test_table.h"

namespace homeostat::object {
namespace {

constexpr std::string_view kDocument =
    R"({"kind":"List","items":[{"metadata":{"name":"a","labels":{"x":"1","y.z/w":"2"}},"n":1,"f":1.5,"b":true,"s":"x","conditions":[{"type":"Ready","status":"True"},{"type":"Other","status":"False"}]},{"metadata":{"name":"b"},"n":2,"f":2,"b":false,"s":"y","conditions":[]},{"metadata":{"name":"c"},"n":null}],"l":[0,1,2,3,4],"e":{},"d":{"name":"deep","in":{"name":"er"}}})";

class JsonPathTest : public testing::Test {
 protected:
  std::vector<std::string> Find(std::string_view path) {
    Result<JsonPath> parsed = JsonPath::Parse(path);
    if (!parsed) return {"perr", parsed.error().message()};
    Result<std::vector<Value>> values = parsed->Evaluate(root_);
    if (!values) return {"err", values.error().message()};
    std::vector<std::string> answer = {"ok"};
    for (const Value& value : *values) answer.push_back(*WriteJson(value, {.sort_names = true}));
    if (values->empty()) answer.emplace_back();
    return answer;
  }
  std::string Joined(std::string_view path) { return internal::Join(Find(path), " "); }

  Arena arena_;
  Value root_ = *ParseJson(arena_, kDocument);
};

TEST_F(JsonPathTest, IsUpstreams) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable("jsonpath_cases.tsv");
  ASSERT_GT(rows.size(), 200u);
  for (std::vector<std::string>& row : rows) {
    std::string path = row[0];
    row.erase(row.begin());
    EXPECT_EQ(Find(path), row) << path;
  }
}

TEST_F(JsonPathTest, FindsInOrder) {
  const std::pair<const char*, const char*> cases[] = {
      {".items[*].metadata.name", R"(ok "a" "b" "c")"},
      {"items[*].metadata.name", R"(ok "a" "b" "c")"},
      {"$.items[-1].metadata.name", R"(ok "c")"},
      {".items[?(@.b)].n", "ok 1 2"},
      {R"(.items[0].conditions[?(@.type=="Ready")].status)", R"(ok "True")"},
      {".items[0].metadata.labels['y\\.z/w']", R"(ok "2")"},
      {".l[1:4:2]", "ok 1 3"},
      {".l[0,3]", "ok 0 3"},
      {".d..name", R"(ok "deep" "er")"},
      {".nowhere.else", "ok "},
      {".l.*", "ok 0 1 2 3 4"},
      {".items[9].n", "err array index out of bounds: index 9, length 3"},
  };
  for (auto [path, answer] : cases) {
    EXPECT_EQ(Joined(path), answer) << path;
  }
  // A null compares with nothing.
  EXPECT_EQ(Joined(".items[?(@.n>=2)].metadata.name"), "err invalid type for comparison");
}

TEST_F(JsonPathTest, RefusesWithUpstreamsWords) {
  const std::pair<const char*, const char*> cases[] = {
      {".a[", "unterminated array"},
      {".a[x]", "invalid array index x"},
      {".a[?(@.b==1]", "unterminated filter"},
      {".a[?(@.b==1)", "unclosed array expect ]"},
      {"....a", "invalid multiple recursive descent"},
      {".a[\"b\"]", "invalid array index \"b\""},
      {"[99999999999999999999]", "array index 99999999999999999999 is not a number"},
  };
  for (auto [path, message] : cases) {
    Result<JsonPath> parsed = JsonPath::Parse(path);
    ASSERT_FALSE(parsed.has_value()) << path;
    EXPECT_EQ(parsed.error().message(), message) << path;
  }
}

TEST_F(JsonPathTest, SimplePathsHaveNames) {
  Result<JsonPath> simple = JsonPath::Parse(".spec.replicas");
  ASSERT_TRUE(simple->IsSimple());
  EXPECT_EQ(simple->Names(), (std::vector<std::string>{"spec", "replicas"}));
  EXPECT_FALSE(JsonPath::Parse(".spec[0]")->IsSimple());
  EXPECT_FALSE(JsonPath::Parse("..a")->IsSimple());
  EXPECT_FALSE(JsonPath::Parse("")->IsSimple());
}

TEST_F(JsonPathTest, GreedyPathsEnd) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "{\"a\":";
  text += "1" + std::string(2000, '}');
  Arena arena;
  Value deep = *ParseJson(arena, text);
  EXPECT_EQ(EvaluateJsonPath("..a..a..a..a..a", deep).error().message(), "path leads to too many places");
  EXPECT_EQ(EvaluateJsonPath("..a", deep)->size(), 2000u);
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "[?(@";
  EXPECT_FALSE(JsonPath::Parse(nested).has_value());
  for (int i = 0; i < 5000; ++i) nested += ")]";
  EXPECT_FALSE(JsonPath::Parse(nested).has_value());
}

}  // namespace
}  // namespace homeostat::object
