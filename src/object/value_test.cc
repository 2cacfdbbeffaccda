#include "homeostat/object/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "homeostat/object/packed.h"

namespace homeostat::object {
namespace {

Value MakeList(Arena& arena, std::initializer_list<Value> items) {
  ListBuilder builder(arena);
  for (const Value& item : items) builder.Append(item);
  return builder.Build();
}

Value MakeObject(Arena& arena, std::initializer_list<Member> members) {
  ObjectBuilder builder(arena);
  for (const Member& member : members) builder.Append(member.name(), member.value, member.field);
  return builder.Build();
}

Value Nested(Arena& arena, int depth, Value innermost, bool objects) {
  for (int i = 0; i < depth; ++i) innermost = objects ? MakeObject(arena, {{"a", innermost}}) : MakeList(arena, {innermost});
  return innermost;
}

TEST(ArenaTest, AlignsAndKeepsApart) {
  Arena arena;
  std::vector<std::pair<char*, size_t>> taken;
  for (size_t i = 1; i < 2000; ++i) {
    size_t alignment = size_t{1} << (i % 7);
    size_t bytes = (i * 37) % 5000;
    char* at = static_cast<char*>(arena.Allocate(bytes, alignment));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(at) % alignment, 0u);
    std::memset(at, static_cast<int>(i & 0xFF), bytes);
    taken.emplace_back(at, bytes);
  }
  for (size_t i = 0; i < taken.size(); ++i) {
    for (size_t b = 0; b < taken[i].second; ++b) ASSERT_EQ(static_cast<uint8_t>(taken[i].first[b]), (i + 1) & 0xFF);
  }
}

TEST(ArenaTest, ReserveMakesOneBlock) {
  Arena arena;
  arena.Reserve(10000);
  size_t before = arena.capacity();
  for (int i = 0; i < 100; ++i) arena.Allocate(100, 1);
  EXPECT_EQ(arena.capacity(), before);
}

TEST(ArenaTest, KeepsOthersAlive) {
  auto text = std::make_shared<const std::string>("kept");
  std::weak_ptr<const std::string> watch = text;
  {
    Arena arena;
    arena.Keep(std::move(text));
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(ValueTest, KindsStayDistinct) {
  EXPECT_TRUE(Value().IsAbsent());
  EXPECT_FALSE(static_cast<bool>(Value()));
  EXPECT_FALSE(static_cast<bool>(Value::Null()));
  EXPECT_TRUE(static_cast<bool>(Value::Bool(false)));
  EXPECT_EQ(Value::Int(std::numeric_limits<int64_t>::min()).AsInt(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Value::Double(1).AsInt(7), 7);
  EXPECT_EQ(Value::Int(3).AsDouble(), 3.0);
  EXPECT_EQ(Value::StringRef("x").AsInt(5), 5);
  EXPECT_EQ(Value::Int(1).AsString("no"), "no");
  EXPECT_EQ(Value::BytesRef("ab").AsString(), "ab");
  EXPECT_EQ(Value::EmptyList().size(), 0u);
  EXPECT_TRUE(Value::EmptyObject().IsObject());
  EXPECT_TRUE(Value::Int(1).At(0).IsAbsent());
}

TEST(ValueTest, LooksUpByNamePathAndField) {
  Arena arena;
  Value inner = MakeObject(arena, {{"x", Value::Int(1), 0}, {"y", Value::Int(2), 4}, {"unknown", Value::Int(3)}});
  Value root = MakeObject(arena, {{"a", inner}});
  EXPECT_EQ(root.Path({"a", "y"}).AsInt(), 2);
  EXPECT_TRUE(root.Path({"a", "y", "z"}).IsAbsent());
  EXPECT_TRUE(root.Path({"b", "y"}).IsAbsent());
  EXPECT_EQ(inner.Field(4).AsInt(), 2);
  EXPECT_TRUE(inner.Field(3).IsAbsent());
  EXPECT_TRUE(inner.Field(9).IsAbsent());
}

TEST(ValueTest, EqualAndCompareAgree) {
  Arena arena;
  double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Value> different = {
      Value(), Value::Null(), Value::Bool(false), Value::Bool(true), Value::Int(-1), Value::Int(1), Value::Double(nan),
      Value::Double(-1), Value::Double(1), Value::StringRef(""), Value::StringRef("1"), Value::StringRef("2"),
      Value::BytesRef("1"), Value::EmptyList(), MakeList(arena, {Value::Null()}), MakeList(arena, {Value::Int(1)}),
      MakeList(arena, {Value::Int(1), Value::Int(2)}), MakeList(arena, {Value::Int(2), Value::Int(1)}),
      Value::EmptyObject(), MakeObject(arena, {{"a", Value::Int(1)}}), MakeObject(arena, {{"a", Value::Int(2)}}),
      MakeObject(arena, {{"b", Value::Int(1)}}), MakeObject(arena, {{"a", Value::Int(1)}, {"b", Value::Int(2)}}),
      MakeObject(arena, {{"a", Value::Int(2)}, {"b", Value::Int(1)}}),
      MakeList(arena, {MakeObject(arena, {{"a", MakeList(arena, {Value::Int(1)})}})}),
      MakeList(arena, {MakeObject(arena, {{"a", MakeList(arena, {Value::Int(2)})}})})};
  for (size_t i = 0; i < different.size(); ++i) {
    for (size_t j = 0; j < different.size(); ++j) {
      Arena other;
      Value copy = DeepCopy(other, different[j]);
      EXPECT_EQ(Equal(different[i], copy), i == j) << i << " " << j;
      EXPECT_EQ(Compare(different[i], copy) == 0, i == j) << i << " " << j;
      EXPECT_EQ(Compare(different[i], different[j]) < 0, Compare(different[j], different[i]) > 0) << i << " " << j;
      for (const Value& third : different) {
        if (Compare(different[i], different[j]) < 0 && Compare(different[j], third) < 0) {
          EXPECT_LT(Compare(different[i], third), 0);
        }
      }
    }
  }
  EXPECT_TRUE(Equal(Value::Double(0.0), Value::Double(-0.0)));
}

TEST(ValueTest, MemberOrderDoesNotMatter) {
  Arena arena;
  Value a = MakeObject(arena, {{"x", Value::Int(1)}, {"y", MakeList(arena, {Value::Int(2)})}});
  Value b = MakeObject(arena, {{"y", MakeList(arena, {Value::Int(2)})}, {"x", Value::Int(1)}});
  EXPECT_TRUE(Equal(a, b));
  EXPECT_EQ(Compare(a, b), 0);
}

TEST(ValueTest, LargeObjectsInAnyOrderCompareInReasonableTime) {
  Arena arena;
  constexpr int kMembers = 200000;
  ObjectBuilder up(arena), down(arena);
  for (int i = 0; i < kMembers; ++i) up.Append(arena.Copy(std::to_string(i)), Value::Int(i));
  for (int i = kMembers; i-- > 0;) down.Append(arena.Copy(std::to_string(i)), Value::Int(i));
  EXPECT_TRUE(Equal(up.Build(), down.Build()));
}

TEST(ValueTest, DeepTreesDoNotUseTheStack) {
  for (bool objects : {false, true}) {
    Arena arena;
    constexpr int kDepth = 1000000;
    Value a = Nested(arena, kDepth, Value::Int(1), objects);
    Value b = Nested(arena, kDepth, Value::Int(1), objects);
    Value c = Nested(arena, kDepth, Value::Int(2), objects);
    EXPECT_TRUE(Equal(a, b));
    EXPECT_FALSE(Equal(a, c));
    EXPECT_LT(Compare(a, c), 0);
    Arena other;
    EXPECT_TRUE(Equal(DeepCopy(other, a), b));
  }
}

TEST(ValueTest, DeepCopyOwnsItsTexts) {
  auto source = std::make_unique<Document>();
  Arena& arena = source->arena();
  source->set_root(MakeObject(arena, {{arena.Copy("name"), Value::String(arena, "text"), 3},
                                      {arena.Copy("octets"), Value::BytesCopy(arena, std::string_view("\0\1", 2))}}));
  Arena target;
  Value copy = DeepCopy(target, source->root());
  source.reset();
  EXPECT_EQ(copy.Get("name").AsString(), "text");
  EXPECT_EQ(copy.Field(3).AsString(), "text");
  EXPECT_EQ(copy.Get("octets").AsString(), std::string_view("\0\1", 2));
  EXPECT_TRUE(copy.Get("octets").IsBytes());
}

std::string Names(const Value& value) {
  std::string names;
  for (const Member& member : value.members()) {
    names.append(member.name()).append("=").append(std::to_string(member.value.AsInt())).append(" ");
  }
  return names;
}

TEST(ValueTest, PackedTakesNoMoreThanItNeeds) {
  DocumentPtr packed;
  static constexpr std::string_view kField = "spec";
  {
    Arena arena;
    std::string name = "a name of no field", text = "a text that is gone when the copy is read";
    Value items = MakeList(arena, {Value::StringRef(text), Value::Int(7), Value::Null(), Value::EmptyList(), Value::EmptyObject()});
    packed = Packed(MakeObject(arena, {{kField, MakeObject(arena, {{name, items}}), 3}, {"octets", Value::BytesRef(text)}}));
  }
  Value spec = packed->root().Field(3);
  EXPECT_EQ(packed->root().members()[0].name_data, kField.data());
  Value items = spec.Get("a name of no field");
  ASSERT_EQ(items.size(), 5u);
  EXPECT_EQ(items.At(0).AsString(), "a text that is gone when the copy is read");
  EXPECT_EQ(items.At(1).AsInt(), 7);
  EXPECT_TRUE(items.At(2).IsNull());
  EXPECT_TRUE(items.At(3).IsList());
  EXPECT_TRUE(items.At(4).IsObject());
  EXPECT_EQ(packed->root().Get("octets").AsString(), "a text that is gone when the copy is read");
  size_t needed = 3 * sizeof(Member) + 5 * sizeof(Value) + 2 * 41 + 18 + 6;
  EXPECT_LE(packed->arena().capacity(), needed + alignof(Value));
}

TEST(ValueTest, FindsNamesOfEveryLength) {
  const std::string name = "abcdefghijklmnopqrstuvwxyz";
  for (size_t size = 1; size <= name.size(); ++size) {
    for (size_t changed = 0; changed < size; ++changed) {
      Arena arena;
      std::string other = name.substr(0, size), wanted = other;
      other[changed] = '_';
      Value object = MakeObject(arena, {{other, Value::Int(1)}, {wanted, Value::Int(2)}});
      EXPECT_EQ(object.Get(wanted).AsInt(), 2) << wanted << " " << other;
      EXPECT_EQ(object.Get(other).AsInt(), 1) << wanted << " " << other;
    }
  }
}

TEST(ObjectBuilderTest, SetsErasesAndKeepsOrder) {
  Arena arena;
  Value from = MakeObject(arena, {{"b", Value::Int(1), 2}, {"d", Value::Int(2), 5}, {"zz", Value::Int(3)}});
  ObjectBuilder builder(arena, from);
  builder.Set("d", Value::Int(20)).Set("new", Value::Int(4)).SetField(0, "a", Value::Int(5)).Set("c", Value::Int(6), 3);
  EXPECT_EQ(builder.Get("d").AsInt(), 20);
  builder.Set("zz", Value());
  Value built = builder.Build();
  EXPECT_EQ(Names(built), "a=5 b=1 c=6 d=20 new=4 ");
  EXPECT_EQ(built.Field(5).AsInt(), 20);
  EXPECT_EQ(built.Field(3).AsInt(), 6);
  EXPECT_EQ(Names(from), "b=1 d=2 zz=3 ");
}

TEST(ObjectBuilderTest, CopiesNames) {
  Arena arena;
  ObjectBuilder builder(arena);
  {
    std::string name = "a name that is soon gone, long enough to live on the heap";
    builder.SetCopyName(name, Value::Int(1));
    builder.SetCopyName(name, Value::Int(2));
  }
  EXPECT_EQ(Names(builder.Build()), "a name that is soon gone, long enough to live on the heap=2 ");
}

TEST(WithPathTest, ReplacesMakesAndErases) {
  Arena arena;
  Value root = MakeObject(arena, {{"metadata", MakeObject(arena, {{"name", Value::StringRef("x")}})}, {"k", Value::Int(1)}});
  Value changed = WithPath(arena, root, {"metadata", "labels", "a"}, Value::StringRef("b"));
  EXPECT_EQ(changed.Path({"metadata", "labels", "a"}).AsString(), "b");
  EXPECT_EQ(changed.Path({"metadata", "name"}).AsString(), "x");
  EXPECT_TRUE(root.Path({"metadata", "labels"}).IsAbsent());
  Value erased = WithPath(arena, changed, {"metadata", "labels", "a"}, Value());
  EXPECT_TRUE(erased.Path({"metadata", "labels"}).IsObject());
  EXPECT_TRUE(Equal(WithPath(arena, root, {"status", "x"}, Value()), root));
  EXPECT_EQ(WithPath(arena, Value(), {"a"}, Value::Int(1)).Get("a").AsInt(), 1);
}

}  // namespace
}  // namespace homeostat::object
