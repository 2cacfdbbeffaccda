#include "object/go_selector.h"

#include <gtest/gtest.h>

#include "homeostat/object/json.h"

namespace homeostat::object {
namespace {

TEST(GoSelectorTextTest, PrintsAsGoDoes) {
  struct Case {
    const char *selector, *text;
  };
  for (const Case& c : {
           Case{"null", "nil"},
           Case{"{}", "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}"},
           Case{R"({"matchLabels":{"a":"b","c":"d"},"matchExpressions":[{"key":"k","operator":"In","values":["x","y"]},{"key":"l","operator":"Exists"}]})",
                "&LabelSelector{MatchLabels:map[string]string{a: b,c: d,},MatchExpressions:[]LabelSelectorRequirement{"
                "LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},LabelSelectorRequirement{Key:l,Operator:Exists,Values:[],},},}"},
       }) {
    auto document = ParseJsonDocument(c.selector);
    ASSERT_TRUE(document) << c.selector;
    EXPECT_EQ(GoSelectorText((*document)->root()), c.text);
  }
}

}  // namespace
}  // namespace homeostat::object
