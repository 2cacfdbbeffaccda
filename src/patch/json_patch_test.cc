#include "patch/json_patch.h"

#include <gtest/gtest.h>

#include "patch/internal/test_support.h"

namespace homeostat::patch {
namespace {

using test::Parse;
using test::Sorted;

TEST(JsonPatch, Operations) {
  struct Case {
    const char *document, *patch, *result;  // null: does not apply
  };
  const Case kCases[] = {
      {R"({"a":1})", R"([])", R"({"a":1})"},
      {R"({"a":1})", R"(null)", R"({"a":1})"},
      {R"({"a":{}})", R"([{"op":"add","path":"/a/b~1c~0d","value":2}])", R"({"a":{"b/c~d":2}})"},
      {R"({"a":[1,2]})",
       R"([{"op":"add","path":"/a/1","value":9},{"op":"add","path":"/a/-","value":8},{"op":"add","path":"/a/-2","value":7}])",
       R"({"a":[1,9,2,7,8]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/2","value":9}])", nullptr},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/x","value":9}])", nullptr},
      {R"({})", R"([{"op":"add","path":"/a/b","value":9}])", nullptr},
      {R"({})", R"([{"op":"add","path":"","value":{}}])", nullptr},
      {R"({})", R"([{"op":"add","path":"/x"}])", R"({"x":null})"},
      {R"({"a":1})", R"([{"op":"remove","path":"/b"}])", nullptr},
      {R"({"a":[1,2,3]})", R"([{"op":"remove","path":"/a/-1"},{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
      // replacing what is not there adds it, as upstream does; not so in lists
      {R"({})", R"([{"op":"replace","path":"/b","value":1}])", R"({"b":1})"},
      {R"({"a":[]})", R"([{"op":"replace","path":"/a/0","value":1}])", nullptr},
      {R"({"a":1})", R"([{"op":"replace","path":"","value":{"b":2}},{"op":"add","path":"/c","value":3}])",
       R"({"b":2,"c":3})"},
      {R"({"a":1})", R"([{"op":"replace","path":"","value":5}])", nullptr},
      {R"({"a":{"b":1},"c":[]})", R"([{"op":"move","from":"/a/b","path":"/c/0"}])", R"({"a":{},"c":[1]})"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b/c"}])", nullptr},
      {R"({"a":1})", R"([{"op":"move","from":"/x","path":"/b"}])", nullptr},
      {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"},{"op":"add","path":"/c/d","value":2}])",
       R"({"a":{"b":1},"c":{"b":1,"d":2}})"},
      {R"({})", R"([{"op":"copy","from":"/x","path":"/b"}])", R"({"b":null})"},
      {R"({"a":{"x":[1,{"y":null}]}})", R"([{"op":"test","path":"/a","value":{"x":[1,{"y":null}]}}])",
       R"({"a":{"x":[1,{"y":null}]}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", nullptr},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1.0}])", nullptr},
      {R"({"a":1})", R"([{"op":"test","path":"/b","value":null}])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"test","path":"/b"}])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a"}])", nullptr},
      {R"({"a":1})", R"([{"op":"test","path":"","value":{"a":1}}])", R"({"a":1})"},
      {R"({})", R"([{"op":"juggle","path":"/a"}])", nullptr},
      {R"({})", R"([{"op":"add"}])", nullptr},
      {R"({})", R"([null])", nullptr},
  };
  for (const Case& one : kCases) {
    Arena arena;
    auto result = ApplyJsonPatch(arena, Parse(arena, one.document), Parse(arena, one.patch));
    EXPECT_EQ(result ? Sorted(*result) : "does not apply", one.result ? one.result : "does not apply") << one.patch;
    if (result) continue;
    EXPECT_EQ(result.error().code(), 422);
    EXPECT_EQ(result.error().reason(), "Invalid");
    EXPECT_EQ(result.error().message(), "the server rejected our request due to an error in our request");
  }
}

TEST(JsonPatch, SaysWhyItDoesNotApply) {
  struct Case {
    const char *patch, *why;
    bool test_failed;
  };
  const Case kCases[] = {
      {R"([{"op":"add","path":"/b/c","value":1}])", "add operation does not apply: doc is missing path: \"/b/c\": missing value", false},
      {R"([{"op":"add","path":"/l/5","value":1}])", "error in add for path: '/l/5': Unable to access invalid index: 5: invalid index referenced", false},
      {R"([{"op":"add","path":"/l/x","value":1}])",
       "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax", false},
      {R"([{"op":"remove","path":"/b"}])", "error in remove for path: '/b': Unable to remove nonexistent key: b: missing value", false},
      {R"([{"op":"replace","path":"/l/7","value":1}])", "replace operation does not apply: doc is missing key: /l/7: missing value", false},
      {R"([{"op":"copy","from":"/b/c","path":"/d"}])", "copy operation does not apply: doc is missing from path: /b/c: missing value", false},
      {R"([{"op":"move","from":"/b","path":"/d"}])", "error in move for path: 'b': Unable to remove nonexistent key: b: missing value", false},
      {R"([{"op":"test","path":"/a","value":2}])", "testing value /a failed: test failed", true},
      {R"([{"op":"strange","path":"/a"}])", "Unexpected kind: strange", false},
  };
  for (const Case& test : kCases) {
    Arena arena;
    JsonPatchFault fault;
    JsonPatchOptions options;
    options.fault = &fault;
    EXPECT_FALSE(ApplyJsonPatch(arena, Parse(arena, R"({"a":1,"l":[1]})"), Parse(arena, test.patch), options)) << test.patch;
    EXPECT_EQ(fault.text, test.why) << test.patch;
    EXPECT_EQ(fault.test_failed, test.test_failed) << test.patch;
  }
}

TEST(JsonPatch, ThatIsNone) {
  struct Case {
    const char* patch;
    PatchDecoding decoding;
    const char* message;
  };
  const Case kCases[] = {
      {R"({"op":"add"})", PatchDecoding::kChecked,
       "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"},
      {R"(["x"])", PatchDecoding::kChecked,
       "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"},
      {R"([{"op":5}])", PatchDecoding::kChecked,
       "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"},
      {R"({"op":"add"})", PatchDecoding::kLenient,
       "json: cannot unmarshal object into Go value of type jsonpatch.Patch"},
      {R"([true])", PatchDecoding::kLenient, "json: cannot unmarshal bool into Go value of type jsonpatch.Operation"},
  };
  for (const Case& one : kCases) {
    Arena arena;
    auto result = ApplyJsonPatch(arena, Value::EmptyObject(), Parse(arena, one.patch), {.decoding = one.decoding});
    ASSERT_FALSE(result.has_value()) << one.patch;
    EXPECT_EQ(result.error().code(), 400);
    EXPECT_EQ(result.error().message(), one.message);
  }
}

TEST(JsonPatch, StrictDecodingObjectsToUnknownMembers) {
  Arena arena;
  std::vector<std::string> problems;
  ApplyJsonPatch(arena, Value::EmptyObject(),
                 Parse(arena, R"([{"op":"add","path":"/a"},{"op":"add","path":"/b","foo":1}])"),
                 {.decoding = PatchDecoding::kChecked, .problems = &problems})
      .value();
  EXPECT_EQ(problems, std::vector<std::string>{"json patch unknown field \"[1].foo\""});
}

TEST(JsonPatch, Limits) {
  Arena arena;
  Value operation = Parse(arena, R"({"op":"add","path":"/a","value":1})");
  std::vector<Value> operations(kMostJsonPatchOperations, operation);
  EXPECT_TRUE(ApplyJsonPatch(arena, Value::EmptyObject(), Value::List(operations)).has_value());
  operations.push_back(operation);
  auto too_many = ApplyJsonPatch(arena, Value::EmptyObject(), Value::List(operations));
  ASSERT_FALSE(too_many.has_value());
  EXPECT_EQ(too_many.error().code(), 413);
  EXPECT_EQ(too_many.error().message(),
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001");

  // Copying what was copied doubles it each time: it ends at the limit, not at the end of memory.
  Value doubling = Parse(arena, R"({"op":"copy","from":"/a","path":"/a/-"})");
  Value document = Parse(arena, R"({"a":["0123456789"]})");
  EXPECT_TRUE(ApplyJsonPatch(arena, document, Value::List(std::vector<Value>(10, doubling))).has_value());
  auto too_large = ApplyJsonPatch(arena, document, Value::List(std::vector<Value>(40, doubling)));
  ASSERT_FALSE(too_large.has_value());
  EXPECT_EQ(too_large.error().code(), 422);
  EXPECT_TRUE(ApplyJsonPatch(arena, document, Value::List(std::vector<Value>(3, doubling)), {.most_copied_bytes = 102})
                  .has_value());
  EXPECT_FALSE(ApplyJsonPatch(arena, document, Value::List(std::vector<Value>(3, doubling)), {.most_copied_bytes = 101})
                   .has_value());
}

TEST(JsonPatch, ManyMembersAndItems) {
  Arena arena;
  std::string patch = "[";
  for (int i = 0; i < 5000; ++i) {
    patch += (i ? "," : "") + std::string(R"({"op":"add","path":"/m/k)") + std::to_string(i) +
             R"(","value":1},{"op":"add","path":"/l/0","value":2})";
  }
  auto result = ApplyJsonPatch(arena, Parse(arena, R"({"m":{},"l":[]})"), Parse(arena, patch + "]"));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->Get("m").size(), 5000u);
  EXPECT_EQ(result->Get("l").size(), 5000u);
}

TEST(MergePatch, ThatIsNone) {
  struct Case {
    const char* patch;
    PatchDecoding decoding;
    const char* answer;
  };
  const Case kCases[] = {
      {R"([1,2])", PatchDecoding::kChecked,
       "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"},
      {R"("x")", PatchDecoding::kChecked,
       "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"},
      {R"(null)", PatchDecoding::kChecked, "Invalid JSON Patch"},
      {R"(5)", PatchDecoding::kLenient, "Invalid JSON Patch"},
      {R"([1,{"a":null}])", PatchDecoding::kLenient, "[1,{}]"},
  };
  for (const Case& one : kCases) {
    Arena arena;
    auto result = ApplyMergePatch(arena, Parse(arena, R"({"a":1})"), Parse(arena, one.patch), one.decoding);
    EXPECT_EQ(result ? Sorted(*result) : result.error().message(), one.answer) << one.patch;
    if (!result) {
      EXPECT_EQ(result.error().code(), 400);
    }
  }
}

}  // namespace
}  // namespace homeostat::patch
