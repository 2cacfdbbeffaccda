#include "homeostat/object/member_order.h"

#include <gtest/gtest.h>

#include "homeostat/object/json.h"

namespace homeostat::object {
namespace {

TEST(MemberOrder, SortsAtEveryLevelAndSharesWhatIsSorted) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"b":1,"a":2})", R"({"a":2,"b":1})"},
      {R"({"a":{"d":1,"c":[{"f":1,"e":2},{"g":0}]},"b":[]})", R"({"a":{"c":[{"e":2,"f":1},{"g":0}],"d":1},"b":[]})"},
      {R"({"b":{"z":1,"y":2},"a":[[1,{"k":1,"j":2}],3]})", R"({"a":[[1,{"j":2,"k":1}],3],"b":{"y":2,"z":1}})"},
      {R"([{"a":1},{"c":1,"b":2},{"d":1}])", R"([{"a":1},{"b":2,"c":1},{"d":1}])"},
      {R"({"A":1,"a":2,"aa":3})", R"({"A":1,"a":2,"aa":3})"},
      {R"("x")", R"("x")"},
  };
  for (auto [text, sorted] : cases) {
    Arena arena;
    Value value = *ParseJson(arena, text);
    EXPECT_EQ(JsonText(WithSortedMembers(arena, value)), sorted);
    EXPECT_EQ(JsonText(value), text);
  }
  Arena arena;
  Value value = *ParseJson(arena, R"({"a":{"b":[{"c":1}]},"d":{"f":1,"e":2}})");
  Value sorted = WithSortedMembers(arena, value);
  EXPECT_EQ(sorted.Get("a").members().data(), value.Get("a").members().data());
  EXPECT_EQ(WithSortedMembers(arena, sorted).members().data(), sorted.members().data());
}

TEST(MemberOrder, OfRepeatedMembersTheLastStays) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"a":1,"b":2,"a":3})", R"({"a":3,"b":2})"},
      {R"([{"a":{"b":1,"b":{"c":1,"c":null}},"d":0}])", R"([{"a":{"b":{"c":null}},"d":0}])"},
      {R"({"a":[{"b":1,"b":2},3],"a":[{"b":1,"b":4}]})", R"({"a":[{"b":4}]})"},
      {R"({"a":[],"b":{}})", R"({"a":[],"b":{}})"},
  };
  for (auto [text, single] : cases) {
    Arena arena;
    Value value = *ParseJsonWithRepeats(arena, text);
    EXPECT_EQ(JsonText(value), text);
    EXPECT_EQ(JsonText(WithoutRepeats(arena, value)), single);
  }
}

}  // namespace
}  // namespace homeostat::object
