// The protobuf form against messages that gnostic's own parser made of the same documents.
#include "schema/openapi_protobuf.h"

#include <gtest/gtest.h>

#include <map>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/object/wire.h"
#include "schema/internal/test_data.h"

namespace homeostat::schema {
namespace {

using object::Arena;
using object::Value;
using object::WireReader;

// The length-delimited fields of a message by number; the last of each.
std::map<uint32_t, std::string_view> Fields(std::string_view message) {
  std::map<uint32_t, std::string_view> fields;
  WireReader reader(message);
  while (reader.Next()) {
    if (reader.type() == object::WireType::kLength) {
      fields[reader.field()] = reader.Bytes();
    } else {
      reader.Skip();
    }
  }
  EXPECT_TRUE(reader.ok());
  return fields;
}

// The (name, value) pairs of a message that has nothing else.
std::vector<std::pair<std::string_view, std::string_view>> Pairs(std::string_view message) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  WireReader reader(message);
  while (reader.Next()) {
    auto pair = Fields(reader.Bytes());
    pairs.emplace_back(pair[1], pair[2]);
  }
  EXPECT_TRUE(reader.ok());
  return pairs;
}

std::string Encode(std::string_view json, OpenApiVersion version) {
  Arena arena;
  return OpenApiProtobuf(test::Parse(arena, json), version);
}

OpenApiSource Source() {
  OpenApiSource source;
  source.kinds = api::AllKinds();
  source.find_type = [](std::string_view name) { return api::FindType(name); };
  source.find_type_of_kind = [](const GroupVersionKind& gvk) {
    return api::FindTypeOfKind(gvk.group, gvk.version, gvk.kind);
  };
  source.version = "v1.36.3";
  return source;
}

TEST(OpenApiProtobuf, IsWhatGnosticMakes) {
  Arena arena;
  Value recorded = test::Parse(arena, test::ReadGzip("openapi_messages.json.gz"));
  for (auto [name, version] : {std::pair("v2", OpenApiVersion::kV2), std::pair("v3", OpenApiVersion::kV3)}) {
    auto wanted = object::DecodeBase64(recorded.Path({name, "message"}).AsString());
    ASSERT_TRUE(wanted) << name;
    ASSERT_GT(wanted->size(), 2000u);
    EXPECT_TRUE(OpenApiProtobuf(recorded.Path({name, "document"}), version) == *wanted) << name;
  }
}

TEST(OpenApiProtobuf, SaysWhatTheJsonDocumentsSay) {
  Arena arena;
  OpenApiSource source = Source();
  Value json = test::Parse(arena, OpenApiV2Document(source));
  std::string message = OpenApiV2Document(source, OpenApiForm::kProtobuf);
  EXPECT_TRUE(message == OpenApiProtobuf(json, OpenApiVersion::kV2));
  auto document = Fields(message);
  EXPECT_EQ(document[1], "2.0");
  EXPECT_EQ(Fields(document[2])[2], "v1.36.3");
  EXPECT_EQ(Pairs(document[8]).size(), json.Get("paths").size());
  auto definitions = Pairs(document[9]);
  ASSERT_EQ(definitions.size(), json.Get("definitions").size());
  bool found = false;
  for (auto [name, schema] : definitions) {
    if (name != "io.k8s.api.core.v1.Pod") continue;
    found = true;
    auto properties = Pairs(Fields(schema)[25]);
    ASSERT_EQ(properties.size(), 5u);
    EXPECT_EQ(properties[3].first, "spec");
    EXPECT_EQ(Fields(properties[3].second)[1], "#/definitions/io.k8s.api.core.v1.PodSpec");
    auto extension = Fields(Fields(schema)[31]);
    EXPECT_EQ(extension[1], "x-kubernetes-group-version-kind");
    EXPECT_EQ(Fields(extension[2])[2], "- group: \"\"\n  kind: Pod\n  version: v1\n");
  }
  EXPECT_TRUE(found);

  json = test::Parse(arena, OpenApiV3Document(source, "apps", "v1"));
  message = OpenApiV3Document(source, "apps", "v1", OpenApiForm::kProtobuf);
  EXPECT_TRUE(message == OpenApiProtobuf(json, OpenApiVersion::kV3));
  document = Fields(message);
  EXPECT_EQ(document[1], "3.0.0");
  EXPECT_EQ(Pairs(Fields(document[5])[1]).size(), json.Path({"components", "schemas"}).size());
}

TEST(OpenApiProtobuf, LeavesOutWhatMessagesCannotSay) {
  auto schema2 = [](std::string_view json) {
    return Encode(R"({"definitions":{"A":)" + std::string(json) + "}}", OpenApiVersion::kV2);
  };
  EXPECT_EQ(schema2(R"({"nullable":true,"anyOf":[{}],"title":"t","maximum":null})"), schema2(R"({"title":"t"})"));
  // Values of another kind than the field's, and zeros.
  EXPECT_EQ(schema2(R"({"title":1,"readOnly":"yes","minLength":"5","maximum":0,"pattern":""})"), schema2("{}"));
  EXPECT_EQ(schema2(R"({"maxLength":5.0})"), schema2(R"({"maxLength":5})"));
  // Not so zeros that are the point.
  EXPECT_NE(schema2(R"({"additionalProperties":false})"), schema2("{}"));

  auto schema3 = [](std::string_view json) {
    return Encode(R"({"components":{"schemas":{"A":)" + std::string(json) + "}}}", OpenApiVersion::kV3);
  };
  EXPECT_EQ(schema3(R"({"default":{"a":1}})"), schema3(R"({"default":[]})"));
  EXPECT_NE(schema3(R"({"default":0})"), schema3(R"({"default":false})"));
}

TEST(OpenApiProtobuf, EndsSomewhere) {
  std::string json = R"({"definitions":{"A":)";
  constexpr int kLevels = 3000;
  for (int i = 0; i < kLevels; ++i) json += R"({"items":)";
  json += "{}" + std::string(kLevels, '}') + "}}";
  std::string message = Encode(json, OpenApiVersion::kV2);
  EXPECT_GT(message.size(), 1000u);
  EXPECT_LT(message.size(), 10000u);
  EXPECT_EQ(Encode("[1]", OpenApiVersion::kV3), "");
}

}  // namespace
}  // namespace homeostat::schema
