#include "node/image_name.h"

#include <gtest/gtest.h>

#include "homeostat/base/text.h"
#include "node/images.h"

namespace homeostat::node {
namespace {

TEST(WithDefaultTag, AddsLatestWhereNothingIsSaid) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  for (auto [image, full] : {std::pair<std::string, std::string>{"web", "web:latest"}, {"web:1", "web:1"},
                             {"localhost:5000/web", "localhost:5000/web:latest"}, {"a.b/c/d:x-1", "a.b/c/d:x-1"},
                             {"web" + digest, "web" + digest}, {"a__b/c-d.e", "a__b/c-d.e:latest"}}) {
    Result<std::string> result = WithDefaultTag(image);
    ASSERT_TRUE(result) << image;
    EXPECT_EQ(*result, full);
  }
}

TEST(WithDefaultTag, RefusesWhatIsNoName) {
  for (const char* image : {"", "web:", "web:-x", "-web", "web@sha256:12", "a//b", "a/-b", "web tag", "a___b", "http://x/y", "a..b"}) {
    Result<std::string> result = WithDefaultTag(image);
    ASSERT_FALSE(result) << image;
    EXPECT_EQ(result.error().message(), "couldn't parse image name " + GoQuote(image) + ": invalid reference format");
  }
  EXPECT_EQ(WithDefaultTag("Web").error().message(),
            "couldn't parse image name \"Web\": invalid reference format: repository name (library/Web) must be lowercase");
}

TEST(RepositoryOf, IsComplete) {
  EXPECT_EQ(RepositoryOf("web:1"), "docker.io/library/web");
  EXPECT_EQ(RepositoryOf("a/b"), "docker.io/a/b");
  EXPECT_EQ(RepositoryOf("r.example:5000/a/b:1"), "r.example:5000/a/b");
}

TEST(AuthFromDockerConfig, PicksTheClosestMatch) {
  constexpr const char* kConfig = R"({"auths": {"https://index.docker.io/v1/": {"username": "u", "password": "p"},
    "r.example": {"auth": "YTpi"}, "r.example/team": {"username": "t", "password": "q"}}})";
  EXPECT_EQ(AuthFromDockerConfig(kConfig, "docker.io/library/web")->username, "u");
  EXPECT_EQ(AuthFromDockerConfig(kConfig, "r.example/x")->password, "b");
  EXPECT_EQ(AuthFromDockerConfig(kConfig, "r.example/team/x")->username, "t");
  EXPECT_FALSE(AuthFromDockerConfig(kConfig, "r.example.evil/x"));
  EXPECT_FALSE(AuthFromDockerConfig("{", "r.example/x"));
}

}  // namespace
}  // namespace homeostat::node
