#include "patch/field_set.h"

#include <gtest/gtest.h>

#include "patch/internal/test_support.h"

namespace homeostat::patch {
namespace {

using test::Parse;

FieldSet Read(Arena& arena, std::string_view json) {
  auto set = ReadFieldsV1(arena, Parse(arena, json));
  EXPECT_TRUE(set.has_value()) << set.error().message() << ": " << json;
  return set ? *set : FieldSet();
}

std::string Write(Arena& arena, const FieldSet& set) { return object::JsonText(WriteFieldsV1(arena, set)); }

TEST(FieldsV1, IsWrittenInUpstreamsOrder) {
  struct Case {
    const char* read;
    const char* written;  // null: the same text, and known to be so
  };
  const Case kCases[] = {
      {R"({})", nullptr},
      {R"({"f:a":{}})", nullptr},
      {R"({"f:a":{".":{},"f:b":{}}})", nullptr},
      {R"({"f:l":{"k:{\"name\":\"x\"}":{".":{},"f:name":{}},"k:{\"name\":\"y\"}":{}},"f:m":{"v:1":{},"v:\"a\"":{},"v:true":{},"i:0":{},"i:2":{}}})",
       nullptr},
      {R"({"f:p":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{}}})", nullptr},
      // out of order, twice the same, spaces in a key, keys of a key out of order
      {R"({"f:b":{},"f:a":{}})", R"({"f:a":{},"f:b":{}})"},
      {R"({"f:a":{"f:c":{},".":{}}})", R"({"f:a":{".":{},"f:c":{}}})"},
      {R"({"f:l":{"k:{\"b\":1,\"a\":2}":{}}})", R"({"f:l":{"k:{\"a\":2,\"b\":1}":{}}})"},
      {R"({"f:l":{"k:{ \"a\" : 2 }":{}}})", R"({"f:l":{"k:{\"a\":2}":{}}})"},
      {R"({"f:a":{".":{}}})", R"({"f:a":{}})"},
      {R"({"f:a":null})", R"({"f:a":{}})"},
      // sorts of steps that nobody knows yet are left out
      {R"({"x:later":{},"f:a":{}})", R"({"f:a":{}})"},
      // what HTML could take for markup is escaped inside the step, as in upstream's text
      {R"({"f:l":{"v:\"<&>\"":{}}})", R"({"f:l":{"v:\"\\u003c\\u0026\\u003e\"":{}}})"},
  };
  for (const Case& one : kCases) {
    Arena arena;
    bool canonical = false;
    auto set = ReadFieldsV1(arena, Parse(arena, one.read), &canonical);
    ASSERT_TRUE(set.has_value()) << one.read;
    EXPECT_EQ(Write(arena, *set), one.written ? one.written : one.read);
    EXPECT_EQ(canonical, one.written == nullptr) << one.read;
    auto of_text = ReadFieldsV1(arena, Value::BytesRef(one.read), &canonical);
    ASSERT_TRUE(of_text.has_value()) << one.read;
    EXPECT_TRUE(Equal(*of_text, *set)) << one.read;
    EXPECT_EQ(canonical, one.written == nullptr) << one.read;
    EXPECT_EQ(WriteFieldsV1Text(arena, *set).AsString(), one.written ? one.written : one.read);
  }
}

TEST(FieldsV1, RefusesTextThatIsNoJson) {
  for (const char* text : {"", "{", R"({"f:a")", R"({"f:a":})", R"({"f:a":{})", R"({"f:a":{}}x)", R"({"f:a":{},})", R"({"f:a)", R"({"k:{\"a)"}) {
    Arena arena;
    EXPECT_FALSE(ReadFieldsV1(arena, Value::BytesRef(text)).has_value()) << text;
  }
}

TEST(FieldsV1, RefusesWhatIsNoSet) {
  for (const char* json : {R"([])", R"("x")", R"({"f:a":1})", R"({"f":{}})", R"({"fa":{}})", R"({"k:[1]":{}})",
                           R"({"k:{":{}})", R"({"v:":{}})", R"({"i:x":{}})"}) {
    Arena arena;
    EXPECT_FALSE(ReadFieldsV1(arena, Parse(arena, json)).has_value()) << json;
    EXPECT_FALSE(ReadFieldsV1(arena, Value::BytesRef(json)).has_value()) << json;
  }
}

TEST(FieldSet, Operations) {
  struct Case {
    const char *a, *b, *united, *shared, *difference, *recursive;
  };
  const Case kCases[] = {
      {R"({})", R"({"f:a":{}})", R"({"f:a":{}})", R"({})", R"({})", R"({})"},
      {R"({"f:a":{},"f:b":{}})", R"({"f:b":{},"f:c":{}})", R"({"f:a":{},"f:b":{},"f:c":{}})", R"({"f:b":{}})",
       R"({"f:a":{}})", R"({"f:a":{}})"},
      // what lies below a path of b stays, unless the difference is recursive
      {R"({"f:a":{".":{},"f:x":{},"f:y":{}}})", R"({"f:a":{}})", R"({"f:a":{".":{},"f:x":{},"f:y":{}}})",
       R"({"f:a":{}})", R"({"f:a":{"f:x":{},"f:y":{}}})", R"({})"},
      {R"({"f:a":{".":{},"f:x":{}}})", R"({"f:a":{"f:x":{},"f:z":{}}})", R"({"f:a":{".":{},"f:x":{},"f:z":{}}})",
       R"({"f:a":{"f:x":{}}})", R"({"f:a":{}})", R"({"f:a":{}})"},
      // numbers are the same however they are written
      {R"({"f:a":{"v:1":{}}})", R"({"f:a":{"v:1.0":{}}})", R"({"f:a":{"v:1":{}}})", R"({"f:a":{"v:1":{}}})", R"({})",
       R"({})"},
  };
  for (const Case& one : kCases) {
    Arena arena;
    FieldSet a = Read(arena, one.a), b = Read(arena, one.b);
    EXPECT_EQ(Write(arena, Union(arena, a, b)), one.united);
    EXPECT_EQ(Write(arena, Intersection(arena, a, b)), one.shared);
    EXPECT_EQ(Write(arena, Difference(arena, a, b)), one.difference);
    EXPECT_EQ(Write(arena, RecursiveDifference(arena, a, b)), one.recursive);
    EXPECT_TRUE(Equal(Union(arena, a, b), Union(arena, b, a)));
    EXPECT_EQ(Write(arena, a), one.a) << "an operand was written to";
  }
}

TEST(FieldSet, ListsPathsAsMessagesShowThem) {
  Arena arena;
  FieldSet set = Read(
      arena,
      R"({"f:spec":{".":{},"f:ports":{"k:{\"name\":\"a\\\"b\",\"port\":1000000}":{".":{},"f:x":{}}},"f:set":{"v:\"q\"":{},"v:true":{},"v:null":{}},"f:list":{"i:3":{}}},"f:a":{}})");
  EXPECT_EQ(
      set.String(),
      ".a\n.spec\n.spec.list[3]\n.spec.ports[name=\"a\\\"b\",port=1e+06]\n.spec.ports[name=\"a\\\"b\",port=1e+06].x\n"
      ".spec.set[=\"q\"]\n.spec.set[=true]\n.spec.set[=null]");
  EXPECT_EQ(set.Size(), 8u);
  EXPECT_TRUE(set.Has(FieldPathOf({"spec"})));
  EXPECT_FALSE(set.Has(FieldPathOf({"spec", "ports"})));
  EXPECT_FALSE(set.Has(Path()));
  EXPECT_EQ(Leaves(arena, set).String(),
            ".a\n.spec.list[3]\n.spec.ports[name=\"a\\\"b\",port=1e+06].x\n.spec.set[=\"q\"]\n.spec.set[=true]\n.spec."
            "set[=null]");
}

TEST(FieldSet, IsMadeOfPaths) {
  Arena arena;
  FieldSet set = FieldSet::Of(
      arena, {FieldPathOf({"b", "c"}), FieldPathOf({"a"}), FieldPathOf({"b"}), FieldPathOf({"a"}), Path()});
  EXPECT_EQ(Write(arena, set), R"({"f:a":{},"f:b":{".":{},"f:c":{}}})");
}

TEST(FieldFilter, KeepsOrLeavesOut) {
  Arena arena;
  FieldSet set = Read(
      arena,
      R"({"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:resources":{"f:limits":{}}}}},"f:status":{"f:x":{}}})");
  struct Case {
    FieldFilter filter;
    const char* kept;
  };
  const Case kCases[] = {
      {FieldFilter(), nullptr},
      {FieldFilter::Exclude(FieldSet::Of(arena, {FieldPathOf({"spec"}), FieldPathOf({"metadata", "labels"})})),
       R"({"f:status":{"f:x":{}}})"},
      {FieldFilter::Include({{"spec", "containers", "*", "resources"}}),
       R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:resources":{"f:limits":{}}}}}})"},
      {FieldFilter::Include({{"spec", "volumes"}}), R"({})"},
      {FieldFilter::Include({{"status"}, {"metadata", "labels"}}),
       R"({"f:metadata":{"f:labels":{"f:a":{}}},"f:status":{"f:x":{}}})"},
  };
  for (const Case& one : kCases)
    EXPECT_EQ(Write(arena, one.filter.Apply(arena, set)), one.kept ? one.kept : Write(arena, set));
}

}  // namespace
}  // namespace homeostat::patch
