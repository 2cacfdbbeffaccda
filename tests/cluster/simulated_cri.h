// SimulatedCri: a container runtime on simulated time. Everything takes a while; what was begun is done even if nobody waits for
// it any more; a name is taken from the beginning of its creation. Containers behave as their image's name says. It
// outlives the node agents that are tested against it, as a real one does.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/cri.h"

namespace homeostat::node::cri {

// Images: "run" runs until stopped; "exit-N" exits with N after a second; "stubborn" ends only when it is killed;
// "missing" can't be pulled; "slow" takes a minute to pull.
class SimulatedCri : public Cri {
 public:
  explicit SimulatedCri(Runtime& runtime) : runtime_(runtime), finished_(runtime), calls_(runtime) {}

  struct SimulatedContainer {
    ContainerStatus status;
    ContainerConfig config;
  };
  std::map<std::string, SandboxStatus> sandboxes;
  std::map<std::string, SimulatedContainer> containers;
  // What must never happen and did.
  std::vector<std::string> faults;
  int pulls_finished = 0;

  size_t Running() const {
    size_t count = 0;
    for (const auto& [id, container] : containers) count += container.status.state == ContainerState::kRunning;
    return count;
  }
  SimulatedContainer* Find(const std::string& pod_uid, const std::string& name) {
    SimulatedContainer* newest = nullptr;
    for (auto& [id, container] : containers) {
      if (container.config.labels["io.kubernetes.pod.uid"] != pod_uid || container.config.metadata.name != name) continue;
      if (newest == nullptr || container.status.created_at > newest->status.created_at) newest = &container;
    }
    return newest;
  }

  Task<Result<RuntimeVersion>> Version() override { co_return RuntimeVersion{"fake", "1.0", "v1"}; }
  Task<Result<std::vector<RuntimeCondition>>> Status() override {
    co_return std::vector<RuntimeCondition>{{"RuntimeReady", "", "", true}, {"NetworkReady", "", "", true}};
  }

  Task<Result<std::string>> RunPodSandbox(SandboxConfig config) override { return Detached(DoRunPodSandbox(std::move(config))); }
  Task<Result<void>> StopPodSandbox(std::string id) override { return Detached(DoStopPodSandbox(std::move(id))); }
  Task<Result<void>> RemovePodSandbox(std::string id) override { return Detached(DoRemovePodSandbox(std::move(id))); }
  Task<Result<std::string>> CreateContainer(std::string sandbox_id, ContainerConfig config, SandboxConfig) override { return Detached(DoCreateContainer(std::move(sandbox_id), std::move(config))); }
  Task<Result<void>> StartContainer(std::string id) override { return Detached(DoStartContainer(std::move(id))); }
  Task<Result<void>> StopContainer(std::string id, int64_t timeout_seconds) override { return Detached(DoStopContainer(std::move(id), timeout_seconds)); }
  Task<Result<void>> RemoveContainer(std::string id) override { return Detached(DoRemoveContainer(std::move(id))); }

  Task<Result<std::string>> DoRunPodSandbox(SandboxConfig config) {
    std::string name = config.metadata.uid + "/" + std::to_string(config.metadata.attempt);
    if (!names_.insert(name).second) co_return Fail(homeostat::Status(500, "Unknown", "the name is reserved: " + name));
    auto pause = Pause();
    co_await std::move(pause);
    for (const auto& [other_id, other] : sandboxes) {
      if (other.metadata.uid == config.metadata.uid && other.state == SandboxState::kReady) faults.push_back("two sandboxes are ready");
    }
    SandboxStatus sandbox;
    sandbox.id = NewId("s");
    sandbox.metadata = config.metadata;
    sandbox.state = SandboxState::kReady;
    sandbox.created_at = Now();
    sandbox.labels = config.labels;
    sandbox.network = config.namespaces.network;
    sandbox.ips = {"10.0.0." + std::to_string(++addresses_ % 250 + 1)};
    std::string id = sandbox.id;
    sandboxes[id] = std::move(sandbox);
    auto again = Pause();
    co_await std::move(again);
    co_return id;
  }
  Task<Result<void>> DoStopPodSandbox(std::string id) {
    auto pause = Pause();
    co_await std::move(pause);
    auto found = sandboxes.find(id);
    if (found == sandboxes.end()) co_return Fail(Missing(id));
    for (auto& [container_id, container] : containers) {
      if (container.status.sandbox_id == id) End(container_id, 137);
    }
    found->second.state = SandboxState::kNotReady;
    found->second.ips.clear();
    co_return Done();
  }
  Task<Result<void>> DoRemovePodSandbox(std::string id) {
    auto pause = Pause();
    co_await std::move(pause);
    for (auto it = containers.begin(); it != containers.end();) {
      auto next = std::next(it);
      if (it->second.status.sandbox_id == id) Erase(it->first);
      it = next;
    }
    auto found = sandboxes.find(id);
    if (found == sandboxes.end()) co_return Done();
    names_.erase(found->second.metadata.uid + "/" + std::to_string(found->second.metadata.attempt));
    sandboxes.erase(found);
    co_return Done();
  }
  Task<Result<std::vector<Sandbox>>> ListPodSandbox(Filter filter) override {
    auto pause = Pause();
    co_await std::move(pause);
    std::vector<Sandbox> items;
    for (const auto& [id, sandbox] : sandboxes) {
      if (Matches(filter, sandbox.labels)) items.push_back(sandbox);
    }
    co_return items;
  }
  Task<Result<SandboxStatus>> PodSandboxStatus(std::string id) override {
    auto found = sandboxes.find(id);
    if (found == sandboxes.end()) co_return Fail(Missing(id));
    co_return found->second;
  }

  Task<Result<std::string>> DoCreateContainer(std::string sandbox_id, ContainerConfig config) {
    std::string name = NameOf(config);
    if (!names_.insert(name).second) co_return Fail(homeostat::Status(500, "Unknown", "the name is reserved: " + name));
    auto pause = Pause();
    co_await std::move(pause);
    auto sandbox = sandboxes.find(sandbox_id);
    if (sandbox == sandboxes.end() || sandbox->second.state != SandboxState::kReady) names_.erase(name);
    if (sandbox == sandboxes.end() || sandbox->second.state != SandboxState::kReady) co_return Fail(Missing(sandbox_id));
    SimulatedContainer container;
    container.status.id = NewId("c");
    container.status.sandbox_id = sandbox_id;
    container.status.metadata = config.metadata;
    container.status.state = ContainerState::kCreated;
    container.status.image = config.image.user_specified_image;
    container.status.image_ref = config.image.image;
    container.status.created_at = Now();
    container.status.labels = config.labels;
    container.status.annotations = config.annotations;
    container.config = std::move(config);
    std::string id = container.status.id;
    containers[id] = std::move(container);
    co_return id;
  }
  Task<Result<void>> DoStartContainer(std::string id) {
    auto pause = Pause();
    co_await std::move(pause);
    auto found = containers.find(id);
    if (found == containers.end()) co_return Fail(Missing(id));
    SimulatedContainer& container = found->second;
    for (const auto& [other_id, other] : containers) {
      bool same = other.config.labels == container.config.labels && other.status.state == ContainerState::kRunning;
      if (same) faults.push_back("two containers of one name run: " + other.config.metadata.name);
    }
    container.status.state = ContainerState::kRunning;
    container.status.started_at = Now();
    std::string image = Image(container);
    if (image.starts_with("exit-")) {
      int code = std::atoi(image.c_str() + 5);
      runtime_.After(std::chrono::seconds(1), [this, id, code] { End(id, code); });
    }
    co_return Done();
  }
  Task<Result<void>> DoStopContainer(std::string id, int64_t timeout_seconds) {
    auto pause = Pause();
    co_await std::move(pause);
    auto found = containers.find(id);
    if (found == containers.end()) co_return Fail(Missing(id));
    if (Image(found->second) == "stubborn" && found->second.status.state == ContainerState::kRunning) {
      co_await Sleep(runtime_, std::chrono::seconds(timeout_seconds));
      End(id, 137);
    } else {
      End(id, 0);
    }
    co_return Done();
  }
  Task<Result<void>> DoRemoveContainer(std::string id) {
    auto pause = Pause();
    co_await std::move(pause);
    auto found = containers.find(id);
    if (found != containers.end() && found->second.status.state == ContainerState::kRunning) faults.push_back("removed while it ran");
    Erase(id);
    co_return Done();
  }
  Task<Result<std::vector<Container>>> ListContainers(Filter filter) override {
    auto pause = Pause();
    co_await std::move(pause);
    std::vector<Container> items;
    for (const auto& [id, container] : containers) {
      if (Matches(filter, container.status.labels)) items.push_back(container.status);
    }
    co_return items;
  }
  Task<Result<ContainerStatus>> GetContainerStatus(std::string id) override {
    auto found = containers.find(id);
    if (found == containers.end()) co_return Fail(Missing(id));
    co_return found->second.status;
  }
  Task<Result<void>> UpdateContainerResources(std::string, LinuxResources) override { co_return Done(); }
  Task<Result<void>> ReopenContainerLog(std::string) override { co_return Done(); }
  Task<Result<std::vector<ContainerUsage>>> ListContainerStats(Filter) override { co_return std::vector<ContainerUsage>(); }
  // {"healthy"} fails in containers that are marked unhealthy; everything else succeeds.
  Task<Result<ExecResult>> ExecSync(std::string id, std::vector<std::string> command, int64_t) override {
    auto pause = Pause();
    co_await std::move(pause);
    auto found = containers.find(id);
    if (found == containers.end() || found->second.status.state != ContainerState::kRunning) co_return Fail(Missing(id));
    bool healthy = command.empty() || command[0] != "healthy" || !unhealthy.contains(id);
    co_return ExecResult{"", healthy ? "" : "unhealthy", healthy ? 0 : 1};
  }
  Task<Result<std::string>> Exec(StreamRequest) override { co_return Fail(Missing("exec")); }
  Task<Result<std::string>> Attach(StreamRequest) override { co_return Fail(Missing("attach")); }
  Task<Result<std::string>> PortForward(std::string, std::vector<int32_t>) override { co_return Fail(Missing("portforward")); }

  Task<Result<std::vector<cri::Image>>> ListImages() override { co_return std::vector<cri::Image>(); }
  Task<Result<std::optional<cri::Image>>> ImageStatus(ImageSpec image) override {
    auto pause = Pause();
    co_await std::move(pause);
    std::string name = Short(image.image);
    bool present = (name != "missing" && name != "slow") || pulled_.contains(image.image);
    co_return present ? std::optional<cri::Image>(cri::Image{.id = image.image}) : std::nullopt;
  }
  Task<Result<std::string>> PullImage(ImageSpec image, std::optional<RegistryAuth>, SandboxConfig) override {
    auto pause = Pause();
    co_await std::move(pause);
    if (Short(image.image) == "missing") co_return Fail(homeostat::Status(500, "Unknown", "rpc error: code = Unknown desc = not found"));
    if (Short(image.image) == "slow") co_await Sleep(runtime_, std::chrono::minutes(1));
    ++pulls_finished;
    pulled_.insert(image.image);
    co_return image.image;
  }
  Task<Result<void>> RemoveImage(ImageSpec) override { co_return Done(); }
  Task<Result<std::vector<FilesystemUsage>>> ImageFsInfo() override { co_return std::vector<FilesystemUsage>(); }

  std::set<std::string> unhealthy;    // ids of containers whose check fails

  void End(const std::string& id, int32_t code) {
    auto found = containers.find(id);
    if (found == containers.end() || found->second.status.state != ContainerState::kRunning) return;
    found->second.status.state = ContainerState::kExited;
    found->second.status.exit_code = code;
    found->second.status.reason = code == 0 ? "Completed" : "Error";
    found->second.status.finished_at = Now();
  }

 private:
  // Runs to its end whatever becomes of the caller.
  template <class T>
  Task<Result<T>> Detached(Task<Result<T>> call) {
    auto result = std::make_shared<std::optional<Result<T>>>();
    calls_.Spawn(Finish(std::move(call), result));
    while (!*result) {
      auto wait = finished_.Wait();
      co_await wait;
    }
    co_return std::move(**result);
  }
  template <class T>
  Task<void> Finish(Task<Result<T>> call, std::shared_ptr<std::optional<Result<T>>> result) {
    result->emplace(co_await std::move(call));
    finished_.Notify();
  }

  static std::string NameOf(const ContainerConfig& config) {
    auto uid = config.labels.find("io.kubernetes.pod.uid");
    return (uid == config.labels.end() ? "" : uid->second) + "/" + config.metadata.name + "/" + std::to_string(config.metadata.attempt);
  }
  void Erase(const std::string& id) {
    auto found = containers.find(id);
    if (found == containers.end()) return;
    names_.erase(NameOf(found->second.config));
    containers.erase(found);
  }

  static std::string Short(std::string image) {
    image = image.substr(image.rfind('/') + 1);
    return image.substr(0, image.find(':'));
  }
  static std::string Image(const SimulatedContainer& container) { return Short(container.config.image.image); }
  static homeostat::Status Missing(const std::string& id) { return homeostat::Status(404, "NotFound", "not found: " + id); }
  static bool Matches(const Filter& filter, const Map& labels) {
    return std::all_of(filter.labels.begin(), filter.labels.end(), [&](const auto& label) {
      auto found = labels.find(label.first);
      return found != labels.end() && found->second == label.second;
    });
  }
  Task<void> Pause() { return Sleep(runtime_, std::chrono::microseconds(runtime_.Random() % 5000)); }
  // Never the same twice, as creation times order containers.
  int64_t Now() {
    last_ = std::max(last_ + 1, static_cast<int64_t>(runtime_.WallNow().time_since_epoch().count()));
    return last_;
  }
  std::string NewId(const char* prefix) { return prefix + std::to_string(++ids_); }

  Runtime& runtime_;
  int ids_ = 0, addresses_ = 0;
  int64_t last_ = 0;
  std::set<std::string> pulled_, names_;
  Signal finished_;
  TaskGroup calls_;
};

}  // namespace homeostat::node::cri
