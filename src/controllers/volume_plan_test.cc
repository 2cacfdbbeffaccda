#include "controllers/volume_plan.h"

#include <gtest/gtest.h>

#include "controllers/json_object_test.h"
#include "controllers/volume_protection.h"
#include "homeostat/sdk/object.h"

namespace homeostat::controllers {
namespace {

using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;
using api::core::v1::Pod;

object::DocumentPtr MakeVolume(const std::string& name, const std::string& size, const std::string& more = "", const std::string& phase = "Available") {
  return FromJson<PersistentVolume>(R"({"metadata":{"name":")" + name + R"(","labels":{"tier":")" + name + R"("}},"spec":{"capacity":{"storage":")" + size +
                                    R"("},"accessModes":["ReadWriteOnce","ReadOnlyMany"])" + more + R"(},"status":{"phase":")" + phase + "\"}}");
}
object::DocumentPtr MakeClaim(const std::string& more = "") {
  return FromJson<PersistentVolumeClaim>(R"({"metadata":{"name":"c","namespace":"default","uid":"u"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}})" + more + "}}");
}

TEST(VolumePlanTest, TheSmallestThatFitsIsTaken) {
  std::vector<object::DocumentPtr> volumes{MakeVolume("large", "100Gi"), MakeVolume("small", "1Gi"), MakeVolume("right", "6Gi"),
                                           MakeVolume("taken", "5Gi", R"(,"claimRef":{"namespace":"default","name":"other"})"), MakeVolume("used", "5Gi", "", "Released"),
                                           MakeVolume("classy", "5Gi", R"(,"storageClassName":"fast")"), MakeVolume("block", "5Gi", R"(,"volumeMode":"Block")")};
  struct Case {
    std::string claim, found;
  };
  for (const Case& c : {Case{"", "right"}, Case{R"(,"storageClassName":"fast")", "classy"}, Case{R"(,"volumeMode":"Block")", "block"},
                        Case{R"(,"selector":{"matchLabels":{"tier":"large"}})", "large"}, Case{R"(,"storageClassName":"none")", ""}}) {
    auto claim = MakeClaim(c.claim);
    auto found = FindVolume(PersistentVolumeClaim(claim->root()), volumes, false);
    EXPECT_EQ(found ? sdk::meta::Name(found->root()) : "", c.found) << c.claim;
  }
  auto claim = MakeClaim();
  EXPECT_EQ(FindVolume(PersistentVolumeClaim(claim->root()), volumes, true), nullptr);
  // One that was meant for the claim comes first, also while the claim waits for a pod.
  volumes.push_back(MakeVolume("meant", "50Gi", R"(,"claimRef":{"namespace":"default","name":"c"})"));
  EXPECT_EQ(sdk::meta::Name(FindVolume(PersistentVolumeClaim(claim->root()), volumes, true)->root()), "meant");
}

TEST(VolumePlanTest, AMismatchIsNamed) {
  auto claim = MakeClaim();
  PersistentVolumeClaim view(claim->root());
  auto mismatch = [&](const object::DocumentPtr& volume) { return MismatchOf(PersistentVolume(volume->root()), view).value_or("none"); };
  EXPECT_EQ(mismatch(MakeVolume("v", "5Gi")), "none");
  EXPECT_EQ(mismatch(MakeVolume("v", "4Gi")), "requested PV is too small");
  EXPECT_EQ(mismatch(MakeVolume("v", "5Gi", R"(,"storageClassName":"x")")), "storageClassName does not match");
  EXPECT_EQ(mismatch(MakeVolume("v", "5Gi", R"(,"volumeMode":"Block")")), "incompatible volumeMode");
  EXPECT_EQ(mismatch(MakeVolume("v", "5Gi", R"(,"accessModes":["ReadWriteMany"])")), "incompatible accessMode");
}

TEST(VolumePlanTest, BindingIsWrittenOnBothSides) {
  auto claim = MakeClaim();
  auto volume = VolumeBoundTo(MakeVolume("v", "6Gi"), PersistentVolumeClaim(claim->root()));
  PersistentVolume bound(volume->root());
  EXPECT_EQ(bound.spec().claim_ref().uid(), "u");
  EXPECT_EQ(bound.metadata().annotations().Get(kBoundByController), "yes");
  EXPECT_EQ(VolumeBoundTo(volume, PersistentVolumeClaim(claim->root())), volume);
  auto next = ClaimBoundTo(claim, bound);
  EXPECT_EQ(PersistentVolumeClaim(next->root()).spec().volume_name(), "v");
  EXPECT_TRUE(IsBindingCompleted(PersistentVolumeClaim(next->root())));
  auto status = ClaimInPhase(next, "Bound", bound);
  EXPECT_EQ(PersistentVolumeClaim(status->root()).status().capacity().Get("storage"), "6Gi");
  EXPECT_EQ(PersistentVolumeClaim(status->root()).status().access_modes().size(), 2u);
  EXPECT_EQ(ClaimInPhase(status, "Bound", bound), status);
  // Unbinding takes away what the controller has put there, and no more.
  EXPECT_FALSE(PersistentVolume(VolumeUnbound(volume)->root()).spec().claim_ref());
  auto meant = VolumeBoundTo(MakeVolume("m", "6Gi", R"(,"claimRef":{"namespace":"default","name":"c"})"), PersistentVolumeClaim(claim->root()));
  auto free = VolumeUnbound(meant);
  EXPECT_EQ(PersistentVolume(free->root()).spec().claim_ref().name(), "c");
  EXPECT_TRUE(PersistentVolume(free->root()).spec().claim_ref().uid().empty());
}

TEST(VolumePlanTest, TheNewestDefaultClassCounts) {
  auto make = [](const std::string& name, const std::string& time, const std::string& value) {
    return FromJson<api::storage::v1::StorageClass>(R"({"metadata":{"name":")" + name + R"(","creationTimestamp":")" + time +
                                                    R"(","annotations":{"storageclass.kubernetes.io/is-default-class":")" + value + R"("}},"provisioner":"p"})");
  };
  auto found = DefaultClass({make("a", "2026-01-01T00:00:00Z", "true"), make("b", "2026-02-01T00:00:00Z", "true"), make("c", "2026-03-01T00:00:00Z", "false")});
  EXPECT_EQ(sdk::meta::Name(found->root()), "b");
  EXPECT_EQ(DefaultClass({}), nullptr);
}

TEST(VolumeProtectionTest, OnlyPodsOnNodesUseClaims) {
  auto claim = MakeClaim();
  PersistentVolumeClaim view(claim->root());
  auto pod = [](const std::string& node) {
    return FromJson<Pod>(R"({"metadata":{"name":"p"},"spec":{"nodeName":")" + node + R"(","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]}})");
  };
  auto placed = pod("n"), waiting = pod("");
  EXPECT_TRUE(UsesClaim(Pod(placed->root()), view));
  EXPECT_FALSE(UsesClaim(Pod(waiting->root()), view));
}

}  // namespace
}  // namespace homeostat::controllers
