#include "node/sim/sim_pod.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "homeostat/api/core/v1_builders.h"
#include "homeostat/base/hash.h"
#include "homeostat/base/text.h"
#include "homeostat/object/time.h"

namespace homeostat::node::sim {
namespace {

using api::core::v1::Container;
using api::core::v1::ContainerStatusBuilder;
using api::core::v1::Pod;
using api::core::v1::PodBuilder;
using api::core::v1::PodStatusBuilder;

enum class ContainerStage : uint8_t { kCreating, kNoImage, kRunning, kCrashed, kTerminated };

bool IsWaiting(ContainerStage stage) { return stage == ContainerStage::kCreating || stage == ContainerStage::kNoImage; }

bool HasImage(const SimPodFacts& facts, std::string_view image) { return !facts.has_image || facts.has_image(FullImageName(image)); }

bool IsSidecar(const Container& container) { return container.restart_policy() == "Always"; }

void SetTerminated(api::core::v1::ContainerStateBuilder state, const SimPodFacts& facts, int32_t code,
                   const std::string& id, const std::string& end) {
  auto terminated = state.mutable_terminated();
  terminated.set_exit_code(code);
  terminated.set_reason(code == 0 ? "Completed" : "Error");
  if (!facts.started_at.empty()) terminated.set_started_at(facts.started_at);
  terminated.set_finished_at(end);
  terminated.set_container_id(id);
}

void AddMounts(ContainerStatusBuilder& status, const Container& container) {
  for (auto mount : container.volume_mounts()) {
    auto mounted = status.add_volume_mounts();
    mounted.set_name(mount.name()).set_mount_path(mount.mount_path());
    if (mount.read_only()) mounted.set_read_only(true).set_recursive_read_only("Disabled");
  }
}

void FillContainer(ContainerStatusBuilder status, const Container& container, ContainerStage stage,
                   const SimPodFacts& facts, int32_t restarts) {
  status.set_name(container.name());
  if (IsWaiting(stage)) {
    auto waiting = status.mutable_state().mutable_waiting();
    if (stage == ContainerStage::kNoImage && !HasImage(facts, container.image())) {
      std::string image(container.image());
      waiting.set_reason("ImagePullBackOff").set_message("Back-off pulling image \"" + image + "\": ErrImagePull: " + image + ": not found");
    } else {
      waiting.set_reason("ContainerCreating");
    }
    status.set_image(container.image());
    status.mutable_last_state();
    status.set_started(false);
    AddMounts(status, container);
    return;
  }
  std::string id = facts.container_id(container.name());
  status.set_image(FullImageName(container.image()));
  status.set_image_id(ImageId(container.image()));
  status.set_container_id(id);
  status.set_restart_count(restarts);
  bool running = stage == ContainerStage::kRunning;
  status.set_ready(running);
  status.set_started(running);
  auto last = status.mutable_last_state();
  if (running) {
    status.mutable_state().mutable_running().set_started_at(facts.started_at);
    if (restarts > 0 && !facts.exit_time.empty())
      SetTerminated(std::move(last), facts, facts.exit_code, id, facts.exit_time);
  } else if (stage == ContainerStage::kCrashed) {
    status.mutable_state()
        .mutable_waiting()
        .set_reason("CrashLoopBackOff")
        .set_message("back-off restarting failed container=" + std::string(container.name()));
    SetTerminated(std::move(last), facts, facts.exit_code, id, facts.exit_time);
  } else {
    SetTerminated(status.mutable_state(), facts, facts.exit_code, id,
                  facts.exit_time.empty() ? facts.now : facts.exit_time);
  }
  if (container.resources().has_requests()) status.set_allocated_resources(container.resources().requests());
  if (container.has_resources()) status.set_resources(container.resources());
  AddMounts(status, container);
}

// Init containers have run by the time the others start; sidecars live as long as these.
void FillContainers(PodStatusBuilder& status, const Pod& pod, ContainerStage stage, const SimPodFacts& facts) {
  status.clear_init_container_statuses();
  status.clear_container_statuses();
  for (Container container : pod.spec().init_containers()) {
    ContainerStage own = stage;
    if (stage == ContainerStage::kCrashed) own = ContainerStage::kRunning;
    if (!IsSidecar(container) && !IsWaiting(stage)) own = ContainerStage::kTerminated;
    SimPodFacts init = facts;
    init.exit_code = 0;
    init.exit_time = facts.started_at;
    auto added = status.add_init_container_statuses();
    FillContainer(std::move(added), container, own, init, 0);
    if (own == ContainerStage::kTerminated && !IsSidecar(container)) {
      status.mutable_init_container_statuses(status.init_container_statuses_size() - 1).set_ready(true);
    }
  }
  for (Container container : pod.spec().containers()) {
    auto added = status.add_container_statuses();
    FillContainer(std::move(added), container, stage, facts, facts.restarts);
  }
}

struct Condition {
  std::string type, status, reason, message;
};

std::string Names(const Pod& pod) {
  std::string names;
  for (Container container : pod.spec().containers())
    names += (names.empty() ? "" : " ") + std::string(container.name());
  return names;
}

// The gates that do not hold, in the words of the kubelet.
std::string UnreadyGates(const Pod& pod) {
  std::string message;
  for (auto gate : pod.spec().readiness_gates()) {
    std::string_view held;
    for (auto condition : pod.status().conditions()) {
      if (condition.type() == gate.condition_type()) held = condition.status();
    }
    if (held == "True") continue;
    if (!message.empty()) message += ", ";
    message += held.empty() ? "corresponding condition of pod readiness gate \"" + std::string(gate.condition_type()) +
                                  "\" does not exist."
                            : "the status of pod readiness gate \"" + std::string(gate.condition_type()) +
                                  "\" is not \"True\", but " + std::string(held);
  }
  return message;
}

std::vector<Condition> Conditions(const Pod& pod, ContainerStage stage, bool completed) {
  std::vector<Condition> conditions;
  bool sandbox = stage == ContainerStage::kNoImage || stage == ContainerStage::kRunning || stage == ContainerStage::kCrashed;
  conditions.push_back({"PodReadyToStartContainers", sandbox ? "True" : "False", "", ""});
  bool initialized = !IsWaiting(stage) || pod.spec().init_containers().empty();
  if (initialized) {
    conditions.push_back({"Initialized", "True", completed ? "PodCompleted" : "", ""});
  } else {
    std::string names;
    for (Container container : pod.spec().init_containers())
      names += (names.empty() ? "" : " ") + std::string(container.name());
    conditions.push_back(
        {"Initialized", "False", "ContainersNotInitialized", "containers with incomplete status: [" + names + "]"});
  }
  if (stage == ContainerStage::kRunning) {
    std::string gates = UnreadyGates(pod);
    if (gates.empty()) {
      conditions.push_back({"Ready", "True", "", ""});
    } else {
      conditions.push_back({"Ready", "False", "ReadinessGatesNotReady", gates});
    }
    conditions.push_back({"ContainersReady", "True", "", ""});
  } else {
    std::string reason = completed ? "PodCompleted" : "ContainersNotReady";
    std::string message = completed ? "" : "containers with unready status: [" + Names(pod) + "]";
    if (stage == ContainerStage::kTerminated && !completed) {
      reason = "PodFailed";
      message.clear();
    }
    conditions.push_back({"Ready", "False", reason, message});
    conditions.push_back({"ContainersReady", "False", reason, message});
  }
  conditions.push_back({"PodScheduled", "True", "", ""});
  return conditions;
}

// The kubelet's own conditions first, in its order; then those that others wrote.
void SetConditions(PodStatusBuilder& status, const Pod& pod, const std::vector<Condition>& conditions,
                   const std::string& now) {
  status.clear_conditions();
  for (const Condition& wanted : conditions) {
    std::string transition = now;
    for (auto condition : pod.status().conditions()) {
      if (condition.type() == wanted.type && condition.status() == wanted.status)
        transition = condition.last_transition_time();
    }
    auto added = status.add_conditions();
    added.set_type(wanted.type).set_status(wanted.status).set_last_transition_time(transition);
    if (!wanted.reason.empty()) added.set_reason(wanted.reason);
    if (!wanted.message.empty()) added.set_message(wanted.message);
    if (pod.metadata().generation() > 0) added.set_observed_generation(pod.metadata().generation());
  }
  for (auto condition : pod.status().conditions()) {
    auto same = [&](const Condition& wanted) { return wanted.type == condition.type(); };
    if (std::ranges::none_of(conditions, same)) status.add_conditions(schema::Subtree(condition));
  }
}

object::DocumentPtr Write(object::DocumentPtr document, ContainerStage stage, std::string_view phase,
                          const SimPodFacts& facts) {
  Pod pod(document->root());
  PodBuilder builder{schema::Subtree(document)};
  auto status = builder.mutable_status();
  bool completed = phase == "Succeeded";
  SetConditions(status, pod, Conditions(pod, stage, completed), facts.now);
  status.set_phase(phase);
  if (facts.failure) status.set_reason(facts.failure->reason).set_message(facts.failure->message);
  if (pod.metadata().generation() > 0) status.set_observed_generation(pod.metadata().generation());
  status.clear_host_ips();
  status.set_host_ip(facts.host_ip).add_host_ips().set_ip(facts.host_ip);
  if (pod.status().start_time().empty()) status.set_start_time(facts.now);
  std::string ip = pod.spec().host_network() ? facts.host_ip : facts.pod_ip;
  if (stage != ContainerStage::kCreating && !ip.empty()) {
    status.clear_pod_ips();
    status.set_pod_ip(ip).add_pod_ips().set_ip(ip);
  }
  FillContainers(status, pod, stage, facts);
  return builder.Freeze();
}

}  // namespace

std::optional<ExitPlan> ReadExitPlan(const Pod& pod) {
  std::string_view text = pod.metadata().annotations().Get(kExitAfterAnnotation);
  if (text.empty()) return std::nullopt;
  ExitPlan plan;
  size_t comma = text.find(',');
  if (comma != text.npos) {
    std::string_view code = text.substr(comma + 1);
    auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), plan.code);
    if (error != std::errc() || end != code.data() + code.size() || plan.code < 0 || plan.code > 255)
      return std::nullopt;
  }
  auto after = object::ParseDuration(text.substr(0, comma));
  if (!after || *after < Duration(0)) return std::nullopt;
  plan.after = *after;
  return plan;
}

SimStage StageOf(const Pod& pod) {
  std::string_view phase = pod.status().phase();
  if (phase == "Succeeded" || phase == "Failed") return SimStage::kFinished;
  if (pod.status().start_time().empty()) return SimStage::kNew;
  for (auto status : pod.status().container_statuses()) {
    if (status.state().waiting().reason() == "ImagePullBackOff") return SimStage::kNoImage;
  }
  if (phase != "Running") return SimStage::kCreating;
  for (auto status : pod.status().container_statuses()) {
    if (status.state().waiting().reason() == "CrashLoopBackOff") return SimStage::kCrashed;
  }
  return SimStage::kRunning;
}

object::DocumentPtr WithStage(object::DocumentPtr pod, SimStage stage, const SimPodFacts& facts) {
  switch (stage) {
    case SimStage::kRunning:
      return Write(std::move(pod), ContainerStage::kRunning, "Running", facts);
    case SimStage::kCrashed:
      return Write(std::move(pod), ContainerStage::kCrashed, "Running", facts);
    case SimStage::kNoImage:
      return Write(std::move(pod), ContainerStage::kNoImage, "Pending", facts);
    case SimStage::kFinished:
      return Write(std::move(pod), ContainerStage::kTerminated, facts.exit_code == 0 && !facts.failure ? "Succeeded" : "Failed", facts);
    default:
      return Write(std::move(pod), ContainerStage::kCreating, "Pending", facts);
  }
}

object::DocumentPtr WithStopped(object::DocumentPtr pod, const SimPodFacts& facts) {
  return Write(std::move(pod), ContainerStage::kTerminated, facts.exit_code == 0 ? "Succeeded" : "Failed", facts);
}

object::DocumentPtr WithRefusal(object::DocumentPtr document, const SimPodFacts& facts) {
  Pod pod(document->root());
  PodBuilder builder{schema::Subtree(document)};
  auto status = builder.mutable_status();
  status.set_phase("Failed").set_reason(facts.failure->reason).set_message("Pod was rejected: " + facts.failure->message);
  if (pod.metadata().generation() > 0) status.set_observed_generation(pod.metadata().generation());
  if (pod.status().start_time().empty()) status.set_start_time(facts.now);
  return builder.Freeze();
}

std::optional<SimFailure> RefuseHostPorts(const Pod& pod, const std::vector<Pod>& others) {
  struct HostPort {
    int32_t port;
    std::string_view protocol, ip;
  };
  auto ports = [](const Pod& of) {
    std::vector<HostPort> found;
    for (Container container : of.spec().containers()) {
      for (auto port : container.ports()) {
        std::string_view ip = port.host_ip() == "0.0.0.0" ? std::string_view() : port.host_ip();
        if (port.host_port() != 0) found.push_back({port.host_port(), port.protocol(), ip});
      }
    }
    return found;
  };
  const std::vector<HostPort> wanted = ports(pod);
  for (const Pod& other : others) {
    for (const HostPort& taken : ports(other)) {
      for (const HostPort& own : wanted) {
        bool same_ip = own.ip == taken.ip || own.ip.empty() || taken.ip.empty();
        if (!same_ip || own.port != taken.port || own.protocol != taken.protocol) continue;
        return SimFailure{"NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"};
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> MissingImage(const Pod& pod, const SimPodFacts& facts) {
  for (const auto& list : {pod.spec().init_containers(), pod.spec().containers()}) {
    for (Container container : list) {
      if (!HasImage(facts, container.image())) return std::string(container.image());
    }
  }
  return std::nullopt;
}

std::optional<Duration> LeftOfDeadline(const Pod& pod, WallTime now) {
  if (!pod.spec().has_active_deadline_seconds() || pod.status().start_time().empty()) return std::nullopt;
  auto start = object::ParseTime(pod.status().start_time());
  if (!start) return std::nullopt;
  Duration left = start->ToClock() + std::chrono::seconds(pod.spec().active_deadline_seconds()) - now;
  return std::max(left, Duration(0));
}

bool Restarts(const Pod& pod, int32_t exit_code) {
  std::string_view policy = pod.spec().restart_policy();
  return policy == "OnFailure" ? exit_code != 0 : policy != "Never";
}

Duration CrashBackoff(int32_t restarts) {
  constexpr Duration kLongest = std::chrono::minutes(5);
  if (restarts == 0) return Duration(0);
  Duration wait = std::chrono::seconds(10);
  for (int32_t i = 1; i < restarts && wait < kLongest; ++i) wait *= 2;
  return std::min(wait, kLongest);
}

std::string FullImageName(std::string_view image) {
  std::string name(image);
  size_t slash = name.find('/');
  std::string first = slash == name.npos ? "" : name.substr(0, slash);
  bool has_host = first.find('.') != first.npos || first.find(':') != first.npos || first == "localhost";
  if (!has_host) name = (slash == name.npos ? "docker.io/library/" : "docker.io/") + name;
  size_t last = name.rfind('/');
  if (name.find(':', last) == name.npos && name.find('@', last) == name.npos) name += ":latest";
  return name;
}

std::string ImageId(std::string_view image) {
  std::string name = FullImageName(image);
  std::string digest = LowerCase(Sha256Hex(name));
  size_t end = std::min(name.find('@'), name.find(':', name.rfind('/')));
  return name.substr(0, end) + "@sha256:" + digest;
}

}  // namespace homeostat::node::sim
