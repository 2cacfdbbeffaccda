#include "patch/typed_merge.h"

#include <gtest/gtest.h>

#include "patch/internal/test_support.h"

namespace homeostat::patch {
namespace {

using test::Parse;
using test::Sorted;
using test::WidgetType;

std::string Write(Arena& arena, const FieldSet& set) { return object::JsonText(WriteFieldsV1(arena, set)); }
std::string InSpec(std::string_view json) { return "{\"spec\":" + std::string(json) + "}"; }

TEST(CheckTyped, SaysWhatDoesNotFit) {
  struct Case {
    const char* spec;
    const char* message;  // empty: fits
  };
  const Case kCases[] = {
      {R"({"size":1,"tags":["a"],"parts":[{"id":"a"},{"id":"a","port":81}],"named":{"k":{"v":1}},"port":"http","quota":1.5})",
       ""},
      {R"({"size":null,"tags":null,"parts":null,"named":null,"whole":null})", ""},
      {R"({"opts":{"anything":{"at":["all",1]},"inner":{"as":"well"}},"blob":5,"free":{"x":[1]}})", ""},
      {R"({"bogus":1})", ".spec.bogus: field not declared in schema"},
      {R"({"size":"x"})", ".spec.size: expected numeric (int or float), got string"},
      {R"({"size":{"a":1}})", ".spec.size: expected numeric (int or float), got map[string]interface {}"},
      {R"({"name":{"b":[1,null],"a":"x"}})",
       R"(.spec.name: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":"x", "b":[]interface {}{1, interface {}(nil)}}})"},
      {R"({"flag":"yes"})", ".spec.flag: expected boolean, got &{yes}"},
      {R"({"when":{}})", ".spec.when: expected any scalar, got &{map[]}"},
      {R"({"when":5})", ""},
      {R"({"tags":"a"})", ".spec.tags: expected list, got &{a}"},
      {R"({"named":[1000000,"b"]})", ".spec.named: expected map, got &{[1000000 b]}"},
      {R"({"tags":["a","b","a"]})", R"(.spec.tags: duplicate entries for key [="a"])"},
      {R"({"tags":[{}]})", ".spec.tags: element 0: associative list without keys has an element that's a map type"},
      {R"({"tags":[[]]})", ".spec.tags: element 0: not supported: associative list with lists as elements"},
      {R"({"tags":[null]})",
       ".spec.tags: element 0: associative list without keys has an element that's an explicit null"},
      {R"({"parts":[null]})", ".spec.parts: element 0: associative list with keys may not have a null element"},
      {R"({"parts":[1]})", ".spec.parts: element 0: associative list with keys may not have non-map elements"},
      {R"({"parts":[{"id":"a"},{"id":"a","port":80}]})", R"(.spec.parts: duplicate entries for key [id="a",port=80])"},
      {R"({"parts":[{"id":"a","bogus":1}]})", R"(.spec.parts[id="a",port=80].bogus: field not declared in schema)"},
      {R"({"points":[1,["x"]]})",
       "errors:\n  .spec.points[0]: expected list, got &{1}\n  .spec.points[1][0]: expected numeric (int or float), "
       "got string"},
      {R"({"named":{"k":{"bogus":1}},"size":true})",
       "errors:\n  .spec.named.k.bogus: field not declared in schema\n  .spec.size: expected numeric (int or float), "
       "got bool"},
  };
  for (const Case& one : kCases) {
    Arena arena;
    Done fits = CheckTyped(arena, WidgetType(), Parse(arena, InSpec(one.spec)), Duplicates::kRefused);
    EXPECT_EQ(fits ? "" : fits.error().message(), one.message) << one.spec;
    if (!fits) {
      EXPECT_EQ(fits.error().code(), 500);
    }
  }
  Arena arena;
  EXPECT_TRUE(
      CheckTyped(arena, WidgetType(), Parse(arena, InSpec(R"({"tags":["a","a"]})")), Duplicates::kAllowed).has_value());
}

TEST(MergeTyped, MergesItemByItem) {
  struct Case {
    const char *live, *config, *merged;
  };
  const Case kCases[] = {
      {R"({"size":1})", R"({"name":"n"})", R"({"name":"n","size":1})"},
      {R"({"size":1})", R"({"size":null})", R"({"size":null})"},
      {R"({"named":{"a":{"v":1}}})", R"({"named":{"a":{"w":"x"},"b":{}}})",
       R"({"named":{"a":{"v":1,"w":"x"},"b":{}}})"},
      {R"({"named":{"a":{}}})", R"({"named":null})", R"({"named":{"a":{}}})"},
      {R"({"whole":{"a":1}})", R"({"whole":{"b":2}})", R"({"whole":{"b":2}})"},
      {R"({"points":[[1],[2]]})", R"({"points":[[3]]})", R"({"points":[[3]]})"},
      {R"({"blob":{"a":1,"l":[1]}})", R"({"blob":{"b":2,"l":[2]}})", R"({"blob":{"a":1,"b":2,"l":[2]}})"},
      {R"({"blob":{"a":1}})", R"({"blob":"x"})", R"({"blob":"x"})"},
      // items that only the live list has keep their place before what follows them
      {R"({"tags":["a","b","c"]})", R"({"tags":["b"]})", R"({"tags":["a","b","c"]})"},
      {R"({"tags":["a","x","b"]})", R"({"tags":["b","a"]})", R"({"tags":["x","b","a"]})"},
      {R"({"tags":["a","b"]})", R"({"tags":["c","b","d"]})", R"({"tags":["a","c","b","d"]})"},
      {R"({"tags":["a","b","c","d"]})", R"({"tags":["d","b"]})", R"({"tags":["a","c","d","b"]})"},
      {R"({"tags":["a","b"]})", R"({"tags":[]})", R"({"tags":["a","b"]})"},
      {R"({"tags":[]})", R"({"tags":null})", R"({"tags":null})"},
      {R"({"parts":[{"id":"a","note":"x"},{"id":"b"}]})", R"({"parts":[{"id":"b","note":"y"},{"id":"a","port":80}]})",
       R"({"parts":[{"id":"b","note":"y"},{"id":"a","note":"x","port":80}]})"},
      // of two live items with the same key none is merged with
      {R"({"parts":[{"id":"a","note":"x"},{"id":"a","note":"y"}]})", R"({"parts":[{"id":"a"}]})",
       R"({"parts":[{"id":"a"}]})"},
      {R"({"tags":["a","a","b"]})", R"({"tags":["b"]})", R"({"tags":["a","a","b"]})"},
  };
  for (const Case& one : kCases) {
    Arena arena;
    Value live = Parse(arena, InSpec(one.live));
    EXPECT_EQ(Sorted(MergeTyped(arena, WidgetType(), live, Parse(arena, InSpec(one.config)))), InSpec(one.merged));
    EXPECT_EQ(Sorted(live), Sorted(Parse(arena, InSpec(one.live)))) << "the live object was written to";
  }
}

TEST(MergeTyped, SharesWhatDidNotChange) {
  Arena arena;
  Value live = Parse(arena, InSpec(R"({"named":{"a":{"v":1}},"tags":["a","b"],"size":1})"));
  Value same = MergeTyped(arena, WidgetType(), live, Parse(arena, InSpec(R"({"tags":["a","b"],"size":1.0})")));
  EXPECT_EQ(same.members().data(), live.members().data());
  Value changed = MergeTyped(arena, WidgetType(), live, Parse(arena, InSpec(R"({"size":2})")));
  EXPECT_EQ(changed.Path({"spec", "named"}).members().data(), live.Path({"spec", "named"}).members().data());
}

TEST(CompareTyped, TellsAddedModifiedRemoved) {
  struct Case {
    const char *from, *to, *added, *modified, *removed;
  };
  const Case kCases[] = {
      {R"({"size":1})", R"({"size":1.0})", R"({})", R"({})", R"({})"},
      {R"({"size":1})", R"({"size":2,"name":"n"})", R"({"f:name":{}})", R"({"f:size":{}})", R"({})"},
      {R"({"named":{"a":{"v":1}}})", R"({"named":{"b":{"v":1}}})", R"({"f:named":{"f:b":{".":{},"f:v":{}}}})", R"({})",
       R"({"f:named":{"f:a":{".":{},"f:v":{}}}})"},
      {R"({})", R"({"tags":["a"]})", R"({"f:tags":{".":{},"v:\"a\"":{}}})", R"({})", R"({})"},
      {R"({"tags":null})", R"({"tags":["a"]})", R"({"f:tags":{"v:\"a\"":{}}})", R"({})", R"({})"},
      {R"({"tags":["a","b"]})", R"({"tags":["b","a"]})", R"({})", R"({})", R"({})"},
      {R"({"points":[[1]]})", R"({"points":[[2]]})", R"({})", R"({"f:points":{}})", R"({})"},
      {R"({"whole":{"a":1}})", R"({"whole":{"a":2}})", R"({})", R"({"f:whole":{}})", R"({})"},
      {R"({"named":{}})", R"({"named":null})", R"({})", R"({"f:named":{}})", R"({})"},
      {R"({"blob":"x"})", R"({"blob":{"a":1}})", R"({"f:blob":{"f:a":{}}})", R"({"f:blob":{}})", R"({})"},
      {R"({"parts":[{"id":"a"}]})", R"({"parts":[{"id":"a","note":"n"}]})",
       R"({"f:parts":{"k:{\"id\":\"a\",\"port\":80}":{"f:note":{}}}})", R"({})", R"({})"},
      // an item that is there twice is one thing without parts
      {R"({"tags":["a","a"]})", R"({"tags":["a"]})", R"({"f:tags":{"v:\"a\"":{}}})", R"({})",
       R"({"f:tags":{"v:\"a\"":{}}})"},
      {R"({"parts":[{"id":"a"}]})", R"({"parts":[{"id":"a"},{"id":"a"}]})",
       R"({"f:parts":{"k:{\"id\":\"a\",\"port\":80}":{}}})", R"({})",
       R"({"f:parts":{"k:{\"id\":\"a\",\"port\":80}":{".":{},"f:id":{}}}})"},
      {R"({"parts":[{"id":"a"},{"id":"a"}]})", R"({"parts":[{"id":"a"},{"id":"a","note":"x"}]})", R"({})",
       R"({"f:parts":{"k:{\"id\":\"a\",\"port\":80}":{}}})", R"({})"},
      // what is new as a whole
      {R"({})", R"({"parts":[{"id":"b"},{"id":"a"},{"id":"b","note":"n"}]})",
       R"({"f:parts":{".":{},"k:{\"id\":\"a\",\"port\":80}":{".":{},"f:id":{}},"k:{\"id\":\"b\",\"port\":80}":{}}})", R"({})", R"({})"},
      {R"({})", R"({"whole":{"x":1},"points":[[1]],"named":{"b":{"v":1},"a":{}},"blob":{"a":1}})",
       R"({"f:blob":{".":{},"f:a":{}},"f:named":{".":{},"f:a":{},"f:b":{".":{},"f:v":{}}},"f:points":{},"f:whole":{}})", R"({})",
       R"({})"},
  };
  auto in_spec = [](std::string_view set) {
    return set == "{}" ? std::string("{}") : "{\"f:spec\":" + std::string(set) + "}";
  };
  for (const Case& one : kCases) {
    Arena arena;
    Comparison difference =
        CompareTyped(arena, WidgetType(), Parse(arena, InSpec(one.from)), Parse(arena, InSpec(one.to)));
    EXPECT_EQ(Write(arena, difference.added), in_spec(one.added)) << one.from << " " << one.to;
    EXPECT_EQ(Write(arena, difference.modified), in_spec(one.modified)) << one.from << " " << one.to;
    EXPECT_EQ(Write(arena, difference.removed), in_spec(one.removed)) << one.from << " " << one.to;
  }
}

TEST(CompareTyped, DoubtsNewListsWithItemsThatMayNotFit) {
  for (auto [spec, doubtful] : {std::pair(R"({"parts":[{"id":"b"},{"id":"a"}],"tags":["y","x"]})", false),
                                std::pair(R"({"parts":[{"id":"a"},{"id":"a"}]})", true), std::pair(R"({"tags":["x",null]})", true)}) {
    Arena arena;
    EXPECT_EQ(CompareTyped(arena, WidgetType(), Parse(arena, "{}"), Parse(arena, InSpec(spec))).doubtful, doubtful) << spec;
  }
}

TEST(RemoveItems, AndExtractItems) {
  struct Case {
    const char *spec, *set, *without, *only;
  };
  const Case kCases[] = {
      {R"({"name":"n","size":1})", R"({"f:size":{}})", R"({"name":"n"})", R"({"size":1})"},
      {R"({"tags":["a","b"]})", R"({"f:tags":{"v:\"a\"":{}}})", R"({"tags":["b"]})", R"({"tags":["a"]})"},
      {R"({"tags":["a"]})", R"({"f:tags":{"v:\"a\"":{}}})", R"({"tags":null})", R"({"tags":["a"]})"},
      {R"({"whole":{"a":1}})", R"({"f:whole":{}})", R"(null)", R"({"whole":{"a":1}})"},
      {R"({"parts":[{"id":"a","note":"x"},{"id":"b","note":"y"}]})",
       R"({"f:parts":{"k:{\"id\":\"a\",\"port\":80}":{"f:note":{}}}})",
       R"({"parts":[{"id":"a"},{"id":"b","note":"y"}]})", R"({"parts":[{"note":"x"}]})"},
      {R"({"named":{"a":{"v":1,"w":"x"},"b":{}}})", R"({"f:named":{"f:a":{".":{},"f:v":{}}}})", R"({"named":{"b":{}}})",
       R"({"named":{"a":{"v":1}}})"},
  };
  for (const Case& one : kCases) {
    Arena arena;
    Value value = Parse(arena, InSpec(one.spec));
    auto set = ReadFieldsV1(arena, Parse(arena, "{\"f:spec\":" + std::string(one.set) + "}"));
    EXPECT_EQ(Sorted(RemoveItems(arena, WidgetType(), value, *set)), InSpec(one.without));
    EXPECT_EQ(Sorted(ExtractItems(arena, WidgetType(), value, *set)), InSpec(one.only));
  }
}

TEST(ReconcileWithType, TakesPathsTogetherThatAreOneThingNow) {
  struct Case {
    const char *recorded, *reconciled;
  };
  const Case kCases[] = {
      {R"({"f:whole":{"f:a":{}}})", R"({"f:whole":{}})"},
      {R"({"f:whole":{".":{},"f:a":{}},"f:size":{}})", R"({"f:size":{},"f:whole":{}})"},
      {R"({"f:points":{"i:0":{}}})", R"({"f:points":{}})"},
      {R"({"f:named":{"f:k":{"f:v":{}}}})", R"({"f:named":{"f:k":{"f:v":{}}}})"},
      {R"({"f:blob":{"f:x":{"f:y":{}}}})", R"({"f:blob":{"f:x":{"f:y":{}}}})"},
      {R"({"f:gone":{"f:x":{}}})", R"({"f:gone":{"f:x":{}}})"},
      {R"({"f:parts":{"k:{\"id\":\"a\"}":{"f:sub":{"f:deep":{"i:1":{}}}}}})",
       R"({"f:parts":{"k:{\"id\":\"a\"}":{"f:sub":{"f:deep":{}}}}})"},
  };
  for (const Case& one : kCases) {
    Arena arena;
    auto set = ReadFieldsV1(arena, Parse(arena, "{\"f:spec\":" + std::string(one.recorded) + "}"));
    EXPECT_EQ(Write(arena, ReconcileWithType(arena, WidgetType(), *set)),
              "{\"f:spec\":" + std::string(one.reconciled) + "}");
  }
}

TEST(WithNamedFields, AddsDeclaredFieldsOnTheWay) {
  Arena arena;
  auto set = ReadFieldsV1(
      arena,
      Parse(arena,
            R"({"f:spec":{"f:named":{"f:k":{"f:v":{}}},"f:parts":{"k:{\"id\":\"a\"}":{"f:sub":{"f:deep":{}}}}}})"));
  EXPECT_EQ(
      Write(arena, WithNamedFields(arena, WidgetType(), *set)),
      R"({"f:spec":{".":{},"f:named":{".":{},"f:k":{"f:v":{}}},"f:parts":{".":{},"k:{\"id\":\"a\"}":{"f:sub":{".":{},"f:deep":{}}}}}})");
}

}  // namespace
}  // namespace homeostat::patch
