// How OpenAPI documents are negotiated and cached.
#include "server/openapi.h"

#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

constexpr std::string_view kProtobuf2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                           kProtobuf2Older = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
                           kProtobuf3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
                           kProtobuf3Older = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
                           kJson = "application/json";

class OpenApiTest : public internal::TestServer {
 protected:
  http::Response Send(http::Request request) {
    auto transport = control_plane->TransportFor(user, groups);
    return Await(transport->Handle(std::move(request)));
  }
  http::Response Get(std::string path, std::string_view accept, std::string_view known_tag = {}) {
    http::Request request;
    request.path = std::move(path);
    if (!accept.empty()) request.headers.Set("Accept", accept);
    if (!known_tag.empty()) request.headers.Set("If-None-Match", known_tag);
    return Send(std::move(request));
  }
  static std::string Text(const http::Response& response) {
    std::string text;
    for (const Bytes& part : response.body) text += part.view();
    return text;
  }
};

TEST_F(OpenApiTest, TheAcceptHeaderChoosesTheForm) {
  struct Case {
    std::string_view path, accept;
    int code;
    std::string_view type;
  };
  const std::string both = std::string(kProtobuf2Older) + ";q=0.9, application/json";
  const Case cases[] = {
      {"/openapi/v2", "", 200, kJson},
      {"/openapi/v2", "*/*", 200, kJson},
      {"/openapi/v2", "application/*", 200, kJson},
      {"/openapi/v2", kJson, 200, kJson},
      {"/openapi/v2", kProtobuf2, 200, kProtobuf2},
      {"/openapi/v2", kProtobuf2Older, 200, kProtobuf2},
      {"/openapi/v2", both, 200, kJson},
      {"/openapi/v2", "text/html, application/com.github.proto-openapi.spec.v2@v1.0+protobuf", 200, kProtobuf2},
      {"/openapi/v2", kProtobuf3, 406, ""},
      {"/openapi/v2", "text/html", 406, ""},
      {"/openapi/v3/api/v1", "", 200, kJson},
      {"/openapi/v3/apis/apps/v1", kProtobuf3, 200, kProtobuf3},
      {"/openapi/v3/apis/apps/v1", kProtobuf3Older, 200, kProtobuf3},
      {"/openapi/v3/version", kProtobuf3, 200, kProtobuf3},
      {"/openapi/v3/version", "text/*", 406, ""},
      {"/openapi/v3/apis/none/v1", kJson, 404, ""},
      {"/openapi/v3/nonsense", kProtobuf3, 404, ""},
  };
  for (const Case& c : cases) {
    http::Response response = Get(std::string(c.path), c.accept);
    EXPECT_EQ(response.code, c.code) << c.path << " " << c.accept;
    EXPECT_EQ(response.headers.Get("Content-Type"), c.type) << c.path << " " << c.accept;
    EXPECT_TRUE(response.headers.Get("Vary").starts_with("Accept"));
    EXPECT_EQ(Text(response).empty(), c.code != 200) << c.path;
  }
}

TEST_F(OpenApiTest, TagsTellWhetherADocumentIsStillTheSame) {
  http::Response response = Get("/openapi/v2", kJson);
  std::string tag(response.headers.Get("ETag"));
  ASSERT_GT(tag.size(), 20u);
  EXPECT_EQ(tag.front(), '"');
  EXPECT_EQ(Get("/openapi/v2", kProtobuf2).headers.Get("ETag"), tag);
  for (const std::string& known : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
    http::Response again = Get("/openapi/v2", kJson, known);
    EXPECT_EQ(again.code, 304) << known;
    EXPECT_EQ(again.headers.Get("ETag"), tag);
    EXPECT_EQ(Text(again), "");
  }
  EXPECT_EQ(Get("/openapi/v2", kJson, "\"other\"").code, 200);
}

TEST_F(OpenApiTest, ComesPackedToWhomTakesThat) {
  struct Case {
    std::string_view path, encodings;
    bool packed;
  };
  const Case cases[] = {
      {"/openapi/v2", "", false},
      {"/openapi/v2", "gzip", true},
      {"/openapi/v2", "br, gzip;q=0.5", true},
      {"/openapi/v2", "*", true},
      {"/openapi/v2", "gzip;q=0, deflate", false},
      {"/openapi/v2", "identity", false},
      {"/openapi/v3/api/v1", "deflate, gzip", true},
      {"/openapi/v3/openid/v1/jwks", "gzip", false},  // too small
  };
  for (const Case& c : cases) {
    http::Request request;
    request.path = c.path;
    if (!c.encodings.empty()) request.headers.Set("Accept-Encoding", c.encodings);
    http::Response response = Send(std::move(request));
    EXPECT_EQ(response.code, 200);
    EXPECT_EQ(response.headers.Get("Content-Encoding"), c.packed ? "gzip" : "") << c.path << " " << c.encodings;
    EXPECT_EQ(Text(response).starts_with("\x1f\x8b"), c.packed);
  }
}

TEST_F(OpenApiTest, UrlsOfTheRootMayBeCachedForEver) {
  object::Arena arena;
  auto root = object::ParseJson(arena, Text(Get("/openapi/v3", "")));
  ASSERT_TRUE(root);
  std::string url(root->Path({"paths", "apis/apps/v1", "serverRelativeURL"}).AsString());
  ASSERT_TRUE(url.starts_with("/openapi/v3/apis/apps/v1?hash=")) << url;
  http::Response response = Get(url, kProtobuf3);
  EXPECT_EQ(response.code, 200);
  EXPECT_EQ(response.headers.Get("Cache-Control"), "public, immutable");
  EXPECT_EQ(response.headers.Get("ETag"), "\"" + url.substr(url.find('=') + 1) + "\"");

  // An outdated one leads to the present one.
  response = Get("/openapi/v3/apis/apps/v1?hash=ABC", kJson);
  EXPECT_EQ(response.code, 301);
  EXPECT_EQ(response.headers.Get("Location"), url);
  EXPECT_EQ(Get("/openapi/v3/apis/apps/v1", kJson).headers.Get("Cache-Control"), "no-cache, private");
}

TEST_F(OpenApiTest, UrlsChangeWithTheKindsOfTheirGroupAlone) {
  auto url = [&](const std::string& path) {
    object::Arena arena;
    auto root = object::ParseJson(arena, Text(Get("/openapi/v3", "")));
    return std::string(root->Path({"paths", path, "serverRelativeURL"}).AsString());
  };
  auto define = [&](const std::string& group) {
    return Ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
               R"({"metadata":{"name":"things.)" + group + R"("},"spec":{"group":")" + group + R"(","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},)"
               R"("versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})").code;
  };
  ASSERT_EQ(define("a.example.com"), 201);
  std::string built_in = url("apis/apps/v1"), first = url("apis/a.example.com/v1"), tag(Get("/openapi/v2", kJson).headers.Get("ETag"));
  ASSERT_TRUE(first.starts_with("/openapi/v3/apis/a.example.com/v1?hash=")) << first;
  ASSERT_EQ(define("b.example.com"), 201);
  EXPECT_EQ(url("apis/apps/v1"), built_in);
  EXPECT_EQ(url("apis/a.example.com/v1"), first);
  EXPECT_NE(Get("/openapi/v2", kJson).headers.Get("ETag"), tag);
  Ask("PATCH", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.a.example.com",
      R"({"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","description":"x"}}}]}})");
  EXPECT_NE(url("apis/a.example.com/v1"), first);
}

}  // namespace
}  // namespace homeostat::server
