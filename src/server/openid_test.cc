// What others check tokens with.
#include <gtest/gtest.h>

#include "homeostat/object/json.h"
#include "server/internal/testing.h"

namespace homeostat::server {
namespace {

using OpenIdTest = testing::ControlPlaneTest;

TEST_F(OpenIdTest, KeysAreGivenOutOnlyOnceTheyAreThere) {
  // The key is still being made: an empty set could be cached for an hour.
  http::Request request;
  request.path = "/openid/v1/jwks";
  http::Response response = Send(std::move(request));
  EXPECT_EQ(response.code, 200);
  object::Arena arena;
  auto set = object::ParseJson(arena, Text(response));
  ASSERT_TRUE(set);
  ASSERT_EQ(set->Get("keys").size(), 1u);
  EXPECT_EQ(set->Get("keys").At(0).Get("alg").AsString(), "RS256");
}

}  // namespace
}  // namespace homeostat::server
