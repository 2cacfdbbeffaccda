#include <gtest/gtest.h>

#include "homeostat/api/registry.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"

namespace homeostat::schema {
namespace {

// Texts as upstream's converter gives them.
TEST(FromUnstructured, MindsOtherThingsThanAJsonDecoder) {
  struct Case {
    const char* json;
    const char* fault;  // or "" and what the tree becomes
    const char* result = nullptr;
  } cases[] = {
      {R"({"spec":{"replicas":2147483648}})", "", R"({"spec":{"replicas":-2147483648}})"},
      {R"({"spec":{"replicas":3.0}})", "", R"({"spec":{"replicas":3}})"},
      {R"({"spec":{"replicas":1e21}})", "", R"({"spec":{"replicas":0}})"},
      {R"({"spec":{"replicas":1.5}})", "cannot convert float64 to int32"},
      {R"({"spec":{"replicas":"3"}})", "unrecognized type: int32"},
      {R"({"spec":{"paused":1}})", "unrecognized type: bool"},
      {R"({"spec":{"paused":null}})", "", R"({"spec":{"paused":null}})"},
      {R"({"spec":[]})", "cannot restore struct from: slice"},
      {R"({"metadata":{"labels":"x"}})", "cannot restore map from string"},
      {R"({"metadata":{"labels":{"a":5}}})", "cannot convert int64 to string"},
      {R"({"metadata":{"labels":{"a":true}}})", "unrecognized type: string"},
      {R"({"metadata":{"finalizers":{}}})", "cannot restore slice from map"},
      {R"({"spec":{"strategy":{"type":5}}})", "cannot convert int64 to v1.DeploymentStrategyType"},
      {R"({"metadata":{"creationTimestamp":5}})", "json: cannot unmarshal number into Go value of type string"},
      {R"({"metadata":{"unknown":5}})", "", R"({"metadata":{"unknown":5}})"},
  };
  const Type* type = nullptr;
  for (const Kind* kind : api::AllKinds()) {
    if (kind->gvk.kind == "Deployment" && kind->gvk.version == "v1") type = kind->type;
  }
  ASSERT_NE(type, nullptr);
  for (const Case& c : cases) {
    object::Arena arena;
    auto tree = object::ParseJson(arena, c.json);
    ASSERT_TRUE(tree);
    auto converted = FromUnstructured(arena, *tree, *type);
    if (c.result == nullptr) {
      ASSERT_FALSE(converted) << c.json;
      EXPECT_EQ(converted.error().message(), c.fault) << c.json;
    } else {
      ASSERT_TRUE(converted) << c.json << ": " << converted.error().message();
      EXPECT_EQ(object::JsonText(*converted), c.result);
    }
  }
}

TEST(FromUnstructured, OctetsMayBeAListOfNumbers) {
  const Type* type = api::FindTypeOfKind("", "v1", "Secret");
  ASSERT_NE(type, nullptr);
  const std::pair<const char*, const char*> cases[] = {
      {R"({"data":{"a":[null,1,2.0,257]}})", ""},
      {R"({"data":{"a":[1.5]}})", "cannot convert float64 to uint8"},
      {R"({"data":{"a":["x"]}})", "unrecognized type: uint8"},
  };
  for (const auto& [json, fault] : cases) {
    object::Arena arena;
    auto converted = FromUnstructured(arena, *object::ParseJson(arena, json), *type);
    EXPECT_EQ(converted ? "" : converted.error().message(), fault) << json;
    if (converted) EXPECT_EQ(object::JsonText(*converted), R"({"data":{"a":[0,1,2,1]}})");
  }
}

}  // namespace
}  // namespace homeostat::schema
