#include <unistd.h>

#include "homeostat/base/subprocess.h"
#include "network/service_proxy.h"
#include "node/agent.h"
#include "node/cgroups.h"
#include "node/errors.h"
#include "node/files.h"
#include "node/internal/agent_defaults.h"
#include "node/mounts.h"
#include "node/resources.h"
#include "node/runtime_reader.h"

namespace homeostat::node {

using internal::RuntimeOptions;

namespace {

constexpr int64_t kGraceSeconds = 2;

// Stops and removes all the owner's sandboxes with what is in them. What fails is told, and the rest goes on.
Task<Result<void>> RemoveAllPods(cri::Cri& cri, std::string owner) {
  Result<void> result;
  cri::Filter ours{.labels = {{std::string(kOwnerLabel), owner}}};
  auto containers = cri.ListContainers(ours);
  CO_TRY_ASSIGN(std::vector<cri::Container> running, co_await std::move(containers));
  for (const cri::Container& container : running) {
    if (container.state != cri::ContainerState::kRunning) continue;
    auto stop = cri.StopContainer(container.id, kGraceSeconds);
    (void)co_await std::move(stop);
  }
  auto sandboxes = cri.ListPodSandbox(ours);
  CO_TRY_ASSIGN(std::vector<cri::Sandbox> all, co_await std::move(sandboxes));
  for (const cri::Sandbox& sandbox : all) {
    auto stop = cri.StopPodSandbox(sandbox.id);
    Result<void> stopped = co_await std::move(stop);
    auto remove = cri.RemovePodSandbox(sandbox.id);
    Result<void> removed = co_await std::move(remove);
    if (!stopped) result = stopped;
    if (!removed) result = removed;
  }
  co_return result;
}

// A tool's failure means mostly that there was nothing to remove.
Task<void> RunQuietly(Runtime& runtime, std::vector<std::string> arguments, std::string input) {
  SubprocessOptions options;
  options.arguments = std::move(arguments);
  auto run = RunCommand(runtime, std::move(options), Bytes(std::move(input)));
  (void)co_await std::move(run);
}

// The cgroups of pods whose folders are still there.
void RemoveCgroups(const std::string& pods_folder, const CgroupSetup& setup) {
  Result<std::vector<std::string>> uids = ListFolder(pods_folder);
  if (!uids) return;
  for (const std::string& uid : *uids) {
    for (const char* level : {"", "burstable/", "besteffort/"}) (void)RemovePodCgroup(setup, std::string("/kubepods/") + level + "pod" + uid);
  }
}

}  // namespace

Task<Result<void>> RemoveNode(Runtime& runtime, AgentOptions options) {
  internal::FillNames(options);
  Result<void> result;
  if (!options.containerd_socket.empty()) {
    auto cri = cri::MakeGrpcCri(runtime, options.containerd_socket);
    auto remove = RemoveAllPods(*cri, internal::OwnerMark(options));
    result = co_await std::move(remove);
  } else if (PathExists(PathsOf(RuntimeOptions(options)).config)) {
    auto start = StartContainerd(runtime, RuntimeOptions(options));
    CO_TRY_ASSIGN(std::string socket, co_await std::move(start));
    auto cri = cri::MakeGrpcCri(runtime, socket);
    auto remove = RemoveAllPods(*cri, internal::OwnerMark(options));
    result = co_await std::move(remove);
    auto stop = StopContainerd(runtime, RuntimeOptions(options));
    Result<void> stopped = co_await std::move(stop);
    if (result) result = stopped;
    auto link = RunQuietly(runtime, {"ip", "link", "delete", options.network.bridge}, "");
    co_await std::move(link);
    std::string script = network::RemoveMasqueradeScript(options.network) + network::RemoveServiceProxyScript(options.network.name);
    auto nft = RunQuietly(runtime, {"nft", "-f", "-"}, std::move(script));
    co_await std::move(nft);
  }
  std::move_only_function<Result<void>()> work = [options]() -> Result<void> {
    RemoveCgroups(options.directory + "/pods", DetectCgroups(DetectHost().systemd_cgroups));
    TRY(UnmountBelow(options.directory));
    TRY(UnmountBelow(PathsOf(RuntimeOptions(options)).run));
    return RemoveTree(PathsOf(RuntimeOptions(options)).run);
  };
  auto run = RunOffLoop<Result<void>>(runtime, std::move(work));
  Result<void> cleaned = co_await std::move(run);
  co_return result ? cleaned : result;
}

}  // namespace homeostat::node
