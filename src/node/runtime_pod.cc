#include "node/runtime_pod.h"

#include <charconv>

namespace homeostat::node {

namespace {

std::string_view Find(const cri::Map& map, std::string_view key) {
  auto found = map.find(std::string(key));
  return found == map.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace

const RuntimeContainer* RuntimePod::Latest(std::string_view name) const {
  for (const RuntimeContainer& container : containers) {
    if (container.name == name) return &container;
  }
  return nullptr;
}

const RuntimeContainer* RuntimePod::LatestInSandbox(std::string_view name) const {
  for (const RuntimeContainer& container : containers) {
    if (container.name == name && !sandboxes.empty() && container.status.sandbox_id == sandboxes[0].id) return &container;
  }
  return nullptr;
}

const RuntimeContainer* RuntimePod::ById(std::string_view id) const {
  for (const RuntimeContainer& container : containers) {
    if (container.status.id == id) return &container;
  }
  return nullptr;
}

bool RuntimePod::AnyRunning() const {
  return std::any_of(containers.begin(), containers.end(), [](const RuntimeContainer& c) { return c.running(); });
}

std::vector<std::string> RuntimePod::Ips() const {
  if (sandboxes.empty() || sandboxes[0].state != cri::SandboxState::kReady) return {};
  return sandboxes[0].ips;
}

void RuntimePod::Sort() {
  std::sort(sandboxes.begin(), sandboxes.end(), [](const auto& a, const auto& b) { return a.created_at > b.created_at; });
  std::sort(containers.begin(), containers.end(),
            [](const auto& a, const auto& b) { return a.status.created_at > b.status.created_at; });
}

Superfluous FindSuperfluous(const RuntimePod& pod) {
  constexpr int kKept = 2;
  Superfluous result;
  std::map<std::string_view, int> seen;
  std::set<std::string_view> used;
  for (const RuntimeContainer& container : pod.containers) {
    if (++seen[container.name] > kKept && container.exited()) {
      result.containers.emplace_back(container.status.id, container.status.log_path);
    } else {
      used.insert(container.status.sandbox_id);
    }
  }
  for (size_t i = 1; i < pod.sandboxes.size(); ++i) {
    const cri::SandboxStatus& sandbox = pod.sandboxes[i];
    if (sandbox.state == cri::SandboxState::kNotReady && !used.contains(sandbox.id)) result.sandboxes.push_back(sandbox.id);
  }
  return result;
}

std::optional<RuntimeContainer> ReadContainer(cri::ContainerStatus status) {
  std::string name(Find(status.labels, kContainerNameLabel));
  if (name.empty() || Find(status.labels, kPodUidLabel).empty()) return std::nullopt;
  RuntimeContainer container{.name = std::move(name)};
  std::string_view count = Find(status.annotations, kRestartCountAnnotation);
  std::from_chars(count.data(), count.data() + count.size(), container.restart_count);
  std::string_view hash = Find(status.annotations, kHashAnnotation);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(hash.data(), hash.data() + hash.size(), value, 16);
  if (error == std::errc() && !hash.empty() && end == hash.data() + hash.size()) container.hash = value;
  container.status = std::move(status);
  return container;
}

std::string ShownContainerId(std::string_view runtime_name, std::string_view id) {
  return std::string(runtime_name) + "://" + std::string(id);
}

}  // namespace homeostat::node
