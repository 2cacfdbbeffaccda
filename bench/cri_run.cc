// How long containerd itself takes from nothing to a running container: sandbox with its network, container, start.
// usage: cri_run SOCKET IMAGE [RUNS]; prints a line of milliseconds a run. What it made is removed again.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "homeostat/base/runtime.h"
#include "homeostat/base/task.h"
#include "node/cri.h"

namespace homeostat {
namespace {

namespace cri = node::cri;

Task<Result<Duration>> RunOnce(Runtime& runtime, cri::Cri& runtime_service, std::string image, uint32_t attempt) {
  cri::SandboxConfig sandbox;
  const std::string name = "bench-" + std::to_string(getpid());
  sandbox.metadata = {name, name, "bench", attempt};
  sandbox.hostname = "bench";
  sandbox.log_directory = "/tmp";
  sandbox.cgroup_parent = "/homeostat-bench";
  sandbox.seccomp = cri::SecurityProfile{};
  cri::ContainerConfig container;
  container.metadata = {"c", 0};
  container.image.image = std::move(image);
  container.log_path = name + ".log";
  container.resources = {.cpu_shares = 2};

  const MonotonicTime begin = runtime.Now();
  auto run = runtime_service.RunPodSandbox(sandbox);
  CO_TRY_ASSIGN(std::string sandbox_id, co_await std::move(run));
  auto create = runtime_service.CreateContainer(sandbox_id, container, sandbox);
  CO_TRY_ASSIGN(std::string id, co_await std::move(create));
  auto start = runtime_service.StartContainer(id);
  CO_TRY(co_await std::move(start));
  const Duration took = runtime.Now() - begin;

  auto stop = runtime_service.StopPodSandbox(sandbox_id);
  CO_TRY(co_await std::move(stop));
  auto remove = runtime_service.RemovePodSandbox(sandbox_id);
  CO_TRY(co_await std::move(remove));
  co_return took;
}

Task<void> Run(RealRuntime& runtime, std::string socket, std::string image, int runs, int& code) {
  auto runtime_service = cri::MakeGrpcCri(runtime, std::move(socket));
  for (int i = 0; i < runs; ++i) {
    auto once = RunOnce(runtime, *runtime_service, image, static_cast<uint32_t>(i));
    auto took = co_await std::move(once);
    if (!took) {
      std::fprintf(stderr, "%s\n", took.error().message().c_str());
      code = 1;
      break;
    }
    std::printf("%lld\n", static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(*took).count()));
  }
  runtime.Stop();
}

}  // namespace
}  // namespace homeostat

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: cri_run SOCKET IMAGE [RUNS]\n");
    return 2;
  }
  auto runtime = homeostat::RealRuntime::Make();
  int code = 0;
  homeostat::TaskGroup group(*runtime);
  group.Spawn(homeostat::Run(*runtime, argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 5, code));
  runtime->Run();
  return code;
}
