#include "homeostat/object/selectors.h"

#include <gtest/gtest.h>

#include "homeostat/object/json.h"
#include "object/internal/test_table.h"

namespace homeostat::object {
namespace {

template <class Selector>
void CheckTable(std::string_view table, size_t least) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable(table);
  ASSERT_GT(rows.size(), least);
  for (const std::vector<std::string>& row : rows) {
    Result<Selector> selector = Selector::Parse(row[0]);
    EXPECT_EQ(selector ? "ok" : "err", row[1]) << row[0];
    EXPECT_EQ(selector ? selector->ToString() : selector.error().message(), row[2]) << row[0];
    if (selector) {
      EXPECT_EQ(*Selector::Parse(selector->ToString()), *selector) << row[0];
    }
  }
}

TEST(LabelSelectorTest, ReadsAsUpstream) { CheckTable<LabelSelector>("labels_cases.tsv", 300); }
TEST(FieldSelectorTest, ReadsAsUpstream) { CheckTable<FieldSelector>("fields_cases.tsv", 100); }

class Json {
 public:
  explicit Json(std::string_view text) : document_(*ParseJsonDocument(text)) {}
  operator const Value&() const { return document_->root(); }  // NOLINT

 private:
  DocumentPtr document_;
};

TEST(LabelSelectorTest, Matches) {
  struct Case {
    const char* selector;
    const char* labels;
    bool matches;
  };
  const Case cases[] = {
      {"", "{}", true},
      {"a=b", R"({"a":"b"})", true},
      {"a=b", R"({"a":"c"})", false},
      {"a=b", "{}", false},
      {"a==b,c!=d", R"({"a":"b"})", true},
      {"a==b,c!=d", R"({"a":"b","c":"d"})", false},
      {"a", R"({"a":""})", true},
      {"!a", R"({"a":""})", false},
      {"!a", R"({"b":""})", true},
      {"a in (x,y)", R"({"a":"y"})", true},
      {"a in (x,y)", R"({"a":"z"})", false},
      {"a notin (x,y)", R"({"a":"z"})", true},
      {"a notin (x,y)", "{}", true},
      {"a notin (x,y)", R"({"a":"x"})", false},
      {"a in ()", R"({"a":""})", true},
      {"a>1", R"({"a":"2"})", true},
      {"a>1", R"({"a":"1"})", false},
      {"a>1", R"({"a":"x"})", false},
      {"a<10", R"({"a":"9"})", true},
      {"a<10", "{}", false},
  };
  for (const Case& test : cases) {
    Json labels(test.labels);
    LabelSelector selector = *LabelSelector::Parse(test.selector);
    EXPECT_EQ(selector.Matches(labels), test.matches) << test.selector << " " << test.labels;
    const Value& root = labels;
    bool looked_up = selector.Matches([&](std::string_view key) -> std::optional<std::string_view> {
      const Member* label = root.Find(key);
      return label ? std::optional(label->value.AsString()) : std::nullopt;
    });
    EXPECT_EQ(looked_up, test.matches) << test.selector << " " << test.labels;
  }
  EXPECT_TRUE(LabelSelector::Parse("a=b")->Matches(Json(R"({"a":"b"})")));
  EXPECT_FALSE(LabelSelector::Parse("a=b")->Matches(Value()));
  EXPECT_FALSE(LabelSelector::Nothing().Matches(Json("{}")));
}

TEST(LabelSelectorTest, FromLabelSelector) {
  EXPECT_TRUE(LabelSelector::FromLabelSelector(Value())->IsNothing());
  EXPECT_TRUE(LabelSelector::FromLabelSelector(Value::Null())->IsNothing());
  EXPECT_TRUE(LabelSelector::FromLabelSelector(Json("{}"))->IsEverything());
  Json selector(R"({"matchLabels":{"z":"1","a":"2"},"matchExpressions":[
      {"key":"k","operator":"In","values":["y","x"]},{"key":"m","operator":"NotIn","values":["v"]},
      {"key":"e","operator":"Exists"},{"key":"d","operator":"DoesNotExist"}]})");
  EXPECT_EQ(LabelSelector::FromLabelSelector(selector)->ToString(), "a=2,!d,e,k in (x,y),m notin (v),z=1");
  const std::pair<const char*, const char*> bad[] = {
      {R"({"matchExpressions":[{"key":"k","operator":"Gt","values":["1"]}]})", "\"Gt\" is not a valid label selector operator"},
      {R"({"matchExpressions":[{"key":"k","operator":"In"}]})",
       "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"},
      {R"({"matchExpressions":[{"key":"k","operator":"Exists","values":["a"]}]})",
       "values: Invalid value: [\"a\"]: values set must be empty for exists and does not exist"},
      {R"({"matchLabels":{"a b":"x y"}})",
       "[key: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
       "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
       "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), values[0][a b]: Invalid value: \"x y\": a valid label must be an "
       "empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
       "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
       "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]"}};
  for (auto [text, message] : bad) {
    Result<LabelSelector> refused = LabelSelector::FromLabelSelector(Json(text));
    ASSERT_FALSE(refused.has_value()) << text;
    EXPECT_EQ(refused.error().message(), message);
  }
}

TEST(LabelSelectorTest, FromMapAndExactMatch) {
  LabelSelector selector = LabelSelector::FromMap(Json(R"({"b":"1","a":"2"})"));
  EXPECT_EQ(selector.ToString(), "a=2,b=1");
  EXPECT_TRUE(LabelSelector::FromMap(Value()).IsEverything());
  EXPECT_EQ(selector.RequiresExactMatch("b"), "1");
  EXPECT_EQ(selector.RequiresExactMatch("c"), std::nullopt);
  EXPECT_EQ(LabelSelector::Parse("a in (x)")->RequiresExactMatch("a"), "x");
  EXPECT_EQ(LabelSelector::Parse("a in (x,y)")->RequiresExactMatch("a"), std::nullopt);
  EXPECT_EQ(LabelSelector::Parse("a!=x")->RequiresExactMatch("a"), std::nullopt);
}

TEST(FieldSelectorTest, MatchesPaths) {
  Json object(R"({"metadata":{"name":"a,b"},"spec":{"unschedulable":true,"replicas":3,"list":[1]}})");
  const std::pair<const char*, bool> cases[] = {
      {"metadata.name=a\\,b", true}, {"metadata.name!=a\\,b", false}, {"metadata.name=", false}, {"spec.unschedulable=true", true},
      {"spec.replicas=3,metadata.name!=x", true}, {"spec.nodeName=", true}, {"spec.nodeName!=", false}, {"spec.list=[1]", false},
      {"", true}};
  for (auto [text, matches] : cases) EXPECT_EQ(FieldSelector::Parse(text)->Matches(object), matches) << text;
}

TEST(FieldSelectorTest, Transforms) {
  FieldSelector selector = *FieldSelector::Parse("name=x,drop=1,metadata.namespace!=y");
  Result<FieldSelector> transformed = selector.Transformed([](FieldRequirement& requirement) -> Done {
    if (requirement.field == "name") requirement.field = "metadata.name";
    if (requirement.field == "drop") requirement = {};
    return {};
  });
  EXPECT_EQ(transformed->ToString(), "metadata.namespace!=y,metadata.name=x");
  EXPECT_EQ(transformed->RequiresExactMatch("metadata.name"), "x");
  EXPECT_EQ(transformed->RequiresExactMatch("metadata.namespace"), std::nullopt);
  Result<FieldSelector> refused = selector.Transformed([](FieldRequirement& requirement) -> Done {
    return Fail(BadRequestError("field label not supported: " + requirement.field));
  });
  EXPECT_EQ(refused.error().message(), "field label not supported: drop");
}

}  // namespace
}  // namespace homeostat::object
