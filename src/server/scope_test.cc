// Paths of the other scope: a namespaced kind's object without a namespace, a cluster's in one.
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

class ScopeTest : public internal::TestServer {};

TEST_F(ScopeTest, KindsAreNotFoundAtPathsOfTheOtherScope) {
  const struct {
    const char* method;
    const char* path;
    int code;
  } cases[] = {
      {"GET", "/api/v1/configmaps/x", 404},
      {"PUT", "/api/v1/configmaps/x", 404},
      {"PATCH", "/apis/apps/v1/deployments/x?fieldManager=a", 404},
      {"DELETE", "/api/v1/configmaps/x", 404},
      {"GET", "/api/v1/pods/x/log", 404},
      {"GET", "/apis/apps/v1/deployments/x/scale", 404},
      {"POST", "/api/v1/configmaps", 405},
      {"DELETE", "/api/v1/configmaps", 405},
      {"GET", "/api/v1/configmaps", 200},
      {"GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Dx", 200},
      {"GET", "/api/v1/namespaces/default/nodes", 404},
      {"GET", "/api/v1/namespaces/default/nodes/x", 404},
      {"GET", "/api/v1/namespaces/default/namespaces/x", 404},
      {"GET", "/api/v1/namespaces/default", 200},
      {"GET", "/api/v1/namespaces/default/status", 200},
      {"GET", "/api/v1/foo/x", 404},
      {"GET", "/apis/apps/v1/foo", 404},
      {"GET", "/apis/apps/v9/foo", 404},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(std::string(one.method) + " " + one.path);
    internal::TestAnswer answer = Ask(one.method, one.path, "{}");
    EXPECT_EQ(answer.code, one.code);
    if (one.code == 404) {
      ASSERT_TRUE(answer.document);
      EXPECT_EQ(answer.message(), "the server could not find the requested resource");
    }
  }
  // Nobody serves such a group: that is no answer of the API.
  EXPECT_FALSE(Ask("GET", "/apis/none/v9/foo").document);
}

}  // namespace
}  // namespace homeostat::server
