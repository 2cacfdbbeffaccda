#include "sdk/packed_uid.h"

#include <gtest/gtest.h>

namespace homeostat::sdk {
namespace {

TEST(PackedUidTest, ComesBackAsItWas) {
  const struct {
    std::string uid;
    size_t size;
  } cases[] = {
      {"0b5a7c1e-1111-4222-8333-00fedcba9876", 17},
      {"00000000-0000-0000-0000-000000000000", 17},
      {"0B5A7C1E-1111-4222-8333-00fedcba9876", 37},
      {"0b5a7c1e-1111-4222-8333-00fedcba987g", 37},
      {"0b5a7c1e11111-4222-8333-00fedcba9876", 37},
      {"0b5a7c1e-1111-4222-8333-00fedcba987", 36},
      {"sixteen bytes ..", 17},
      {"web", 4},
      {"", 1},
  };
  for (const auto& test : cases) {
    const std::string packed = PackUid(test.uid);
    EXPECT_EQ(packed.size(), test.size) << test.uid;
    EXPECT_EQ(UnpackUid(packed), test.uid);
  }
  EXPECT_EQ(UnpackUid(""), "");
}

}  // namespace
}  // namespace homeostat::sdk
