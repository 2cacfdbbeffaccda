// Deployments and ReplicaSets through faults: crashes at any point, lost answers, conflicts, late, cut and repeated watches.
// While the faults last, promises that must hold all the time are watched; then the faults end, and everything must come to
// rest as it was asked for.
#include <algorithm>
#include <map>
#include <set>

#include "controllers/deployment.h"
#include "controllers/garbage_collector.h"
#include "controllers/pods.h"
#include "controllers/replica_set.h"
#include "homeostat/api/core/v1_builders.h"
#include "simulated_cluster.h"

namespace homeostat {
namespace {

using api::apps::v1::Deployment;
using api::apps::v1::ReplicaSet;
using api::core::v1::Pod;
using controllers::IsPodActive;
using controllers::SizeOf;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string kNamespace = "default";

std::string OwnerUid(const object::Value& object) { return std::string(sdk::meta::ControllerOf(object).Get("uid").AsString()); }

struct ScenarioOptions {
  bool careless = false;   // the ReplicaSet controller that is wrong on purpose
  Duration faulty_time = minutes(12);
};

class Scenario {
 public:
  Scenario(uint64_t seed, ScenarioOptions options)
      : options_(options), cluster_(seed), observer_(*cluster_.runtime, *cluster_.admin), world_(*cluster_.runtime) {
    cluster_.Create<api::core::v1::ServiceAccount>(kNamespace, R"({"metadata":{"name":"default"}})");
    observer_.For<Pod>().AddHandler([this](const sdk::Change& change) { PodChanged(change); });
    observer_.For<ReplicaSet>().AddHandler([this](const sdk::Change& change) { SetChanged(change); });
    observer_.For<Deployment>().AddHandler([this](const sdk::Change& change) { DeploymentChanged(change); });
    observer_.Start();
    Step(seconds(1));
    world_.Spawn(pod_life_.Run());
  }

  std::vector<std::string> Run() {
    cluster_.faults = {.refuse = 40, .lose_answer = 40, .cut = 15, .repeat = 30, .stall = 4, .delay = milliseconds(800)};
    StartAll();
    MonotonicTime end = cluster_.runtime->Now() + options_.faulty_time;
    while (cluster_.runtime->Now() < end && broken_.empty()) {
      Act();
      Step(milliseconds(cluster_.Draw(4000)));
      if (cluster_.Draw(12) == 0) CrashSomething();
      Check();
    }
    if (broken_.empty()) Heal();
    return broken_;
  }

 private:
  void StartAll() {
    StartDeployments();
    StartSets();
    StartCollector();
  }
  void StartDeployments() { deployments_.Start(cluster_, "deployment-controller"); }
  void StartSets() {
    controllers::ReplicaSetOptions options;
    options.careless = options_.careless;
    sets_.Start(cluster_, "replicaset-controller", options);
  }
  void StartCollector() {
    controllers::GarbageCollectorOptions options;
    options.kinds = {&Deployment::SchemaKind(), &ReplicaSet::SchemaKind(), &Pod::SchemaKind()};
    collector_.Start(cluster_, "generic-garbage-collector", options);
  }
  void CrashSomething() {
    uint64_t which = cluster_.Draw(3);
    if (which == 0) deployments_.Crash();
    if (which == 1) sets_.Crash();
    if (which == 2) collector_.Crash();
    Step(milliseconds(cluster_.Draw(20'000)));
    if (which == 0) StartDeployments();
    if (which == 1) StartSets();
    if (which == 2) StartCollector();
  }
  void Step(Duration time) { cluster_.runtime->RunFor(time); }

  // --- What people do.

  void Act() {
    std::string name = "d" + std::to_string(cluster_.Draw(3));
    object::DocumentPtr known = observer_.For<Deployment>().Get(kNamespace + "/" + name);
    if (!known) return CreateDeployment(name);
    switch (cluster_.Draw(12)) {
      case 0:
      case 1: return Patch(name, "{\"spec\":{\"replicas\":" + std::to_string(cluster_.Draw(7)) + "}}");
      case 2:
      case 3:
      case 4:
        return Patch(name, R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i)" + std::to_string(cluster_.Draw(4)) + "\"}]}}}}");
      case 5: return Patch(name, std::string("{\"spec\":{\"paused\":") + (cluster_.Draw(3) == 0 ? "true" : "false") + "}}");
      case 6: return Patch(name, R"({"metadata":{"annotations":{"touched":")" + std::to_string(cluster_.Draw(1000)) + "\"}}}");
      case 7:
        if (cluster_.Draw(3) == 0) DeleteDeployment(name);
        return;
      default: return DeletePod();
    }
  }
  void CreateDeployment(const std::string& name) {
    bool recreate = cluster_.Draw(4) == 0;
    std::string strategy = recreate ? R"({"type":"Recreate"})"
                                    : R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":)" + std::to_string(cluster_.Draw(3)) +
                                          ",\"maxUnavailable\":" + std::to_string(1 + cluster_.Draw(2)) + "}}";
    cluster_.Create<Deployment>(kNamespace, R"({"metadata":{"name":")" + name + R"("},"spec":{"replicas":)" + std::to_string(1 + cluster_.Draw(5)) +
                                                R"(,"minReadySeconds":)" + std::to_string(cluster_.Draw(2) * 3) + R"(,"revisionHistoryLimit":2,"strategy":)" +
                                                strategy + R"(,"selector":{"matchLabels":{"app":")" + name + R"("}},"template":{"metadata":{"labels":{"app":")" +
                                                name + R"("}},"spec":{"terminationGracePeriodSeconds":5,"containers":[{"name":"c","image":"i0"}]}}}})");
  }
  void Patch(const std::string& name, const std::string& body) {
    cluster_.Await(cluster_.admin->Patch(Deployment::SchemaKind(), kNamespace, name, sdk::PatchType::kStrategicMerge, Bytes(body), {}, {}));
  }
  void DeleteDeployment(const std::string& name) {
    static constexpr const char* kPolicies[] = {"Background", "Foreground", "Orphan"};
    sdk::DeleteOptions options;
    options.propagation_policy = kPolicies[cluster_.Draw(3)];
    cluster_.Await(cluster_.admin->Delete<Deployment>(kNamespace, name, options));
  }
  void DeletePod() {
    std::vector<object::DocumentPtr> pods = observer_.For<Pod>().List();
    if (pods.empty()) return;
    cluster_.Await(cluster_.admin->Delete<Pod>(kNamespace, std::string(sdk::meta::Name(pods[cluster_.Draw(pods.size())]->root()))));
  }

  // --- What must hold all the time. Handlers keep the worst that was seen; Check compares when all informers are even.

  void PodChanged(const sdk::Change& change) {
    if (!change.current) return;
    std::string set = OwnerUid(change.current->root());
    if (set.empty()) return;
    int active = 0;
    for (const object::DocumentPtr& pod : observer_.For<Pod>().List()) active += OwnerUid(pod->root()) == set && IsPodActive(Pod(pod->root()));
    most_pods_[set] = std::max(most_pods_[set], active);
  }
  void SetChanged(const sdk::Change& change) {
    if (!change.current) return;
    ReplicaSet set(change.current->root());
    std::string uid(set.metadata().uid()), owner = OwnerUid(set.Raw());
    most_wanted_[uid] = std::max(most_wanted_[uid], SizeOf(set));
    names_[uid] = "ReplicaSet " + std::string(set.metadata().name());
    bool adopted = !owner.empty() && change.previous && OwnerUid(change.previous->root()) != owner;
    if (adopted) with_adopted_.insert(owner);
    int total = 0;
    for (const object::DocumentPtr& other : observer_.For<ReplicaSet>().List()) {
      if (OwnerUid(other->root()) == owner) total += SizeOf(ReplicaSet(other->root()));
    }
    most_sized_[owner] = std::max(most_sized_[owner], total);
  }
  void DeploymentChanged(const sdk::Change& change) {
    if (!change.current) return;
    Deployment deployment(change.current->root());
    std::string uid(deployment.metadata().uid());
    names_[uid] = "Deployment " + std::string(deployment.metadata().name());
    most_allowed_[uid] = std::max(most_allowed_[uid], controllers::WantedReplicas(deployment) + controllers::FencepostsOf(deployment).surge);
    if (!controllers::IsRollingUpdate(deployment)) recreated_.insert(uid);
  }
  void Check() {
    for (const auto& [set, pods] : most_pods_) {
      auto wanted = most_wanted_.find(set);
      if (wanted != most_wanted_.end() && pods > wanted->second) {
        Broke(names_[set] + " had " + std::to_string(pods) + " pods and was never asked for more than " + std::to_string(wanted->second));
      }
    }
    for (const auto& [deployment, size] : most_sized_) {
      auto allowed = most_allowed_.find(deployment);
      if (allowed == most_allowed_.end() || with_adopted_.contains(deployment)) continue;
      if (size > allowed->second) {
        Broke(names_[deployment] + " had sets for " + std::to_string(size) + " pods where " + std::to_string(allowed->second) + " were allowed");
      }
    }
    CheckRecreate();
  }
  // Pods of two templates never run side by side.
  void CheckRecreate() {
    std::map<std::string, std::set<std::string>> running;
    for (const object::DocumentPtr& set : observer_.For<ReplicaSet>().List()) {
      std::string owner = OwnerUid(set->root());
      if (!recreated_.contains(owner) || with_adopted_.contains(owner)) continue;
      for (const object::DocumentPtr& pod : observer_.For<Pod>().List()) {
        bool runs = OwnerUid(pod->root()) == sdk::meta::Uid(set->root()) && !controllers::IsPodTerminal(Pod(pod->root()));
        if (runs) running[owner].emplace(sdk::meta::Uid(set->root()));
      }
    }
    for (const auto& [owner, sets] : running) {
      if (sets.size() > 1) Broke(names_[owner] + " runs two templates, and shall recreate");
    }
  }
  void Broke(std::string what) { broken_.push_back(std::move(what)); }

  // --- The end.

  void Heal() {
    cluster_.faults = {.delay = milliseconds(5)};  // time must pass while controllers answer each other
    failures_ = false;
    for (const object::DocumentPtr& deployment : observer_.For<Deployment>().List()) {
      Patch(std::string(sdk::meta::Name(deployment->root())), "{\"spec\":{\"paused\":false}}");
    }
    MonotonicTime end = cluster_.runtime->Now() + minutes(20);
    std::vector<std::string> open = Open();
    while (!open.empty() && cluster_.runtime->Now() < end) {
      Step(seconds(1));
      open = Open();
    }
    for (std::string& what : open) Broke("in the end: " + what);
    if (open.empty()) StaysQuiet();
  }
  // What is not as it was asked for.
  std::vector<std::string> Open() {
    std::vector<std::string> open;
    std::set<std::string> alive;
    for (sdk::Informer* informer : {&observer_.For<Deployment>(), &observer_.For<ReplicaSet>(), &observer_.For<Pod>()}) {
      for (const object::DocumentPtr& object : informer->List()) {
        alive.emplace(sdk::meta::Uid(object->root()));
        if (sdk::meta::IsDeleting(object->root())) open.push_back(std::string(informer->kind().gvk.kind) + " " + sdk::meta::Key(object->root()) + " does not go");
      }
    }
    for (const object::DocumentPtr& object : observer_.For<Deployment>().List()) {
      Deployment deployment(object->root());
      if (!controllers::IsComplete(deployment, controllers::ReadState(deployment.status()))) {
        open.push_back("Deployment " + std::string(deployment.metadata().name()) + " is not complete: " + object::JsonText(deployment.status().Raw()));
      }
      int active = 0, kept = 0;
      for (const object::DocumentPtr& set : observer_.For<ReplicaSet>().List()) {
        if (OwnerUid(set->root()) != deployment.metadata().uid()) continue;
        SizeOf(ReplicaSet(set->root())) > 0 ? ++active : ++kept;
      }
      if (active > 1 || kept > 3) open.push_back("Deployment " + std::string(deployment.metadata().name()) + " has sets left over");
    }
    for (const object::DocumentPtr& object : observer_.For<ReplicaSet>().List()) {
      ReplicaSet set(object->root());
      int active = 0;
      for (const object::DocumentPtr& pod : observer_.For<Pod>().List()) active += OwnerUid(pod->root()) == set.metadata().uid() && IsPodActive(Pod(pod->root()));
      bool right = active == SizeOf(set) && set.status().replicas() == active && set.status().ready_replicas() == active;
      if (!right) open.push_back("ReplicaSet " + std::string(set.metadata().name()) + " wants " + std::to_string(SizeOf(set)) + ", has " + std::to_string(active));
      if (!OwnerUid(set.Raw()).empty() && !alive.contains(OwnerUid(set.Raw()))) open.push_back("ReplicaSet without its owner");
    }
    for (const object::DocumentPtr& pod : observer_.For<Pod>().List()) {
      if (!OwnerUid(pod->root()).empty() && !alive.contains(OwnerUid(pod->root()))) open.push_back("a pod without its owner");
    }
    return open;
  }
  // Once at rest, nothing is written any more.
  void StaysQuiet() {
    Step(minutes(1));
    std::map<std::string, std::string> versions = Versions();
    Step(minutes(10));
    if (Versions() != versions) Broke("in the end: something is still written where nothing is to be done");
  }
  std::map<std::string, std::string> Versions() {
    std::map<std::string, std::string> versions;
    for (sdk::Informer* informer : {&observer_.For<Deployment>(), &observer_.For<ReplicaSet>(), &observer_.For<Pod>()}) {
      for (const object::DocumentPtr& object : informer->List()) versions[std::string(sdk::meta::Uid(object->root()))] = sdk::meta::ResourceVersion(object->root());
    }
    return versions;
  }

  ScenarioOptions options_;
  SimulatedCluster cluster_;
  sdk::InformerFactory observer_;
  Component<controllers::DeploymentController> deployments_;
  Component<controllers::ReplicaSetController> sets_;
  Component<controllers::GarbageCollector> collector_;
  bool failures_ = true;
  std::map<std::string, int> most_pods_, most_wanted_, most_sized_, most_allowed_;   // by uid
  std::map<std::string, std::string> names_;
  std::set<std::string> with_adopted_, recreated_;
  std::vector<std::string> broken_;
  PodLife pod_life_{cluster_, observer_.For<Pod>(), [](const Pod&) { return "node"; },
                    [this](const Pod&) { return failures_ && cluster_.Draw(400) == 0 ? "Failed" : ""; }};
  TaskGroup world_;
};

TEST(WorkloadsTest, KeepTheirPromisesThroughFaultsAndComeToRest) {
  ForEachSeed(20, [](uint64_t seed) {
    Scenario scenario(seed, {});
    return scenario.Run();
  });
}

// The test itself is tested: a controller that trusts what its informers show is found out.
TEST(WorkloadsTest, FindsTheFaultThatWasBuiltIn) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    ScenarioOptions options;
    options.careless = true;
    Scenario scenario(seed, options);
    std::vector<std::string> broken = scenario.Run();
    bool found = std::ranges::any_of(broken, [](const std::string& what) { return what.find("never asked for more") != std::string::npos; });
    if (found) return;
  }
  ADD_FAILURE() << "the fault stayed hidden";
}

}  // namespace
}  // namespace homeostat
