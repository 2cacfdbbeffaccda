#include "homeostat/object/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "homeostat/base/text.h"
#include "object/internal/test_table.h"

namespace homeostat::object {
namespace {

std::string OneLine(std::string text) {
  for (size_t at; (at = text.find('\n')) != std::string::npos;) text.replace(at, 1, "\\n");
  return text;
}

// The table's columns after the input.
std::vector<std::string> Answer(std::string_view text) {
  Arena arena;
  std::vector<std::string> duplicates;
  Result<Value> value = ParseJson(arena, text, &duplicates);
  if (!value) return {"err", OneLine(value.error().message())};
  Result<std::string> written = WriteJson(*value, {.sort_names = true});
  std::vector<std::string> answer = {"ok", OneLine(*written)};
  for (const std::string& path : duplicates) answer.push_back("duplicate field " + GoQuote(path));
  return answer;
}

TEST(JsonTest, ReadsAsUpstream) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable("json_cases.tsv");
  ASSERT_GT(rows.size(), 500u);
  for (std::vector<std::string>& row : rows) {
    std::string text = row[0];
    row.erase(row.begin());
    EXPECT_EQ(Answer(text), row) << text;
  }
}

TEST(JsonTest, ErrorsAreTheClients) {
  Arena arena;
  Result<Value> value = ParseJson(arena, "{\"a\": tru}");
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().code(), 400);
  EXPECT_EQ(value.error().message(), "invalid character '}' in literal true (expecting 'e')");
}

TEST(JsonTest, DepthEndsAtTenThousandLevels) {
  auto nested = [](size_t depth, std::string_view open, std::string_view close) {
    std::string text;
    for (size_t i = 0; i < depth; ++i) text += open;
    text += "0";
    for (size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  for (auto [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    std::string text = nested(10000, open, close);
    Arena arena;
    Result<Value> value = ParseJson(arena, text);
    ASSERT_TRUE(value.has_value()) << value.error().message();
    EXPECT_EQ(*WriteJson(*value), text);
    EXPECT_TRUE(WriteJson(*value, {.pretty = true, .sort_names = true}).has_value());
    Result<Value> deeper = ParseJson(arena, nested(10001, open, close));
    ASSERT_FALSE(deeper.has_value());
    EXPECT_EQ(deeper.error().message(), std::string("invalid character '") + open[0] + "' exceeded max depth");
  }
  EXPECT_EQ(ParseJson(*std::make_unique<Arena>(), std::string(1000000, '[')).error().message(),
            "invalid character '[' exceeded max depth");
}

TEST(JsonTest, IntegersAreExact) {
  struct Case {
    const char* text;
    Value value;
  };
  const Case cases[] = {
      {"9223372036854775807", Value::Int(std::numeric_limits<int64_t>::max())},
      {"-9223372036854775808", Value::Int(std::numeric_limits<int64_t>::min())},
      {"9223372036854775808", Value::Double(9223372036854775808.0)},
      {"-9223372036854775809", Value::Double(-9223372036854775808.0)},
      {"18446744073709551615", Value::Double(18446744073709551615.0)},
      {"18446744073709551616", Value::Double(18446744073709551616.0)},
      {"9007199254740993", Value::Int(9007199254740993)},
      {"1.0", Value::Double(1)},
      {"1e3", Value::Double(1000)},
      {"-0", Value::Int(0)},
  };
  for (const Case& test : cases) {
    Arena arena;
    Result<Value> value = ParseJson(arena, test.text);
    ASSERT_TRUE(value.has_value()) << test.text;
    EXPECT_EQ(value->kind(), test.value.kind()) << test.text;
    EXPECT_TRUE(Equal(*value, test.value)) << test.text;
  }
}

TEST(JsonTest, KeepsOrderAndLastDuplicate) {
  std::vector<std::string> duplicates;
  Result<std::shared_ptr<Document>> document =
      ParseJsonDocument(R"({"b":1,"a":{"x":1},"c":3,"a":{"y":2},"b":[4]})", &duplicates);
  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(*WriteJson((*document)->root()), R"({"b":[4],"a":{"y":2},"c":3})");
  EXPECT_EQ(duplicates, (std::vector<std::string>{"a", "b"}));
}

TEST(JsonTest, FindsDuplicatesAmongManyAndReportsAHundred) {
  std::string text = "{";
  for (int i = 0; i < 20000; ++i) text += "\"" + std::to_string(i % 10000) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  Arena arena;
  std::vector<std::string> duplicates;
  Result<Value> value = ParseJson(arena, text, &duplicates);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(value->size(), 10000u);
  EXPECT_EQ(value->Get("0").AsInt(), 10000);
  EXPECT_EQ(duplicates.size(), 100u);
  EXPECT_EQ(ParseJson(arena, text)->size(), 10000u);
}

TEST(JsonTest, TextsLiveInTheArena) {
  auto document = std::make_unique<Document>();
  {
    std::string text = R"({"name":"a text that is longer than fits anywhere inline"})";
    document->set_root(*ParseJson(document->arena(), text));
    text.assign(text.size(), 'x');
  }
  Arena other;
  ASSERT_TRUE(ParseJson(other, R"({"another":["document","for the same parser"]})").has_value());
  EXPECT_EQ(document->root().Get("name").AsString(), "a text that is longer than fits anywhere inline");
}

TEST(JsonWriteTest, EscapesAsGo) {
  Arena arena;
  std::string all;
  for (int c = 0; c < 0x80; ++c) all.push_back(static_cast<char>(c));
  std::string out;
  AppendJsonString(out, all);
  EXPECT_EQ(out,
            "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\\u0010\\u0011"
            "\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f !\\\"#$%"
            "\\u0026'()*+,-./0123456789:;\\u003c=\\u003e?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\\\]^_`abcdefghijklmnopqrstuvwxyz{"
            "|}~\x7F\"");
  out.clear();
  AppendJsonString(out, "\u00e9\u2028\u2029\U0001F600\xff\xed\xa0\x80");
  EXPECT_EQ(out, "\"\u00e9\\u2028\\u2029\U0001F600\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

TEST(JsonWriteTest, FindsSpecialCharactersAtEveryOffset) {
  for (size_t length = 1; length < 40; ++length) {
    for (size_t at = 0; at < length; ++at) {
      for (char c : {'"', '\\', '<', '>', '&', '\x01', '\x1f', '\0'}) {
        std::string text(length, 'a');
        text[at] = c;
        std::string out;
        AppendJsonString(out, text);
        Arena arena;
        ASSERT_EQ(ParseJson(arena, out)->AsString(), text);
        ASSERT_GT(out.size(), text.size() + 2);
        text[at] = static_cast<char>(c + 32);
      }
    }
  }
}

TEST(JsonWriteTest, DoublesAsGo) {
  const std::pair<double, const char*> cases[] = {
      {0, "0"}, {-0.0, "-0"}, {1, "1"}, {-1.5, "-1.5"}, {100, "100"}, {0.1, "0.1"}, {1e-6, "0.000001"},
      {9.99e-7, "9.99e-7"}, {1e-10, "1e-10"}, {1e20, "100000000000000000000"}, {123456789012345678, "123456789012345680"},
      {1e21, "1e+21"}, {1.5e300, "1.5e+300"}, {5e-324, "5e-324"}, {1.7976931348623157e308, "1.7976931348623157e+308"},
      {12345.678, "12345.678"}};
  for (auto [number, text] : cases) {
    std::string out;
    AppendJsonDouble(out, number);
    EXPECT_EQ(out, text);
  }
}

TEST(JsonWriteTest, RefusesWhatJsonCannotSay) {
  Arena arena;
  ListBuilder list(arena);
  list.Append(Value::Double(std::numeric_limits<double>::infinity()));
  Value value = list.Build();
  std::string out = "before";
  Done done = AppendJson(out, value);
  ASSERT_FALSE(done.has_value());
  EXPECT_TRUE(done.error().message().ends_with("json: unsupported value: +Inf"));
  EXPECT_EQ(out, "before");
  EXPECT_EQ(JsonText(value), "[+Inf]");
}

TEST(JsonWriteTest, Styles) {
  Arena arena;
  Value value = *ParseJson(arena, R"({"b":{"d":[],"c":{}},"a":[1,{"z":null,"y":true}]})");
  EXPECT_EQ(*WriteJson(value, {.sort_names = true}), R"({"a":[1,{"y":true,"z":null}],"b":{"c":{},"d":[]}})");
  EXPECT_EQ(*WriteJson(value, {.pretty = true}), R"({
  "b": {
    "d": [],
    "c": {}
  },
  "a": [
    1,
    {
      "z": null,
      "y": true
    }
  ]
})");
  EXPECT_EQ(*WriteJson(Value()), "null");
  EXPECT_EQ(*WriteJson(Value::BytesRef("any carnal pleas")), "\"YW55IGNhcm5hbCBwbGVhcw==\"");
}

TEST(Base64Test, RoundTrips) {
  std::string octets;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    AppendBase64(text, octets);
    Result<std::string> back = DecodeBase64(text);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(*back, octets);
    octets.push_back(static_cast<char>(i * 7));
  }
}

TEST(Base64Test, RefusesAsGo) {
  const std::pair<const char*, const char*> cases[] = {
      {"a", "0"}, {"ab", "0"}, {"abcde", "4"}, {"ab=c", "2"}, {"abc=d", "4"}, {"a===", "1"}, {"====", "0"},
      {"ab=", "3"}, {"ab*d", "2"}, {"abc\n=d", "5"}, {"abcd====", "4"}};
  for (auto [text, at] : cases) {
    Result<std::string> decoded = DecodeBase64(text);
    ASSERT_FALSE(decoded.has_value()) << text;
    EXPECT_EQ(decoded.error().message(), std::string("illegal base64 data at input byte ") + at) << text;
  }
  EXPECT_EQ(*DecodeBase64("aGVs\r\nbG8\n=\n"), "hello");
}

}  // namespace
}  // namespace homeostat::object
