// What controllers tell about their objects, in words that people and tools know.
#include <algorithm>

#include "controllers/namespace.h"
#include "controllers/stateful_set.h"
#include "homeostat/api/apiregistration/v1.h"
#include "homeostat/api/apps/v1.h"
#include "homeostat/sdk/custom_kinds.h"
#include "simulated_cluster.h"

namespace homeostat {
namespace {

using api::apiregistration::v1::APIService;
using api::apps::v1::StatefulSet;
using api::core::v1::Event;
using api::core::v1::Namespace;
using api::core::v1::ResourceQuota;
using std::chrono::seconds;

const std::string kNamespace = "default";

class ToldTest : public testing::Test {
 protected:
  ToldTest() : cluster_(1), observer_(*cluster_.runtime, *cluster_.admin) {
    cluster_.Create<api::core::v1::ServiceAccount>(kNamespace, R"({"metadata":{"name":"default"}})");
    observer_.For<Event>().AddHandler([](const sdk::Change&) {});
    observer_.Start();
  }
  // "Warning FailedCreate: message", in order of their texts.
  std::vector<std::string> Told() {
    cluster_.runtime->RunFor(seconds(3));
    std::vector<std::string> told;
    for (const object::DocumentPtr& document : observer_.For<Event>().List()) {
      Event event(document->root());
      told.push_back(std::string(event.type()) + " " + std::string(event.reason()) + ": " + std::string(event.message()));
    }
    std::ranges::sort(told);
    return told;
  }

  SimulatedCluster cluster_;
  sdk::InformerFactory observer_;
};

constexpr const char* kSetWithClaims = R"({"metadata":{"name":"db"},"spec":{"replicas":1,"serviceName":"db","selector":{"matchLabels":{"app":"db"}},
    "template":{"metadata":{"labels":{"app":"db"}},"spec":{"containers":[{"name":"c","image":"i"}]}},
    "volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}]}})";

TEST_F(ToldTest, PodsAndClaimsOfStatefulSets) {
  Component<controllers::StatefulSetController> controller;
  controller.Start(cluster_, "statefulset-controller");
  ASSERT_TRUE(cluster_.Create<StatefulSet>(kNamespace, kSetWithClaims));
  EXPECT_EQ(Told(), (std::vector<std::string>{"Normal SuccessfulCreate: Create Claim data-db-0 Pod db-0 in StatefulSet db success",
                                              "Normal SuccessfulCreate: Create Pod db-0 in StatefulSet db successful"}));
}

TEST_F(ToldTest, ClaimsThatCanNotBeMade) {
  ASSERT_TRUE(cluster_.Create<ResourceQuota>(kNamespace, R"({"metadata":{"name":"q"},"spec":{"hard":{"persistentvolumeclaims":"0"}}})"));
  std::string status = R"({"status":{"hard":{"persistentvolumeclaims":"0"},"used":{"persistentvolumeclaims":"0"}}})";
  ASSERT_TRUE(cluster_.Await(cluster_.admin->Patch(ResourceQuota::SchemaKind(), kNamespace, "q", sdk::PatchType::kMerge, Bytes(status), "status", {})));
  Component<controllers::StatefulSetController> controller;
  controller.Start(cluster_, "statefulset-controller");
  ASSERT_TRUE(cluster_.Create<StatefulSet>(kNamespace, kSetWithClaims));
  std::string why = "persistentvolumeclaims \"data-db-0\" is forbidden: exceeded quota: q, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=0, "
                    "limited: persistentvolumeclaims=0";
  EXPECT_EQ(Told(), (std::vector<std::string>{
                        "Warning FailedCreate: Create Claim data-db-0 for Pod db-0 in StatefulSet db failed error: " + why,
                        "Warning FailedCreate: Create Pod db-0 in StatefulSet db failed error: failed to create PVC data-db-0: " + why}));
}

// What a server that does not answer may have in it keeps a namespace, as long as its APIService says that it is there.
TEST_F(ToldTest, NamespacesWaitForServersThatDoNotAnswer) {
  sdk::CustomKinds kinds(observer_);
  kinds.FollowExtensions(*cluster_.runtime, *cluster_.admin, observer_);
  observer_.Start();
  controllers::NamespaceOptions options;
  options.custom_kinds = &kinds;
  Component<controllers::NamespaceController> controller;
  controller.Start(cluster_, "namespace-controller", options);
  ASSERT_TRUE(cluster_.Create<APIService>("", R"({"metadata":{"name":"v1.far.example"},"spec":{"group":"far.example","version":"v1","groupPriorityMinimum":10,
      "versionPriority":10,"insecureSkipTLSVerify":true,"service":{"name":"nobody","namespace":"default"}}})"));
  ASSERT_TRUE(cluster_.Create<Namespace>("", R"({"metadata":{"name":"n"}})"));
  cluster_.runtime->RunFor(seconds(3));
  ASSERT_TRUE(cluster_.Await(cluster_.admin->Delete<Namespace>("", "n")));
  cluster_.runtime->RunFor(seconds(3));
  auto held = cluster_.Await(cluster_.admin->Get<Namespace>("", "n"));
  ASSERT_TRUE(held);
  std::string shown;
  for (auto condition : (*held)->status().conditions()) {
    if (condition.type() != "NamespaceDeletionDiscoveryFailure") continue;
    shown = std::string(condition.status()) + " " + std::string(condition.reason()) + ": " + std::string(condition.message());
  }
  EXPECT_EQ(shown, "True DiscoveryFailed: Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: far.example/v1: "
                   "stale GroupVersion discovery: far.example/v1");
  ASSERT_TRUE(cluster_.Await(cluster_.admin->Delete<APIService>("", "v1.far.example")));
  cluster_.runtime->RunFor(seconds(90));
  EXPECT_FALSE(cluster_.Await(cluster_.admin->Get<Namespace>("", "n")));
}

}  // namespace
}  // namespace homeostat
