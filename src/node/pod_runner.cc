#include "node/pod_runner.h"

#include <charconv>

#include "homeostat/api/core/v1_builders.h"
#include "node/errors.h"
#include "node/files.h"
#include "node/resources.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

// Looked at now and then even if nothing happens; volumes are refreshed as often.
constexpr Duration kResync = std::chrono::seconds(60);
constexpr Duration kRetry = std::chrono::seconds(1);

}  // namespace

PodRunner::PodRunner(NodeContext& context, object::DocumentPtr pod, std::function<void(const std::string&)> done)
    : context_(context), uid_(core::Pod(pod->root()).metadata().uid()), worker_(std::move(pod)),
      reader_(context.runtime, context.cri), done_(std::move(done)), wake_(context.runtime), main_(context.runtime),
      jobs_(context.runtime), start_(context.runtime) {}

PodRunner::~PodRunner() { context_.prober.Forget(uid_); }

void PodRunner::Start() {
  context_.references.Acquire(uid_, worker_.pod());
  main_.Spawn(Run());
}

void PodRunner::Wake() {
  woken_ = true;
  wake_.Notify();
}

void PodRunner::RefreshVolumes() {
  refresh_due_ = true;
  Wake();
}

void PodRunner::SetPod(object::DocumentPtr pod) {
  auto revision = [](const object::DocumentPtr& document) {
    std::string_view text = core::Pod(document->root()).metadata().resource_version();
    uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  if (revision(pod) < revision(worker_.document())) return;
  api::meta::v1::ObjectMeta before = worker_.pod().metadata();
  api::meta::v1::ObjectMeta after = core::Pod(pod->root()).metadata();
  // Labels and annotations show in downward volumes.
  bool shown_changed = !object::Equal(before.labels().Raw(), after.labels().Raw()) ||
                       !object::Equal(before.annotations().Raw(), after.annotations().Raw());
  worker_.SetPod(std::move(pod));
  if (worker_.state() == WorkerState::kRunning) context_.references.Acquire(uid_, worker_.pod());
  if (shown_changed) refresh_due_ = true;
  Wake();
}

void PodRunner::SetGone(object::DocumentPtr last) {
  if (last) worker_.SetPod(std::move(last));
  worker_.SetGone();
  Wake();
}

void PodRunner::End(StartFailure failure, bool refused) {
  worker_.End(std::move(failure), refused);
  Wake();
}

core::PodStatus PodRunner::status() const {
  return written_status_ ? core::PodStatus(written_status_->root()) : worker_.pod().status();
}

Task<void> PodRunner::Run() {
  while (worker_.state() != WorkerState::kDone) {
    woken_ = false;
    WorkerOutput output;
    auto turn = Turn(&output);
    co_await std::move(turn);
    if (woken_ || worker_.state() == WorkerState::kDone) continue;
    Duration limit = kResync;
    if (output.wake) limit = std::min(limit, *output.wake - context_.runtime.WallNow());
    if (limit > Duration(0)) {
      auto wait = wake_.WaitFor(limit);
      co_await std::move(wait);
    }
  }
  context_.references.Release(uid_);
  context_.prober.Forget(uid_);
  context_.runtime.Post([done = done_, uid = uid_] { done(uid); });
}

// Observes, decides, begins what is due, and writes what has changed.
Task<void> PodRunner::Turn(WorkerOutput* output) {
  uint64_t begun = worker_.BeginObservation();
  auto read = reader_.Read(uid_);
  Result<RuntimePod> runtime = co_await std::move(read);
  if (!runtime) {
    context_.log.Error("Can't read pod from the container runtime", {{"pod", PodShownName(worker_.pod())}, {"err", runtime.error()}});
    output->wake = context_.runtime.WallNow() + kRetry;
    co_return;
  }
  if (!worker_.SetRuntime(std::move(*runtime), begun)) co_return Wake();
  WallTime now = context_.runtime.WallNow();
  std::erase_if(kills_, [](const auto& entry) { return entry.second->size() == 0; });
  if (worker_.state() != WorkerState::kRunning && !worker_.runtime().AnyRunning()) {
    context_.prober.Forget(uid_);
  } else {
    context_.prober.Sync(worker_.document(), worker_.runtime(), status());
  }
  *output = worker_.Next(context_.prober.Book(uid_), now);
  if (worker_.state() != WorkerState::kRunning) AbandonStart();
  for (const PodEvent& event : output->events) context_.events(worker_.document(), event);
  for (PodStep& step : output->steps) Begin(std::move(step));
  if (worker_.volumes_ready() && worker_.state() == WorkerState::kRunning && !refreshing_ &&
      (std::exchange(refresh_due_, false) || (next_refresh_ && now >= *next_refresh_))) {
    refreshing_ = true;
    jobs_.Spawn(Refresh());
  }
  Superfluous garbage = FindSuperfluous(worker_.runtime());
  if (!collecting_ && worker_.idle() && (!garbage.containers.empty() || !garbage.sandboxes.empty())) {
    collecting_ = true;
    jobs_.Spawn(RemoveSuperfluous(std::move(garbage)));
  }
  auto write = WriteStatus();
  co_await std::move(write);
}

Task<void> PodRunner::RemoveSuperfluous(Superfluous garbage) {
  for (const auto& [id, log] : garbage.containers) {
    auto remove = context_.cri.RemoveContainer(id);
    Result<void> removed = co_await std::move(remove);
    if (!removed || log.empty()) continue;
    std::move_only_function<Result<void>()> work = [path = log] { return RemoveTree(path); };
    auto run = RunOffLoop<Result<void>>(context_.runtime, std::move(work));
    (void)co_await std::move(run);
  }
  for (const std::string& id : garbage.sandboxes) {
    auto remove = context_.cri.RemovePodSandbox(id);
    (void)co_await std::move(remove);
  }
  collecting_ = false;
}

void PodRunner::Begin(PodStep step) {
  if (step.kind == StepKind::kStartContainer) {
    start_step_ = step;
    start_.Spawn(ExecuteStart(std::move(step)));
  } else if (step.kind == StepKind::kKillContainer) {
    std::unique_ptr<TaskGroup>& group = kills_[step.kill.id];
    if (group) group->Cancel();
    group = std::make_unique<TaskGroup>(context_.runtime);
    group->Spawn(Execute(std::move(step)));
  } else {
    jobs_.Spawn(Execute(std::move(step)));
  }
}

// A pod that ends need not wait for a pull or a hook.
void PodRunner::AbandonStart() {
  if (start_.size() == 0 || start_stage_ == StartStage::kCreating) return;
  start_.Cancel();
  worker_.StartFailed(start_step_, {"ContainerCreating", ""}, context_.runtime.WallNow());
  Wake();
}

Task<void> PodRunner::ExecuteStart(PodStep step) {
  start_stage_ = StartStage::kPreparing;
  StartInput input{worker_.document(), worker_.runtime(), FindContainer(worker_.pod().spec(), step.container),
                   step.attempt};
  if (!input.container) {
    worker_.StartFailed(step, {"CreateContainerConfigError", "the container is no longer in the pod"}, context_.runtime.WallNow());
    co_return Wake();
  }
  auto start = StartContainer(context_, std::move(input), &start_stage_);
  std::optional<StartFailure> failure = co_await std::move(start);
  if (failure) {
    worker_.StartFailed(step, std::move(*failure), context_.runtime.WallNow());
  } else {
    worker_.Finished(step, {}, context_.runtime.WallNow());
  }
  Wake();
}

Task<void> PodRunner::Execute(PodStep step) {
  auto run = Do(step);
  Result<void> result = co_await std::move(run);
  if (!result) {
    context_.log.V(2).Info("Pod step failed", {{"pod", PodShownName(worker_.pod())}, {"step", step.key}, {"err", result.error()}});
  }
  worker_.Finished(step, result, context_.runtime.WallNow());
  Wake();
}

Task<Result<void>> PodRunner::Do(PodStep step) {
  switch (step.kind) {
    case StepKind::kSetUpVolumes: {
      auto run = SetUpVolumes();
      co_return co_await std::move(run);
    }
    case StepKind::kCreateSandbox: {
      auto run = CreateSandbox(step.attempt);
      co_return co_await std::move(run);
    }
    case StepKind::kKillContainer: {
      std::vector<std::string> ips = worker_.pod().spec().host_network() ? context_.host_ips : worker_.runtime().Ips();
      StopInput input{worker_.document(), step.kill, step.grace_seconds, ips.empty() ? "" : ips[0]};
      auto run = StopContainer(context_, std::move(input));
      co_return co_await std::move(run);
    }
    case StepKind::kStopSandboxes: {
      auto run = StopSandboxes();
      co_return co_await std::move(run);
    }
    case StepKind::kCleanUp: {
      auto run = CleanUp(step.remove);
      co_return co_await std::move(run);
    }
    case StepKind::kReportGone: {
      auto run = ReportGone();
      co_return co_await std::move(run);
    }
    case StepKind::kStartContainer: break;
  }
  co_return Fail(NodeError("no such step"));
}

Task<Result<void>> PodRunner::SetUpVolumes() {
  object::DocumentPtr pod = worker_.document();
  auto get = context_.references.Get(pod);
  Result<PodReferences> references = co_await std::move(get);
  if (!references) co_return Fail(references.error());
  auto set_up = context_.volumes.SetUp(pod, std::move(*references), context_.Around(worker_.runtime().Ips()));
  std::vector<VolumeFailure> failures = co_await std::move(set_up);
  for (const VolumeFailure& failure : failures) {
    context_.events(pod, {true, "FailedMount", "MountVolume.SetUp failed for volume \"" + failure.volume + "\" : " + failure.message, ""});
  }
  next_refresh_ = context_.runtime.WallNow() + kResync;
  if (!failures.empty()) co_return Fail(NodeError(failures[0].message));
  co_return Done();
}

Task<void> PodRunner::Refresh() {
  auto run = SetUpVolumes();
  (void)co_await std::move(run);
  refreshing_ = false;
}

Task<Result<void>> PodRunner::CreateSandbox(uint32_t attempt) {
  object::DocumentPtr document = worker_.document();
  core::Pod pod(document->root());
  auto stop = StopSandboxes();
  CO_TRY(co_await std::move(stop));
  std::string cgroup = PodCgroup(pod, context_.cgroups.systemd);
  SandboxInput input{.pod = pod, .attempt = attempt, .log_directory = context_.LogFolder(pod), .cgroup_parent = cgroup,
                     .owner = context_.owner, .dns = context_.dns};
  Result<cri::SandboxConfig> config = MakeSandboxConfig(input);
  Result<void> made = config ? Result<void>() : Result<void>(Fail(config.error()));
  if (made) {
    std::move_only_function<Result<void>()> work = [setup = context_.cgroups, cgroup, resources = PodResources(pod)] {
      return MakePodCgroup(setup, cgroup, resources);
    };
    auto run = RunOffLoop<Result<void>>(context_.runtime, std::move(work));
    made = co_await std::move(run);
  }
  if (made) {
    auto run = context_.cri.RunPodSandbox(std::move(*config));
    Result<std::string> id = co_await std::move(run);
    if (!id) made = Fail(id.error());
  }
  if (!made) {
    context_.events(document, {true, "FailedCreatePodSandBox", "Failed to create pod sandbox: " + made.error().message(), ""});
  }
  co_return made;
}

Task<Result<void>> PodRunner::StopSandboxes() {
  std::vector<cri::SandboxStatus> sandboxes = worker_.runtime().sandboxes;
  for (const cri::SandboxStatus& sandbox : sandboxes) {
    auto stop = context_.cri.StopPodSandbox(sandbox.id);
    Result<void> stopped = co_await std::move(stop);
    if (!stopped && !stopped.error().IsNotFound()) co_return stopped;
  }
  co_return Done();
}

Task<Result<void>> PodRunner::CleanUp(bool remove) {
  RuntimePod runtime = worker_.runtime();
  object::DocumentPtr document = worker_.document();
  core::Pod pod(document->root());
  std::string cgroup = PodCgroup(pod, context_.cgroups.systemd);
  std::string log_folder = context_.LogFolder(pod);
  if (remove) {
    for (const RuntimeContainer& container : runtime.containers) {
      auto call = context_.cri.RemoveContainer(container.status.id);
      Result<void> removed = co_await std::move(call);
      if (!removed && !removed.error().IsNotFound()) co_return removed;
    }
    for (const cri::SandboxStatus& sandbox : runtime.sandboxes) {
      auto call = context_.cri.RemovePodSandbox(sandbox.id);
      Result<void> removed = co_await std::move(call);
      if (!removed && !removed.error().IsNotFound()) co_return removed;
    }
  }
  context_.references.Release(uid_);
  auto tear_down = context_.volumes.TearDown(uid_);
  CO_TRY(co_await std::move(tear_down));
  std::move_only_function<Result<void>()> work = [setup = context_.cgroups, cgroup, log_folder, remove]() -> Result<void> {
    if (remove) TRY(RemoveTree(log_folder));
    return RemovePodCgroup(setup, cgroup);
  };
  auto run = RunOffLoop<Result<void>>(context_.runtime, std::move(work));
  co_return co_await std::move(run);
}

Task<Result<void>> PodRunner::ReportGone() {
  object::DocumentPtr document = worker_.document();
  core::Pod pod(document->root());
  sdk::DeleteOptions options{.grace_period_seconds = 0, .precondition_uid = uid_};
  auto remove = context_.client.Delete<core::Pod>(std::string(pod.metadata().namespace_()), std::string(pod.metadata().name()), options);
  Result<void> removed = co_await std::move(remove);
  // Gone already, or another pod has its name.
  if (!removed && (removed.error().IsNotFound() || removed.error().IsConflict())) co_return Done();
  co_return removed;
}

object::DocumentPtr PodRunner::MakeStatus() {
  StatusInput input;
  worker_.FillStatus(input);
  input.old = status();
  input.probes = &context_.prober.Book(uid_);
  input.host_ips = context_.host_ips;
  input.runtime_name = context_.runtime_name;
  input.now = context_.runtime.WallNow();
  return MakePodStatus(input);
}

Task<void> PodRunner::WriteStatus() {
  if (worker_.gone()) co_return;
  object::DocumentPtr status = MakeStatus();
  bool final = worker_.state() == WorkerState::kStopped;
  if (!object::Equal(status->root(), worker_.pod().status().Raw())) {
    auto send = SendStatus(status);
    Result<object::DocumentPtr> stored = co_await std::move(send);
    if (!stored) {
      if (stored.error().IsNotFound()) {
        worker_.SetGone();
        co_return Wake();
      }
      context_.log.Warning("Can't write pod status", {{"pod", PodShownName(worker_.pod())}, {"err", stored.error()}});
      wake_.Notify();
      co_await Sleep(context_.runtime, kRetry);
      woken_ = true;
      co_return;
    }
    if (!*stored) co_return Wake();
    SetPod(*stored);
  }
  written_status_ = status;
  if (final) {
    worker_.SetFinalStatusWritten();
    Wake();
  }
}

// Null: not written since the pod is another or has changed; the next turn looks again.
Task<Result<object::DocumentPtr>> PodRunner::SendStatus(object::DocumentPtr status) {
  core::PodBuilder next(worker_.document());
  next.set_status(status);
  auto update = context_.client.UpdateStatus<core::Pod>(sdk::Object<core::Pod>(next.Freeze()));
  Result<sdk::Object<core::Pod>> stored = co_await std::move(update);
  if (stored) co_return stored->document();
  if (!stored.error().IsConflict()) co_return Fail(stored.error());
  object::DocumentPtr document = worker_.document();
  core::Pod pod(document->root());
  auto get = context_.client.Get<core::Pod>(std::string(pod.metadata().namespace_()), std::string(pod.metadata().name()));
  CO_TRY_ASSIGN(sdk::Object<core::Pod> fresh, co_await std::move(get));
  if (fresh->metadata().uid() != uid_) co_return Fail(NotFoundError("", "pods", pod.metadata().name()));
  SetPod(fresh.document());
  co_return object::DocumentPtr();
}

}  // namespace homeostat::node
