#include "patch/managed_fields.h"

#include <gtest/gtest.h>

#include "patch/internal/test_support.h"
#include "patch/manager_name.h"

namespace homeostat::patch {
namespace {

using test::Parse;
using test::Sorted;

TEST(ManagedFields, IdentifiersAreUpstreams) {
  ManagedEntry entry{.manager = "a\"<b>",
                     .applied = false,
                     .api_version = "apps/v1",
                     .subresource = "status",
                     .time = {},
                     .fields = {},
                     .written = {}};
  EXPECT_EQ(entry.Identifier(),
            R"({"manager":"a\"\u003cb\u003e","operation":"Update","apiVersion":"apps/v1","subresource":"status"})");
  entry.applied = true;
  EXPECT_EQ(entry.Identifier(), R"({"manager":"a\"\u003cb\u003e","operation":"Apply","subresource":"status"})");
}

TEST(ManagedFields, AreSorted) {
  Arena arena;
  auto entry = [](std::string manager, std::string operation, std::string time, std::string rest = {}) {
    return R"({"manager":")" + manager + R"(","operation":")" + operation + R"(","apiVersion":"v1",)" +
           (time.empty() ? "" : R"("time":"2020-01-01T00:00:0)" + time + "Z\",") +
           R"("fieldsType":"FieldsV1","fieldsV1":{"f:a":{}})" + rest + "}";
  };
  std::string list = "[" + entry("b", "Update", "2") + "," + entry("a", "Update", "2", R"(,"subresource":"s")") + "," +
                     entry("z", "Apply", "9") + "," + entry("a", "Update", "2") + "," + entry("y", "Update", "") + "]";
  auto read = ManagedFields::Read(arena, Parse(arena, list));
  ASSERT_TRUE(read.has_value());
  std::string order;
  for (const Value& one : read->Write(arena, nullptr, FieldsForm::kTree).items())
    order += std::string(one.Get("manager").AsString()) + std::string(one.Get("subresource").AsString()) + " ";
  EXPECT_EQ(order, "z y a as b ");
}

TEST(ManagedFields, OfTwoEntriesForTheSameTheLastCounts) {
  Arena arena;
  auto read = ManagedFields::Read(
      arena,
      Parse(arena,
            R"([{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}},
      {"manager":"m","operation":"Apply","apiVersion":"v2","fieldsType":"FieldsV1","fieldsV1":{"f:b":{}}},{"manager":"m","operation":"Update","apiVersion":"v2","fieldsType":"FieldsV1"}])"));
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->entries().size(), 2u);
  EXPECT_EQ(read->entries()[0].api_version, "v2");
  EXPECT_TRUE(read->entries()[1].fields.empty());
}

TEST(ManagedFields, ThatCannotBeRead) {
  struct Case {
    const char *list, *message;
  };
  const Case kCases[] = {
      {R"([{}])", "operation must be `Apply` or `Update`"},
      {R"([{"operation":"Sing","apiVersion":"v1"}])", "operation must be `Apply` or `Update`"},
      {R"([{"operation":"Apply"}])", "apiVersion must not be empty"},
      {R"([{"operation":"Apply","apiVersion":"v1"}])", "missing fieldsType in managed fields entry 0"},
      {R"([{"operation":"Apply","apiVersion":"v1","fieldsType":"F"}])",
       "invalid fieldsType \"F\" in managed fields entry 0"},
      {R"([{"operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":[]}])",
       "error decoding versioned set: error decoding set: expect { or n, but found something else"},
  };
  for (const Case& one : kCases) {
    Arena arena;
    Done valid = ValidateManagedFieldsList(Parse(arena, one.list));
    ASSERT_FALSE(valid.has_value()) << one.list;
    EXPECT_EQ(valid.error().message(), one.message);
  }
  EXPECT_TRUE(ValidateManagedFieldsList(Value()).has_value());
}

TEST(ManagedFields, FaultsOfEntries) {
  Arena arena;
  schema::FieldErrors errors;
  Value list = Parse(
      arena,
      R"([{"operation":"Apply","fieldsType":"FieldsV1"},{"operation":"Sing","fieldsType":"F","manager":"a\u0001","subresource":")" +
          std::string(257, 's') + R"("}])");
  ValidateManagedFieldsEntries(list, schema::FieldPath("metadata").Child("managedFields"), errors);
  std::string text;
  for (const StatusCause& cause : errors.causes()) text += cause.field + ": " + cause.message + "\n";
  EXPECT_EQ(text,
            "metadata.managedFields[1].operation: Invalid value: \"Sing\": must be `Apply` or `Update`\n"
            "metadata.managedFields[1].fieldsType: Invalid value: \"F\": must be `FieldsV1`\n"
            "metadata.managedFields[1].manager: Invalid value: \"a\\x01\": invalid character U+0001 (at position 1)\n"
            "metadata.managedFields[1].subresource: Too long: may not be more than 256 bytes\n");
}

TEST(ManagedFields, AskingForReset) {
  Arena arena;
  for (const char* json : {"[]", "[{}]"}) EXPECT_TRUE(AsksForReset(Parse(arena, json))) << json;
  for (const char* json : {"null", "{}", "[{},{}]", R"([{"manager":"m"}])", "[null]"})
    EXPECT_FALSE(AsksForReset(Parse(arena, json))) << json;
}

TEST(ManagedFields, TimesComeBackIfNothingElseChanged) {
  Arena arena;
  const schema::Type& type = test::TypeOf("v1 ConfigMap");
  auto map = [&](std::string_view time, std::string_view fields, std::string_view data) {
    return test::Typed(
        arena, type,
        Parse(
            arena,
            R"({"metadata":{"name":"m","managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","time":"2020-01-01T00:00:0)" +
                std::string(time) + R"(Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:)" + std::string(fields) +
                R"(":{}}}}]},"data":{"a":")" + std::string(data) + "\"}}"));
  };
  auto time_of = [](const Value& object) {
    return std::string(ManagedFieldsOf(object).At(0).Get("time").AsString().substr(17, 2));
  };
  EXPECT_EQ(time_of(KeepTimesIfUnchanged(arena, type, map("2", "a", "x"), map("1", "a", "x"))), "01");
  EXPECT_EQ(time_of(KeepTimesIfUnchanged(arena, type, map("2", "a", "y"), map("1", "a", "x"))), "02");
  EXPECT_EQ(time_of(KeepTimesIfUnchanged(arena, type, map("2", "b", "x"), map("1", "a", "x"))), "02");
}

TEST(ManagedFields, TimesAreInWholeSeconds) {
  Arena arena;
  using namespace std::chrono;
  EXPECT_EQ(TimeText(arena, WallTime(seconds(0))), "1970-01-01T00:00:00Z");
  EXPECT_EQ(TimeText(arena, WallTime(seconds(1582979696) + milliseconds(999))), "2020-02-29T12:34:56Z");
  EXPECT_EQ(TimeText(arena, WallTime(-milliseconds(1))), "1969-12-31T23:59:59Z");
}

TEST(ManagerName, ComesFromTheUserAgent) {
  struct Case {
    std::string asked, user_agent, name;
  };
  const Case kCases[] = {
      {"alice", "tool/1", "alice"},
      {"", "tool-x/9.9 (linux)", "tool-x"},
      {"", "plain", "plain"},
      {"", "", ""},
      {"", "/x", ""},
      {"", "a\x01\tb c\u00a0d/1", "ab cd"},
      {"", "caf\u00e9/1", "caf\u00e9"},
      {"", "\xff/1", "\uFFFD"},
      {"", std::string(200, 'x'), std::string(128, 'x')},
      {"", std::string(127, 'x') + "\u00e9", std::string(127, 'x')},
  };
  for (const Case& one : kCases) EXPECT_EQ(ManagerName(one.asked, one.user_agent), one.name) << one.user_agent;
}

TEST(ManagerName, IsPrintableAndShort) {
  auto faults = [](std::string_view name) {
    schema::FieldErrors errors;
    ValidateManagerName(name, schema::FieldPath("fieldManager"), errors);
    std::string text;
    for (const StatusCause& cause : errors.causes()) text += cause.reason + " " + cause.message + ";";
    return text;
  };
  EXPECT_EQ(faults(""), "");
  EXPECT_EQ(faults("kubectl \u00e9\u4e2d"), "");
  EXPECT_EQ(faults(std::string(129, 'x')), "FieldValueTooLong Too long: may not be more than 128 bytes;");
  EXPECT_EQ(faults("a\u00a0"),
            "FieldValueInvalid Invalid value: \"a\\u00a0\": invalid character U+00A0 (at position 1);");
}

}  // namespace
}  // namespace homeostat::patch
