// What the container runtime is asked to make for a pod: the sandbox's and the containers' configurations. Pure: what
// was found out before (environment, mounts, image) is handed in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node/cri.h"
#include "node/environment.h"
#include "node/pod_facts.h"

namespace homeostat::node {

// The node's resolver configuration and the cluster's, from which a pod's is made.
struct DnsSettings {
  std::vector<std::string> cluster_servers;    // of the cluster's DNS; none if it has none
  std::string cluster_domain = "cluster.local";
  cri::DnsConfig node;                         // as in the node's /etc/resolv.conf
};

cri::DnsConfig ParseResolvConf(std::string_view text);
// By the pod's dnsPolicy and dnsConfig. Without a cluster DNS, ClusterFirst is as Default (`fell_back` says so).
cri::DnsConfig PodDns(core::Pod pod, const DnsSettings& settings, bool* fell_back = nullptr);

struct SandboxInput {
  core::Pod pod;
  uint32_t attempt = 0;
  std::string log_directory, cgroup_parent, runtime_handler;
  std::string owner;                            // of the label kOwnerLabel
  DnsSettings dns;
};
Result<cri::SandboxConfig> MakeSandboxConfig(const SandboxInput& input);

struct ContainerInput {
  core::Pod pod;
  ContainerSpec spec;
  int32_t restart_count = 0;
  std::string image_ref;                        // what the image name stands for
  std::optional<cri::Image> image;              // for the user it wants
  Environment environment;
  std::vector<cri::Mount> mounts;
  std::string termination_message_file;         // on the node; empty: none
  std::string target_container_id;              // ephemeral containers
  std::string owner;
  std::string seccomp_folder;                   // where Localhost profiles are
  int64_t node_memory_bytes = 0;
};
// The error is what makes the container wait as CreateContainerConfigError, e.g. runAsNonRoot with an image of root.
Result<cri::ContainerConfig> MakeContainerConfig(const ContainerInput& input);

// NAME/RESTARTS.log, relative to the pod's log directory; and that directory's name.
std::string ContainerLogPath(std::string_view container, int32_t restart_count);
std::string PodLogFolder(core::Pod pod);

}  // namespace homeostat::node
