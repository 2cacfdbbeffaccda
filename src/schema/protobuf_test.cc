// What protobuf allows and generated encoders never write, and bytes that are no message at all.
#include "homeostat/schema/protobuf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "schema/internal/test_data.h"

namespace homeostat::schema {
namespace {

using object::Arena;
using object::Value;
using object::WireWriter;

std::string Message(std::initializer_list<std::string> parts) {
  std::string message;
  for (const std::string& part : parts) message += part;
  return message;
}
std::string Bytes(uint32_t field, std::string_view content) {
  std::string out;
  object::AppendLengthField(out, field, content);
  return out;
}
std::string Number(uint32_t field, uint64_t value) {
  std::string out;
  object::AppendVarintField(out, field, value);
  return out;
}

std::string Decoded(const Type& type, std::string_view bytes) {
  Arena arena;
  auto value = DecodeProtobuf(arena, bytes, type);
  return value ? object::JsonText(*value) : "error: " + value.error().message();
}

TEST(Protobuf, TakesFieldsInAnyOrderAndInParts) {
  const Type& pod = *test::FindType("v1 Pod");
  std::string container_a = Bytes(2, Bytes(1, "a")), container_b = Bytes(2, Bytes(1, "b"));
  // spec (2) in three parts around the metadata (1): messages merge, lists grow.
  std::string bytes = Message({Bytes(2, Message({container_a, Bytes(10, "n1")})), Bytes(1, Bytes(1, "p")),
                               Bytes(2, container_b), Bytes(1, Bytes(3, "ns")), Bytes(2, Bytes(10, "n2"))});
  EXPECT_EQ(
      Decoded(pod, bytes),
      R"({"metadata":{"name":"p","namespace":"ns"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"nodeName":"n2"}})");
}

TEST(Protobuf, MergesMessagesWithinInlinedStructs) {
  const Type& pod = *test::FindType("v1 Pod");
  // volumes (1) of the spec: name 1, volumeSource 2 {hostPath 1 {path 1, type 2}}.
  std::string volume =
      Message({Bytes(2, Bytes(1, Bytes(1, "/a"))), Bytes(1, "v"), Bytes(2, Bytes(1, Bytes(2, "File")))});
  EXPECT_EQ(Decoded(pod, Bytes(2, Bytes(1, volume))),
            R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/a","type":"File"}}]}})");
}

TEST(Protobuf, TakesPackedNumbers) {
  const Type& pod = *test::FindType("v1 Pod");
  // securityContext (14) of the spec: supplementalGroups 4.
  std::string packed("\x01\x80\x01\x03", 4);
  std::string context = Message({Bytes(4, packed), Number(4, 9)});
  EXPECT_EQ(Decoded(pod, Bytes(2, Bytes(14, context))),
            R"({"spec":{"securityContext":{"supplementalGroups":[1,128,3,9]}}})");
  EXPECT_TRUE(Decoded(pod, Bytes(2, Bytes(14, Bytes(4, std::string("\x80", 1))))).starts_with("error: "));
}

TEST(Protobuf, SkipsUnknownFieldsAndSortsMaps) {
  const Type& config = *test::FindType("v1 ConfigMap");
  auto entry = [](std::string_view key, std::string_view value) {
    return Bytes(2, Message({Bytes(2, value), Bytes(1, key), Number(7, 1)}));
  };
  std::string bytes = Message({Number(100, 5), entry("b", "2"), entry("a", "1"), entry("b", "3"), Bytes(101, "x")});
  EXPECT_EQ(Decoded(config, bytes), R"({"data":{"a":"1","b":"3"}})");
  EXPECT_EQ(Decoded(config, Bytes(2, "")), R"({"data":{"":""}})");
}

TEST(Protobuf, RefusesWhatIsNoMessage) {
  const Type& pod = *test::FindType("v1 Pod");
  for (const std::string& bytes :
       {std::string("\xff"), std::string("\x0a\x05\x61"), Number(1, 5), std::string("\x00\x00", 2),
        Bytes(2, Number(2, 1)), Bytes(1, Bytes(8, Message({Number(1, uint64_t{1} << 62)})))}) {
    EXPECT_TRUE(Decoded(pod, bytes).starts_with("error: ")) << test::Hex(bytes);
  }
  Arena arena;
  EXPECT_FALSE(DecodeProtobufObject(arena, "{}", pod));
}

TEST(Protobuf, BoundsNesting) {
  const Type& definition = *test::FindType("apiextensions.k8s.io/v1 CustomResourceDefinition");
  const Type* schema = definition.FindField("spec")
                           ->type->FindField("versions")
                           ->type->element->FindField("schema")
                           ->type->FindField("openAPIV3Schema")
                           ->type;
  std::string bytes;
  uint32_t number = schema->FindField("not")->number;
  for (int i = 0; i < 3000; ++i) bytes = Bytes(number, bytes);
  EXPECT_EQ(Decoded(*schema, bytes), "error: proto: message is nested too deep");
}

TEST(Protobuf, PartsWithoutEndAreRefusedInTime) {
  const Type& pod = *test::FindType("v1 Pod");
  std::string part = Bytes(2, Bytes(10, std::string(1000, 'n'))), bytes;
  for (int i = 0; i < 1000; ++i) bytes += part;
  EXPECT_EQ(Decoded(pod, bytes), "error: proto: message comes in too many parts");
}

// Callers put the version together on the spot.
TEST(Protobuf, TypeMetaOutlivesTheTextsItWasMadeFrom) {
  Arena arena;
  const Type& type = *test::FindType("v1 Pod");
  std::string version = "coordination.example.com/v1alpha1", kind = "SomethingWithALongName";
  ASSERT_GE(type.FieldIndex("apiVersion"), 0);
  Value value = WithTypeMeta(arena, type, Value::EmptyObject(), version, kind);
  std::ranges::fill(version, 'x');
  std::ranges::fill(kind, 'x');
  EXPECT_EQ(value.Get("apiVersion").AsString(), "coordination.example.com/v1alpha1");
  EXPECT_EQ(value.Get("kind").AsString(), "SomethingWithALongName");
}

// Whatever a mutation of good bytes decodes to encodes to something that decodes to the same.
TEST(Protobuf, SurvivesMutations) {
  std::minstd_rand random(1);
  for (const std::string& line : test::Lines(test::ReadGzip("objects.jsonl.gz"))) {
    Arena lines;
    Value recorded = test::Parse(lines, line);
    const Type& type = *test::FindType(recorded.Get("gvk").AsString());
    std::string good = test::FromBase64(recorded.Get("protobuf").AsString());
    for (int round = 0; round < 50; ++round) {
      std::string bytes = good;
      for (int i = 0; i < 1 + round % 4; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
      if (round % 3 == 0) bytes.resize(random() % bytes.size());
      Arena arena;
      auto value = DecodeProtobufObject(arena, bytes, type);
      if (!value) continue;
      std::string again = EncodeProtobufObject(type, *value);
      auto back = DecodeProtobufObject(arena, again, type);
      ASSERT_TRUE(back) << back.error().message() << " " << test::Hex(bytes);
      EXPECT_TRUE(object::Equal(*value, *back)) << object::JsonText(*value) << "\n" << object::JsonText(*back);
      ConformReport report;
      auto conformed = Conform(arena, *value, type, report);
      ASSERT_TRUE(conformed) << conformed.error().message();
      EXPECT_TRUE(object::Equal(*value, *conformed)) << object::JsonText(*value) << "\n"
                                                     << object::JsonText(*conformed);
    }
  }
}

}  // namespace
}  // namespace homeostat::schema
