#include "scheduler/volume_table.h"

#include "homeostat/api/storage/v1.h"
#include "scheduler/internal/objects_for_tests.h"
#include "scheduler/plugins.h"

namespace homeostat::scheduler {
namespace {

using api::core::v1::PersistentVolume;
using api::core::v1::PersistentVolumeClaim;

constexpr std::string_view kClaiming =
    R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}],"containers":[{"name":"c"}])";

object::DocumentPtr ClaimObject(std::string_view metadata, std::string_view spec, std::string_view status = "") {
  return FromJson<PersistentVolumeClaim>(
      R"({"metadata":{"namespace":"default","name":"data","uid":"c1")" + std::string(metadata) +
      R"(},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}})" + std::string(spec) +
      R"(},"status":{)" + std::string(status) + "}}");
}

object::DocumentPtr VolumeObject(std::string_view name, std::string_view node, std::string_view size,
                                 std::string_view more = "") {
  return FromJson<PersistentVolume>(
      R"({"metadata":{"name":")" + std::string(name) +
      R"("},"spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],"capacity":{"storage":")" +
      std::string(size) +
      R"("},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":[")" +
      std::string(node) + R"("]}]}]}})" + std::string(more) + R"(},"status":{"phase":"Available"}})");
}

object::DocumentPtr ClassObject(std::string_view name, std::string_view provisioner) {
  return FromJson<api::storage::v1::StorageClass>(R"({"metadata":{"name":")" + std::string(name) +
                                                  R"("},"provisioner":")" + std::string(provisioner) +
                                                  R"(","volumeBindingMode":"WaitForFirstConsumer"})");
}

TEST(VolumeTable, SaysWhyAPodMustWait) {
  PodInfoPtr pod = MakePod("p", kClaiming);
  VolumeTable volumes;
  EXPECT_EQ(volumes.NeedsOf(*pod, NodeTable()).refusal, "persistentvolumeclaim \"data\" not found");
  volumes.SetClaim(ClaimObject("", ""));
  EXPECT_EQ(volumes.NeedsOf(*pod, NodeTable()).refusal, "pod has unbound immediate PersistentVolumeClaims");
  volumes.SetClaim(ClaimObject(R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")", ""));
  EXPECT_EQ(volumes.NeedsOf(*pod, NodeTable()).refusal, "persistentvolumeclaim \"data\" is being deleted");
  volumes.SetClaim(ClaimObject("", R"(,"volumeName":"pv")", R"("phase":"Lost")"));
  EXPECT_EQ(volumes.NeedsOf(*pod, NodeTable()).refusal,
            "persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"pv\"");
  PodInfoPtr ephemeral = MakePod("p", R"("volumes":[{"name":"v","ephemeral":{}}],"containers":[{"name":"c"}])");
  EXPECT_EQ(volumes.NeedsOf(*ephemeral, NodeTable()).refusal,
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-v\"");
}

TEST(VolumeTable, BoundVolumesTieAPodToTheirNodes) {
  NodeTable table;
  table.SetNode(MakeNode("a"));
  table.SetNode(MakeNode("b"));
  VolumeTable volumes;
  volumes.SetClaim(ClaimObject(R"(,"annotations":{"pv.kubernetes.io/bind-completed":"yes"})", R"(,"volumeName":"pv")"));
  PodInfoPtr pod = MakePod("p", kClaiming);
  Cycle cycle;
  ASSERT_FALSE(Prefilter(cycle, *pod, table, volumes).message);
  Refusal gone;
  EXPECT_FALSE(FilterVolumeBinding(cycle, table.Find("a"), gone));
  EXPECT_EQ(gone.reasons.front(), "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
  volumes.SetVolume(VolumeObject("pv", "b", "1Gi"));
  ASSERT_FALSE(Prefilter(cycle, *pod, table, volumes).message);
  Refusal elsewhere, none;
  EXPECT_FALSE(FilterVolumeBinding(cycle, table.Find("a"), elsewhere));
  EXPECT_EQ(elsewhere.reasons.front(), "node(s) didn't match PersistentVolume's node affinity");
  EXPECT_TRUE(FilterVolumeBinding(cycle, table.Find("b"), none));
}

TEST(VolumeTable, VolumesStayInTheirZones) {
  NodeTable table;
  table.SetNode(MakeNode("anywhere"));
  table.SetNode(MakeNode("a", R"("topology.kubernetes.io/zone":"a","topology.kubernetes.io/region":"r")"));
  table.SetNode(MakeNode("b", R"("topology.kubernetes.io/zone":"b","topology.kubernetes.io/region":"r")"));
  table.SetNode(MakeNode("old", R"("failure-domain.beta.kubernetes.io/zone":"a")"));
  struct Case {
    const char *labels, *node;
    bool fits;
  };
  for (const Case& c : {
           Case{R"("topology.kubernetes.io/zone":"a")", "a", true},
           Case{R"("topology.kubernetes.io/zone":"a")", "b", false},
           Case{R"("topology.kubernetes.io/zone":"c__b","topology.kubernetes.io/region":"r")", "b", true},
           Case{R"("topology.kubernetes.io/zone":"b","topology.kubernetes.io/region":"other")", "b", false},
           Case{R"("failure-domain.beta.kubernetes.io/zone":"a")", "a", true},    // the node has only the stable label
           Case{R"("failure-domain.beta.kubernetes.io/zone":"a")", "b", false},
           Case{R"("topology.kubernetes.io/zone":"a")", "old", false},            // the other way round is no match
           Case{R"("topology.kubernetes.io/zone":"a")", "anywhere", true},        // a cluster without zones
       }) {
    VolumeTable volumes;
    volumes.SetClaim(ClaimObject(R"(,"annotations":{"pv.kubernetes.io/bind-completed":"yes"})", R"(,"volumeName":"pv")"));
    volumes.SetVolume(FromJson<api::core::v1::PersistentVolume>(std::string(R"({"metadata":{"name":"pv","labels":{)") + c.labels + "}}}"));
    PodInfoPtr pod = MakePod("p", kClaiming);
    Cycle cycle;
    ASSERT_FALSE(Prefilter(cycle, *pod, table, volumes).message);
    Refusal refusal;
    EXPECT_EQ(FilterVolumeZone(cycle, table.Find(c.node), refusal), c.fits) << c.labels << " on " << c.node;
    if (!c.fits) { EXPECT_EQ(refusal.reasons.front(), "node(s) had no available volume zone"); }
  }
}

TEST(VolumeTable, WaitingClaimsAreMatchedWithTheSmallestVolumeOfTheNode) {
  NodeTable table;
  table.SetNode(MakeNode("a"));
  table.SetNode(MakeNode("b"));
  const NodeInfo& a = table.slots()[table.Find("a")];
  const NodeInfo& b = table.slots()[table.Find("b")];
  VolumeTable volumes;
  volumes.SetClass(ClassObject("local", "kubernetes.io/no-provisioner"));
  volumes.SetClaim(ClaimObject("", R"(,"storageClassName":"local")"));
  volumes.SetVolume(VolumeObject("small", "a", "500Mi"));
  volumes.SetVolume(VolumeObject("large", "a", "10Gi"));
  volumes.SetVolume(VolumeObject("right", "a", "2Gi"));
  volumes.SetVolume(VolumeObject("taken", "b", "2Gi", R"(,"claimRef":{"namespace":"default","name":"other"})"));
  VolumeNeeds needs = volumes.NeedsOf(*MakePod("p", kClaiming), NodeTable());
  ASSERT_EQ(needs.refusal, "");
  auto plan = volumes.Plan(needs, a);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->bindings.size(), 1u);
  EXPECT_EQ(plan->bindings[0].volume, "right");
  EXPECT_FALSE(volumes.Plan(needs, b));
  // With a provisioner any node will do.
  volumes.SetClass(ClassObject("fast", "example.com/disk"));
  volumes.SetClaim(ClaimObject("", R"(,"storageClassName":"fast")"));
  needs = volumes.NeedsOf(*MakePod("p", kClaiming), NodeTable());
  plan = volumes.Plan(needs, b);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->provisions, std::vector<std::string>{"default/data"});
}

TEST(VolumeTable, ClaimsForOnePodAreNotShared) {
  NodeTable table;
  table.SetNode(MakeNode("a"));
  VolumeTable volumes;
  volumes.SetVolume(VolumeObject("pv", "a", "1Gi"));
  volumes.SetClaim(FromJson<PersistentVolumeClaim>(
      R"({"metadata":{"namespace":"default","name":"data","annotations":{"pv.kubernetes.io/bind-completed":"yes"}},
          "spec":{"accessModes":["ReadWriteOncePod"],"volumeName":"pv"}})"));
  auto refused = [&] {
    Cycle cycle;
    PodInfoPtr pod = MakePod("second", kClaiming);
    EXPECT_FALSE(Prefilter(cycle, *pod, table, volumes).message);
    Refusal refusal;
    return Filter(cycle, table.Find("a"), refusal);
  };
  EXPECT_EQ(refused(), 0u);
  table.AddPod(MakePod("first", kClaiming), "a");
  EXPECT_EQ(refused(), static_cast<PluginSet>(kVolumeRestrictions));
  table.RemovePod("uid-first");
  EXPECT_EQ(refused(), 0u);
}

}  // namespace
}  // namespace homeostat::scheduler
