#include "node/pod_plan.h"

namespace homeostat::node {

namespace {

ProbeOutcomes OutcomesOf(const ProbeBook& probes, const RuntimeContainer& container) {
  auto found = probes.find(container.status.id);
  return found == probes.end() ? ProbeOutcomes() : found->second;
}

bool Changed(const ContainerSpec& spec, const RuntimeContainer& container) {
  return container.hash && *container.hash != ContainerHash(spec.container);
}

class Planner {
 public:
  Planner(core::Pod pod, const RuntimePod& runtime, const ProbeBook& probes)
      : pod_(pod), spec_(pod.spec()), runtime_(runtime), probes_(probes) {}

  PodPlan Make() {
    if (std::optional<uint32_t> attempt = NeedsSandbox(pod_, runtime_)) {
      plan_.attempt = *attempt;
      PlanNewSandbox();
      return std::move(plan_);
    }
    plan_.attempt = runtime_.sandboxes[0].metadata.attempt;
    PlanEphemeral();
    bool initialized = PlanInit();
    if (plan_.kill_pod || !initialized) return std::move(plan_);
    PlanRegular();
    return std::move(plan_);
  }

 private:
  void PlanNewSandbox() {
    plan_.kill_pod = true;
    plan_.sandbox_changed = !runtime_.sandboxes.empty();
    bool ran_before = plan_.attempt != 0 && !runtime_.containers.empty();
    std::vector<ContainerSpec> left;
    bool any_restartable = false;
    for (core::Container container : spec_.containers()) {
      ContainerSpec item{ContainerKind::kRegular, left.size(), container, {}};
      any_restartable = any_restartable || RestartsAfterKill(container, spec_);
      const RuntimeContainer* last = runtime_.Latest(container.name());
      bool succeeded = last != nullptr && last->exited() && last->status.exit_code == 0;
      if (!succeeded || RestartsAfterExit(container, spec_, 0)) left.push_back(item);
    }
    // A pod that is not to be run again, or whose containers have all done their work, is over when its sandbox is.
    if (ran_before && !any_restartable) {
      plan_.over = true;
      return;
    }
    if (left.empty() && AnyRegularCreated()) {
      plan_.over = true;
      return;
    }
    plan_.create_sandbox = true;
    if (!spec_.init_containers().empty()) {
      plan_.starts.push_back({ContainerKind::kInit, 0, spec_.init_containers()[0], {}});
    } else {
      plan_.starts = std::move(left);
    }
  }

  bool AnyRegularCreated() const {
    for (core::Container container : spec_.containers()) {
      if (runtime_.Latest(container.name()) != nullptr) return true;
    }
    return false;
  }

  void PlanEphemeral() {
    size_t index = 0;
    for (const ContainerSpec& item : AllContainers(spec_)) {
      if (item.kind != ContainerKind::kEphemeral) continue;
      ++index;
      if (runtime_.Latest(item.container.name()) == nullptr) plan_.starts.push_back(item);
    }
  }

  // A regular container that was created in this sandbox proves that all init containers were done, even if the
  // runtime has forgotten them.
  bool RegularBegun() const {
    for (core::Container container : spec_.containers()) {
      const RuntimeContainer* last = runtime_.LatestInSandbox(container.name());
      if (last != nullptr && last->status.state != cri::ContainerState::kUnknown) return true;
    }
    return false;
  }

  void Start(const ContainerSpec& item) { plan_.starts.push_back(item); }
  void Kill(const RuntimeContainer& container, KillReason reason, std::string message) {
    plan_.kills.push_back({container.status.id, container.name, reason, std::move(message)});
  }

  // True once all init containers are done. The runtime may have forgotten early ones, so progress is judged by the
  // last one it knows; those before it were done, and of them only sidecars still matter.
  bool PlanInit() {
    size_t count = spec_.init_containers().size();
    if (count == 0) return true;
    bool begun = RegularBegun();
    std::optional<size_t> last;
    for (size_t i = 0; i < count; ++i) {
      if (runtime_.LatestInSandbox(spec_.init_containers()[i].name()) != nullptr) last = i;
    }
    if (!begun && !last) {
      Start(InitAt(0));
      return false;
    }
    // What has to be kept running before the one in question.
    size_t keep_below = begun ? count : *last;
    for (size_t i = 0; i < keep_below; ++i) {
      if (InitAt(i).restartable_init()) PlanSidecar(InitAt(i));
    }
    if (begun) return true;
    bool done = InitAt(*last).restartable_init() ? PlanSidecar(InitAt(*last)) : PlanOneShot(InitAt(*last));
    if (!done) return false;
    if (*last + 1 == count) return true;
    Start(InitAt(*last + 1));
    return false;
  }

  ContainerSpec InitAt(size_t index) const { return {ContainerKind::kInit, index, spec_.init_containers()[index], {}}; }

  // True if it has done its work.
  bool PlanOneShot(const ContainerSpec& item) {
    const RuntimeContainer& last = *runtime_.LatestInSandbox(item.container.name());
    switch (last.status.state) {
      case cri::ContainerState::kRunning: return false;
      case cri::ContainerState::kCreated: Start(item); return false;  // it could not be started
      case cri::ContainerState::kExited:
        if (last.status.exit_code == 0) return true;
        if (RestartsAfterExit(item.container, spec_, last.status.exit_code)) {
          Start(item);
          return false;
        }
        break;
      case cri::ContainerState::kUnknown:
        if (RestartsAfterKill(item.container, spec_)) {
          Kill(last, KillReason::kUnknownState, "Init container is in \"unknown\" state, try killing it before restart");
          Start(item);
          return false;
        }
        break;
    }
    plan_.kill_pod = true;
    plan_.over = true;
    plan_.starts.clear();
    return false;
  }

  // Keeps a sidecar running. True if it has started.
  bool PlanSidecar(const ContainerSpec& item) {
    std::string shown = "Init container " + std::string(item.container.name());
    const RuntimeContainer* last = runtime_.LatestInSandbox(item.container.name());
    if (last == nullptr || !last->running()) {
      if (last != nullptr && last->status.state == cri::ContainerState::kUnknown) {
        Kill(*last, KillReason::kUnknownState, "Init container is in \"unknown\" state, try killing it before restart");
      }
      Start(item);
      return false;
    }
    ProbeOutcomes outcomes = OutcomesOf(probes_, *last);
    if (item.container.has_startup_probe() && outcomes.startup != ProbeOutcome::kSuccess) {
      if (outcomes.startup == ProbeOutcome::kFailure) {
        Kill(*last, KillReason::kStartupProbe, shown + " failed startup probe");
        Start(item);
      }
      return false;
    }
    if (Changed(item, *last)) {
      Kill(*last, KillReason::kChanged, shown + " definition changed");
      Start(item);
    } else if (outcomes.liveness == ProbeOutcome::kFailure) {
      Kill(*last, KillReason::kLivenessProbe, shown + " failed liveness probe");
      Start(item);
    }
    return true;
  }

  void PlanRegular() {
    size_t kept = 0, index = 0;
    for (core::Container container : spec_.containers()) {
      ContainerSpec item{ContainerKind::kRegular, index++, container, {}};
      const RuntimeContainer* last = runtime_.Latest(container.name());
      if (last != nullptr && last->running()) {
        kept += PlanRunning(item, *last);
      } else if (ShouldBeRunning(item, pod_, runtime_)) {
        if (last != nullptr && last->status.state == cri::ContainerState::kUnknown) {
          Kill(*last, KillReason::kUnknownState, "Container is in \"unknown\" state, try killing it before restart");
        }
        Start(item);
      }
    }
    bool any_regular_to_start = std::any_of(plan_.starts.begin(), plan_.starts.end(),
                                            [](const ContainerSpec& s) { return s.kind == ContainerKind::kRegular; });
    if (kept > 0 || any_regular_to_start) return;
    plan_.kill_pod = true;
    plan_.starts.clear();
    plan_.over = true;
  }

  // 1 if the container is left as it is.
  size_t PlanRunning(const ContainerSpec& item, const RuntimeContainer& last) {
    ProbeOutcomes outcomes = OutcomesOf(probes_, last);
    std::string message = "Container " + std::string(item.container.name());
    KillReason reason;
    bool restart = RestartsAfterKill(item.container, spec_);
    if (Changed(item, last)) {
      reason = KillReason::kChanged;
      message += " definition changed";
      restart = true;
    } else if (outcomes.liveness == ProbeOutcome::kFailure) {
      reason = KillReason::kLivenessProbe;
      message += " failed liveness probe";
    } else if (outcomes.startup == ProbeOutcome::kFailure) {
      reason = KillReason::kStartupProbe;
      message += " failed startup probe";
    } else {
      return 1;
    }
    if (restart) {
      message += ", will be restarted";
      Start(item);
    }
    Kill(last, reason, std::move(message));
    return 0;
  }

  core::Pod pod_;
  core::PodSpec spec_;
  const RuntimePod& runtime_;
  const ProbeBook& probes_;
  PodPlan plan_;
};

}  // namespace

std::optional<uint32_t> NeedsSandbox(core::Pod pod, const RuntimePod& runtime) {
  if (runtime.sandboxes.empty()) return 0;
  const cri::SandboxStatus& newest = runtime.sandboxes[0];
  uint32_t next = newest.metadata.attempt + 1;
  int64_t ready = std::count_if(runtime.sandboxes.begin(), runtime.sandboxes.end(),
                                [](const cri::SandboxStatus& s) { return s.state == cri::SandboxState::kReady; });
  if (ready > 1 || newest.state != cri::SandboxState::kReady) return next;
  bool host_network = pod.spec().host_network();
  if ((newest.network == cri::NamespaceMode::kNode) != host_network) return next;
  if (!host_network && newest.ips.empty()) return next;
  return std::nullopt;
}

bool ShouldBeRunning(const ContainerSpec& spec, core::Pod pod, const RuntimePod& runtime) {
  if (pod.metadata().has_deletion_timestamp()) return false;
  const RuntimeContainer* last = runtime.Latest(spec.container.name());
  if (last == nullptr) return true;
  if (last->running() || spec.kind == ContainerKind::kEphemeral) return false;
  if (!last->exited()) return true;
  return RestartsAfterExit(spec.container, pod.spec(), last->status.exit_code);
}

PodPlan MakePodPlan(core::Pod pod, const RuntimePod& runtime, const ProbeBook& probes) {
  return Planner(pod, runtime, probes).Make();
}

}  // namespace homeostat::node
