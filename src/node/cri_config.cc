#include "node/cri_config.h"

#include <charconv>

#include "homeostat/object/json.h"
#include "node/errors.h"
#include "node/resources.h"
#include "node/runtime_pod.h"

namespace homeostat::node {

namespace {

// What of /proc and /sys a container must not see, or not change, unless it asks for an unmasked /proc.
constexpr std::string_view kMaskedPaths[] = {
    "/proc/asound",     "/proc/acpi",        "/proc/interrupts",  "/proc/kcore", "/proc/keys",     "/proc/latency_stats",
    "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",  "/sys/firmware",  "/sys/devices/virtual/powercap"};
constexpr std::string_view kReadonlyPaths[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"};

cri::Protocol ToProtocol(std::string_view name) {
  if (name == core::kProtocolUDP) return cri::Protocol::kUdp;
  return name == core::kProtocolSCTP ? cri::Protocol::kSctp : cri::Protocol::kTcp;
}

cri::Namespaces PodNamespaces(core::PodSpec spec) {
  cri::Namespaces namespaces;
  if (spec.host_network()) namespaces.network = cri::NamespaceMode::kNode;
  if (spec.host_ipc()) namespaces.ipc = cri::NamespaceMode::kNode;
  if (spec.host_pid()) {
    namespaces.pid = cri::NamespaceMode::kNode;
  } else if (spec.share_process_namespace()) {
    namespaces.pid = cri::NamespaceMode::kPod;
  }
  return namespaces;
}

bool IsPrivileged(core::Container container) { return container.security_context().privileged(); }

bool AnyPrivileged(core::PodSpec spec) {
  for (const ContainerSpec& item : AllContainers(spec)) {
    if (IsPrivileged(item.container)) return true;
  }
  return false;
}

template <class View>
std::optional<cri::SelinuxOptions> Selinux(View context) {
  if (!context.has_se_linux_options()) return std::nullopt;
  core::SELinuxOptions from = context.se_linux_options();
  return cri::SelinuxOptions{std::string(from.user()), std::string(from.role()), std::string(from.type()), std::string(from.level())};
}

Result<std::optional<cri::SecurityProfile>> Seccomp(core::SeccompProfile profile, const std::string& folder) {
  if (!profile) return std::optional<cri::SecurityProfile>();
  cri::SecurityProfile out;
  if (profile.type() == core::kSeccompProfileTypeRuntimeDefault) {
    out.type = cri::ProfileType::kRuntimeDefault;
  } else if (profile.type() == core::kSeccompProfileTypeUnconfined) {
    out.type = cri::ProfileType::kUnconfined;
  } else {
    // An empty name must never mean "no profile".
    if (profile.localhost_profile().empty()) return Fail(NodeError("localhostProfile must be set if seccompProfile type is Localhost."));
    out.type = cri::ProfileType::kLocalhost;
    out.localhost_ref = folder + "/" + std::string(profile.localhost_profile());
  }
  return std::optional<cri::SecurityProfile>(out);
}

std::optional<cri::SecurityProfile> Apparmor(core::AppArmorProfile profile) {
  if (!profile) return std::nullopt;
  cri::SecurityProfile out;
  if (profile.type() == core::kAppArmorProfileTypeUnconfined) out.type = cri::ProfileType::kUnconfined;
  if (profile.type() == core::kAppArmorProfileTypeLocalhost) {
    out.type = cri::ProfileType::kLocalhost;
    out.localhost_ref = profile.localhost_profile();
  }
  return out;
}

cri::Map PodLabels(core::Pod pod) {
  return {{std::string(kPodNameLabel), std::string(pod.metadata().name())},
          {std::string(kPodNamespaceLabel), std::string(pod.metadata().namespace_())},
          {std::string(kPodUidLabel), std::string(pod.metadata().uid())}};
}

class ContainerMaker {
 public:
  explicit ContainerMaker(const ContainerInput& input)
      : input_(input), container_(input.spec.container), own_(container_.security_context()),
        pod_context_(input.pod.spec().security_context()) {}

  Result<cri::ContainerConfig> Make() {
    config_.metadata = {std::string(container_.name()), static_cast<uint32_t>(input_.restart_count)};
    config_.image = {.image = input_.image_ref, .user_specified_image = std::string(container_.image())};
    for (std::string_view word : container_.command()) config_.command.push_back(Expand(word, input_.environment));
    for (std::string_view word : container_.args()) config_.args.push_back(Expand(word, input_.environment));
    config_.working_dir = container_.working_dir();
    config_.env = input_.environment;
    config_.mounts = input_.mounts;
    config_.log_path = ContainerLogPath(container_.name(), input_.restart_count);
    config_.stdin_open = container_.stdin();
    config_.stdin_once = container_.stdin_once();
    config_.tty = container_.tty();
    config_.resources = ContainerResources(input_.pod, container_, input_.node_memory_bytes);
    SetLabels();
    TRY(SetUser());
    TRY(SetSecurity());
    return std::move(config_);
  }

 private:
  void SetLabels() {
    config_.labels = PodLabels(input_.pod);
    config_.labels[std::string(kContainerNameLabel)] = container_.name();
    config_.labels[std::string(kOwnerLabel)] = input_.owner;
    char hash[20];
    std::snprintf(hash, sizeof hash, "%llx", static_cast<unsigned long long>(ContainerHash(container_)));
    cri::Map& annotations = config_.annotations;
    annotations[std::string(kHashAnnotation)] = hash;
    annotations[std::string(kRestartCountAnnotation)] = std::to_string(input_.restart_count);
    annotations[std::string(kMessagePathAnnotation)] = container_.termination_message_path();
    annotations[std::string(kMessagePolicyAnnotation)] = container_.termination_message_policy();
    annotations[std::string(kGracePeriodAnnotation)] = std::to_string(GracePeriodSeconds(input_.pod));
    if (!input_.termination_message_file.empty()) {
      annotations[std::string(kMessageFileAnnotation)] = input_.termination_message_file;
    }
    if (container_.lifecycle().has_pre_stop()) {
      annotations["io.kubernetes.container.preStopHandler"] = object::JsonText(container_.lifecycle().pre_stop().Raw());
    }
    if (!container_.ports().empty()) annotations["io.kubernetes.container.ports"] = object::JsonText(container_.ports().Raw());
  }

  // Which user the process runs as, and that it isn't root where that was ruled out. Images name users in many ways;
  // only a number that is not zero proves anything.
  Result<void> SetUser() {
    cri::ContainerSecurity& out = config_.security;
    if (own_.has_run_as_user()) {
      out.run_as_user = own_.run_as_user();
    } else if (pod_context_.has_run_as_user()) {
      out.run_as_user = pod_context_.run_as_user();
    }
    if (own_.has_run_as_group()) {
      out.run_as_group = own_.run_as_group();
    } else if (pod_context_.has_run_as_group()) {
      out.run_as_group = pod_context_.run_as_group();
    }
    TRY(CheckNonRoot());
    if (out.run_as_user || !input_.image) return {};
    if (input_.image->uid) {
      out.run_as_user = input_.image->uid;
    } else {
      out.run_as_username = input_.image->username;
    }
    return {};
  }

  Result<void> CheckNonRoot() {
    bool required = own_.has_run_as_non_root() ? own_.run_as_non_root() : pod_context_.run_as_non_root();
    if (!required) return {};
    std::string where = "(pod: \"" + PodShownName(input_.pod) + "\", container: " + std::string(container_.name()) + ")";
    if (config_.security.run_as_user) {
      if (*config_.security.run_as_user != 0) return {};
      return Fail(NodeError("container's runAsUser breaks non-root policy " + where));
    }
    std::optional<int64_t> uid = input_.image ? input_.image->uid : std::nullopt;
    std::string username = input_.image ? input_.image->username : "";
    if (!uid && !username.empty()) {
      return Fail(NodeError("container has runAsNonRoot and image has non-numeric user (" + username +
                            "), cannot verify user is non-root " + where));
    }
    // Ids are 32 bits wide in the kernel; what wraps to zero is root.
    if (uid.value_or(0) <= 0 || uid.value_or(0) > UINT32_MAX - 1) {
      return Fail(NodeError("container has runAsNonRoot and image will run as root " + where));
    }
    return {};
  }

  Result<void> SetSecurity() {
    cri::ContainerSecurity& out = config_.security;
    for (std::string_view name : own_.capabilities().add()) out.add_capabilities.emplace_back(name);
    for (std::string_view name : own_.capabilities().drop()) out.drop_capabilities.emplace_back(name);
    out.privileged = own_.privileged();
    out.readonly_rootfs = own_.read_only_root_filesystem();
    out.no_new_privs = own_.has_allow_privilege_escalation() && !own_.allow_privilege_escalation();
    out.namespaces = PodNamespaces(input_.pod.spec());
    if (!input_.target_container_id.empty() && out.namespaces.pid == cri::NamespaceMode::kContainer) {
      out.namespaces.pid = cri::NamespaceMode::kTarget;
      out.namespaces.target_id = input_.target_container_id;
    }
    if (pod_context_.has_fs_group()) out.supplemental_groups.push_back(pod_context_.fs_group());
    for (int64_t group : pod_context_.supplemental_groups()) out.supplemental_groups.push_back(group);
    out.strict_groups = pod_context_.supplemental_groups_policy() == core::kSupplementalGroupsPolicyStrict;
    if (own_.proc_mount() != core::kProcMountTypeUnmasked) {
      out.masked_paths.assign(std::begin(kMaskedPaths), std::end(kMaskedPaths));
      out.readonly_paths.assign(std::begin(kReadonlyPaths), std::end(kReadonlyPaths));
    }
    core::SeccompProfile profile = own_.has_seccomp_profile() ? own_.seccomp_profile() : pod_context_.seccomp_profile();
    TRY_ASSIGN(out.seccomp, Seccomp(profile, input_.seccomp_folder));
    if (!out.seccomp) out.seccomp = cri::SecurityProfile{cri::ProfileType::kUnconfined, ""};
    out.apparmor = Apparmor(own_.has_app_armor_profile() ? own_.app_armor_profile() : pod_context_.app_armor_profile());
    out.selinux = own_.has_se_linux_options() ? Selinux(own_) : Selinux(pod_context_);
    return {};
  }

  const ContainerInput& input_;
  core::Container container_;
  core::SecurityContext own_;
  core::PodSecurityContext pod_context_;
  cri::ContainerConfig config_;
};

}  // namespace

Result<cri::SandboxConfig> MakeSandboxConfig(const SandboxInput& input) {
  core::Pod pod = input.pod;
  core::PodSpec spec = pod.spec();
  if (spec.has_host_users() && !spec.host_users()) {
    return Fail(NodeError("pods with user namespaces of their own (hostUsers: false) are not supported on this node"));
  }
  cri::SandboxConfig config;
  config.metadata = {std::string(pod.metadata().name()), std::string(pod.metadata().uid()),
                     std::string(pod.metadata().namespace_()), input.attempt};
  PodHostname host = HostnameOf(pod, input.dns.cluster_domain);
  if (!spec.host_network()) config.hostname = host.name;
  if (spec.set_hostname_as_fqdn() && !host.domain.empty()) config.hostname = host.name + "." + host.domain;
  config.log_directory = input.log_directory;
  config.cgroup_parent = input.cgroup_parent;
  config.runtime_handler = input.runtime_handler;
  config.dns = PodDns(pod, input.dns);
  for (auto [key, value] : pod.metadata().labels()) config.labels[std::string(key)] = value;
  for (const auto& [key, value] : PodLabels(pod)) config.labels[key] = value;
  config.labels[std::string(kOwnerLabel)] = input.owner;
  for (auto [key, value] : pod.metadata().annotations()) config.annotations[std::string(key)] = value;
  for (const ContainerSpec& item : AllContainers(spec)) {
    if (spec.host_network()) break;
    for (core::ContainerPort port : item.container.ports()) {
      if (port.host_port() == 0) continue;
      config.ports.push_back({ToProtocol(port.protocol()), port.container_port(), port.host_port(), std::string(port.host_ip())});
    }
  }
  core::PodSecurityContext context = spec.security_context();
  config.namespaces = PodNamespaces(spec);
  config.privileged = AnyPrivileged(spec);
  if (context.has_run_as_user()) config.run_as_user = context.run_as_user();
  if (context.has_run_as_group()) config.run_as_group = context.run_as_group();
  if (context.has_fs_group()) config.supplemental_groups.push_back(context.fs_group());
  for (int64_t group : context.supplemental_groups()) config.supplemental_groups.push_back(group);
  config.strict_groups = context.supplemental_groups_policy() == core::kSupplementalGroupsPolicyStrict;
  for (core::Sysctl sysctl : context.sysctls()) {
    std::string name(sysctl.name());
    std::replace(name.begin(), name.end(), '/', '.');
    config.sysctls[name] = sysctl.value();
  }
  config.seccomp = cri::SecurityProfile{cri::ProfileType::kRuntimeDefault, ""};
  config.selinux = Selinux(context);
  config.resources = PodResources(pod);
  return config;
}

Result<cri::ContainerConfig> MakeContainerConfig(const ContainerInput& input) { return ContainerMaker(input).Make(); }

std::string ContainerLogPath(std::string_view container, int32_t restart_count) {
  return std::string(container) + "/" + std::to_string(restart_count) + ".log";
}

std::string PodLogFolder(core::Pod pod) {
  return std::string(pod.metadata().namespace_()) + "_" + std::string(pod.metadata().name()) + "_" +
         std::string(pod.metadata().uid());
}

}  // namespace homeostat::node
