// Editing without generated code: a type made by hand, as one compiled from a CustomResourceDefinition is. Builders of
// built-in types are tested beside the registry (src/api).
#include "homeostat/schema/editor.h"

#include <gtest/gtest.h>

#include <array>

namespace homeostat::schema {
namespace {

using object::Member;
using object::Value;

constexpr Type kText{.form = Form::kString};
constexpr Type kNumber{.form = Form::kInt64};
constexpr Type kTexts{.form = Form::kList, .element = &kText};
constexpr Type kTextMap{.form = Form::kMap, .element = &kText};
constexpr std::array<Field, 2> kInnerFields = {{{.name = "size", .type = &kNumber}, {.name = "note", .type = &kText}}};
constexpr Type kInner{.form = Form::kStruct, .fields = kInnerFields, .structural = true};
constexpr Type kInners{.form = Form::kList, .element = &kInner};
constexpr Type kInnerMap{.form = Form::kMap, .element = &kInner};
constexpr std::array<Field, 6> kFields = {{{.name = "name", .type = &kText},
                                           {.name = "inner", .type = &kInner},
                                           {.name = "tags", .type = &kTexts},
                                           {.name = "items", .type = &kInners},
                                           {.name = "labels", .type = &kTextMap},
                                           {.name = "parts", .type = &kInnerMap}}};
constexpr Type kRoot{.form = Form::kStruct, .fields = kFields, .structural = true};
enum : uint16_t { kName, kInnerField, kTags, kItems, kLabels, kParts };

TEST(Editor, StructuralTypesKeepZeroValues) {
  Editor editor(kRoot);
  Cursor root = editor.Root();
  root.Set(kName, root.MakeText(""));
  root.Child(kInnerField).Set(0, Value::Int(0));
  Value value = root.Snapshot();
  EXPECT_TRUE(value.Get("name").IsString());
  EXPECT_TRUE(value.Path({"inner", "size"}).IsInt());
}

TEST(Editor, UnknownMembersStayLast) {
  std::array<Member, 2> members = {Member("tags", Value::EmptyList(), kTags), Member("extra", Value::Bool(true))};
  object::DocumentPtr original = std::make_shared<object::Document>(Value::Object(members));
  Editor editor(kRoot, original);
  Cursor root = editor.Root();
  root.Set(kLabels, Value::EmptyObject());
  root.Set(kName, root.MakeText("x"));
  Value value = root.Snapshot();
  ASSERT_EQ(value.size(), 4u);
  EXPECT_EQ(value.members()[0].name(), "name");
  EXPECT_EQ(value.members()[2].name(), "labels");
  EXPECT_EQ(value.members()[3].name(), "extra");
  EXPECT_EQ(value.members()[3].field, object::kNoField);
}

TEST(Editor, ListsAndMaps) {
  Editor editor(kRoot);
  Cursor root = editor.Root();
  root.AddItem(kTags, root.MakeText("a"));
  root.AddItem(kTags, root.MakeText("b"));
  root.AddChild(kItems).Set(0, Value::Int(1));
  root.InsertChild(kItems, 0).Set(0, Value::Int(2));
  root.SetEntry(kLabels, "z", root.MakeText("1"));
  root.SetEntry(kLabels, "a", root.MakeText("2"));
  root.ChildAt(kParts, "p").Set(1, root.MakeText("n"));
  EXPECT_EQ(root.SizeAt(kTags), 2u);
  EXPECT_EQ(root.SizeAt(kName), 0u);
  Value value = root.Snapshot();
  EXPECT_EQ(value.Get("items").At(0).Get("size").AsInt(), 2);
  EXPECT_EQ(value.Get("items").At(1).Get("size").AsInt(), 1);
  EXPECT_EQ(value.Get("labels").members()[0].name(), "a");
  EXPECT_EQ(value.Path({"parts", "p", "note"}).AsString(), "n");

  root.EraseItem(kTags, 0);
  root.EraseItem(kTags, 9);
  root.EraseEntry(kLabels, "z");
  root.EraseEntry(kLabels, "none");
  root.Clear(kItems);
  value = root.Snapshot();
  ASSERT_EQ(value.Get("tags").size(), 1u);
  EXPECT_EQ(value.Get("tags").At(0).AsString(), "b");
  EXPECT_EQ(value.Get("labels").size(), 1u);
  EXPECT_TRUE(value.Get("items").IsAbsent());
}

TEST(Editor, ReplacesWhatCannotBeEdited) {
  std::array<Member, 2> members = {Member("inner", Value::Null(), kInnerField), Member("tags", Value::Int(3), kTags)};
  object::DocumentPtr original = std::make_shared<object::Document>(Value::Object(members));
  Editor editor(kRoot, original);
  Cursor root = editor.Root();
  EXPECT_FALSE(root.Changed());
  root.Child(kInnerField).Set(0, Value::Int(1));
  root.AddItem(kTags, root.MakeText("t"));
  EXPECT_TRUE(root.Changed());
  Value value = root.Snapshot();
  EXPECT_EQ(value.Path({"inner", "size"}).AsInt(), 1);
  EXPECT_EQ(value.Get("tags").At(0).AsString(), "t");
}

TEST(Editor, CurrentIsWhatStandsThereNow) {
  Editor editor(kRoot);
  Cursor root = editor.Root();
  EXPECT_TRUE(root.Current(kInnerField).IsAbsent());
  root.Child(kInnerField).Set(0, Value::Int(7));
  EXPECT_EQ(root.Current(kInnerField).Get("size").AsInt(), 7);
  root.Child(kInnerField).Set(0, Value::Int(8));
  EXPECT_EQ(root.Current(kInnerField).Get("size").AsInt(), 8);
  root.Set(kInnerField, Value());
  EXPECT_TRUE(root.Current(kInnerField).IsAbsent());
}

}  // namespace
}  // namespace homeostat::schema
