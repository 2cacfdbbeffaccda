// Rules of custom kinds' schemas: what is evaluated, when, and what is said of what fails.
#include "kinds/apiextensions/object_rules.h"

#include <gtest/gtest.h>

#include "homeostat/api/meta/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/object/yaml.h"
#include "kinds/apiextensions/schema_rules.h"

namespace homeostat::kinds {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view kSchema = R"yaml(
type: object
properties:
  spec:
    type: object
    x-kubernetes-validations:
    - {rule: "self.low <= self.high", message: low is above high}
    - {rule: "self.low >= oldSelf.low", messageExpression: "'low fell to ' + string(self.low)", fieldPath: .low}
    properties:
      low: {type: integer}
      high: {type: integer}
      name: {type: string, maxLength: 20, x-kubernetes-validations: [{rule: "self.startsWith('a')", reason: FieldValueForbidden}]}
)yaml";

class ObjectRulesTest : public testing::Test {
 protected:
  ObjectRulesTest() {
    document_ = *object::ParseYamlDocument(kSchema);
    schema_ = schema::StructuralSchema::Compile(document_->root(), document_,
                                                {.object_meta = &api::meta::v1::ObjectMeta::SchemaType(), .name = "v1.Kite", .go_name = "Kite"});
    rules_ = MakeObjectRules(*schema_);
  }
  Texts Faults(std::string_view now, std::string_view old = "") {
    object::Arena arena;
    schema::FieldErrors errors;
    object::Value before = old.empty() ? object::Value() : *object::ParseJson(arena, old);
    rules_->Check(*object::ParseJson(arena, now), before, nullptr, errors);
    Texts texts;
    for (const StatusCause& cause : errors.causes()) texts.push_back(cause.field + ": " + cause.message);
    return texts;
  }

  object::DocumentPtr document_;
  std::shared_ptr<const schema::StructuralSchema> schema_;
  std::unique_ptr<const schema::ObjectRules> rules_;
};

TEST_F(ObjectRulesTest, SayWhatFails) {
  ASSERT_NE(rules_, nullptr);
  EXPECT_EQ(Faults(R"({"spec":{"low":1,"high":2,"name":"ann"}})"), Texts());
  Texts wrong = Faults(R"({"spec":{"low":3,"high":2,"name":"bob"}})");
  ASSERT_EQ(wrong.size(), 2u);
  EXPECT_TRUE(wrong[0].starts_with("spec: Invalid value:") && wrong[0].ends_with("low is above high")) << wrong[0];
  EXPECT_EQ(wrong[1], "spec.name: Forbidden: failed rule: self.startsWith('a')");
}

TEST_F(ObjectRulesTest, LookAtTheOldObjectOnUpdates) {
  EXPECT_EQ(Faults(R"({"spec":{"low":2,"high":9}})", R"({"spec":{"low":1,"high":2}})"), Texts());
  Texts wrong = Faults(R"({"spec":{"low":0,"high":9}})", R"({"spec":{"low":1,"high":2}})");
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_TRUE(wrong[0].starts_with("spec.low: Invalid value:") && wrong[0].ends_with("low fell to 0")) << wrong[0];
  EXPECT_EQ(Faults(R"({"spec":{"low":3,"high":2},"other":1})", R"({"spec":{"low":3,"high":2}})"), Texts()) << "what was wrong before";
}

TEST_F(ObjectRulesTest, AreCheckedWithTheirSchema) {
  auto faults = [](std::string_view yaml) {
    auto document = *object::ParseYamlDocument(yaml);
    schema::FieldErrors errors;
    CheckRuleExpressions(document->root(), {}, {}, schema::FieldPath("schema"), errors);
    return errors.size();
  };
  EXPECT_EQ(faults("{type: object, properties: {a: {type: integer, x-kubernetes-validations: [{rule: 'self < 5'}, {rule: 'self >= oldSelf'}]}}}"), 0u);
  EXPECT_EQ(faults("{type: object, x-kubernetes-validations: [{rule: 'self.nothing'}]}"), 1u);
  EXPECT_EQ(faults("{type: object, properties: {a: {type: array, items: {type: string, x-kubernetes-validations: [{rule: 'self.matches(\"a*\")'}]}}}}"), 3u)
      << "what nobody limits is too dear: the rule itself, the sum, and the rule as what adds most to it";
}

}  // namespace
}  // namespace homeostat::kinds
