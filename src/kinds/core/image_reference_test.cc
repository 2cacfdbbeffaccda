#include "kinds/core/image_reference.h"

#include <gtest/gtest.h>

#include <string>

namespace homeostat::kinds {
namespace {

TEST(ImageTag, IsWhatWillBePulled) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  const std::pair<std::string, std::string_view> cases[] = {
      {"nginx", "latest"},
      {"nginx:latest", "latest"},
      {"nginx:1.27", "1.27"},
      {"registry.example.com:5000/team/app", "latest"},
      {"registry.example.com:5000/team/app:v2", "v2"},
      {"nginx" + digest, ""},
      {"nginx:latest" + digest, "latest"},
      {"Bad//name", ""},
      {"", ""},
  };
  for (const auto& [image, tag] : cases) EXPECT_EQ(ImageTag(image), tag) << image;
}

}  // namespace
}  // namespace homeostat::kinds
