#include "server/custom/converted.h"

#include <gtest/gtest.h>

#include "homeostat/api/meta/v1.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "homeostat/schema/structural.h"

namespace homeostat::server {
namespace {

using object::Value;

class ConvertedTest : public ::testing::Test {
 protected:
  schema::Kind KindOf(std::string version, std::string_view schema_json) {
    auto document = object::ParseJsonDocument(schema_json);
    schema::StructuralOptions options{.object_meta = &api::meta::v1::ObjectMeta::SchemaType(), .name = {}, .go_name = {}};
    schemas.push_back(schema::StructuralSchema::Compile((*document)->root(), *document, options));
    versions.push_back(std::make_unique<std::string>(std::move(version)));
    schema::Kind kind;
    kind.gvk = {"example.com", *versions.back(), "Port"};
    kind.type = &schemas.back()->type();
    return kind;
  }
  Value Typed(const schema::Kind& kind, std::string_view json) {
    schema::ConformReport report;
    return *schema::Conform(arena, *object::ParseJson(arena, json), *kind.type, report);
  }
  Result<Value> Accept(std::string_view converted, bool one_of_many = false) {
    Value original = Typed(v1, R"({"apiVersion":"example.com/v1","kind":"Port","metadata":{"name":"a","namespace":"n","uid":"u",
                                   "resourceVersion":"5","generation":3,"labels":{"x":"y"}},"spec":{"address":"h:1"}})");
    return AcceptConverted(arena, original, v1, *object::ParseJson(arena, converted), v2, 0, one_of_many);
  }

  object::Arena arena;
  std::vector<std::shared_ptr<const schema::StructuralSchema>> schemas;
  std::vector<std::unique_ptr<std::string>> versions;
  schema::Kind v1 = KindOf("v1", R"({"type":"object","properties":{"spec":{"type":"object","properties":{"address":{"type":"string"}}}}})");
  schema::Kind v2 = KindOf("v2", R"({"type":"object","properties":{"spec":{"type":"object","properties":{"host":{"type":"string"}}}}})");
};

TEST_F(ConvertedTest, MetadataStaysButForLabelsAndAnnotations) {
  auto accepted = Accept(R"({"apiVersion":"example.com/v2","kind":"Port","metadata":{"name":"a","namespace":"n","uid":"u","generation":99,
                             "finalizers":["z"],"labels":{"x":"w"},"annotations":{"b":"c"}},"spec":{"host":"h","stray":1}})");
  ASSERT_TRUE(accepted) << accepted.error().message();
  EXPECT_EQ(accepted->Path({"metadata", "generation"}).AsInt(), 3);
  EXPECT_EQ(accepted->Path({"metadata", "resourceVersion"}).AsString(), "5");
  EXPECT_FALSE(accepted->Path({"metadata", "finalizers"}));
  EXPECT_EQ(object::JsonText(accepted->Path({"metadata", "labels"})), R"({"x":"w"})");
  EXPECT_EQ(object::JsonText(accepted->Path({"metadata", "annotations"})), R"({"b":"c"})");
  // Unknown fields go, as with every object of the kind.
  EXPECT_EQ(object::JsonText(accepted->Get("spec")), R"({"host":"h"})");
}

TEST_F(ConvertedTest, LabelsCanBeTakenAway) {
  auto accepted = Accept(R"({"apiVersion":"example.com/v2","kind":"Port","metadata":{"name":"a","namespace":"n","uid":"u","labels":null}})");
  ASSERT_TRUE(accepted) << accepted.error().message();
  EXPECT_FALSE(accepted->Path({"metadata", "labels"}));
}

TEST_F(ConvertedTest, LiesAreFound) {
  struct Case {
    std::string_view converted, message, message_of_many;
  };
  for (const Case& test : std::vector<Case>{
           {R"({"apiVersion":"example.com/v1","kind":"Port","metadata":{"name":"a","namespace":"n","uid":"u"}})",
            "invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)",
            "invalid converted object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)"},
           {R"({"apiVersion":"example.com/v2","kind":"Harbour","metadata":{"name":"a","namespace":"n","uid":"u"}})",
            "invalid object at index 0: invalid kind (expected Port, received Harbour)",
            "invalid converted object at index 0: invalid kind (expected Port, received Harbour)"},
           {R"({"apiVersion":"example.com/v2","kind":"Port","metadata":{"name":"b","namespace":"n","uid":"u"}})",
            "invalid object: must have the same name: a != b", "invalid converted object at index 0: must have the same name: a != b"},
           {R"({"apiVersion":"example.com/v2","kind":"Port","metadata":{"name":"a","namespace":"m","uid":"u"}})",
            "invalid object: must have the same namespace: n != m", "invalid converted object at index 0: must have the same namespace: n != m"},
           {R"({"apiVersion":"example.com/v2","kind":"Port","metadata":{"name":"a","namespace":"n"}})",
            "invalid object: must have the same UID: u != ", "invalid converted object at index 0: must have the same UID: u != "},
           {R"({"apiVersion":"example.com/v2","kind":"Port","metadata":{"name":"a","namespace":"n","uid":"u","labels":{"q":1}}})",
            "invalid metadata: metadata.labels[q] must be a string, but is int64 in converted object",
            "invalid metadata in object at index 0: metadata.labels[q] must be a string, but is int64 in converted object"},
           {R"({"apiVersion":"example.com/v2","kind":"Port","metadata":{"name":"a","namespace":"n","uid":"u","annotations":[]}})",
            "invalid metadata: invalid metadata.annotations of type []interface {} in converted object",
            "invalid metadata in object at index 0: invalid metadata.annotations of type []interface {} in converted object"},
       }) {
    auto one = Accept(test.converted), many = Accept(test.converted, true);
    ASSERT_FALSE(one) << test.converted;
    EXPECT_EQ(one.error().message(), test.message);
    EXPECT_EQ(many.error().message(), test.message_of_many);
  }
  EXPECT_FALSE(Accept("[]"));
  EXPECT_FALSE(Accept("null"));
  auto invalid = Accept(R"({"apiVersion":"example.com/v2","kind":"Port","metadata":{"name":"a","namespace":"n","uid":"u","labels":{"-":"y"}}})");
  ASSERT_FALSE(invalid);
  EXPECT_TRUE(invalid.error().message().starts_with("invalid metadata: metadata.labels: Invalid value: \"-\": ")) << invalid.error().message();
}

TEST_F(ConvertedTest, ReviewsAreRead) {
  struct Case {
    std::string_view body, version, message;  // message empty: it can be read
  };
  for (const Case& test : std::vector<Case>{
           {R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"1","convertedObjects":[{}],"result":{"status":"Success"}}})", "v1", ""},
           {R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1","response":{"convertedObjects":[{}],"result":{"status":"Success"}}})", "v1beta1", ""},
           {R"({"response":{"convertedObjects":[{}],"result":{"status":"Success"}}})", "v1beta1", ""},
           {R"({"response":{"uid":"1","result":{"status":"Success"}}})", "v1",
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind="},
           {R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"})", "v1", "no response provided"},
           {R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"2"}})", "v1", "expected response.uid=\"1\", got \"2\""},
           {R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"1"}})", "v1",
            "response.result.status was '', not 'Success'"},
           {R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"1","result":{"status":"Failure","message":"no"}}})", "v1", "no"},
           {R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1"})", "v1",
            "converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion"},
           {R"({"kind":"Cat","apiVersion":"v1"})", "v1", "no kind \"Cat\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\""},
           {R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"go away"})", "v1", "go away"},
           {"", "v1", "0-length response with status code: 200 and content type: application/json"},
       }) {
    auto read = ReadConversionReview(arena, test.body, test.version, "1");
    EXPECT_EQ(read ? "" : read.error().message(), test.message) << test.body;
    if (read) {
      EXPECT_EQ(read->size(), 1u) << test.body;
    }
  }
}

}  // namespace
}  // namespace homeostat::server
