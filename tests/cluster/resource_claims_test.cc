// Claims that are made for pods, through faults: never two for one entry of a pod, and in the end each pod names all of its own.
#include <map>
#include <set>

#include "controllers/resource_claim.h"
#include "homeostat/api/resource/v1.h"
#include "simulated_cluster.h"

namespace homeostat {
namespace {

using api::core::v1::Pod;
using api::resource::v1::ResourceClaim;
using api::resource::v1::ResourceClaimTemplate;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string kNamespace = "default";
constexpr int kPods = 4;

class Scenario {
 public:
  explicit Scenario(uint64_t seed) : cluster_(seed), observer_(*cluster_.runtime, *cluster_.admin) {
    cluster_.Create<api::core::v1::ServiceAccount>(kNamespace, R"({"metadata":{"name":"default"}})");
    observer_.For<ResourceClaim>().AddHandler([this](const sdk::Change& change) { ClaimChanged(change); });
    observer_.For<Pod>();
    observer_.Start();
    Step(seconds(1));
  }

  std::vector<std::string> Run() {
    Start();
    cluster_.faults = {.refuse = 60, .lose_answer = 150, .cut = 20, .repeat = 30, .stall = 5, .delay = milliseconds(900)};
    MakeTemplate("first");
    for (int i = 0; i < kPods; ++i) {
      cluster_.Create<Pod>(kNamespace, R"({"metadata":{"name":"p)" + std::to_string(i) +
                                           R"("},"spec":{"containers":[{"name":"c","image":"x"}],"resourceClaims":[
          {"name":"a","resourceClaimTemplateName":"first"},{"name":"b","resourceClaimTemplateName":"second"}]}})");
      Step(milliseconds(cluster_.Draw(3000)));
    }
    Step(seconds(cluster_.Draw(60)));
    if (cluster_.Draw(2) == 0) Crash();
    // So that its claim is noted after that of the first.
    MakeTemplate("second");
    Step(seconds(cluster_.Draw(60)));
    if (cluster_.Draw(2) == 0) Crash();
    cluster_.faults = {};
    Step(minutes(25));
    CheckRest();
    return broken_;
  }

 private:
  void Start() {
    controller_.Start(cluster_, "resource-claim-controller");
  }
  void Crash() {
    controller_.Crash();
    Step(seconds(1 + cluster_.Draw(10)));  // what was on its way has come to its end
    Start();
  }
  void Step(Duration duration) { cluster_.runtime->RunFor(duration); }
  void MakeTemplate(const std::string& name) {
    cluster_.Create<ResourceClaimTemplate>(kNamespace, R"({"metadata":{"name":")" + name + R"("},"spec":{"spec":{"devices":{"requests":[
        {"name":"r","exactly":{"deviceClassName":"c"}}]}}}})");
  }

  void ClaimChanged(const sdk::Change& change) {
    if (change.previous || !change.current) return;
    const object::Value& claim = change.current->root();
    std::string made_for = std::string(sdk::meta::ControllerOf(claim).Get("name").AsString()) + "/" +
                           std::string(sdk::meta::Annotations(claim).Get(controllers::kPodClaimAnnotation).AsString());
    if (++made_[made_for] > 1) broken_.push_back("two claims were made for " + made_for);
  }

  std::map<std::string, std::string> Versions() {
    std::map<std::string, std::string> versions;
    for (const object::DocumentPtr& pod : observer_.For<Pod>().List()) {
      versions[sdk::meta::Key(pod->root())] = sdk::meta::ResourceVersion(pod->root());
    }
    return versions;
  }
  void CheckRest() {
    if (made_.size() != 2 * kPods) broken_.push_back(std::to_string(made_.size()) + " entries got claims");
    for (const object::DocumentPtr& pod : observer_.For<Pod>().List()) {
      std::set<std::string> named;
      for (auto status : Pod(pod->root()).status().resource_claim_statuses()) {
        named.emplace(status.name());
        std::string key = kNamespace + "/" + std::string(status.resource_claim_name());
        if (!observer_.For<ResourceClaim>().Get(key)) broken_.push_back(sdk::meta::Key(pod->root()) + " names no claim: " + key);
      }
      if (named != std::set<std::string>{"a", "b"}) broken_.push_back(sdk::meta::Key(pod->root()) + " does not name all of its claims");
    }
    auto before = Versions();
    Step(minutes(2));
    if (Versions() != before) broken_.push_back("pods are written although nothing is to be done");
  }

  SimulatedCluster cluster_;
  sdk::InformerFactory observer_;
  Component<controllers::ResourceClaimController> controller_;
  std::map<std::string, int> made_;   // claims, by pod and entry
  std::vector<std::string> broken_;
};

TEST(ResourceClaimsTest, AreMadeOnceAndNamedTogether) {
  ForEachSeed(15, [](uint64_t seed) { return Scenario(seed).Run(); });
}

}  // namespace
}  // namespace homeostat
