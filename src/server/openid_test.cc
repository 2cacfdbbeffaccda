// What others check tokens with.
#include "server/internal/test_server.h"

namespace homeostat::server {
namespace {

class OpenIdTest : public internal::TestServer {};

TEST_F(OpenIdTest, KeysAreGivenOutOnlyOnceTheyAreThere) {
  // A server whose key is still being made: an empty set could be cached for an hour.
  ControlPlaneOptions options;
  options.engine = store::MakeMemoryEngine(*runtime);
  control_plane = std::make_unique<ControlPlane>(*runtime, std::move(options));
  ASSERT_TRUE(Await(control_plane->Start()));
  internal::TestAnswer set = Ask("GET", "/openid/v1/jwks");
  EXPECT_EQ(set.code, 200);
  ASSERT_EQ(set.Get({"keys"}).size(), 1u);
  EXPECT_EQ(set.Get({"keys"}).At(0).Get("alg").AsString(), "RS256");
}

}  // namespace
}  // namespace homeostat::server
