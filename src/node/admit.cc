#include "node/admit.h"

namespace homeostat::node {

namespace {

StartFailure Refusal(std::string reason, const std::string& message) { return {std::move(reason), "Pod was rejected: " + message}; }

StartFailure Lacking(const std::string& resource, int64_t requested, int64_t used, int64_t capacity) {
  return Refusal("OutOf" + resource, "Node didn't have enough resource: " + resource + ", requested: " + std::to_string(requested) +
                                         ", used: " + std::to_string(used) + ", capacity: " + std::to_string(capacity));
}

// In the unit that messages count the resource in.
int64_t Requested(core::PodSpec spec, const std::string& resource) {
  int64_t milli = PodResource(spec, resource, false);
  return resource == "cpu" ? milli : milli / 1000;
}

bool SelectorMatches(core::PodSpec spec, core::Node node) {
  for (auto [key, value] : spec.node_selector()) {
    if (!node.metadata().labels().contains(key) || node.metadata().labels().Get(key) != value) return false;
  }
  return true;
}

std::optional<int32_t> TakenHostPort(core::Pod pod, const std::vector<core::Pod>& others) {
  auto ports = [](core::Pod p) {
    std::set<std::tuple<int32_t, std::string_view, std::string_view>> found;
    for (core::Container container : p.spec().containers()) {
      for (core::ContainerPort port : container.ports()) {
        if (port.host_port() != 0) found.emplace(port.host_port(), port.protocol(), port.host_ip());
      }
    }
    return found;
  };
  auto own = ports(pod);
  for (core::Pod other : others) {
    for (const auto& port : ports(other)) {
      if (own.contains(port)) return std::get<0>(port);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<StartFailure> RefuseToAdmit(const AdmitInput& input) {
  core::PodSpec spec = input.pod.spec();
  if (spec.has_os() && spec.os().name() != "linux" && !spec.os().name().empty()) {
    return Refusal("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS");
  }
  int64_t pods = static_cast<int64_t>(input.others.size());
  auto limit = input.allocatable.find("pods");
  if (limit != input.allocatable.end() && pods + 1 > limit->second) return Lacking("pods", 1, pods, limit->second);
  for (const char* resource : {"cpu", "memory", "ephemeral-storage"}) {
    auto capacity = input.allocatable.find(resource);
    int64_t requested = Requested(spec, resource);
    if (requested == 0 || capacity == input.allocatable.end()) continue;
    int64_t used = 0;
    for (core::Pod other : input.others) used += Requested(other.spec(), resource);
    if (used + requested > capacity->second) return Lacking(resource, requested, used, capacity->second);
  }
  if (!SelectorMatches(spec, input.node)) return Refusal("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector");
  if (TakenHostPort(input.pod, input.others)) {
    return Refusal("NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports");
  }
  return std::nullopt;
}

}  // namespace homeostat::node
