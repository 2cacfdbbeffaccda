#include "node/node_status.h"

#include "homeostat/api/core/v1_builders.h"
#include "node/image_archive.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

// Kept back from pods: upstream's default eviction thresholds.
constexpr int64_t kReservedMemory = 100 * 1024 * 1024;
constexpr int64_t kReservedDiskPercent = 10;
constexpr size_t kMostImages = 50, kMostImageNames = 5;

std::string Kibi(int64_t bytes) { return std::to_string(bytes / 1024) + "Ki"; }

std::string MilliText(int64_t milli) {
  return milli % 1000 == 0 ? std::to_string(milli / 1000) : std::to_string(milli) + "m";
}

std::vector<std::string> Addresses(const NodeDescription& d) { return d.addresses.empty() ? d.machine.addresses : d.addresses; }

void WriteAmounts(const NodeDescription& d, core::NodeStatusBuilder& status) {
  std::map<std::string, int64_t> allocatable = NodeAllocatable(d);
  status.set_capacity("cpu", std::to_string(d.machine.cpus)).set_allocatable("cpu", MilliText(allocatable["cpu"]));
  status.set_capacity("ephemeral-storage", Kibi(d.machine.disk_bytes));
  status.set_allocatable("ephemeral-storage", std::to_string(allocatable["ephemeral-storage"]));
  status.set_capacity("memory", Kibi(d.machine.memory_bytes)).set_allocatable("memory", Kibi(allocatable["memory"]));
  status.set_capacity("pods", std::to_string(d.max_pods)).set_allocatable("pods", std::to_string(d.max_pods));
}

void WriteAddresses(const NodeDescription& d, core::NodeStatusBuilder& status) {
  status.clear_addresses();
  for (const std::string& ip : Addresses(d)) status.add_addresses().set_type("InternalIP").set_address(ip);
  status.add_addresses().set_type("Hostname").set_address(d.machine.hostname.empty() ? d.name : d.machine.hostname);
}

void WriteInfo(const NodeDescription& d, core::NodeStatusBuilder& status) {
  core::NodeSystemInfoBuilder info = status.mutable_node_info();
  info.set_machine_id(d.machine.machine_id).set_system_uuid(d.machine.system_uuid).set_boot_id(d.machine.boot_id);
  info.set_kernel_version(d.machine.kernel_version).set_os_image(d.machine.os_image);
  info.set_container_runtime_version(d.runtime_version).set_kubelet_version(d.kubelet_version);
  info.set_operating_system("linux").set_architecture(d.machine.architecture);
  if (d.machine.swap_bytes > 0) info.mutable_swap().set_capacity(d.machine.swap_bytes);
  if (d.api_port != 0) status.mutable_daemon_endpoints().mutable_kubelet_endpoint().set_port(d.api_port);
}

struct ConditionText {
  std::string_view type;
  bool value;
  std::string_view reason;
  std::string message;
};

core::NodeCondition FindCondition(core::NodeStatus status, std::string_view type) {
  for (core::NodeCondition condition : status.conditions()) {
    if (condition.type() == type) return condition;
  }
  return {};
}

void WriteConditions(core::NodeStatus before, const NodeCondition& condition, WallTime now, core::NodeStatusBuilder& status) {
  const ConditionText texts[] = {
      {"MemoryPressure", false, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
      {"DiskPressure", false, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
      {"PIDPressure", false, "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
      {"Ready", condition.ready, condition.ready ? "KubeletReady" : "KubeletNotReady",
       condition.ready ? "kubelet is posting ready status" : condition.message}};
  status.clear_conditions();
  auto ours = [&](std::string_view type) {
    return std::any_of(std::begin(texts), std::end(texts), [&](const ConditionText& t) { return t.type == type; });
  };
  for (core::NodeCondition other : before.conditions()) {
    if (!ours(other.type())) status.add_conditions(other);
  }
  for (const ConditionText& text : texts) {
    core::NodeCondition old = FindCondition(before, text.type);
    std::string_view value = text.value ? core::kConditionStatusTrue : core::kConditionStatusFalse;
    core::NodeConditionBuilder out = status.add_conditions();
    out.set_type(text.type).set_status(value).set_reason(text.reason).set_message(text.message);
    out.set_last_heartbeat_time(FormatTime(now));
    bool same = old && old.status() == value && old.has_last_transition_time();
    out.set_last_transition_time(same ? std::string(old.last_transition_time()) : FormatTime(now));
  }
}

// The largest ones, each with its digests and tags.
void WriteImages(std::vector<cri::Image> images, core::NodeStatusBuilder& status) {
  std::sort(images.begin(), images.end(), [](const auto& a, const auto& b) { return std::tie(b.size, a.id) < std::tie(a.size, b.id); });
  status.clear_images();
  for (const cri::Image& image : images) {
    if (status.images_size() == kMostImages) break;
    core::ContainerImageBuilder out = status.add_images();
    size_t names = 0;
    for (const auto* list : {&image.repo_digests, &image.repo_tags}) {
      for (const std::string& name : *list) {
        if (names++ < kMostImageNames) out.add_names(name);
      }
    }
    out.set_size_bytes(static_cast<int64_t>(image.size));
  }
}

std::map<std::string, std::string> Labels(const NodeDescription& d) {
  std::map<std::string, std::string> labels = d.labels;
  labels["beta.kubernetes.io/arch"] = labels["kubernetes.io/arch"] = d.machine.architecture;
  labels["beta.kubernetes.io/os"] = labels["kubernetes.io/os"] = "linux";
  labels["kubernetes.io/hostname"] = d.machine.hostname.empty() ? d.name : d.machine.hostname;
  return labels;
}

}  // namespace

std::map<std::string, int64_t> NodeCapacity(const NodeDescription& d) {
  return {{"cpu", d.machine.cpus * 1000}, {"memory", d.machine.memory_bytes}, {"ephemeral-storage", d.machine.disk_bytes},
          {"pods", d.max_pods}};
}

std::map<std::string, int64_t> NodeAllocatable(const NodeDescription& d) {
  std::map<std::string, int64_t> amounts = NodeCapacity(d);
  amounts["memory"] = std::max<int64_t>(0, d.machine.memory_bytes - kReservedMemory);
  amounts["ephemeral-storage"] = d.machine.disk_bytes - d.machine.disk_bytes / 100 * kReservedDiskPercent;
  return amounts;
}

object::DocumentPtr MakeNode(const NodeDescription& d, const NodeCondition& condition, WallTime now) {
  core::NodeBuilder node;
  node.mutable_metadata().set_name(d.name);
  node.mutable_metadata().set_annotations("volumes.kubernetes.io/controller-managed-attach-detach", "true");
  for (const auto& [key, value] : Labels(d)) node.mutable_metadata().set_labels(key, value);
  if (!d.pod_cidrs.empty()) {
    node.mutable_spec().set_pod_cidr(d.pod_cidrs[0]);
    for (const std::string& cidr : d.pod_cidrs) node.mutable_spec().add_pod_cidrs(cidr);
  }
  return UpdateNode(node.Freeze(), d, condition, {}, now);
}

object::DocumentPtr UpdateNode(object::DocumentPtr node, const NodeDescription& d, const NodeCondition& condition,
                               const std::vector<cri::Image>& images, WallTime now) {
  core::NodeStatus before = core::Node(node->root()).status();
  core::NodeBuilder next(node);
  core::NodeStatusBuilder status = next.mutable_status();
  WriteAmounts(d, status);
  WriteAddresses(d, status);
  WriteInfo(d, status);
  WriteConditions(before, condition, now, status);
  WriteImages(images, status);
  return next.Freeze();
}

bool NodeChanged(core::Node before, core::Node after) {
  core::NodeStatus a = before.status(), b = after.status();
  auto same = [](const auto& x, const auto& y) { return object::Equal(x.Raw(), y.Raw()); };
  if (!same(a.capacity(), b.capacity()) || !same(a.allocatable(), b.allocatable()) || !same(a.addresses(), b.addresses()) ||
      !same(a.images(), b.images()) || !same(a.node_info(), b.node_info()) || a.conditions().size() != b.conditions().size()) {
    return true;
  }
  for (core::NodeCondition now : b.conditions()) {
    core::NodeCondition old = FindCondition(a, now.type());
    if (old.status() != now.status() || old.reason() != now.reason() || old.message() != now.message()) return true;
  }
  return false;
}

std::string RuntimeTrouble(const std::vector<cri::RuntimeCondition>& conditions) {
  std::string trouble;
  for (const cri::RuntimeCondition& condition : conditions) {
    if (condition.status) continue;
    if (!trouble.empty()) trouble += ", ";
    std::string shown = condition.type + "=false reason:" + condition.reason + " message:" + condition.message;
    trouble += (condition.type == "NetworkReady" ? "container runtime network not ready: " : "container runtime not ready: ") + shown;
  }
  return trouble;
}

}  // namespace homeostat::node
