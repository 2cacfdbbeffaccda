#include "node/internal/cri_convert.h"

namespace homeostat::node::cri {

namespace {

template <class Field>
void SetMap(const Map& from, Field& to) {
  for (const auto& [key, value] : from) to[key] = value;
}

template <class Field>
Map GetMap(const Field& from) {
  return Map(from.begin(), from.end());
}

void SetNamespaces(const Namespaces& from, pb::NamespaceOption& to) {
  to.set_network(static_cast<pb::NamespaceMode>(from.network));
  to.set_pid(static_cast<pb::NamespaceMode>(from.pid));
  to.set_ipc(static_cast<pb::NamespaceMode>(from.ipc));
  to.set_target_id(from.target_id);
}

void SetProfile(const SecurityProfile& from, pb::SecurityProfile& to) {
  to.set_profile_type(static_cast<pb::SecurityProfile::ProfileType>(from.type));
  to.set_localhost_ref(from.localhost_ref);
}

// The one-string forms that runtimes older than the profile messages read.
std::string ProfilePath(const SecurityProfile& profile) {
  switch (profile.type) {
    case ProfileType::kRuntimeDefault: return "runtime/default";
    case ProfileType::kUnconfined: return "unconfined";
    case ProfileType::kLocalhost: return "localhost/" + profile.localhost_ref;
  }
  return "";
}

void SetSelinux(const SelinuxOptions& from, pb::SELinuxOption& to) {
  to.set_user(from.user);
  to.set_role(from.role);
  to.set_type(from.type);
  to.set_level(from.level);
}

template <class Security>
void SetIdentity(const std::optional<int64_t>& user, const std::optional<int64_t>& group,
                 const std::vector<int64_t>& groups, bool strict, Security& to) {
  if (user) to.mutable_run_as_user()->set_value(*user);
  if (group) to.mutable_run_as_group()->set_value(*group);
  to.mutable_supplemental_groups()->Add(groups.begin(), groups.end());
  to.set_supplemental_groups_policy(strict ? pb::Strict : pb::Merge);
}

void SetSecurity(const ContainerSecurity& from, pb::LinuxContainerSecurityContext& to) {
  SetIdentity(from.run_as_user, from.run_as_group, from.supplemental_groups, from.strict_groups, to);
  to.mutable_capabilities()->mutable_add_capabilities()->Add(from.add_capabilities.begin(), from.add_capabilities.end());
  to.mutable_capabilities()->mutable_drop_capabilities()->Add(from.drop_capabilities.begin(), from.drop_capabilities.end());
  to.set_privileged(from.privileged);
  SetNamespaces(from.namespaces, *to.mutable_namespace_options());
  to.set_run_as_username(from.run_as_username);
  to.set_readonly_rootfs(from.readonly_rootfs);
  to.set_no_new_privs(from.no_new_privs);
  to.mutable_masked_paths()->Add(from.masked_paths.begin(), from.masked_paths.end());
  to.mutable_readonly_paths()->Add(from.readonly_paths.begin(), from.readonly_paths.end());
  if (from.selinux) SetSelinux(*from.selinux, *to.mutable_selinux_options());
  if (from.seccomp) {
    SetProfile(*from.seccomp, *to.mutable_seccomp());
    to.set_seccomp_profile_path(ProfilePath(*from.seccomp));
  }
  if (from.apparmor) {
    SetProfile(*from.apparmor, *to.mutable_apparmor());
    to.set_apparmor_profile(ProfilePath(*from.apparmor));
  }
}

template <class Security>
void SetSandboxSecurity(const SandboxConfig& from, Security& to) {
  SetNamespaces(from.namespaces, *to.mutable_namespace_options());
  SetIdentity(from.run_as_user, from.run_as_group, from.supplemental_groups, from.strict_groups, to);
  to.set_privileged(from.privileged);
  if (from.selinux) SetSelinux(*from.selinux, *to.mutable_selinux_options());
  if (from.seccomp) {
    SetProfile(*from.seccomp, *to.mutable_seccomp());
    to.set_seccomp_profile_path(ProfilePath(*from.seccomp));
  }
  if (from.apparmor) SetProfile(*from.apparmor, *to.mutable_apparmor());
}

}  // namespace

void ToMessage(const LinuxResources& from, pb::LinuxContainerResources& to) {
  to.set_cpu_period(from.cpu_period);
  to.set_cpu_quota(from.cpu_quota);
  to.set_cpu_shares(from.cpu_shares);
  to.set_memory_limit_in_bytes(from.memory_limit);
  to.set_oom_score_adj(from.oom_score_adj);
  to.set_cpuset_cpus(from.cpuset_cpus);
  to.set_cpuset_mems(from.cpuset_mems);
  for (const auto& [size, limit] : from.hugepage_limits) {
    pb::HugepageLimit* item = to.add_hugepage_limits();
    item->set_page_size(size);
    item->set_limit(limit);
  }
  SetMap(from.unified, *to.mutable_unified());
}

void ToMessage(const SandboxConfig& from, pb::PodSandboxConfig& to) {
  to.mutable_metadata()->set_name(from.metadata.name);
  to.mutable_metadata()->set_uid(from.metadata.uid);
  to.mutable_metadata()->set_namespace_(from.metadata.ns);
  to.mutable_metadata()->set_attempt(from.metadata.attempt);
  to.set_hostname(from.hostname);
  to.set_log_directory(from.log_directory);
  if (from.dns) {
    to.mutable_dns_config()->mutable_servers()->Add(from.dns->servers.begin(), from.dns->servers.end());
    to.mutable_dns_config()->mutable_searches()->Add(from.dns->searches.begin(), from.dns->searches.end());
    to.mutable_dns_config()->mutable_options()->Add(from.dns->options.begin(), from.dns->options.end());
  }
  for (const PortMapping& port : from.ports) {
    pb::PortMapping* item = to.add_port_mappings();
    item->set_protocol(static_cast<pb::Protocol>(port.protocol));
    item->set_container_port(port.container_port);
    item->set_host_port(port.host_port);
    item->set_host_ip(port.host_ip);
  }
  SetMap(from.labels, *to.mutable_labels());
  SetMap(from.annotations, *to.mutable_annotations());
  pb::LinuxPodSandboxConfig& linux_config = *to.mutable_linux();
  linux_config.set_cgroup_parent(from.cgroup_parent);
  SetMap(from.sysctls, *linux_config.mutable_sysctls());
  SetSandboxSecurity(from, *linux_config.mutable_security_context());
  ToMessage(from.overhead, *linux_config.mutable_overhead());
  ToMessage(from.resources, *linux_config.mutable_resources());
}

void ToMessage(const ImageSpec& from, pb::ImageSpec& to) {
  to.set_image(from.image);
  to.set_user_specified_image(from.user_specified_image);
  SetMap(from.annotations, *to.mutable_annotations());
}

void ToMessage(const ContainerConfig& from, pb::ContainerConfig& to) {
  to.mutable_metadata()->set_name(from.metadata.name);
  to.mutable_metadata()->set_attempt(from.metadata.attempt);
  ToMessage(from.image, *to.mutable_image());
  to.mutable_command()->Add(from.command.begin(), from.command.end());
  to.mutable_args()->Add(from.args.begin(), from.args.end());
  to.set_working_dir(from.working_dir);
  for (const auto& [name, value] : from.env) {
    pb::KeyValue* item = to.add_envs();
    item->set_key(name);
    item->set_value(value);
  }
  for (const Mount& mount : from.mounts) {
    pb::Mount* item = to.add_mounts();
    item->set_container_path(mount.container_path);
    item->set_host_path(mount.host_path);
    item->set_readonly(mount.readonly);
    item->set_recursive_read_only(mount.recursive_read_only);
    item->set_selinux_relabel(mount.selinux_relabel);
    item->set_propagation(static_cast<pb::MountPropagation>(mount.propagation));
  }
  for (const Device& device : from.devices) {
    pb::Device* item = to.add_devices();
    item->set_container_path(device.container_path);
    item->set_host_path(device.host_path);
    item->set_permissions(device.permissions);
  }
  SetMap(from.labels, *to.mutable_labels());
  SetMap(from.annotations, *to.mutable_annotations());
  to.set_log_path(from.log_path);
  to.set_stdin(from.stdin_open);
  to.set_stdin_once(from.stdin_once);
  to.set_tty(from.tty);
  ToMessage(from.resources, *to.mutable_linux()->mutable_resources());
  SetSecurity(from.security, *to.mutable_linux()->mutable_security_context());
}

void ToMessage(const RegistryAuth& from, pb::AuthConfig& to) {
  to.set_username(from.username);
  to.set_password(from.password);
  to.set_auth(from.auth);
  to.set_server_address(from.server_address);
  to.set_identity_token(from.identity_token);
  to.set_registry_token(from.registry_token);
}

namespace {

// PodSandbox and PodSandboxStatus have these in common, as have Container and ContainerStatus below.
template <class Message>
void FillSandbox(const Message& from, Sandbox& to) {
  to.id = from.id();
  to.metadata = {.name = from.metadata().name(), .uid = from.metadata().uid(), .ns = from.metadata().namespace_(),
                 .attempt = from.metadata().attempt()};
  to.state = static_cast<SandboxState>(from.state());
  to.created_at = from.created_at();
  to.labels = GetMap(from.labels());
  to.annotations = GetMap(from.annotations());
}

template <class Message>
void FillContainer(const Message& from, Container& to) {
  to.id = from.id();
  to.metadata = {.name = from.metadata().name(), .attempt = from.metadata().attempt()};
  to.state = static_cast<ContainerState>(from.state());
  to.image = from.image().image();
  to.image_ref = from.image_ref();
  to.image_id = from.image_id();
  to.created_at = from.created_at();
  to.labels = GetMap(from.labels());
  to.annotations = GetMap(from.annotations());
}

LinuxResources FromMessage(const pb::LinuxContainerResources& from) {
  LinuxResources to{.cpu_period = from.cpu_period(), .cpu_quota = from.cpu_quota(), .cpu_shares = from.cpu_shares(),
                    .memory_limit = from.memory_limit_in_bytes(), .oom_score_adj = from.oom_score_adj(),
                    .cpuset_cpus = from.cpuset_cpus(), .cpuset_mems = from.cpuset_mems()};
  for (const pb::HugepageLimit& item : from.hugepage_limits()) to.hugepage_limits[item.page_size()] = item.limit();
  to.unified = GetMap(from.unified());
  return to;
}

}  // namespace

Sandbox FromMessage(const pb::PodSandbox& from) {
  Sandbox to;
  FillSandbox(from, to);
  return to;
}

SandboxStatus FromMessage(const pb::PodSandboxStatus& from) {
  SandboxStatus to;
  FillSandbox(from, to);
  if (!from.network().ip().empty()) to.ips.push_back(from.network().ip());
  for (const pb::PodIP& ip : from.network().additional_ips()) to.ips.push_back(ip.ip());
  to.network = static_cast<NamespaceMode>(from.linux().namespaces().options().network());
  return to;
}

Container FromMessage(const pb::Container& from) {
  Container to;
  FillContainer(from, to);
  to.sandbox_id = from.pod_sandbox_id();
  return to;
}

ContainerStatus FromMessage(const pb::ContainerStatus& from) {
  ContainerStatus to;
  FillContainer(from, to);
  to.started_at = from.started_at();
  to.finished_at = from.finished_at();
  to.exit_code = from.exit_code();
  to.reason = from.reason();
  to.message = from.message();
  to.log_path = from.log_path();
  if (from.resources().has_linux()) to.resources = FromMessage(from.resources().linux());
  if (from.user().has_linux()) {
    const pb::LinuxContainerUser& user = from.user().linux();
    to.user = ContainerStatus::User{user.uid(), user.gid(),
                                    {user.supplemental_groups().begin(), user.supplemental_groups().end()}};
  }
  return to;
}

Image FromMessage(const pb::Image& from) {
  Image to{.id = from.id(), .repo_tags = {from.repo_tags().begin(), from.repo_tags().end()},
           .repo_digests = {from.repo_digests().begin(), from.repo_digests().end()}, .size = from.size(),
           .username = from.username(), .pinned = from.pinned()};
  if (from.has_uid()) to.uid = from.uid().value();
  return to;
}

ContainerUsage FromMessage(const pb::ContainerStats& from) {
  return {.id = from.attributes().id(), .labels = GetMap(from.attributes().labels()), .timestamp = from.cpu().timestamp(),
          .cpu_nanoseconds = from.cpu().usage_core_nano_seconds().value(),
          .memory_working_set = from.memory().working_set_bytes().value(),
          .memory_usage = from.memory().usage_bytes().value(), .memory_rss = from.memory().rss_bytes().value(),
          .page_faults = from.memory().page_faults().value(),
          .major_page_faults = from.memory().major_page_faults().value(),
          .layer_bytes = from.writable_layer().used_bytes().value(),
          .layer_inodes = from.writable_layer().inodes_used().value()};
}

}  // namespace homeostat::node::cri
