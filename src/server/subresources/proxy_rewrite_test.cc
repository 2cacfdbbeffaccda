#include "server/subresources/proxy_rewrite.h"

#include <gtest/gtest.h>

namespace homeostat::server {
namespace {

TEST(ProxyRewrite, LinksGoThroughTheProxy) {
  ProxyPlace place{"/api/v1/namespaces/a/services/b/proxy", "10.0.0.1:80", "127.0.0.1:6443", false};
  struct Case {
    const char *link, *rewritten;
  };
  const Case cases[] = {
      {"/login", "/api/v1/namespaces/a/services/b/proxy/login"},
      {"/login/", "/api/v1/namespaces/a/services/b/proxy/login/"},
      {"/x?y=/z#/f", "/api/v1/namespaces/a/services/b/proxy/x?y=/z#/f"},
      {"http://10.0.0.1:80/x", "/api/v1/namespaces/a/services/b/proxy/x"},
      {"http://10.0.0.1/x", "/api/v1/namespaces/a/services/b/proxy/x"},
      {"https://127.0.0.1:6443/x", "https://127.0.0.1:6443/api/v1/namespaces/a/services/b/proxy/x"},
      {"//10.0.0.1/x", "/api/v1/namespaces/a/services/b/proxy/x"},
      {"http://example.com/x", "http://example.com/x"},
      {"x/y", "x/y"},
      {"?q", "?q"},
      {"", ""},
      {"mailto:a@b", "mailto:a@b"},
      {"/api/v1/namespaces/a/services/b/proxy/x", "/api/v1/namespaces/a/services/b/proxy/x"},
      {"/a/../b//c", "/api/v1/namespaces/a/services/b/proxy/b/c"},
  };
  for (const Case& test : cases) EXPECT_EQ(RewriteLink(place, test.link), test.rewritten) << test.link;
}

TEST(ProxyRewrite, LeavesOutWhatIsOfOneConnection) {
  ProxyPlace place{"/p", "10.0.0.1:80", "h", false};
  http::Response response;
  response.headers.Set("Connection", "close");
  response.headers.Set("Access-Control-Allow-Origin", "*");
  response.headers.Set("Location", "/x");
  response.headers.Set("X-Own", "1");
  RewriteResponseHeaders(place, response);
  EXPECT_FALSE(response.headers.Has("Connection"));
  EXPECT_FALSE(response.headers.Has("Access-Control-Allow-Origin"));
  EXPECT_EQ(response.headers.Get("Location"), "/p/x");
  EXPECT_EQ(response.headers.Get("X-Own"), "1");
}

}  // namespace
}  // namespace homeostat::server
