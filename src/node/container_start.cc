#include "node/container_start.h"

#include "homeostat/base/files.h"
#include "homeostat/base/text.h"
#include "node/errors.h"
#include "node/files.h"
#include "node/probe.h"
#include "node/resources.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

constexpr int64_t kLeastGraceSeconds = 2;

// A runtime's error without gRPC's words around it.
std::string Description(const Status& status) {
  size_t at = status.message().find(" desc = ");
  return status.message().starts_with("rpc error: ") && at != std::string::npos ? status.message().substr(at + 8)
                                                                                 : status.message();
}

// After a reboot some runtimes have forgotten containers whose logs are still there: counting goes on from the logs.
int32_t NextRestartCount(const RuntimePod& runtime, std::string_view name, const std::string& log_folder) {
  if (const RuntimeContainer* latest = runtime.Latest(name)) return latest->restart_count + 1;
  Result<std::vector<std::string>> files = ListFolder(log_folder + "/" + std::string(name));
  int32_t next = 0;
  if (!files) return next;
  for (const std::string& file : *files) {
    if (!file.empty() && std::isdigit(static_cast<unsigned char>(file[0]))) next = std::max(next, std::atoi(file.c_str()) + 1);
  }
  return next;
}

struct Hook {
  std::optional<Check> check;
  Duration sleep{0};
};

Result<Hook> ReadHook(core::LifecycleHandler handler, core::Container container, std::string_view pod_ip) {
  Hook hook;
  if (handler.has_exec()) {
    ExecCheck exec;
    for (std::string_view word : handler.exec().command()) exec.command.emplace_back(word);
    hook.check = std::move(exec);
  } else if (handler.has_http_get()) {
    TRY_ASSIGN(hook.check, HttpHookCheck(handler.http_get(), container, pod_ip));
  } else if (handler.has_sleep()) {
    hook.sleep = std::chrono::seconds(handler.sleep().seconds());
  } else {
    return Fail(NodeError("Cannot run handler: invalid handler"));
  }
  return hook;
}

Task<Result<void>> RunHook(NodeContext& context, std::string id, Hook hook) {
  if (!hook.check) {
    co_await Sleep(context.runtime, hook.sleep);
    co_return Done();
  }
  auto run = RunCheck(context.runtime, context.cri, std::move(id), std::move(*hook.check), Duration(0));
  CO_TRY_ASSIGN(CheckResult result, co_await std::move(run));
  if (result.kind == CheckResult::Kind::kFailure) co_return Fail(NodeError(result.output));
  co_return Done();
}

class Starter {
 public:
  Starter(NodeContext& context, StartInput input, StartStage* stage)
      : context_(context), input_(std::move(input)), stage_(stage), pod_(input_.pod->root()),
        name_(input_.container.container.name()) {}

  Task<std::optional<StartFailure>> Run() {
    *stage_ = StartStage::kPreparing;
    Result<cri::SandboxConfig> sandbox = MakeSandbox();
    if (!sandbox) co_return Failed("CreateContainerConfigError", sandbox.error());
    auto ensure = context_.images.Ensure(input_.pod, name_, *sandbox);
    std::expected<ReadyImage, StartFailure> image = co_await std::move(ensure);
    if (!image) {
      Event(true, "Failed", "Error: " + image.error().reason);
      co_return image.error();
    }
    auto configure = Configure(std::move(*image));
    Result<cri::ContainerConfig> config = co_await std::move(configure);
    if (!config) co_return Failed("CreateContainerConfigError", config.error());
    *stage_ = StartStage::kCreating;
    std::string sandbox_id = input_.runtime.sandboxes.empty() ? "" : input_.runtime.sandboxes[0].id;
    auto create = context_.cri.CreateContainer(sandbox_id, std::move(*config), std::move(*sandbox));
    Result<std::string> id = co_await std::move(create);
    if (!id) co_return Failed("CreateContainerError", id.error());
    Event(false, "Created", "Container created");
    auto start = context_.cri.StartContainer(*id);
    Result<void> started = co_await std::move(start);
    if (!started) co_return Failed("RunContainerError", started.error());
    Event(false, "Started", "Container started");
    if (!input_.container.container.lifecycle().has_post_start()) co_return std::nullopt;
    *stage_ = StartStage::kHook;
    auto hook = PostStart(*id);
    co_return co_await std::move(hook);
  }

 private:
  void Event(bool warning, std::string reason, std::string message) {
    context_.events(input_.pod, {warning, std::move(reason), std::move(message), name_});
  }

  StartFailure Failed(std::string reason, const Status& error) {
    std::string description = Description(error);
    Event(true, "Failed", "Error: " + description);
    return {std::move(reason), std::move(description)};
  }

  Result<cri::SandboxConfig> MakeSandbox() const {
    SandboxInput input{.pod = pod_, .attempt = input_.attempt, .log_directory = context_.LogFolder(pod_), .owner = context_.owner, .dns = context_.dns};
    input.cgroup_parent = PodCgroup(pod_, context_.cgroups.systemd);
    return MakeSandboxConfig(input);
  }

  Task<Result<cri::ContainerConfig>> Configure(ReadyImage image) {
    PodSurroundings around = context_.Around(pod_.spec().host_network() ? context_.host_ips : input_.runtime.Ips());
    auto get = context_.references.Get(input_.pod);
    CO_TRY_ASSIGN(PodReferences references, co_await std::move(get));
    std::vector<object::DocumentPtr> service_documents = context_.services(pod_);
    std::vector<core::Service> services;
    for (const object::DocumentPtr& document : service_documents) services.emplace_back(document->root());
    ContainerInput input{.pod = pod_, .spec = input_.container, .image_ref = image.ref, .image = image.image};
    CO_TRY_ASSIGN(input.environment, MakeEnvironment(pod_, input_.container.container, references, around, services));
    input.owner = context_.owner;
    input.seccomp_folder = context_.seccomp_folder;
    input.node_memory_bytes = context_.memory_bytes;
    if (!input_.container.target.empty()) {
      const RuntimeContainer* target = input_.runtime.Latest(input_.container.target);
      if (target == nullptr) {
        co_return Fail(NodeError("unable to find target container " + std::string(input_.container.target)));
      }
      input.target_container_id = target->status.id;
    }
    auto prepare = PrepareOnDisk(input.environment, around);
    CO_TRY_ASSIGN(OnDisk on_disk, co_await std::move(prepare));
    input.mounts = std::move(on_disk.mounts.mounts);
    input.termination_message_file = std::move(on_disk.mounts.termination_message_file);
    input.restart_count = on_disk.restart_count;
    co_return MakeContainerConfig(input);
  }

  struct OnDisk {
    ContainerMounts mounts;
    int32_t restart_count = 0;
  };

  Task<Result<OnDisk>> PrepareOnDisk(Environment environment, PodSurroundings around) {
    MountInput mount{.pod = input_.pod, .container = name_, .pod_folder = context_.volumes.PodFolder(pod_.metadata().uid()),
                     .environment = std::move(environment), .around = std::move(around)};
    char unique[20];
    std::snprintf(unique, sizeof unique, "%08llx", static_cast<unsigned long long>(context_.runtime.Random() & 0xffffffff));
    mount.unique = unique;
    std::string log_folder = context_.LogFolder(pod_);
    std::move_only_function<Result<OnDisk>()> work = [mount, log_folder, runtime = input_.runtime, name = name_] -> Result<OnDisk> {
      OnDisk result;
      result.restart_count = NextRestartCount(runtime, name, log_folder);
      TRY(MakeDirectories(log_folder + "/" + name, 0755));
      TRY_ASSIGN(result.mounts, PrepareMounts(mount));
      return result;
    };
    auto run = RunOffLoop<Result<OnDisk>>(context_.runtime, std::move(work));
    co_return co_await std::move(run);
  }

  Task<std::optional<StartFailure>> PostStart(std::string id) {
    std::vector<std::string> ips = pod_.spec().host_network() ? context_.host_ips : input_.runtime.Ips();
    core::Container container = input_.container.container;
    Result<Hook> hook = ReadHook(container.lifecycle().post_start(), container, ips.empty() ? "" : ips[0]);
    Result<void> done = hook ? Result<void>() : Result<void>(Fail(hook.error()));
    if (hook) {
      auto run = RunHook(context_, id, std::move(*hook));
      done = co_await std::move(run);
    }
    if (done) co_return std::nullopt;
    // The hook's output may hold what others must not see: it goes into no event.
    Event(true, "FailedPostStartHook", "PostStartHook failed");
    KillStep kill{id, name_, KillReason::kPostStartHook, "FailedPostStartHook"};
    StopInput stop{input_.pod, kill, std::max(kLeastGraceSeconds, GracePeriodSeconds(pod_)), ips.empty() ? "" : ips[0]};
    auto stopping = StopContainer(context_, std::move(stop));
    (void)co_await std::move(stopping);
    co_return StartFailure{"PostStartHookError", "PostStartHook for Container " + GoQuote(name_) + " in Pod " +
                                                     GoQuote(PodShownName(pod_)) + " failed"};
  }

  NodeContext& context_;
  StartInput input_;
  StartStage* stage_;
  core::Pod pod_;
  std::string name_;
};

}  // namespace

Task<std::optional<StartFailure>> StartContainer(NodeContext& context, StartInput input, StartStage* stage) {
  Starter starter(context, std::move(input), stage);
  auto run = starter.Run();
  co_return co_await std::move(run);
}

Task<Result<void>> StopContainer(NodeContext& context, StopInput input) {
  core::Pod pod(input.pod->root());
  core::Container container = FindContainer(pod.spec(), input.kill.name).container;
  std::string message = input.kill.message.empty() ? "Stopping container " + input.kill.name : input.kill.message;
  context.events(input.pod, {false, "Killing", message, input.kill.name});
  int64_t grace = input.grace_seconds;
  bool has_hook = container.lifecycle().has_pre_stop() && grace > 0;
  if (has_hook) {
    MonotonicTime began = context.runtime.Now();
    Result<Hook> hook = ReadHook(container.lifecycle().pre_stop(), container, input.pod_ip);
    Result<void> done = hook ? Result<void>() : Result<void>(Fail(hook.error()));
    if (hook) {
      auto run = RunHook(context, input.kill.id, std::move(*hook));
      auto within = Within(context.runtime, std::chrono::seconds(grace), std::move(run));
      std::optional<Result<void>> result = co_await std::move(within);
      if (result) done = std::move(*result);
    }
    if (!done) context.events(input.pod, {true, "FailedPreStopHook", "PreStopHook failed", input.kill.name});
    grace -= std::chrono::duration_cast<std::chrono::seconds>(context.runtime.Now() - began).count();
  }
  auto stop = context.cri.StopContainer(input.kill.id, std::max(grace, kLeastGraceSeconds));
  Result<void> stopped = co_await std::move(stop);
  if (!stopped && !stopped.error().IsNotFound()) co_return stopped;
  co_return Done();
}

}  // namespace homeostat::node
