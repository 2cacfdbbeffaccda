// JsonOutput says the same as AppendJson and its like, by other ways.
#include "homeostat/object/json_output.h"

#include <gtest/gtest.h>

#include <random>

#include "homeostat/object/json.h"

namespace homeostat::object {
namespace {

// Texts of every length that the ways by blocks tell apart, with one character in each place.
TEST(JsonOutput, StringsOfEveryLength) {
  for (size_t size = 0; size <= 70; ++size) {
    for (std::string_view odd : {"", "\"", "\\", "<", "\n", "\x7f", "\xc3\xa9", "\xff", "\xe2\x80\xa8"}) {
      for (size_t at = 0; at < std::max<size_t>(size, 1); ++at) {
        std::string text(size, 'a');
        text.insert(std::min(at, size), odd);
        std::string wanted = "x", said = "x";
        AppendJsonString(wanted, text);
        JsonOutput(said).String(text);
        ASSERT_EQ(said, wanted);
        bool plain = odd.empty() || odd == "\x7f";
        ASSERT_EQ(JsonOutput::IsPlain(text), plain) << wanted;
      }
    }
  }
}

Value RandomTree(Arena& arena, std::mt19937& random, int depth) {
  static constexpr std::string_view kTexts[] = {"", "a", "name", "f:metadata", "k:{\"name\":\"a\"}", "a much longer text, with <b>", "\xc3\xa4"};
  auto text = [&] { return kTexts[random() % std::size(kTexts)]; };
  switch (depth == 0 ? random() % 5 : random() % 8) {
    case 0: return Value::Null();
    case 1: return Value::Bool(random() % 2 == 0);
    case 2: return Value::Int(static_cast<int64_t>(random()) - 1'000'000'000);
    case 3: return Value::Double(static_cast<double>(random()) / 7);
    case 4: return Value::String(arena, text());
    case 5: {
      ListBuilder items(arena);
      for (size_t i = random() % 4; i > 0; --i) items.Append(RandomTree(arena, random, depth - 1));
      return items.Build();
    }
    default: {
      ObjectBuilder members(arena);
      for (size_t i = random() % 5; i > 0; --i) members.Append(arena.Copy(text()), RandomTree(arena, random, depth - 1));
      return members.Build();
    }
  }
}

TEST(JsonOutput, Trees) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Arena arena;
    Value tree = RandomTree(arena, random, 5);
    for (bool sorted : {false, true}) {
      std::string wanted, said;
      ASSERT_TRUE(AppendJson(wanted, tree, {.sort_names = sorted}));
      JsonOutput(said).Untyped(tree, sorted);
      ASSERT_EQ(said, wanted);
    }
  }
}

TEST(JsonOutput, WhatIsDeepNeedsNoStack) {
  Arena arena;
  Value tree = Value::Int(1);
  for (int i = 0; i < 5000; ++i) {
    ListBuilder list(arena);
    list.Append(tree);
    tree = list.Build();
  }
  std::string wanted, said;
  ASSERT_TRUE(AppendJson(wanted, tree, {}));
  JsonOutput(said).Untyped(tree, false);
  EXPECT_EQ(said, wanted);
}

// Equal goes down on the stack, too, and not for ever.
TEST(Equal, DeepTrees) {
  Arena arena;
  Value a = Value::Int(1), b = Value::Int(1), c = Value::Double(1);
  for (int i = 0; i < 5000; ++i) {
    for (Value* tree : {&a, &b, &c}) {
      ObjectBuilder object(arena);
      object.Append("a", *tree);
      *tree = object.Build();
    }
  }
  EXPECT_TRUE(Equal(a, b));
  EXPECT_FALSE(Equal(a, c));
}

}  // namespace
}  // namespace homeostat::object
