#include "node/prober.h"

#include "node/environment.h"
#include "node/probe.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

const char* ShownKind(ProbeKind kind) {
  return kind == ProbeKind::kStartup ? "Startup" : kind == ProbeKind::kLiveness ? "Liveness" : "Readiness";
}

core::Probe ProbeOf(core::Container container, ProbeKind kind) {
  if (kind == ProbeKind::kStartup) return container.startup_probe();
  return kind == ProbeKind::kLiveness ? container.liveness_probe() : container.readiness_probe();
}

core::ContainerStatus FindStatus(core::PodStatus status, std::string_view name) {
  for (core::ContainerStatus item : status.container_statuses()) {
    if (item.name() == name) return item;
  }
  for (core::ContainerStatus item : status.init_container_statuses()) {
    if (item.name() == name) return item;
  }
  return {};
}

}  // namespace

struct Prober::Pod {
  explicit Pod(Runtime& runtime) : started(runtime) {}
  object::DocumentPtr document;
  std::string uid, ip;
  ProbeBook book;
  Signal started;    // a container has started: its other probes may begin
  // The tasks are owned here, apart from what they use: destroying an entry ends its probe.
  std::map<std::pair<std::string, ProbeKind>, std::unique_ptr<TaskGroup>> probings;
};

struct Prober::Probing {
  explicit Probing(ProbeState probe_state) : state(probe_state) {}
  std::string container_id, container;
  ProbeState state;
};

Prober::Prober(Runtime& runtime, cri::Cri& cri, EventSink events, std::function<void(const std::string&)> changed)
    : runtime_(runtime), cri_(cri), events_(std::move(events)), changed_(std::move(changed)) {}

Prober::~Prober() {
  // The tasks keep the pods they probe, which own the tasks.
  for (auto& [uid, pod] : pods_) pod->probings.clear();
}

const ProbeBook& Prober::Book(const std::string& uid) const {
  static const ProbeBook kNone;
  auto found = pods_.find(uid);
  return found == pods_.end() ? kNone : found->second->book;
}

void Prober::Forget(const std::string& uid) {
  auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  found->second->probings.clear();
  pods_.erase(found);
}

void Prober::Sync(object::DocumentPtr document, const RuntimePod& runtime, core::PodStatus old) {
  core::Pod view(document->root());
  std::string uid(view.metadata().uid());
  std::shared_ptr<Pod>& pod = pods_[uid];
  if (!pod) {
    pod = std::make_shared<Pod>(runtime_);
    pod->uid = uid;
  }
  pod->document = std::move(document);
  std::vector<std::string> ips = runtime.Ips();
  if (!ips.empty()) pod->ip = ips[0];
  if (view.spec().host_network()) pod->ip = std::string(view.status().host_ip());
  std::erase_if(pod->book, [&](const auto& entry) {
    const RuntimeContainer* container = runtime.ById(entry.first);
    return container == nullptr || !container->running();
  });
  bool deleting = view.metadata().has_deletion_timestamp();
  for (auto it = pod->probings.begin(); it != pod->probings.end();) {
    bool over = !pod->book.contains(it->first.first) || (deleting && it->first.second != ProbeKind::kReadiness);
    it = over ? pod->probings.erase(it) : std::next(it);
  }
  if (deleting) return;
  for (const RuntimeContainer& container : runtime.containers) {
    if (container.running() && !pod->book.contains(container.status.id)) {
      Begin(*pod, pod->document, container, FindStatus(old, container.name));
    }
  }
}

void Prober::Begin(Pod& pod, const object::DocumentPtr& document, const RuntimeContainer& container, core::ContainerStatus old) {
  core::Container spec = FindContainer(core::Pod(document->root()).spec(), container.name).container;
  ProbeOutcomes& outcomes = pod.book[container.status.id];
  // One that ran before this node agent did keeps what is known of it until its probes have looked.
  bool found_running = old.state().has_running() && old.container_id().ends_with(container.status.id);
  if (found_running && old.started()) outcomes.startup = ProbeOutcome::kSuccess;
  for (ProbeKind kind : {ProbeKind::kStartup, ProbeKind::kLiveness, ProbeKind::kReadiness}) {
    core::Probe probe = ProbeOf(spec, kind);
    if (!probe || (kind == ProbeKind::kStartup && outcomes.startup == ProbeOutcome::kSuccess)) continue;
    ProbeTimes times = TimesOf(probe);
    Duration jitter = found_running ? Duration(static_cast<int64_t>(runtime_.Random() % static_cast<uint64_t>(times.period.count()))) : Duration(0);
    WallTime now = runtime_.WallNow();
    ProbeState state(kind, times, FromNanoseconds(container.status.started_at), now, jitter);
    if (!found_running) outcomes.Of(kind) = state.Initial();
    auto probing = std::make_shared<Probing>(state);
    probing->container_id = container.status.id;
    probing->container = container.name;
    auto group = std::make_unique<TaskGroup>(runtime_);
    group->Spawn(Run(pods_[pod.uid], probing));
    pod.probings[{container.status.id, kind}] = std::move(group);
  }
}

Task<void> Prober::Run(std::shared_ptr<Pod> pod, std::shared_ptr<Probing> probing) {
  for (;;) {
    auto entry = pod->book.find(probing->container_id);
    if (entry == pod->book.end() || probing->state.on_hold()) co_return;
    core::Container spec = FindContainer(core::Pod(pod->document->root()).spec(), probing->container).container;
    bool started = !spec.has_startup_probe() || entry->second.startup == ProbeOutcome::kSuccess;
    std::optional<WallTime> next = probing->state.NextLook(started);
    if (!next) {
      auto wait = pod->started.Wait();
      co_await wait;
      continue;
    }
    Duration left = *next - runtime_.WallNow();
    if (left > Duration(0)) {
      co_await Sleep(runtime_, left);
      continue;
    }
    auto look = LookOnce(pod, probing);
    WallTime began = runtime_.WallNow();
    bool success = co_await std::move(look);
    std::optional<ProbeOutcome> outcome = probing->state.Record(success, began);
    entry = pod->book.find(probing->container_id);
    if (!outcome || entry == pod->book.end()) continue;
    ProbeOutcome& known = entry->second.Of(probing->state.kind());
    if (std::exchange(known, *outcome) == *outcome) continue;
    if (probing->state.kind() == ProbeKind::kStartup) pod->started.Notify();
    changed_(pod->uid);
  }
}

Task<bool> Prober::LookOnce(std::shared_ptr<Pod> pod, std::shared_ptr<Probing> probing) {
  object::DocumentPtr document = pod->document;
  core::Container spec = FindContainer(core::Pod(document->root()).spec(), probing->container).container;
  std::string kind = ShownKind(probing->state.kind());
  Result<Check> check = ProbeCheck(ProbeOf(spec, probing->state.kind()), spec, pod->ip);
  Result<CheckResult> result = CheckResult{};
  if (check) {
    auto run = RunCheck(runtime_, cri_, probing->container_id, std::move(*check), probing->state.timeout());
    result = co_await std::move(run);
  } else {
    result = Fail(check.error());
  }
  if (!result) {
    events_(document, {true, "Unhealthy", kind + " probe errored and resulted in unknown state: " + result.error().message(),
                       probing->container});
    co_return false;
  }
  if (result->kind == CheckResult::Kind::kFailure) {
    events_(document, {true, "Unhealthy", kind + " probe failed: " + result->output, probing->container});
    co_return false;
  }
  if (result->kind == CheckResult::Kind::kWarning) {
    events_(document, {true, "ProbeWarning", kind + " probe warning: " + result->output, probing->container});
  }
  co_return true;
}

}  // namespace homeostat::node
