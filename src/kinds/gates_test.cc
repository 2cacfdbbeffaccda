#include "kinds/gates.h"

#include "kinds/internal/testing.h"

namespace homeostat::kinds::internal {
namespace {

class GatesTest : public BehaviourTest {
 protected:
  Value Dropped(const Value& object, const Value& old = {}) { return DropDisabledFields(arena_, *Context(object).kind.type, object, old); }
};

constexpr std::string_view kPod =
    "{apiVersion: v1, kind: Pod, spec: {schedulingGroup: {podGroupName: x}, containers: [{name: c, lifecycle: {stopSignal: SIGTERM}}, {name: d, lifecycle: "
    "{stopSignal: SIGTERM, preStop: {sleep: {seconds: 1}}}}], volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {name: a, path: b}}]}}]}}";

TEST_F(GatesTest, FieldsOfFeaturesThatAreOffAreDropped) {
  Value pod = Dropped(Load(kPod));
  EXPECT_EQ(At(pod, "spec.schedulingGroup"), "none");
  EXPECT_EQ(At(pod, "spec.containers.0.lifecycle"), "none");
  EXPECT_EQ(At(pod, "spec.containers.1.lifecycle"), R"({"preStop":{"sleep":{"seconds":1}}})");
  EXPECT_EQ(At(pod, "spec.volumes.0.projected.sources"), "[{}]");
}

TEST_F(GatesTest, TheSignalThatARuntimeReportsIsKept) {
  Value pod = Load("{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, lifecycle: {stopSignal: SIGTERM}}]}, status: {containerStatuses: [{name: c, stopSignal: SIGTERM}]}}");
  EXPECT_EQ(At(Dropped(pod, pod), "status.containerStatuses.0.stopSignal"), R"("SIGTERM")");
  pod = Dropped(pod, Load("{apiVersion: v1, kind: Pod, status: {containerStatuses: [{name: c, stopSignal: SIGTERM}]}}"));
  EXPECT_EQ(At(pod, "status.containerStatuses.0.stopSignal"), R"("SIGTERM")");
  EXPECT_EQ(At(pod, "spec.containers.0.lifecycle"), "none");
}

TEST_F(GatesTest, UnlessTheStoredObjectHasThem) {
  Value old = Load("{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, lifecycle: {stopSignal: SIGINT}}]}}");
  Value pod = Dropped(Load(kPod), old);
  EXPECT_EQ(At(pod, "spec.containers.0.lifecycle.stopSignal"), R"("SIGTERM")");
  EXPECT_EQ(At(pod, "spec.schedulingGroup"), "none");
}

TEST_F(GatesTest, AReferenceIntoAnotherNamespaceGoesAsAWhole) {
  Value claim = Load("{apiVersion: v1, kind: PersistentVolumeClaim, spec: {dataSourceRef: {kind: Foo, name: a, namespace: other}}}");
  EXPECT_EQ(At(Dropped(claim), "spec.dataSourceRef"), "none");
}

TEST_F(GatesTest, WithoutSuchFieldsNothingIsCopied) {
  Value pod = Load("{apiVersion: v1, kind: Pod, spec: {containers: [{name: c}]}}");
  EXPECT_EQ(Dropped(pod).members().data(), pod.members().data());
}

}  // namespace
}  // namespace homeostat::kinds::internal
