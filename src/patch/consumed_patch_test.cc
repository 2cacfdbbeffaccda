#include "patch/consumed_patch.h"

#include <gtest/gtest.h>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"

namespace homeostat::patch {
namespace {

TEST(ConsumedPatch, LosesTheDirectivesThatWereObeyed) {
  struct Case {
    std::string_view original, patch, left;
  };
  const Case cases[] = {
      {R"({"a":1})", R"({"a":null,"b":2})", R"({"a":null,"b":2})"},
      {R"({"spec":{"x":1}})", R"({"spec":{"x":true,"$retainKeys":["x"]}})", R"({"spec":{"x":true}})"},
      {R"({"l":[1]})", R"({"$setElementOrder/l":[1],"l":[2],"m":3})", R"({"m":3})"},
      {R"({"spec":{}})", R"({"spec":{"$patch":"replace","x":1}})", R"({"spec":{"x":1}})"},
      {R"({"spec":{}})", R"({"spec":{"$patch":"delete","x":1}})", R"({"spec":{"$patch":"delete","x":1}})"},
      {"{}", R"({"spec":{"a":null,"b":{"$patch":"delete"},"c":[{"$patch":"replace"},{"d":null}]}})", R"({"spec":{"c":[{}]}})"},
      // a field that is replaced is not looked into
      {R"({"spec":{"selector":{"a":1}}})", R"({"spec":{"selector":{"$retainKeys":["a"]}}})", R"({"spec":{"selector":{"$retainKeys":["a"]}}})"},
      {R"({"l":["a"]})", R"({"$deleteFromPrimitiveList/l":[1]})", R"({"$deleteFromPrimitiveList/l":[1]})"},
  };
  const schema::Type& type = *api::FindKind("policy", "v1", "PodDisruptionBudget")->type;
  for (const Case& c : cases) {
    object::Arena arena;
    object::Value left = ConsumedPatch(arena, type, *object::ParseJson(arena, c.original), *object::ParseJson(arena, c.patch));
    EXPECT_EQ(object::JsonText(left), c.left) << c.patch;
  }
}

}  // namespace
}  // namespace homeostat::patch
