#include "kinds/metadata_checks.h"

#include <gtest/gtest.h>

namespace homeostat::kinds {
namespace {

TEST(MetadataChecks, DifferByKind) {
  auto of = [](std::string_view group, std::string_view kind, bool custom = false) {
    MetadataChecks checks = MetadataChecksOf({group, "v1", kind}, custom);
    return std::string(checks.create) + "," + std::string(checks.update) + "," + std::string(checks.part);
  };
  EXPECT_EQ(of("", "ConfigMap"), "M,U+M,");
  EXPECT_EQ(of("apps", "Deployment"), "M,U,U");
  EXPECT_EQ(of("storage.k8s.io", "StorageClass"), "M,M+U,");
  EXPECT_EQ(of("storage.k8s.io", "CSIDriver"), "M,U,");
  EXPECT_EQ(of("policy", "PodDisruptionBudget"), ",,");
  EXPECT_EQ(of("", "Event"), ",,");
  EXPECT_EQ(of("events.k8s.io", "Event"), "+M,+U,");
  EXPECT_EQ(of("example.com", "Widget", true), "m,u,u");
}

}  // namespace
}  // namespace homeostat::kinds
