// Cri: a container runtime as the node agent sees it, in structures of our own. The gRPC client is one implementation
// (MakeGrpcCri); tests have another.
//
// Every call may be abandoned by destroying its task; what the runtime has then done is not known: list again. Calls
// that take long (pulls, stops with a grace period) have no deadline but the one they are given. Loop only.
//
// Source: the container runtime interface, runtime.v1 (cri.proto). Times are nanoseconds since the Unix epoch, 0: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"
#include "homeostat/base/task.h"

namespace homeostat::node::cri {

using Map = std::map<std::string, std::string>;

enum class NamespaceMode : uint8_t { kPod = 0, kContainer = 1, kNode = 2, kTarget = 3 };
enum class SandboxState : uint8_t { kReady = 0, kNotReady = 1 };
enum class ContainerState : uint8_t { kCreated = 0, kRunning = 1, kExited = 2, kUnknown = 3 };
enum class Propagation : uint8_t { kPrivate = 0, kHostToContainer = 1, kBidirectional = 2 };
enum class Protocol : uint8_t { kTcp = 0, kUdp = 1, kSctp = 2 };
enum class ProfileType : uint8_t { kRuntimeDefault = 0, kUnconfined = 1, kLocalhost = 2 };

struct Namespaces {
  NamespaceMode network = NamespaceMode::kPod, pid = NamespaceMode::kContainer, ipc = NamespaceMode::kPod;
  std::string target_id;           // container whose processes are shared, with kTarget
};

struct SecurityProfile {
  ProfileType type = ProfileType::kRuntimeDefault;
  std::string localhost_ref;       // absolute path (seccomp) or name (AppArmor)
};

struct SelinuxOptions {
  std::string user, role, type, level;
};

struct DnsConfig {
  std::vector<std::string> servers, searches, options;
};

struct PortMapping {
  Protocol protocol = Protocol::kTcp;
  int32_t container_port = 0, host_port = 0;
  std::string host_ip;
};

// 0 or empty: not set. CPU times in microseconds, memory in bytes.
struct LinuxResources {
  int64_t cpu_period = 0, cpu_quota = 0, cpu_shares = 0, memory_limit = 0, oom_score_adj = 0;
  std::string cpuset_cpus, cpuset_mems;
  std::map<std::string, uint64_t> hugepage_limits;  // page size ("2MB") to bytes
  Map unified;                     // cgroup v2 file to content
};

struct SandboxMetadata {
  std::string name, uid, ns;
  uint32_t attempt = 0;
};

struct SandboxConfig {
  SandboxMetadata metadata;
  std::string hostname;            // empty with the node's network
  std::string log_directory;
  std::optional<DnsConfig> dns;
  std::vector<PortMapping> ports;
  Map labels, annotations;
  std::string cgroup_parent;
  Map sysctls;
  Namespaces namespaces;
  std::optional<int64_t> run_as_user, run_as_group;
  std::vector<int64_t> supplemental_groups;
  bool strict_groups = false;      // supplementalGroupsPolicy: Strict
  bool privileged = false;
  std::optional<SecurityProfile> seccomp, apparmor;
  std::optional<SelinuxOptions> selinux;
  LinuxResources overhead, resources;
  std::string runtime_handler;
};

struct Sandbox {
  std::string id;
  SandboxMetadata metadata;
  SandboxState state = SandboxState::kNotReady;
  int64_t created_at = 0;
  Map labels, annotations;
};

struct SandboxStatus : Sandbox {
  std::vector<std::string> ips;    // none with the node's network
  NamespaceMode network = NamespaceMode::kPod;
};

struct ImageSpec {
  std::string image;               // name or id
  std::string user_specified_image;
  Map annotations;
};

struct Mount {
  std::string container_path, host_path;
  bool readonly = false, recursive_read_only = false, selinux_relabel = false;
  Propagation propagation = Propagation::kPrivate;
};

struct Device {
  std::string container_path, host_path, permissions;
};

struct ContainerMetadata {
  std::string name;
  uint32_t attempt = 0;
};

struct ContainerSecurity {
  std::vector<std::string> add_capabilities, drop_capabilities;
  bool privileged = false;
  Namespaces namespaces;
  std::optional<int64_t> run_as_user, run_as_group;
  std::string run_as_username;
  bool readonly_rootfs = false;
  std::vector<int64_t> supplemental_groups;
  bool strict_groups = false;
  bool no_new_privs = false;
  std::vector<std::string> masked_paths, readonly_paths;
  std::optional<SecurityProfile> seccomp, apparmor;
  std::optional<SelinuxOptions> selinux;
};

struct ContainerConfig {
  ContainerMetadata metadata;
  ImageSpec image;
  std::vector<std::string> command, args;
  std::string working_dir;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<Mount> mounts;
  std::vector<Device> devices;
  Map labels, annotations;
  std::string log_path;            // relative to the sandbox's log_directory
  bool stdin_open = false, stdin_once = false, tty = false;
  LinuxResources resources;
  ContainerSecurity security;
};

struct Container {
  std::string id, sandbox_id;
  ContainerMetadata metadata;
  ContainerState state = ContainerState::kUnknown;
  std::string image, image_ref, image_id;
  int64_t created_at = 0;
  Map labels, annotations;
};

struct ContainerStatus : Container {
  int64_t started_at = 0, finished_at = 0;
  int32_t exit_code = 0;
  std::string reason, message, log_path;
  std::optional<LinuxResources> resources;
  // The user the first process runs as, where the runtime tells.
  struct User {
    int64_t uid = 0, gid = 0;
    std::vector<int64_t> supplemental_groups;
  };
  std::optional<User> user;
};

// Empty members match everything.
struct Filter {
  std::string id, sandbox_id;
  Map labels;
};

struct ExecResult {
  std::string out, err;
  int32_t exit_code = 0;
};

struct StreamRequest {
  std::string container_id;
  std::vector<std::string> command;  // for exec
  bool tty = false, in = false, out = false, err = false;
};

struct Image {
  std::string id;
  std::vector<std::string> repo_tags, repo_digests;
  uint64_t size = 0;               // bytes
  std::optional<int64_t> uid;      // of the user the image asks for
  std::string username;
  bool pinned = false;
};

struct RegistryAuth {
  std::string username, password, auth, server_address, identity_token, registry_token;
};

struct RuntimeVersion {
  std::string runtime_name, runtime_version, api_version;
};

struct RuntimeCondition {
  std::string type, reason, message;
  bool status = false;
};

struct FilesystemUsage {
  std::string mountpoint;
  uint64_t used_bytes = 0, inodes_used = 0;
};

struct ContainerUsage {
  std::string id;
  Map labels;
  int64_t timestamp = 0;
  uint64_t cpu_nanoseconds = 0, memory_working_set = 0, memory_usage = 0, memory_rss = 0, page_faults = 0,
           major_page_faults = 0;
  uint64_t layer_bytes = 0, layer_inodes = 0;
};

// How a call failed, beside its text: the runtime's gRPC status is in the Status' reason, e.g. "NotFound",
// "Unavailable", "DeadlineExceeded"; code is 404 for NotFound, 504 for DeadlineExceeded, 503 for Unavailable, else 500.
class Cri {
 public:
  virtual ~Cri() = default;
  virtual Task<Result<RuntimeVersion>> Version() = 0;
  virtual Task<Result<std::vector<RuntimeCondition>>> Status() = 0;

  virtual Task<Result<std::string>> RunPodSandbox(SandboxConfig config) = 0;
  virtual Task<Result<void>> StopPodSandbox(std::string id) = 0;
  virtual Task<Result<void>> RemovePodSandbox(std::string id) = 0;
  virtual Task<Result<std::vector<Sandbox>>> ListPodSandbox(Filter filter) = 0;
  virtual Task<Result<SandboxStatus>> PodSandboxStatus(std::string id) = 0;

  virtual Task<Result<std::string>> CreateContainer(std::string sandbox_id, ContainerConfig config,
                                                    SandboxConfig sandbox) = 0;
  virtual Task<Result<void>> StartContainer(std::string id) = 0;
  // Completes once it has stopped.
  virtual Task<Result<void>> StopContainer(std::string id, int64_t timeout_seconds) = 0;
  virtual Task<Result<void>> RemoveContainer(std::string id) = 0;
  virtual Task<Result<std::vector<Container>>> ListContainers(Filter filter) = 0;
  virtual Task<Result<ContainerStatus>> GetContainerStatus(std::string id) = 0;
  virtual Task<Result<void>> UpdateContainerResources(std::string id, LinuxResources resources) = 0;
  virtual Task<Result<void>> ReopenContainerLog(std::string id) = 0;
  virtual Task<Result<std::vector<ContainerUsage>>> ListContainerStats(Filter filter) = 0;

  // timeout_seconds 0: none. A command that runs too long fails with DeadlineExceeded.
  virtual Task<Result<ExecResult>> ExecSync(std::string id, std::vector<std::string> command, int64_t timeout_seconds) = 0;
  // URLs at which the runtime serves the streams (SPDY/3.1 upgrade), good for one use within a minute.
  virtual Task<Result<std::string>> Exec(StreamRequest request) = 0;
  virtual Task<Result<std::string>> Attach(StreamRequest request) = 0;
  virtual Task<Result<std::string>> PortForward(std::string sandbox_id, std::vector<int32_t> ports) = 0;

  virtual Task<Result<std::vector<Image>>> ListImages() = 0;
  // nullopt: not on the node.
  virtual Task<Result<std::optional<Image>>> ImageStatus(ImageSpec image) = 0;
  // What containers are to be created from: an image reference.
  virtual Task<Result<std::string>> PullImage(ImageSpec image, std::optional<RegistryAuth> auth, SandboxConfig sandbox) = 0;
  virtual Task<Result<void>> RemoveImage(ImageSpec image) = 0;
  virtual Task<Result<std::vector<FilesystemUsage>>> ImageFsInfo() = 0;
};

// A client of the runtime that listens at a Unix socket. Connects by itself, and again after the runtime restarted.
// The runtime must outlive the client; calls under way are cancelled when their tasks are destroyed.
std::unique_ptr<Cri> MakeGrpcCri(Runtime& runtime, std::string socket_path);

}  // namespace homeostat::node::cri
