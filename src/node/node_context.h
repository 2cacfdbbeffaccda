// NodeContext: what the parts of the node agent share. Made once by the agent; outlives them all. Loop only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "homeostat/base/log.h"
#include "homeostat/sdk/client.h"
#include "node/cgroups.h"
#include "node/cri.h"
#include "node/cri_config.h"
#include "node/images.h"
#include "node/prober.h"
#include "node/references.h"
#include "node/volumes.h"

namespace homeostat::node {

struct NodeContext {
  Runtime& runtime;
  cri::Cri& cri;
  sdk::Client client;
  Logger log;
  std::string node_name;
  std::string owner;                                 // marks this agent's pods among others of the same runtime
  std::string runtime_name = "containerd";
  std::vector<std::string> host_ips;
  std::string pods_folder, logs_folder, seccomp_folder;
  DnsSettings dns;
  CgroupSetup cgroups;
  int64_t memory_bytes = 0;                          // of the node
  std::map<std::string, int64_t> allocatable;        // cpu in thousandths, the others in units
  EventSink events;
  Volumes& volumes;
  References& references;
  Images& images;
  Prober& prober;
  // Services whose variables a pod gets.
  std::function<std::vector<object::DocumentPtr>(core::Pod pod)> services;

  PodSurroundings Around(const std::vector<std::string>& pod_ips) const {
    return {node_name, pod_ips, host_ips, allocatable, dns.cluster_domain};
  }
  std::string LogFolder(core::Pod pod) const { return logs_folder + "/" + PodLogFolder(pod); }
};

}  // namespace homeostat::node
