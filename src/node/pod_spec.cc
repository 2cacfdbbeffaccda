#include "node/pod_spec.h"

#include <charconv>

#include "node/values.h"

namespace homeostat::node {

std::vector<ContainerSpec> AllContainers(core::PodSpec spec) {
  std::vector<ContainerSpec> all;
  size_t index = 0;
  for (core::Container container : spec.init_containers()) all.push_back({ContainerKind::kInit, index++, container, {}});
  index = 0;
  for (core::Container container : spec.containers()) all.push_back({ContainerKind::kRegular, index++, container, {}});
  index = 0;
  for (core::EphemeralContainer container : spec.ephemeral_containers()) {
    // The two types list the same fields in the same order, so one view reads the other's tree; pod_spec_test holds
    // the generated types against that.
    all.push_back({ContainerKind::kEphemeral, index++, core::Container(container.Raw()), container.target_container_name()});
  }
  return all;
}

ContainerSpec FindContainer(core::PodSpec spec, std::string_view name) {
  for (const ContainerSpec& container : AllContainers(spec)) {
    if (container.container.name() == name) return container;
  }
  return {};
}

core::ContainerRestartRule MatchingRestartRule(core::Container container, int32_t exit_code) {
  for (core::ContainerRestartRule rule : container.restart_policy_rules()) {
    if (!rule.has_exit_codes()) continue;
    bool listed = false;
    for (int32_t code : rule.exit_codes().values()) listed = listed || code == exit_code;
    bool wanted = rule.exit_codes().operator_() == core::kContainerRestartRuleOnExitCodesOperatorIn;
    if (listed == wanted) return rule;
  }
  return {};
}

bool RestartsAfterExit(core::Container container, core::PodSpec spec, int32_t exit_code) {
  std::string_view policy = container.restart_policy();
  if (!policy.empty() && MatchingRestartRule(container, exit_code)) return true;
  if (policy.empty()) policy = spec.restart_policy();
  if (policy == core::kRestartPolicyNever) return false;
  if (policy == core::kRestartPolicyOnFailure) return exit_code != 0;
  return true;
}

bool RestartsAfterKill(core::Container container, core::PodSpec spec) {
  std::string_view policy = container.restart_policy().empty() ? spec.restart_policy() : container.restart_policy();
  return policy != core::kRestartPolicyNever;
}

namespace {

constexpr std::string_view kCpu = "cpu", kMemory = "memory";

// Sums of cpu and memory over containers; a resource that is not positive is as if it weren't there.
struct QosSums {
  int64_t cpu = 0, memory = 0;
  void Add(schema::MapView<std::string_view> list) {
    cpu += std::max<int64_t>(0, MilliValue(list.Get(kCpu)));
    memory += std::max<int64_t>(0, MilliValue(list.Get(kMemory)));
  }
  bool empty() const { return cpu == 0 && memory == 0; }
  bool operator==(const QosSums&) const = default;
};

bool LimitsBoth(schema::MapView<std::string_view> limits) {
  return MilliValue(limits.Get(kCpu)) > 0 && MilliValue(limits.Get(kMemory)) > 0;
}

}  // namespace

std::string_view QosClass(core::Pod pod) {
  if (!pod.status().qos_class().empty()) return pod.status().qos_class();
  QosSums requests, limits;
  bool guaranteed = true;
  if (pod.spec().has_resources() && (!pod.spec().resources().requests().empty() || !pod.spec().resources().limits().empty())) {
    requests.Add(pod.spec().resources().requests());
    limits.Add(pod.spec().resources().limits());
    guaranteed = LimitsBoth(pod.spec().resources().limits());
  } else {
    for (const ContainerSpec& spec : AllContainers(pod.spec())) {
      if (spec.kind == ContainerKind::kEphemeral) continue;
      requests.Add(spec.container.resources().requests());
      limits.Add(spec.container.resources().limits());
      guaranteed = guaranteed && LimitsBoth(spec.container.resources().limits());
    }
  }
  if (requests.empty() && limits.empty()) return core::kPodQOSClassBestEffort;
  return guaranteed && requests == limits ? core::kPodQOSClassGuaranteed : core::kPodQOSClassBurstable;
}

std::string PodShownName(core::Pod pod) {
  return std::string(pod.metadata().name()) + "_" + std::string(pod.metadata().namespace_()) + "(" +
         std::string(pod.metadata().uid()) + ")";
}

uint64_t ContainerHash(core::Container container) {
  // FNV-1a over name and image, the two things whose change makes another container of it.
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&hash](std::string_view text) {
    for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
    hash = (hash ^ 0xff) * 0x100000001b3;
  };
  add(container.name());
  add(container.image());
  return hash;
}

int64_t GracePeriodSeconds(core::Pod pod) {
  if (pod.metadata().has_deletion_timestamp() && pod.metadata().has_deletion_grace_period_seconds()) {
    return pod.metadata().deletion_grace_period_seconds();
  }
  constexpr int64_t kDefault = 30;
  return pod.spec().has_termination_grace_period_seconds() ? pod.spec().termination_grace_period_seconds() : kDefault;
}

bool IsTerminalPhase(std::string_view phase) { return phase == core::kPodPhaseSucceeded || phase == core::kPodPhaseFailed; }

int64_t PodResource(core::PodSpec spec, std::string_view resource, bool limits) {
  auto of = [&](core::ResourceRequirements resources) {
    return MilliValue(limits ? resources.limits().Get(resource) : resources.requests().Get(resource));
  };
  int64_t running = 0, sidecars = 0, largest_init = 0;
  for (const ContainerSpec& container : AllContainers(spec)) {
    int64_t amount = of(container.container.resources());
    if (container.kind == ContainerKind::kRegular) running += amount;
    if (container.kind != ContainerKind::kInit) continue;
    if (container.restartable_init()) sidecars += amount;
    largest_init = std::max(largest_init, container.restartable_init() ? sidecars : sidecars + amount);
  }
  int64_t sum = std::max(running + sidecars, largest_init);
  if (spec.has_resources()) {
    auto list = limits ? spec.resources().limits() : spec.resources().requests();
    if (list.contains(resource)) sum = MilliValue(list.Get(resource));
  }
  int64_t overhead = MilliValue(spec.overhead().Get(resource));
  return limits && sum == 0 ? 0 : sum + overhead;
}

bool AllLimited(core::PodSpec spec, std::string_view resource) {
  if (spec.has_resources() && spec.resources().limits().contains(resource)) return true;
  for (const ContainerSpec& container : AllContainers(spec)) {
    if (container.kind == ContainerKind::kEphemeral) continue;
    if (MilliValue(container.container.resources().limits().Get(resource)) <= 0) return false;
  }
  return true;
}

std::optional<int32_t> ResolvePort(const object::Value& port, core::Container container) {
  int64_t number = port.AsInt();
  if (port.IsString()) {
    std::string_view text = port.AsString();
    for (core::ContainerPort candidate : container.ports()) {
      if (candidate.name() == text) return candidate.container_port();
    }
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  }
  if (number < 1 || number > 65535) return std::nullopt;
  return static_cast<int32_t>(number);
}

}  // namespace homeostat::node
