// DaemonSets, StatefulSets and Jobs through faults, as workloads_test.cc has it for Deployments: promises that hold all the time,
// and rest in the end.
#include <algorithm>
#include <map>
#include <set>

#include "controllers/daemon_set.h"
#include "controllers/garbage_collector.h"
#include "controllers/job.h"
#include "controllers/pods.h"
#include "controllers/stateful_set.h"
#include "homeostat/api/core/v1_builders.h"
#include "simulated_cluster.h"

namespace homeostat {
namespace {

using api::apps::v1::ControllerRevision;
using api::apps::v1::DaemonSet;
using api::apps::v1::StatefulSet;
using api::batch::v1::Job;
using api::core::v1::Node;
using api::core::v1::Pod;
using controllers::IsPodActive;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string kNamespace = "default";
constexpr int kNodes = 3, kCompletions = 6, kParallelism = 2;

std::string OwnerUid(const object::Value& object) { return std::string(sdk::meta::ControllerOf(object).Get("uid").AsString()); }

class Scenario {
 public:
  explicit Scenario(uint64_t seed) : cluster_(seed), observer_(*cluster_.runtime, *cluster_.admin), world_(*cluster_.runtime) {
    cluster_.Create<api::core::v1::ServiceAccount>(kNamespace, R"({"metadata":{"name":"default"}})");
    for (int i = 0; i < kNodes; ++i) {
      std::string name = "n" + std::to_string(i);
      cluster_.Create<Node>("", R"({"metadata":{"name":")" + name + "\"}}");
      // A new node is tainted until it is ready; there is nobody here to say that it is.
      cluster_.Await(cluster_.admin->Patch(Node::SchemaKind(), {}, name, sdk::PatchType::kMerge, Bytes(std::string(R"({"spec":{"taints":null}})")), {}, {}));
    }
    observer_.For<Pod>().AddHandler([this](const sdk::Change& change) { PodChanged(change); });
    observer_.For<Job>().AddHandler([this](const sdk::Change& change) { JobChanged(change); });
    for (const schema::Kind* kind : {&DaemonSet::SchemaKind(), &StatefulSet::SchemaKind(), &ControllerRevision::SchemaKind()}) observer_.For(*kind);
    observer_.Start();
    Step(seconds(1));
    world_.Spawn(pod_life_.Run());
  }

  std::vector<std::string> Run() {
    cluster_.faults = {.refuse = 40, .lose_answer = 40, .cut = 15, .repeat = 30, .stall = 4, .delay = milliseconds(800)};
    for (uint64_t which = 0; which < 4; ++which) StartComponent(which);
    MonotonicTime end = cluster_.runtime->Now() + minutes(12);
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
  void StartComponent(uint64_t which) {
    if (which == 0) daemons_.Start(cluster_, "daemon-set-controller");
    if (which == 1) stateful_.Start(cluster_, "statefulset-controller");
    if (which == 2) jobs_.Start(cluster_, "job-controller");
    if (which == 3) {
      controllers::GarbageCollectorOptions options;
      options.kinds = {&DaemonSet::SchemaKind(), &StatefulSet::SchemaKind(), &Job::SchemaKind(), &ControllerRevision::SchemaKind(), &Pod::SchemaKind()};
      collector_.Start(cluster_, "generic-garbage-collector", options);
    }
  }
  void CrashSomething() {
    uint64_t which = cluster_.Draw(4);
    if (which == 0) daemons_.Crash();
    if (which == 1) stateful_.Crash();
    if (which == 2) jobs_.Crash();
    if (which == 3) collector_.Crash();
    Step(milliseconds(cluster_.Draw(20'000)));
    StartComponent(which);
  }
  void Step(Duration time) { cluster_.runtime->RunFor(time); }

  // --- What people do.

  std::string Template(const std::string& app, const std::string& more = "") {
    return R"("template":{"metadata":{"labels":{"app":")" + app + R"("}},"spec":{"terminationGracePeriodSeconds":5,)" + more +
           R"("containers":[{"name":"c","image":"i0"}]}})";
  }
  void Act() {
    switch (cluster_.Draw(10)) {
      case 0:
      case 1: return ActOn<DaemonSet>("ds", "");
      case 2:
      case 3: return ActOn<StatefulSet>("ss", "{\"spec\":{\"replicas\":" + std::to_string(cluster_.Draw(5)) + "}}");
      case 4: return CreateJob();
      default: return DeletePod();
    }
  }
  template <class Set>
  void ActOn(const std::string& name, const std::string& resize) {
    if (!observer_.For<Set>().Get(kNamespace + "/" + name)) {
      std::string strategy = cluster_.Draw(2) == 0 ? R"("updateStrategy":{"rollingUpdate":{"maxUnavailable":2}},)" : "";
      std::string policy = name == "ss" && cluster_.Draw(2) == 0 ? R"("podManagementPolicy":"Parallel",)" : "";
      cluster_.Create<Set>(kNamespace, R"({"metadata":{"name":")" + name + R"("},"spec":{)" + (name == "ss" ? R"("serviceName":"s","replicas":3,)" : strategy) + policy +
                                           R"("revisionHistoryLimit":2,"selector":{"matchLabels":{"app":")" + name + R"("}},)" + Template(name) + "}}");
      return;
    }
    uint64_t what = cluster_.Draw(4);
    if (what == 0 && cluster_.Draw(3) == 0) {
      sdk::DeleteOptions options;
      options.propagation_policy = cluster_.Draw(2) == 0 ? "Background" : "Foreground";
      cluster_.Await(cluster_.admin->Delete<Set>(kNamespace, name, options));
    } else if (what == 1 && !resize.empty()) {
      Patch<Set>(name, resize);
    } else {
      Patch<Set>(name, R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i)" + std::to_string(cluster_.Draw(4)) + "\"}]}}}}");
    }
  }
  template <class Set>
  void Patch(const std::string& name, const std::string& body) {
    cluster_.Await(cluster_.admin->Patch(Set::SchemaKind(), kNamespace, name, sdk::PatchType::kStrategicMerge, Bytes(body), {}, {}));
  }
  void CreateJob() {
    std::string name = "job" + std::to_string(next_job_++);
    bool indexed = cluster_.Draw(2) == 0;
    cluster_.Create<Job>(kNamespace, R"({"metadata":{"name":")" + name + R"("},"spec":{"backoffLimit":1000,"parallelism":)" + std::to_string(kParallelism) + ",\"completions\":" +
                                         std::to_string(kCompletions) + (indexed ? R"(,"completionMode":"Indexed",)" : ",") +
                                         Template(name, R"("restartPolicy":"Never",)") + "}}");
  }
  void DeletePod() {
    std::vector<object::DocumentPtr> pods = observer_.For<Pod>().List();
    if (pods.empty()) return;
    cluster_.Await(cluster_.admin->Delete<Pod>(kNamespace, std::string(sdk::meta::Name(pods[cluster_.Draw(pods.size())]->root()))));
  }

  // --- What must hold all the time.

  void PodChanged(const sdk::Change& change) {
    if (!change.current) return;
    std::string owner = OwnerUid(change.current->root());
    std::string kind(sdk::meta::ControllerOf(change.current->root()).Get("kind").AsString());
    if (Pod(change.current->root()).status().phase() == "Succeeded") succeeded_[owner].emplace(sdk::meta::Uid(change.current->root()));
    std::map<std::string, int> active;
    int total = 0;
    for (const object::DocumentPtr& pod : observer_.For<Pod>().List()) {
      if (OwnerUid(pod->root()) != owner || !IsPodActive(Pod(pod->root()))) continue;
      ++active[controllers::TargetNode(Pod(pod->root()))];
      ++total;
    }
    if (kind == "Job" && total > kParallelism) Broke("a Job runs " + std::to_string(total) + " pods");
    if (kind != "DaemonSet") return;
    for (const auto& [node, count] : active) {
      if (count > 1) Broke("a DaemonSet has " + std::to_string(count) + " pods on " + node);
    }
  }
  void JobChanged(const sdk::Change& change) {
    if (!change.current) return;
    Job job(change.current->root());
    counted_[std::string(job.metadata().uid())] = job.status().succeeded();
    bool back = change.previous && Job(change.previous->root()).status().succeeded() > job.status().succeeded();
    if (back) Broke("a Job counts backwards");
  }
  void Check() {
    for (const auto& [job, count] : counted_) {
      if (count > static_cast<int>(succeeded_[job].size()) && even_) Broke("a Job counts " + std::to_string(count) + " successes of " + std::to_string(succeeded_[job].size()));
    }
  }
  void Broke(std::string what) { broken_.push_back(std::move(what)); }

  // --- The end.

  void Heal() {
    cluster_.faults = {};
    failures_ = false;
    MonotonicTime end = cluster_.runtime->Now() + minutes(60);
    std::vector<std::string> open = Open();
    while (!open.empty() && cluster_.runtime->Now() < end) {
      Step(seconds(1));
      open = Open();
    }
    for (std::string& what : open) Broke("in the end: " + what);
    even_ = true;
    Check();
    if (broken_.empty()) StaysQuiet();
  }
  std::vector<std::string> Open() {
    std::vector<std::string> open;
    for (const object::DocumentPtr& document : observer_.For<DaemonSet>().List()) {
      DaemonSet set(document->root());
      auto status = set.status();
      bool right = status.desired_number_scheduled() == kNodes && status.number_available() == kNodes && status.updated_number_scheduled() == kNodes &&
                   status.observed_generation() == set.metadata().generation() && !sdk::meta::IsDeleting(set.Raw());
      if (!right) open.push_back("DaemonSet: " + object::JsonText(status.Raw()));
    }
    for (const object::DocumentPtr& document : observer_.For<StatefulSet>().List()) {
      StatefulSet set(document->root());
      auto status = set.status();
      int wanted = controllers::StatefulReplicas(set);
      bool right = status.replicas() == wanted && status.available_replicas() == wanted && status.updated_replicas() == wanted &&
                   status.current_revision() == status.update_revision() && status.observed_generation() == set.metadata().generation() && !sdk::meta::IsDeleting(set.Raw());
      if (!right) open.push_back("StatefulSet of " + std::to_string(wanted) + ": " + object::JsonText(status.Raw()));
    }
    for (const object::DocumentPtr& document : observer_.For<Job>().List()) {
      Job job(document->root());
      bool right = controllers::IsJobFinished(job) && job.status().succeeded() >= kCompletions && job.status().active() == 0;
      if (!right) open.push_back("Job " + std::string(job.metadata().name()) + ": " + object::JsonText(job.status().Raw()));
    }
    for (const object::DocumentPtr& pod : observer_.For<Pod>().List()) {
      bool held = controllers::HasFinalizer(pod->root(), controllers::kJobTrackingFinalizer);
      if (held || sdk::meta::IsDeleting(pod->root())) open.push_back("Pod " + std::string(sdk::meta::Name(pod->root())) + " is held or going");
    }
    return open;
  }
  void StaysQuiet() {
    Step(minutes(1));
    std::map<std::string, std::string> versions = Versions();
    Step(minutes(10));
    if (Versions() != versions) Broke("in the end: something is still written where nothing is to be done");
  }
  std::map<std::string, std::string> Versions() {
    std::map<std::string, std::string> versions;
    for (sdk::Informer* informer : {&observer_.For<DaemonSet>(), &observer_.For<StatefulSet>(), &observer_.For<Job>(), &observer_.For<ControllerRevision>(), &observer_.For<Pod>()}) {
      for (const object::DocumentPtr& object : informer->List()) versions[std::string(sdk::meta::Uid(object->root()))] = sdk::meta::ResourceVersion(object->root());
    }
    return versions;
  }

  // Pods of Jobs end after a while, some of them badly.
  std::string EndOf(const Pod& pod) {
    bool works = pod.metadata().name().starts_with("job"), ends = works && cluster_.Draw(20) == 0;
    bool fails = failures_ && cluster_.Draw(works ? 60 : 400) == 0;
    return fails ? "Failed" : ends ? "Succeeded" : "";
  }
  static std::string NodeOf(const Pod& pod) {
    std::string node = controllers::TargetNode(pod);
    return node.empty() ? "n0" : node;
  }

  SimulatedCluster cluster_;
  sdk::InformerFactory observer_;
  Component<controllers::DaemonSetController> daemons_;
  Component<controllers::StatefulSetController> stateful_;
  Component<controllers::JobController> jobs_;
  Component<controllers::GarbageCollector> collector_;
  bool failures_ = true, even_ = false;
  int next_job_ = 0;
  std::map<std::string, std::set<std::string>> succeeded_;   // pods by their owner's uid
  std::map<std::string, int> counted_;
  std::vector<std::string> broken_;
  PodLife pod_life_{cluster_, observer_.For<Pod>(), NodeOf, [this](const Pod& pod) { return EndOf(pod); }};
  TaskGroup world_;
};

TEST(SetsAndJobsTest, KeepTheirPromisesThroughFaultsAndComeToRest) {
  ForEachSeed(4, [](uint64_t seed) {
    Scenario scenario(seed);
    return scenario.Run();
  });
}

}  // namespace
}  // namespace homeostat
