// What extension servers say of themselves, made part of what this server says.
#include <gtest/gtest.h>

#include "homeostat/object/json.h"
#include "server/aggregation/openapi_merge.h"
#include "server/aggregation/remote_discovery.h"

namespace homeostat::server {
namespace {

object::Value Parse(object::Arena& arena, std::string_view json) { return object::ParseJson(arena, json).value(); }

TEST(RemoteDiscovery, TakesOneVersionOfAnAggregatedList) {
  object::Arena arena;
  object::Value list = Parse(arena, R"({"items":[{"metadata":{"name":"w"},"versions":[
      {"version":"v1","resources":[{"resource":"a","scope":"Namespaced","singularResource":"b","verbs":["get"],
        "subresources":[{"subresource":"status","verbs":["get"]}]}]},{"version":"v2","resources":[{"resource":"c"}]}]}]})");
  EXPECT_EQ(AggregatedResources(list, "w", "v1"),
            R"([{"resource":"a","responseKind":{"group":"","version":"","kind":""},"scope":"Namespaced","singularResource":"b","verbs":["get"],)"
            R"("subresources":[{"subresource":"status","responseKind":{"group":"","version":"","kind":""},"verbs":["get"]}]}])");
  EXPECT_EQ(AggregatedResources(list, "w", "v3"), "[]");
  EXPECT_EQ(AggregatedResources(list, "x", "v1"), "[]");
}

TEST(RemoteDiscovery, ReadsTheOldForm) {
  object::Arena arena;
  object::Value list = Parse(arena, R"({"resources":[
      {"name":"a/status","namespaced":true,"kind":"A","verbs":["get"]},
      {"name":"a","namespaced":true,"kind":"A","singularName":"x","verbs":["list"],"shortNames":["y"]},
      {"name":"lonely/scale","namespaced":false,"verbs":["get"]}]})");
  EXPECT_EQ(LegacyResources(list).value(),
            R"([{"resource":"a","responseKind":{"group":"","version":"","kind":"A"},"scope":"Namespaced","singularResource":"x","verbs":["list"],)"
            R"("shortNames":["y"],"subresources":[{"subresource":"status","responseKind":{"group":"","version":"","kind":"A"},"verbs":["get"]}]},)"
            R"({"resource":"lonely","responseKind":{"group":"","version":"","kind":""},"scope":"Cluster","singularResource":"","verbs":[],)"
            R"("subresources":[{"subresource":"scale","responseKind":{"group":"","version":"","kind":""},"verbs":["get"]}]}])");
  EXPECT_FALSE(LegacyResources(Parse(arena, R"({"resources":[{"name":"a"},{"name":"a/b","namespaced":true}]})")).has_value());
}

TEST(OpenApiMerge, KeepsWhatThePathsNeed) {
  object::Arena arena;
  object::Value document = Parse(arena, R"({"swagger":"2.0","paths":{"/apis/w/v1/a":{"get":{"schema":{"$ref":"#/definitions/A"},
      "parameters":[{"$ref":"#/parameters/p"}]}},"/version/":{"get":{"schema":{"$ref":"#/definitions/C"}}}},
      "definitions":{"C":{},"B":{"type":"string"},"A":{"properties":{"b":{"$ref":"#/definitions/B"},"a":{"$ref":"#/definitions/A"}}}},
      "parameters":{"q":{},"p":{"name":"p"}}})");
  EXPECT_EQ(FilterOpenApiV2(document, "/apis/w/v1/"),
            R"({"paths":{"/apis/w/v1/a":{"get":{"schema":{"$ref":"#/definitions/A"},"parameters":[{"$ref":"#/parameters/p"}]}}},)"
            R"("definitions":{"A":{"properties":{"b":{"$ref":"#/definitions/B"},"a":{"$ref":"#/definitions/A"}}},"B":{"type":"string"}},)"
            R"("parameters":{"p":{"name":"p"}}})");
}

TEST(OpenApiMerge, RenamesWhatSaysSomethingElse) {
  object::Arena arena;
  object::Value base = Parse(arena, R"({"info":1,"paths":{"/a":1},"definitions":{"Meta":{"x":1},"Same":{"y":1,"x-kubernetes-group-version-kind":[{"kind":"K"}]},
      "User":{"$ref":"#/definitions/Meta"}}})");
  object::Value added = Parse(arena, R"({"paths":{"/a":2,"/b":{"$ref":"#/definitions/User"}},"definitions":{"Meta":{"x":2},
      "Same":{"y":1,"x-kubernetes-group-version-kind":[{"kind":"L"}]},"User":{"$ref":"#/definitions/Meta"},"New":{}}})");
  EXPECT_EQ(object::JsonText(MergeOpenApiV2(arena, base, added)),
            R"({"info":1,"paths":{"/a":1,"/b":{"$ref":"#/definitions/User_v2"}},"definitions":{"Meta":{"x":1},"Meta_v2":{"x":2},"New":{},)"
            R"("Same":{"y":1,"x-kubernetes-group-version-kind":[{"kind":"K"},{"kind":"L"}]},"User":{"$ref":"#/definitions/Meta"},)"
            R"("User_v2":{"$ref":"#/definitions/Meta_v2"}}})");
}

}  // namespace
}  // namespace homeostat::server
