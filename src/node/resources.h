// From quantities to cgroups: shares, quotas, limits, and the score by which the kernel chooses victims. Pure.
//
// Source of the rules: the API's documentation of requests and limits, and what upstream writes into cgroups.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "node/cri.h"
#include "node/pod_spec.h"

namespace homeostat::node {

inline constexpr int64_t kQuotaPeriod = 100'000;   // microseconds

// cpu.shares of that many thousandths of a CPU: 2…262144.
int64_t CpuShares(int64_t milli_cpu);
// cpu.cfs_quota_us of a limit; 0 (none) for no limit, at least 1000.
int64_t CpuQuota(int64_t milli_cpu);
// Of cgroup version 2, from shares: 1…10000.
int64_t CpuWeight(int64_t shares);

// -997 guaranteed … 1000 best effort; in between, the less of the node's memory is requested the higher.
int64_t OomScoreAdjustment(core::Pod pod, core::Container container, int64_t node_memory_bytes);

cri::LinuxResources ContainerResources(core::Pod pod, core::Container container, int64_t node_memory_bytes);
// Limits of the pod as a whole; what any container leaves open is open.
cri::LinuxResources PodResources(core::Pod pod);

// The pod's cgroup, below one for its class: /kubepods/burstable/podUID, or with systemd a slice's name.
std::string PodCgroup(core::Pod pod, bool systemd);

}  // namespace homeostat::node
