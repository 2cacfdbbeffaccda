// JSON and protobuf against what Kubernetes' own serializers wrote.
#include <gtest/gtest.h>

#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/json_encoder.h"
#include "homeostat/schema/protobuf.h"
#include "schema/internal/test_data.h"

namespace homeostat::schema {
namespace {

using object::Arena;
using object::Value;

// The first place where two texts differ, with what surrounds it.
std::string Difference(std::string_view wanted, std::string_view got) {
  if (wanted == got) return {};
  size_t at = 0;
  while (at < std::min(wanted.size(), got.size()) && wanted[at] == got[at]) ++at;
  size_t from = at < 60 ? 0 : at - 60;
  return "wanted …" + std::string(wanted.substr(from, 140)) + "…\n   got …" + std::string(got.substr(from, 140)) + "…";
}

struct Recorded {
  Value line;
  std::string_view gvk, json, after;
  std::string protobuf;
};

Recorded ParseRecorded(Arena& arena, const std::string& line) {
  Recorded recorded;
  recorded.line = test::Parse(arena, line);
  recorded.gvk = recorded.line.Get("gvk").AsString();
  recorded.json = recorded.line.Get("json").AsString();
  recorded.after = recorded.line.Get("after").AsString(recorded.json);
  recorded.protobuf = test::FromBase64(recorded.line.Get("protobuf").AsString());
  return recorded;
}

TEST(Codec, ObjectsOfEveryKindAreEncodedAsRecorded) {
  int count = 0;
  for (const std::string& line : test::Lines(test::ReadGzip("objects.jsonl.gz"))) {
    Arena arena;
    Recorded recorded = ParseRecorded(arena, line);
    SCOPED_TRACE(recorded.gvk);
    const Type* type = test::FindType(recorded.gvk);
    if (type == nullptr) continue;
    Value typed = test::Typed(arena, *type, recorded.json);
    EXPECT_EQ(Difference(recorded.after, test::Json(*type, typed)), "");
    EXPECT_EQ(Difference(test::Hex(recorded.protobuf), test::Hex(EncodeProtobufObject(*type, typed))), "");
    ++count;
  }
  EXPECT_GT(count, 190);
}

TEST(Codec, ObjectsOfEveryKindAreDecodedFromProtobuf) {
  for (const std::string& line : test::Lines(test::ReadGzip("objects.jsonl.gz"))) {
    Arena arena;
    Recorded recorded = ParseRecorded(arena, line);
    SCOPED_TRACE(recorded.gvk);
    const Type* type = test::FindType(recorded.gvk);
    if (type == nullptr) continue;
    auto decoded = DecodeProtobufObject(arena, recorded.protobuf, *type);
    ASSERT_TRUE(decoded.has_value()) << decoded.error().message();
    EXPECT_EQ(Difference(recorded.after, test::Json(*type, *decoded)), "");
    Value typed = test::Typed(arena, *type, recorded.json);
    EXPECT_TRUE(object::Equal(typed, *decoded)) << object::JsonText(typed) << "\n" << object::JsonText(*decoded);
  }
}

TEST(Codec, ConformingIsIdempotentAndTheJsonFormLeadsBack) {
  for (const std::string& line : test::Lines(test::ReadGzip("objects.jsonl.gz"))) {
    Arena arena;
    Recorded recorded = ParseRecorded(arena, line);
    SCOPED_TRACE(recorded.gvk);
    const Type* type = test::FindType(recorded.gvk);
    if (type == nullptr) continue;
    Value typed = test::Typed(arena, *type, recorded.json);
    ConformReport report;
    auto again = Conform(arena, typed, *type, report);
    ASSERT_TRUE(again.has_value()) << again.error().message();
    EXPECT_TRUE(object::Equal(typed, *again));
    EXPECT_TRUE(report.problems.empty());
    Value form = ToJsonForm(arena, *type, typed);
    std::string form_text;
    ASSERT_TRUE(object::AppendJson(form_text, form));
    EXPECT_EQ(Difference(recorded.after, form_text), "");
    auto back = Conform(arena, form, *type, report);
    ASSERT_TRUE(back.has_value()) << back.error().message();
    EXPECT_TRUE(object::Equal(typed, *back));
  }
}

// Go writes maps in the order of their names, however a tree that was put together has them.
TEST(Codec, MapsOfTheJsonFormAreInOrder) {
  Arena arena;
  const Type& type = *test::FindType("v1 ConfigMap");
  object::ObjectBuilder data(arena), whole(arena, test::Typed(arena, type, R"({"data":{"a":"1","b":"2"}})"));
  data.Append("b", Value::StringRef("2"));
  data.Append("a", Value::StringRef("1"));
  whole.Set("data", data.Build());
  Value form = ToJsonForm(arena, type, whole.Build()).Get("data");
  ASSERT_EQ(form.size(), 2u);
  EXPECT_EQ(form.members()[0].name(), "a");
  EXPECT_EQ(form.members()[1].name(), "b");
}

// Numbers are told apart by their text in Kubernetes' messages; a parsed tree has no text of them.
bool IsAboutNumberSpelling(std::string_view error) { return error.find("number 1e3 ") != std::string_view::npos; }

TEST(Codec, TextsAreDecodedOrRefusedAsRecorded) {
  int count = 0;
  for (const std::string& line : test::Lines(test::ReadGzip("decoding.jsonl.gz"))) {
    Arena arena;
    Recorded recorded = ParseRecorded(arena, line);
    std::string_view input = recorded.line.Get("input").AsString(), error = recorded.line.Get("error").AsString();
    if (IsAboutNumberSpelling(error)) continue;
    SCOPED_TRACE(std::string(recorded.gvk) + " " + std::string(input));
    const Type* type = test::FindType(recorded.gvk);
    if (type == nullptr) continue;
    ConformReport report;
    report.repeats = true;
    auto parsed = object::ParseJsonWithRepeats(arena, input);
    ASSERT_TRUE(parsed.has_value());
    auto typed = Conform(arena, *parsed, *type, report);
    ++count;
    EXPECT_EQ(typed ? "" : typed.error().message(), error);
    if (!typed || !error.empty()) continue;
    EXPECT_EQ(report.problems.empty() ? "" : report.StrictMessage(), recorded.line.Get("strict").AsString());
    EXPECT_EQ(Difference(recorded.json, test::Json(*type, *typed)), "");
    EXPECT_EQ(Difference(test::Hex(recorded.protobuf), test::Hex(EncodeProtobufObject(*type, *typed))), "");
  }
  EXPECT_GT(count, 400);
}

TEST(Codec, MembersThatStandTwiceAreDecodedIntoEachOther) {
  const struct {
    std::string_view gvk, input, json, problems;
  } cases[] = {
      {"v1 ConfigMap", R"({"data":{"a":"1","b":"2"},"data":{"b":"3"}})", R"({"metadata":{},"data":{"a":"1","b":"3"}})", "duplicate field \"data\""},
      {"v1 ConfigMap", R"({"data":{"a":"1"},"data":null})", R"({"metadata":{}})", "duplicate field \"data\""},
      {"v1 ConfigMap", R"({"data":{"a":"1","a":"2"}})", R"({"metadata":{},"data":{"a":"2"}})", "duplicate field \"data.a\""},
      {"v1 ConfigMap", R"({"metadata":{"name":"a","bogus":1},"metadata":{"uid":"u"},"metadata":null})", R"({"metadata":{"name":"a","uid":"u"}})",
       "unknown field \"metadata.bogus\", duplicate field \"metadata\""},
      {"v1 ConfigMap", R"({"metadata":{"finalizers":["a","b"],"finalizers":["c"]}})", R"({"metadata":{"finalizers":["c"]}})",
       "duplicate field \"metadata.finalizers\""},
      {"v1 ConfigMap", R"({"immutable":true,"immutable":null})", R"({"metadata":{}})", "duplicate field \"immutable\""},
      {"v1 Pod", R"({"spec":{"restartPolicy":"Never","restartPolicy":null,"containers":[{"name":"a","image":"x"}],"containers":[{"name":"b"},{"name":"c"}]}})",
       R"({"metadata":{},"spec":{"containers":[{"name":"b","image":"x","resources":{}},{"name":"c","resources":{}}],"restartPolicy":"Never"},"status":{}})",
       "duplicate field \"spec.restartPolicy\", duplicate field \"spec.containers\""},
      {"apps/v1 Deployment", R"({"spec":{"replicas":5,"replicas":0,"selector":{"matchLabels":{"a":"b"}},"selector":{"matchLabels":{"c":"d"}}}})",
       R"({"metadata":{},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b","c":"d"}},"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{}})",
       "duplicate field \"spec.replicas\", duplicate field \"spec.selector\""},
      {"apps/v1 ControllerRevision", R"({"data":{"a":1,"a":2},"revision":1})", R"({"metadata":{},"data":{"a":2},"revision":1})", ""},
  };
  for (const auto& c : cases) {
    Arena arena;
    ConformReport report;
    report.repeats = true;
    const Type& type = *test::FindType(c.gvk);
    auto typed = Conform(arena, *object::ParseJsonWithRepeats(arena, c.input), type, report);
    ASSERT_TRUE(typed.has_value()) << c.input;
    EXPECT_EQ(test::Json(type, *typed), c.json);
    std::string problems;
    for (const std::string& problem : report.problems) problems += (problems.empty() ? "" : ", ") + problem;
    EXPECT_EQ(problems, c.problems) << c.input;
  }
  Arena arena;
  ConformReport report;
  report.repeats = true;
  auto typed = Conform(arena, *object::ParseJsonWithRepeats(arena, R"({"data":5,"data":{"a":"b"}})"), *test::FindType("v1 ConfigMap"), report);
  ASSERT_FALSE(typed.has_value());
  EXPECT_EQ(typed.error().message(), "json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string");
}

TEST(Codec, IntegersOfMoreThan64BitsAreNamedWhole) {
  Arena arena;
  ConformReport report;
  auto parsed = object::ParseJson(arena, R"({"spec":{"replicas":9223372036854775808}})");
  ASSERT_TRUE(parsed.has_value());
  auto typed = Conform(arena, *parsed, *test::FindType("apps/v1 Deployment"), report);
  ASSERT_FALSE(typed.has_value());
  EXPECT_EQ(typed.error().message(),
            "json: cannot unmarshal number 9223372036854775808 into Go struct field DeploymentSpec.spec.replicas of type int32");
}

}  // namespace
}  // namespace homeostat::schema
