#include "node/pod_worker.h"

#include "node/values.h"

namespace homeostat::node {

namespace {

// Between attempts at something that failed and has no back-off of its own.
constexpr Duration kRetry = std::chrono::seconds(10);
constexpr Duration kKillRetry = std::chrono::seconds(2);
// A failed pull is shown as such this long, then as a back-off.
constexpr Duration kShowPullError = std::chrono::seconds(5);
// SIGKILL never follows SIGTERM sooner than this.
constexpr int64_t kLeastGraceSeconds = 2;

constexpr std::string_view kErrImagePull = "ErrImagePull";
constexpr std::string_view kImagePullBackOff = "ImagePullBackOff";
constexpr std::string_view kCrashLoopBackOff = "CrashLoopBackOff";

int64_t WholeSeconds(Duration duration) { return std::chrono::duration_cast<std::chrono::seconds>(duration).count(); }

}  // namespace

bool PodWorker::SetRuntime(RuntimePod runtime, uint64_t begun) {
  if (begun != epoch_) return false;
  runtime_ = std::move(runtime);
  observed_ = true;
  for (auto& [name, memory] : memory_) {
    const RuntimeContainer* latest = runtime_.Latest(name);
    if (latest != nullptr && latest->running() && !UnderWay("start")) memory.failure.reset();
  }
  return true;
}

void PodWorker::End(StartFailure failure, bool refused) {
  if (failure_ || state_ != WorkerState::kRunning) return;
  failure_ = std::move(failure);
  refused_ = refused;
}

void PodWorker::Begin(PodStep step, WorkerOutput& out) {
  under_way_.insert(step.key);
  out.steps.push_back(std::move(step));
}

void PodWorker::WakeAt(WallTime time, WallTime now, WorkerOutput& out) const {
  if (time <= now) time = now + std::chrono::milliseconds(1);
  if (!out.wake || time < *out.wake) out.wake = time;
}

bool PodWorker::Due(std::optional<WallTime> time, WallTime now, WorkerOutput& out) const {
  if (!time || *time <= now) return true;
  WakeAt(*time, now, out);
  return false;
}

void PodWorker::Finished(const PodStep& step, const Result<void>& result, WallTime now) {
  under_way_.erase(step.key);
  ++epoch_;
  observed_ = false;
  switch (step.kind) {
    case StepKind::kSetUpVolumes:
      volumes_ready_ = result.has_value();
      volumes_retry_at_ = now + kRetry;
      break;
    case StepKind::kCreateSandbox:
      if (result) {
        sandbox_retry_at_.reset();
      } else {
        sandbox_retry_at_ = now + kRetry;
      }
      break;
    case StepKind::kStartContainer:
      if (ContainerMemory& memory = memory_[step.container]; result) {
        memory.failure.reset();
        memory.retry_at.reset();
        memory.pull_failed_at.reset();
        memory.pulls.Reset();
      } else {
        memory.retry_at = now + kRetry;
      }
      break;
    case StepKind::kKillContainer:
      kill_deadline_.erase(step.kill.id);
      kill_retry_at_.erase(step.kill.id);
      if (!result) kill_retry_at_[step.kill.id] = now + kKillRetry;
      break;
    case StepKind::kStopSandboxes:
      if (!result) end_retry_at_ = now + kKillRetry;
      break;
    case StepKind::kCleanUp:
      if (result) {
        cleaned_ = true;
        removed_ = step.remove;
      } else {
        end_retry_at_ = now + kRetry;
      }
      break;
    case StepKind::kReportGone:
      reported_ = result.has_value();
      if (!result) end_retry_at_ = now + kKillRetry;
      break;
  }
}

void PodWorker::StartFailed(const PodStep& step, StartFailure failure, WallTime now) {
  under_way_.erase(step.key);
  ++epoch_;
  observed_ = false;
  ContainerMemory& memory = memory_[step.container];
  memory.retry_at = now + kRetry;
  if (failure.reason == kErrImagePull) {
    memory.pulls.Retry(now, now);
    memory.pull_failed_at = now;
    memory.retry_at = now + memory.pulls.delay();
  }
  memory.failure = std::move(failure);
}

WorkerOutput PodWorker::Next(const ProbeBook& probes, WallTime now) {
  WorkerOutput out;
  if (!observed_) return out;
  CheckEnd(now, out);
  if (state_ == WorkerState::kRunning) NextRunning(probes, now, out);
  if (state_ == WorkerState::kTerminating) NextTerminating(now, out);
  if (state_ == WorkerState::kStopped) NextStopped(now, out);
  return out;
}

// Whether the pod has to end, for a reason outside its containers.
void PodWorker::CheckEnd(WallTime now, WorkerOutput& out) {
  if (state_ != WorkerState::kRunning) return;
  if (pod().spec().has_active_deadline_seconds() && pod().status().has_start_time() && !failure_) {
    std::optional<WallTime> start = ParseTime(pod().status().start_time());
    WallTime deadline = start.value_or(now) + std::chrono::seconds(pod().spec().active_deadline_seconds());
    if (Due(deadline, now, out)) {
      failure_ = StartFailure{"DeadlineExceeded", "Pod was active on the node longer than the specified deadline"};
    }
  }
  bool already_over = IsTerminalPhase(pod().status().phase());
  if (!gone_ && !failure_ && !already_over && !pod().metadata().has_deletion_timestamp()) return;
  core::PodStatus status = pod().status();
  if (status.phase() == core::kPodPhaseFailed && status.container_statuses().empty() && runtime_.containers.empty() && !failure_) {
    // Refused by the node agent that ran before.
    failure_ = StartFailure{std::string(status.reason()), std::string(status.message())};
    refused_ = true;
  }
  state_ = WorkerState::kTerminating;
  ending_since_ = now;
}

void PodWorker::NextRunning(const ProbeBook& probes, WallTime now, WorkerOutput& out) {
  if (!volumes_ready_) {
    if (!UnderWay("volumes") && Due(volumes_retry_at_, now, out)) {
      Begin({.kind = StepKind::kSetUpVolumes, .key = "volumes"}, out);
    }
    // What runs already is looked after all the same; nothing new starts.
    if (runtime_.sandboxes.empty()) return;
  }
  PodPlan plan = MakePodPlan(pod(), runtime_, probes);
  if (plan.over && !UnderWay("start") && !UnderWay("sandbox")) {
    state_ = WorkerState::kTerminating;
    ending_since_ = now;
    return;
  }
  if (plan.kill_pod) {
    NextSandbox(plan, now, out);
    return;
  }
  for (const KillStep& kill : plan.kills) {
    std::string key = "kill:" + kill.id;
    if (UnderWay(key)) continue;
    auto retry = kill_retry_at_.find(kill.id);
    if (retry != kill_retry_at_.end() && !Due(retry->second, now, out)) continue;
    Begin({.kind = StepKind::kKillContainer, .key = key, .kill = kill, .grace_seconds = GraceFor(kill)}, out);
  }
  if (volumes_ready_) NextStarts(plan, now, out);
}

// The sandbox is missing or unusable: what is left of the old one goes, then a new one is made.
void PodWorker::NextSandbox(const PodPlan& plan, WallTime now, WorkerOutput& out) {
  if (UnderWay("sandbox") || UnderWay("start") || !plan.create_sandbox || !volumes_ready_) return;
  for (const RuntimeContainer& container : runtime_.containers) {
    if (!container.running()) continue;
    KillStep kill{container.status.id, container.name, KillReason::kPodEnds, ""};
    std::string key = "kill:" + kill.id;
    if (!UnderWay(key)) {
      Begin({.kind = StepKind::kKillContainer, .key = key, .kill = kill, .grace_seconds = GraceFor(kill)}, out);
    }
  }
  if (runtime_.AnyRunning() || !Due(sandbox_retry_at_, now, out)) return;
  if (plan.sandbox_changed && !sandbox_retry_at_) {
    out.events.push_back({false, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.", ""});
  }
  Begin({.kind = StepKind::kCreateSandbox, .key = "sandbox", .attempt = plan.attempt}, out);
}

void PodWorker::NextStarts(const PodPlan& plan, WallTime now, WorkerOutput& out) {
  bool starting = UnderWay("start");
  for (const ContainerSpec& spec : plan.starts) {
    std::string_view name = spec.container.name();
    bool being_killed = std::any_of(plan.kills.begin(), plan.kills.end(), [&](const KillStep& k) { return k.name == name; });
    const RuntimeContainer* latest = runtime_.Latest(name);
    if (being_killed || (latest != nullptr && UnderWay("kill:" + latest->status.id))) continue;
    if (!MayStart(spec, now, out) || starting) continue;
    starting = true;
    Begin({.kind = StepKind::kStartContainer, .key = "start", .attempt = plan.attempt, .container = std::string(name)}, out);
  }
}

bool PodWorker::MayStart(const ContainerSpec& spec, WallTime now, WorkerOutput& out) {
  ContainerMemory& memory = memory_[std::string(spec.container.name())];
  if (uint64_t hash = ContainerHash(spec.container); memory.hash != hash) {
    memory = ContainerMemory();
    memory.hash = hash;
  }
  if (memory.pull_failed_at && memory.failure && memory.failure->reason == kErrImagePull &&
      Due(*memory.pull_failed_at + kShowPullError, now, out)) {
    std::string back_off = "Back-off pulling image \"" + std::string(spec.container.image()) + "\"";
    out.events.push_back({false, "BackOff", back_off, std::string(spec.container.name())});
    // Upstream repeats the event as Warning for the failure that follows from it.
    out.events.push_back({true, "Failed", "Error: ImagePullBackOff", std::string(spec.container.name())});
    memory.failure = StartFailure{std::string(kImagePullBackOff), back_off + ": ErrImagePull: " + memory.failure->message};
  }
  if (!Due(memory.retry_at, now, out)) return false;
  return UnderWay("start") || MayRestart(memory, spec, now, out);
}

bool PodWorker::MayRestart(ContainerMemory& memory, const ContainerSpec& spec, WallTime now, WorkerOutput& out) {
  const RuntimeContainer* latest = runtime_.Latest(spec.container.name());
  if (latest == nullptr || !latest->exited()) return true;
  WallTime ended = FromNanoseconds(latest->status.finished_at);
  std::optional<WallTime> blocked = memory.restarts.BlockedUntil(ended, now);
  if (!blocked) {
    memory.restarts.Retry(ended, now);
    return true;
  }
  WakeAt(*blocked, now, out);
  std::string name(spec.container.name());
  memory.failure = StartFailure{std::string(kCrashLoopBackOff), ShownBackoff(memory, spec)};
  if (std::exchange(memory.backed_off_for, latest->status.id) != latest->status.id) {
    out.events.push_back(
        {true, "BackOff", "Back-off restarting failed container " + name + " in pod " + PodShownName(pod()), name});
  }
  return false;
}

std::string PodWorker::ShownBackoff(const ContainerMemory& memory, const ContainerSpec& spec) const {
  return "back-off " + object::FormatDuration(memory.restarts.delay()) + " restarting failed container=" +
         std::string(spec.container.name()) + " pod=" + PodShownName(pod());
}

int64_t PodWorker::GraceFor(const KillStep& kill) const {
  int64_t grace = GracePeriodSeconds(pod());
  core::Container container = FindContainer(pod().spec(), kill.name).container;
  if (!pod().metadata().has_deletion_timestamp()) {
    core::Probe probe;
    if (kill.reason == KillReason::kLivenessProbe) probe = container.liveness_probe();
    if (kill.reason == KillReason::kStartupProbe) probe = container.startup_probe();
    if (probe.has_termination_grace_period_seconds()) grace = probe.termination_grace_period_seconds();
  }
  return std::max(grace, kLeastGraceSeconds);
}

// Sidecars outlive the regular containers and end in reverse order.
bool PodWorker::MustWaitForOthers(const RuntimeContainer& container) const {
  ContainerSpec spec = FindContainer(pod().spec(), container.name);
  if (!spec.restartable_init()) return false;
  for (const RuntimeContainer& other : runtime_.containers) {
    if (!other.running() || other.status.id == container.status.id) continue;
    ContainerSpec other_spec = FindContainer(pod().spec(), other.name);
    if (!other_spec.restartable_init() || other_spec.index > spec.index) return true;
  }
  return false;
}

void PodWorker::KillForEnd(const RuntimeContainer& container, WallTime now, WorkerOutput& out) {
  if (MustWaitForOthers(container)) return;
  KillStep kill{container.status.id, container.name, KillReason::kPodEnds, ""};
  std::string key = "kill:" + kill.id;
  int64_t grace = GraceFor(kill);
  WallTime deadline = *ending_since_ + std::chrono::seconds(grace);
  int64_t left = std::max(kLeastGraceSeconds, WholeSeconds(deadline - now));
  bool under_way = UnderWay(key);
  // A later deletion may have shortened the period.
  auto known = kill_deadline_.find(kill.id);
  bool hurry = under_way && (known == kill_deadline_.end() || now + std::chrono::seconds(left) + std::chrono::seconds(1) < known->second);
  auto retry = kill_retry_at_.find(kill.id);
  if (under_way && !hurry) return;
  if (!under_way && retry != kill_retry_at_.end() && !Due(retry->second, now, out)) return;
  kill_deadline_[kill.id] = now + std::chrono::seconds(left);
  Begin({.kind = StepKind::kKillContainer, .key = key, .kill = kill, .grace_seconds = left, .hurry = hurry}, out);
}

void PodWorker::NextTerminating(WallTime now, WorkerOutput& out) {
  for (const RuntimeContainer& container : runtime_.containers) {
    bool being_started = UnderWay("start") && container.status.state == cri::ContainerState::kCreated;
    bool may_run = container.running() || container.status.state == cri::ContainerState::kUnknown;
    if (may_run && !being_started) KillForEnd(container, now, out);
  }
  bool settled = !runtime_.AnyRunning() && under_way_.empty();
  if (!settled || !Due(end_retry_at_, now, out)) return;
  bool ready = std::any_of(runtime_.sandboxes.begin(), runtime_.sandboxes.end(),
                           [](const cri::SandboxStatus& s) { return s.state == cri::SandboxState::kReady; });
  if (ready) {
    Begin({.kind = StepKind::kStopSandboxes, .key = "stop"}, out);
    return;
  }
  state_ = WorkerState::kStopped;
}

void PodWorker::NextStopped(WallTime now, WorkerOutput& out) {
  if (!under_way_.empty() || !Due(end_retry_at_, now, out)) return;
  bool deleted = gone_ || pod().metadata().has_deletion_timestamp();
  if (!gone_ && !final_written_) return;
  if (!cleaned_ || (deleted && !removed_)) {
    Begin({.kind = StepKind::kCleanUp, .key = "clean", .remove = deleted}, out);
  } else if (gone_) {
    state_ = WorkerState::kDone;
  } else if (deleted && !reported_) {
    Begin({.kind = StepKind::kReportGone, .key = "report"}, out);
  }
}

void PodWorker::FillStatus(StatusInput& input) const {
  input.pod = pod();
  input.runtime = &runtime_;
  for (const auto& [name, memory] : memory_) {
    if (memory.failure) input.failures[name] = *memory.failure;
  }
  input.terminal = state_ != WorkerState::kRunning;
  input.settled = state_ == WorkerState::kStopped || state_ == WorkerState::kDone;
  input.failure = failure_;
  input.refused = refused_;
}

}  // namespace homeostat::node
