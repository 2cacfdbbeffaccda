// Custom objects through the whole server: what their definition adds to every answer, and what of them is kept.
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kWidgets = "/apis/example.com/v1/widgets";

class CustomObjectsTest : public internal::TestServer {
 protected:
  // more: members of the version; fields: of the spec, beside `a`.
  void Define(const std::string& more, const std::string& fields = "") {
    const std::string definition =
        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com",)"
        R"("scope":"Cluster","names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,)" + more +
        R"("schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"})" + fields + "}}}}}}]}}";
    ASSERT_EQ(Ask("POST", kDefinitions, definition).code, 201);
    ASSERT_EQ(Ask("POST", kWidgets, R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"a":"b"}})").code, 201);
  }
};

TEST_F(CustomObjectsTest, EveryAnswerTellsThatTheVersionIsDeprecated) {
  Define(R"("deprecated":true,"deprecationWarning":"take v2","subresources":{"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},)");
  const std::string widget = std::string(kWidgets) + "/w";
  for (const auto& [path, accept] : std::initializer_list<std::pair<std::string, std::string>>{
           {widget, ""}, {widget + "/scale", ""}, {widget + "/bogus", ""}, {std::string(kWidgets) + "/none", ""}, {widget, "text/html"}}) {
    internal::TestAnswer answer = accept.empty() ? Ask("GET", path) : Ask("GET", path, "", {"Accept: " + accept});
    EXPECT_EQ(answer.headers.Get("Warning"), "299 - \"take v2\"") << path << " " << accept;
  }
}

TEST_F(CustomObjectsTest, CellsOfNullAndOfTimesOfOld) {
  Define(R"("additionalPrinterColumns":[{"name":"N","type":"string","jsonPath":".spec.n"},{"name":"T","type":"date","jsonPath":".spec.t"}],)",
         R"(,"n":{"type":"string","nullable":true},"t":{"type":"string"})");
  ASSERT_EQ(Ask("PATCH", std::string(kWidgets) + "/w?fieldManager=m", R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"n":null,"t":"1500-01-01T00:00:00Z"}})",
                {"Content-Type: application/apply-patch+yaml"}).code, 200);
  Value cells = Ask("GET", std::string(kWidgets) + "/w", "", {"Accept: application/json;as=Table;v=v1;g=meta.k8s.io"}).Get({"rows"}).At(0).Get("cells");
  EXPECT_EQ(cells.At(1).AsString(), "<no value>");
  EXPECT_EQ(cells.At(2).AsString(), "292y");
}

TEST_F(CustomObjectsTest, AScaleBringsNothingThatTheSchemaDoesNotKnow) {
  Define(R"("subresources":{"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},)");
  const std::string widget = std::string(kWidgets) + "/w", scale = R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"w"},"spec":{"replicas":3}})";
  internal::TestAnswer scaled = Ask("PUT", widget + "/scale", scale);
  EXPECT_EQ(scaled.code, 200);
  EXPECT_EQ(scaled.Get({"spec", "replicas"}).AsInt(), 0);
  EXPECT_EQ(Ask("GET", widget + "/scale").code, 500);
  internal::TestAnswer now = Ask("GET", widget);
  EXPECT_EQ(now.Get({"metadata", "generation"}).AsInt(), 2) << "the number made a difference when it was written";
  EXPECT_TRUE(now.Get({"spec", "replicas"}).IsAbsent());
  EXPECT_EQ(Ask("PATCH", widget, R"({"spec":{"a":"b"}})").Get({"metadata", "generation"}).AsInt(), 2);
}

TEST_F(CustomObjectsTest, FieldsOfAnotherVersionAreTrackedButNotKept) {
  const std::string start = R"("served":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"})";
  const std::string definition =
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Cluster",)"
      R"("names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","storage":true,)" + start + R"(}}}}}},{"name":"v2","storage":false,)" + start +
      R"(,"newer":{"type":"string","default":"fresh"}}}}}}}]}})";
  ASSERT_EQ(Ask("POST", kDefinitions, definition).code, 201);
  const std::string second = "/apis/example.com/v2/widgets", body = R"({"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"w"},"spec":{"a":"b"}})";
  for (const char* query : {"?dryRun=All", ""}) {
    internal::TestAnswer made = Ask("POST", second + query, body);
    ASSERT_EQ(made.code, 201);
    EXPECT_TRUE(made.Get({"spec", "newer"}).IsAbsent()) << query;
    EXPECT_FALSE(made.Get({"metadata", "managedFields"}).At(0).Path({"fieldsV1", "f:spec", "f:newer"}).IsAbsent()) << query;
  }
  // An entry of the version without the field can't be compared then, and entries that can't are dropped.
  Ask("PATCH", std::string(kWidgets) + "/w?fieldManager=m", R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"a":"b"}})",
      {"Content-Type: application/apply-patch+yaml"});
  EXPECT_TRUE(Ask("PATCH", second + "/w?fieldManager=n", R"({"spec":{"a":"c"}})").Get({"metadata", "managedFields"}).empty());
}

TEST_F(CustomObjectsTest, WhatIsUnknownIsToldInOrder) {
  Define("", R"(,"either":{"x-kubernetes-int-or-string":true},"held":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true})");
  const std::string body = R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"v","z":1},"spec":{"held":{"apiVersion":"v1","kind":"Pod","metadata":{"y":1}},)"
                           R"("x":1,"either":{"m":1}}})";
  EXPECT_EQ(Ask("POST", std::string(kWidgets) + "?fieldValidation=Strict", body).message(),
            R"(Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "metadata.z", unknown field "spec.either.m", )"
            R"(unknown field "spec.x", unknown field "spec.held.metadata.y")");
  const std::string applied = R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"v"},"spec":{"held":{"apiVersion":"v1","kind":"Pod","other":1,"metadata":{"y":1}}}})";
  EXPECT_EQ(Ask("PATCH", std::string(kWidgets) + "/v?fieldManager=m", applied, {"Content-Type: application/apply-patch+yaml"}).message(),
            "failed to create typed patch object (/v; example.com/v1, Kind=Widget): .spec.held.metadata.y: field not declared in schema");
}

TEST_F(CustomObjectsTest, BodiesThatDontSayWhatTheyAre) {
  Define("");
  const std::string widgets = kWidgets, nameless = R"({"metadata":{"name":"v"}})";
  EXPECT_EQ(Ask("POST", widgets, nameless).message(),
            "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '" + nameless + "' (" + nameless + ")");
  EXPECT_EQ(Ask("POST", widgets, R"({"kind":"Widget","metadata":{"name":"v"}})").message(),
            "the API version in the data () does not match the expected API version (example.com/v1)");
  EXPECT_EQ(Ask("POST", widgets, R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"v"},"spec":{"a":1E400}})").message(),
            "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number 1E400 into Go value of type float64");
  internal::TestAnswer patched = Ask("PATCH", widgets + "/w", R"({"kind":""})");
  EXPECT_EQ(patched.code, 422);
  EXPECT_NE(patched.message().find("Object 'Kind' is missing in '{\"apiVersion\":\"example.com/v1\",\"kind\":\"\","), std::string::npos) << patched.message();
  EXPECT_EQ(Ask("GET", "/apis/example.com/v9").code, 404);
}

TEST_F(CustomObjectsTest, MethodsThatAreNotThere) {
  Define(R"("subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},)");
  const std::string widget = std::string(kWidgets) + "/w", body = R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}})";
  EXPECT_EQ(Ask("PUT", kWidgets, body).message(), "name must be provided");
  EXPECT_EQ(Ask("POST", widget, body).message(), "widgets.example.com \"w\" already exists");
  EXPECT_EQ(Ask("DELETE", widget + "/scale").message(), "delete is not supported on resources of kind \"widgets.example.com\"");
  EXPECT_EQ(Ask("POST", widget + "/status", body).message(), "create is not supported on resources of kind \"widgets.example.com\"");
  EXPECT_EQ(Ask("OPTIONS", widget).message(), " is not supported on resources of kind \"widgets.example.com\"");
  EXPECT_EQ(Ask("GET", kWidgets, "", {"Accept: application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}).message(),
            "you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)");
}

TEST_F(CustomObjectsTest, ACollectionIsDeletedByThePage) {
  Define("");
  Ask("POST", kWidgets, R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"}})");
  EXPECT_EQ(Ask("DELETE", std::string(kWidgets) + "?continue=x").code, 400);
  internal::TestAnswer first = Ask("DELETE", std::string(kWidgets) + "?limit=1");
  EXPECT_EQ(first.Get({"items"}).size(), 1u);
  EXPECT_NE(first.Text({"metadata", "continue"}), "");
  EXPECT_EQ(Ask("GET", kWidgets).Get({"items"}).size(), 1u);
  EXPECT_EQ(Ask("DELETE", kWidgets).Get({"items"}).size(), 1u);
  EXPECT_EQ(Ask("GET", kWidgets).Get({"items"}).size(), 0u);
}

TEST_F(CustomObjectsTest, ADefinitionTakesItsInstancesOfAllNamespacesAlong) {
  const std::string definition = std::string(kDefinitions) + "/boats.example.com";
  ASSERT_EQ(Ask("POST", kDefinitions,
                R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boats.example.com"},"spec":{"group":"example.com",)"
                R"("scope":"Namespaced","names":{"plural":"boats","kind":"Boat"},"versions":[{"name":"v1","served":true,"storage":true,)"
                R"("schema":{"openAPIV3Schema":{"type":"object"}}}]}})").code, 201);
  for (const char* ns : {"default", "kube-system"}) {
    const std::string boats = "/apis/example.com/v1/namespaces/" + std::string(ns) + "/boats";
    ASSERT_EQ(Ask("POST", boats, R"({"apiVersion":"example.com/v1","kind":"Boat","metadata":{"name":"b"}})").code, 201);
  }
  ASSERT_EQ(Ask("DELETE", definition).code, 200);
  for (int seconds = 0; seconds < 30 && Ask("GET", definition).code == 200; ++seconds) runtime->RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Ask("GET", definition).code, 404);
}

TEST_F(CustomObjectsTest, ANameThatIsBeingDeleted) {
  Define("");
  const std::string widget = std::string(kWidgets) + "/w", again = R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}})";
  Ask("PATCH", widget, R"({"metadata":{"finalizers":["example.com/x"]}})");
  EXPECT_EQ(Ask("POST", kWidgets, again).message(), "widgets.example.com \"w\" already exists");
  ASSERT_EQ(Ask("DELETE", widget).code, 200);
  for (const char* query : {"", "?dryRun=All"}) {
    EXPECT_EQ(Ask("POST", std::string(kWidgets) + query, again).message(), "object is being deleted: widgets.example.com \"w\" already exists") << query;
  }
}

}  // namespace
}  // namespace homeostat::server
