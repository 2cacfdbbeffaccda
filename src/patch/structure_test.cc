// What apply sees in the built-in types, against what upstream makes of the published schemas (testdata/README.md).
#include "patch/internal/structure.h"

#include <gtest/gtest.h>

#include "patch/internal/test_support.h"

namespace homeostat::patch {
namespace {

using internal::Scalar;
using internal::Structure;
using test::Parse;
using test::Sorted;

std::string_view ScalarName(Scalar scalar) {
  switch (scalar) {
    case Scalar::kNumeric:
      return "numeric";
    case Scalar::kString:
      return "string";
    case Scalar::kBoolean:
      return "boolean";
    default:
      return "untyped";
  }
}

std::string Describe(const Structure& structure);

std::string DescribeList(const Structure& structure) {
  std::string keys;
  for (std::string_view key : structure.type().list_map_keys) (keys += keys.empty() ? "" : " ") += key;
  std::string relation = structure.list_atomic() ? "atomic" : "associative";
  return "list:" + relation + "[" + keys + "]<" + Describe(structure.ListElement()) + ">;";
}

// In the words of the recorded data.
std::string Describe(const Structure& structure) {
  std::string map_relation = structure.map_atomic() ? "atomic" : "";
  if (structure.parts() == (internal::kScalarPart | internal::kListPart | internal::kMapPart)) {
    return structure.map_atomic() ? "anything, whole" : "anything";
  }
  if (structure.parts() == internal::kScalarPart) return "scalar:" + std::string(ScalarName(structure.scalar())) + ";";
  if (structure.parts() == internal::kListPart) return DescribeList(structure);
  if (structure.type().form == schema::Form::kStruct && !structure.type().fields.empty()) {
    return "struct:" + map_relation + ":" + std::string(structure.type().name);
  }
  Structure::Child entry = structure.MapChild(std::string_view("any"));
  return "map:" + map_relation + "<" + Describe(entry.structure) + ">;";
}

TEST(Structure, BuiltInTypesAreAsUpstreamSeesThem) {
  size_t types = 0;
  test::ForEachRecorded("structure.jsonl.gz", [&](std::string_view line) {
    Arena arena;
    Value recorded = Parse(arena, line);
    const schema::Type* type = api::FindType(recorded.Get("name").AsString());
    if (type == nullptr || type->name.ends_with(".TableRow"))
      return;  // options, tables and the like, that no object holds
    ++types;
    EXPECT_EQ(type->atomic, recorded.Get("rel").AsString() == "atomic") << type->name;
    for (const object::Member& member : recorded.Get("fields").members()) {
      std::string where = std::string(type->name) + "." + std::string(member.name());
      const schema::Field* field = type->FindField(member.name());
      ASSERT_NE(field, nullptr) << where;
      EXPECT_EQ(Describe(Structure(*field->type)), member.value.Get("ref").AsString()) << where;
      if (!member.value.Get("key").AsBool()) continue;
      Value published = member.value.Get("default");
      Value known = internal::KeyDefault(arena, *type, member.name());
      EXPECT_EQ(known.IsAbsent() ? "none" : Sorted(known), published.IsAbsent() ? "none" : Sorted(published))
          << where << " default";
    }
  });
  EXPECT_GE(types, 500u);
}

}  // namespace
}  // namespace homeostat::patch
