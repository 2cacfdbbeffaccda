// Quotas while objects come and go: what is used never passes the limit where nothing fails, and after any faults the status
// comes to say again what is there.
#include <algorithm>
#include <map>

#include "controllers/resource_quota.h"
#include "homeostat/api/core/v1_builders.h"
#include "simulated_cluster.h"

namespace homeostat {
namespace {

using api::core::v1::Pod;
using api::core::v1::ResourceQuota;
using api::core::v1::Secret;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string kNamespace = "default";
constexpr int64_t kMostSecrets = 7, kMostPods = 4;

class Scenario {
 public:
  Scenario(uint64_t seed, bool faulty) : faulty_(faulty), cluster_(seed), observer_(*cluster_.runtime, *cluster_.admin), world_(*cluster_.runtime) {
    cluster_.Create<api::core::v1::ServiceAccount>(kNamespace, R"({"metadata":{"name":"default"}})");
    for (sdk::Informer* informer : {&observer_.For<Secret>(), &observer_.For<Pod>()}) informer->AddHandler([this](const sdk::Change&) { CheckLimits(); });
    observer_.For<ResourceQuota>();
    observer_.Start();
    Step(seconds(1));
  }

  std::vector<std::string> Run() {
    Start();
    cluster_.Create<ResourceQuota>(kNamespace, R"({"metadata":{"name":"q"},"spec":{"hard":{"count/secrets":"7","pods":"4","requests.cpu":"10"}}})");
    Step(seconds(5));
    if (faulty_) cluster_.faults = {.refuse = 60, .lose_answer = 60, .cut = 20, .repeat = 30, .stall = 5, .delay = milliseconds(900)};
    for (int i = 0; i < 150 && broken_.empty(); ++i) {
      // Several at once.
      for (uint64_t n = cluster_.Draw(5); n > 0; --n) world_.Spawn(Act());
      Step(milliseconds(cluster_.Draw(1500)));
      if (faulty_ && cluster_.Draw(20) == 0) {
        Crash();
        Step(milliseconds(cluster_.Draw(5000)));
        Start();
      }
    }
    cluster_.faults = {};
    // Long enough for watches that stand still, and for the controller to look at everything again.
    Step(minutes(20));
    CheckStatus();
    return broken_;
  }

 private:
  void Start() {
    controllers::ResourceQuotaOptions options;
    options.kinds = {&Secret::SchemaKind(), &Pod::SchemaKind()};
    controller_.Start(cluster_, "resourcequota-controller", options);
  }
  void Crash() {
    controller_.Crash();
  }
  void Step(Duration duration) { cluster_.runtime->RunFor(duration); }

  Task<void> Act() {
    std::string name = "x" + std::to_string(cluster_.Draw(12));
    bool pod = cluster_.Draw(2) == 0, removes = cluster_.Draw(3) == 0;
    const schema::Kind& kind = pod ? Pod::SchemaKind() : Secret::SchemaKind();
    if (removes) {
      sdk::DeleteOptions options;
      options.grace_period_seconds = 0;
      auto deletion = cluster_.admin->Delete(kind, kNamespace, name, options);
      Result<void> deleted = co_await deletion;
      if (!deleted && !deleted.error().IsNotFound()) Broken("delete: " + deleted.error().message());
      co_return;
    }
    object::DocumentPtr wanted;
    if (pod) {
      api::core::v1::PodBuilder builder;
      builder.mutable_metadata().set_name(name).set_namespace(kNamespace);
      auto container = builder.mutable_spec().add_containers();
      container.set_name("c").set_image("x");
      container.mutable_resources().set_requests("cpu", "1");
      wanted = builder.Freeze();
    } else {
      api::core::v1::SecretBuilder builder;
      builder.mutable_metadata().set_name(name).set_namespace(kNamespace);
      wanted = builder.Freeze();
    }
    auto create = cluster_.admin->Create(kind, kNamespace, wanted);
    Result<object::DocumentPtr> created = co_await create;
    bool expected = created || created.error().IsAlreadyExists() || created.error().message().find("exceeded quota: q, requested: ") != std::string::npos;
    if (!expected) Broken("create: " + created.error().message());
  }

  int64_t Count(const schema::Kind& kind) { return static_cast<int64_t>(observer_.For(kind).List(kNamespace).size()); }

  // A count that comes late may free too much while faults last, as upstream's may.
  void CheckLimits() {
    if (faulty_) return;
    if (Count(Secret::SchemaKind()) > kMostSecrets) Broken("more secrets than the quota allows");
    if (Count(Pod::SchemaKind()) > kMostPods) Broken("more pods than the quota allows");
  }

  void CheckStatus() {
    auto quota = sdk::Lister<ResourceQuota>(observer_.For<ResourceQuota>()).Get(kNamespace, "q");
    std::map<std::string, int64_t> wanted{{"count/secrets", Count(Secret::SchemaKind())}, {"pods", Count(Pod::SchemaKind())}, {"requests.cpu", Count(Pod::SchemaKind())}};
    for (const auto& [name, count] : wanted) {
      std::string used(quota->status().used().Raw().Get(name).AsString());
      if (used != std::to_string(count)) Broken(name + ": " + used + " used, " + std::to_string(count) + " there");
    }
  }
  void Broken(std::string promise) { broken_.push_back(std::move(promise)); }

  bool faulty_;
  SimulatedCluster cluster_;
  sdk::InformerFactory observer_;
  Component<controllers::ResourceQuotaController> controller_;
  std::vector<std::string> broken_;
  TaskGroup world_;
};

TEST(Quota, HoldsWhereNothingFails) {
  ForEachSeed(6, [](uint64_t seed) { return Scenario(seed, false).Run(); });
}

TEST(Quota, ComesToBeTrueAgainAfterFaults) {
  ForEachSeed(6, [](uint64_t seed) { return Scenario(seed, true).Run(); });
}

}  // namespace
}  // namespace homeostat
