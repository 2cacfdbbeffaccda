#include "cli/stop_node.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "homeostat/base/files.h"
#include "homeostat/base/runtime.h"
#include "node/agent.h"

namespace homeostat::cli {
namespace {

Task<void> Remove(RealRuntime& runtime, node::AgentOptions options, Result<void>& outcome) {
  auto remove = node::RemoveNode(runtime, std::move(options));
  outcome = co_await std::move(remove);
  runtime.Stop();
}

Result<void> StopNode(const std::string& data_dir) {
  if (!std::filesystem::exists(data_dir + "/node")) return {};
  // Held while the node goes, so that no cluster starts meanwhile.
  TRY_ASSIGN(DirectoryLock lock, DirectoryLock::Acquire(data_dir));
  node::AgentOptions options;
  options.directory = std::filesystem::absolute(data_dir).lexically_normal().string() + "/node";
  std::unique_ptr<RealRuntime> runtime = RealRuntime::Make();
  Result<void> outcome;
  TaskGroup group(*runtime);
  group.Spawn(Remove(*runtime, std::move(options), outcome));
  runtime->Run();
  return outcome;
}

}  // namespace

int RunStopNode(const std::string& data_dir) {
  Result<void> stopped = StopNode(data_dir);
  if (stopped) return 0;
  fmt::print(stderr, "homeostat: {}\n", stopped.error().message());
  return 1;
}

}  // namespace homeostat::cli
