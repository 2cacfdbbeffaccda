#include "homeostat/object/yaml.h"

#include <gtest/gtest.h>

#include "homeostat/object/json.h"
#include "object/internal/test_table.h"

namespace homeostat::object {
namespace {

std::string OneLine(std::string text) {
  for (size_t at; (at = text.find('\n')) != std::string::npos;) text.replace(at, 1, "\\n");
  return text;
}

std::vector<std::string> Answer(std::string_view text) {
  Arena arena;
  std::vector<std::string> duplicates;
  Result<Value> value = ParseYaml(arena, text, &duplicates);
  if (!value) return {"err", OneLine(value.error().message())};
  std::vector<std::string> answer = {"ok", *WriteJson(*value, {.sort_names = true})};
  if (!duplicates.empty()) answer.push_back(OneLine(StrictYamlMessage(duplicates)));
  return answer;
}

std::string Message(std::string_view text) {
  Arena arena;
  Result<Value> value = ParseYaml(arena, text);
  return value ? "ok" : value.error().message();
}

TEST(YamlTest, ReadsAsUpstream) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable("yaml_cases.tsv");
  ASSERT_GT(rows.size(), 300u);
  for (std::vector<std::string>& row : rows) {
    std::string text = row[0];
    row.erase(row.begin());
    EXPECT_EQ(Answer(text), row) << text;
  }
}

// JSON is read in a quicker way; a comment before it forces the way of YAML.
TEST(YamlTest, ReadsJsonAsItReadsYaml) {
  std::string deep(200, '[');
  std::string long_key(1100, 'k');
  const std::string texts[] = {
      "{}", "{ }\n", "{\"a\":1,\"b\":[true,null,\"x\",{}],\"c\":{\"d\":-5}}", "{\"a\": 1}\n\n", "{\"a\":1} x", "{\"a\":1}{\"b\":2}",
      "{\"a\":1.0}", "{\"a\":1.5}", "{\"a\":1e3}", "{\"a\":1E400}", "{\"a\":-0}", "{\"a\":0123}", "{\"a\":9223372036854775807}",
      "{\"a\":9223372036854775808}", "{\"a\":18446744073709551616}", "{\"a\":-9223372036854775809}", "{\"a\":1,\"a\":2}",
      "{\"a\\u0041\":\"\\ud83d\\ude00\"}", "{\"a\":\"\\/\"}", "{\"a\":\"\\n\\t\\\"\\\\\"}", "{\"a\":\"\x7f\"}",
      "{\"a\":\"\xc2\x85\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\xc3\xa4\"}", "{\t\"a\":1}", "{\"a\"\n:1}", "{\"a\" :1}", "{\"a\"\r\n : 1}",
      "{\"a\":\n1}", "{\"a\":1,}", "{\"a\":1,,}", "{\"a\"}", "{a:1}", "{\"<<\":{\"b\":1}}", "{\"a\":\"<<\"}", "{\"" + long_key + "\":1}",
      "{\"a\":" + deep + std::string(200, ']') + "}", "{\"a\":\"yes\",\"b\":\"1\",\"c\":\"null\",\"~\":\"\"}", "{\"\":0}", "{\"a\":\"# x\"} # y",
      "{\"a\":\"\x01\"}", "{\"a\":True}", "{\"a\":\"b\nc\"}", "{\"a\":[1,2", "{"};
  for (const std::string& text : texts) {
    std::vector<std::string> quick = Answer(text), slow = Answer("#\n" + text);
    EXPECT_EQ(quick[0], slow[0]) << text;
    EXPECT_EQ(quick.size(), slow.size()) << text;
    // Messages count lines.
    if (quick[0] == "ok") {
      EXPECT_EQ(quick[1], slow[1]) << text;
    }
  }
}

TEST(YamlTest, WritesAsUpstream) {
  std::vector<std::vector<std::string>> rows = internal::ReadTable("yaml_write_cases.tsv");
  ASSERT_GT(rows.size(), 200u);
  for (const std::vector<std::string>& row : rows) {
    Arena arena;
    Value value = *ParseJson(arena, row[0]);
    std::string written = WriteYaml(value);
    EXPECT_EQ(OneLine(written), row[1]) << row[0];
    // What was written reads back as what it was; except, as upstream, a name "<<", which comes out plain and merges.
    if (row[0].find("<<") != std::string::npos) continue;
    Arena other;
    Result<Value> back = ParseYaml(other, written);
    ASSERT_TRUE(back.has_value()) << written << back.error().message();
    EXPECT_EQ(WriteYaml(*back), written);
  }
}

TEST(YamlTest, ReadsAManifest) {
  Arena arena;
  Value value = *ParseYaml(arena, R"(apiVersion: v1 # the core group
kind: Pod
metadata: {name: web, labels: {app: web, on: "yes", version: 1.10}}
spec:
  containers:
  - name: c
    command: ["sh", "-c"]
    args:
    - |
      echo one
      echo two
    env:
    - {name: EMPTY, value: ""}
    - name: FOLDED
      value: >-
        a
        b
  terminationGracePeriodSeconds: 0x1E
  hostNetwork: no
)");
  EXPECT_EQ(value.Path({"metadata", "labels", "true"}).AsString(), "yes");
  EXPECT_EQ(value.Path({"metadata", "labels", "version"}).AsDouble(), 1.1);
  Value container = value.Path({"spec", "containers"}).At(0);
  EXPECT_EQ(container.Get("args").At(0).AsString(), "echo one\necho two\n");
  EXPECT_EQ(container.Get("env").At(1).Get("value").AsString(), "a b");
  EXPECT_EQ(value.Path({"spec", "terminationGracePeriodSeconds"}).AsInt(), 30);
  EXPECT_TRUE(value.Path({"spec", "hostNetwork"}).IsBool());
}

TEST(YamlTest, BombsOfAliasesAreRefused) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) bomb += "," + before;
    bomb += "]\n";
  }
  EXPECT_EQ(Message(bomb), "yaml: document contains excessive aliasing");
  std::string merges = "a0: &a0 {x: y}\n";
  for (int i = 1; i < 40; ++i) {
    std::string before = "*a" + std::to_string(i - 1);
    merges += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " {<<: [" + before + "," + before + "]}\n";
  }
  EXPECT_EQ(Message(merges), "yaml: document contains excessive aliasing");
  EXPECT_EQ(Message("a: &a [*a]\n"), "yaml: anchor 'a' value contains itself");
  EXPECT_EQ(Message("a: &a {<<: *a}\n"), "yaml: anchor 'a' value contains itself");
  EXPECT_EQ(Message("*a\n"), "yaml: unknown anchor 'a' referenced");
}

TEST(YamlTest, DepthIsBounded) {
  auto repeat = [](std::string_view text, size_t times) {
    std::string out;
    while (times-- > 0) out += text;
    return out;
  };
  EXPECT_EQ(Message(repeat("[", 900) + repeat("]", 900)), "ok");
  EXPECT_EQ(Message(repeat("- ", 900) + "x"), "ok");
  for (std::string_view opening : {"[", "{a: ", "- ", "? ", "[{a: "}) {
    std::string message = Message(repeat(opening, 200000));
    EXPECT_TRUE(message.ends_with("exceeded max depth of 1000") || message.ends_with("exceeded max depth of 300") ||
                message.ends_with("exceeded max depth of 375") || message.ends_with("exceeded max depth of 750"))
        << opening << ": " << message;
  }
  // Three times as deep through aliases.
  std::string nested = "a: &a " + repeat("[", 900) + repeat("]", 900) + "\nb: &b " + repeat("[", 900) + "*a" +
                       repeat("]", 900) + "\nc: " + repeat("[", 900) + "*b" + repeat("]", 900) + "\n";
  EXPECT_TRUE(Message(nested).ends_with("exceeded max depth of 1000")) << Message(nested);
}

TEST(YamlTest, LongTextsTakeLinearTime) {
  std::string brackets, directives, items;
  for (int i = 0; i < 99; ++i) brackets += "[";
  for (int i = 0; i < 500000; ++i) brackets += "a,";
  for (int i = 0; i < 100000; ++i) directives += "%TAG !" + std::to_string(i) + "! x\n";
  for (int i = 0; i < 300000; ++i) items += "k" + std::to_string(i) + ": v\n";
  EXPECT_NE(Message(brackets), "ok");
  EXPECT_EQ(Message(directives), "yaml: too many directives");
  EXPECT_EQ(Message(items), "ok");
}

TEST(YamlTest, SplitsStreams) {
  using Texts = std::vector<std::string_view>;
  EXPECT_EQ(SplitYamlDocuments("a: 1\n---\nb: 2\n--- # comment\n\n---\nc: |\n  ---x\n  y\n---not\n"),
            (Texts{"a: 1\n", "b: 2\n", "c: |\n  ---x\n  y\n---not\n"}));
  EXPECT_EQ(SplitYamlDocuments("---\r\na: 1\r\n---\r\n"), (Texts{"a: 1\r\n"}));
  EXPECT_EQ(SplitYamlDocuments("a"), (Texts{"a"}));
  EXPECT_EQ(SplitYamlDocuments(" \n\n"), Texts{});
}

TEST(YamlParseTest, NumbersGoByWayOfJson) {
  Arena arena;
  Value value = *ParseYaml(arena, "[9007199254740993.0, 123456789012345678.0, -9223372036854775809, 1e18, 1e19, 2.0, 2.5]");
  const std::pair<bool, std::string_view> wanted[] = {{true, "9007199254740992"}, {true, "123456789012345680"}, {false, "-9223372036854776000"},
                                                      {true, "1000000000000000000"}, {false, "10000000000000000000"}, {true, "2"}, {false, "2.5"}};
  ASSERT_EQ(value.size(), std::size(wanted));
  for (size_t i = 0; i < value.size(); ++i) {
    EXPECT_EQ(value.At(i).IsInt(), wanted[i].first) << i;
    EXPECT_EQ(JsonText(value.At(i)), wanted[i].second);
  }
}

TEST(YamlWriteTest, KeepsTheOrderIfAsked) {
  Arena arena;
  Value value = *ParseJson(arena, R"({"b":{"d":[],"c":{}},"a":[1,[2],{"z":null,"y":true}]})");
  EXPECT_EQ(WriteYaml(value, {.sort_names = false}), "b:\n  d: []\n  c: {}\na:\n- 1\n- - 2\n- z: null\n  \"y\": true\n");
  EXPECT_EQ(WriteYaml(value), "a:\n- 1\n- - 2\n- \"y\": true\n  z: null\nb:\n  c: {}\n  d: []\n");
}

TEST(YamlWriteTest, BytesAndDeepTrees) {
  EXPECT_EQ(WriteYaml(Value::BytesRef("\xff\xfe")), "//4=\n");
  EXPECT_EQ(WriteYaml(Value()), "null\n");
  Arena arena;
  Value value = Value::Int(1);
  for (int i = 0; i < 3000; ++i) {
    ListBuilder list(arena);
    list.Append(value);
    value = list.Build();
  }
  EXPECT_TRUE(WriteYaml(value).starts_with("- - - - "));
}

}  // namespace
}  // namespace homeostat::object
