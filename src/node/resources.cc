#include "node/resources.h"

#include "node/values.h"

namespace homeostat::node {

namespace {

constexpr int64_t kGuaranteedScore = -997, kBestEffortScore = 1000;
constexpr int32_t kSystemCritical = 2'000'000'000;

int64_t Limit(core::Pod pod, core::Container container, std::string_view resource) {
  std::string_view own = container.resources().limits().Get(resource);
  if (MilliValue(own) == 0) own = pod.spec().resources().limits().Get(resource);
  return resource == "cpu" ? MilliValue(own) : UnitValue(own);
}

}  // namespace

int64_t CpuShares(int64_t milli_cpu) {
  constexpr int64_t kLeast = 2, kMost = 262144;
  if (milli_cpu == 0) return kLeast;
  return std::clamp<int64_t>(milli_cpu * 1024 / 1000, kLeast, kMost);
}

int64_t CpuQuota(int64_t milli_cpu) {
  constexpr int64_t kLeast = 1000;
  return milli_cpu == 0 ? 0 : std::max(milli_cpu * kQuotaPeriod / 1000, kLeast);
}

int64_t CpuWeight(int64_t shares) { return shares == 0 ? 0 : 1 + ((shares - 2) * 9999) / 262142; }

int64_t OomScoreAdjustment(core::Pod pod, core::Container container, int64_t node_memory_bytes) {
  if (pod.spec().priority() >= kSystemCritical) return kGuaranteedScore;
  std::string_view qos = QosClass(pod);
  if (qos == core::kPodQOSClassGuaranteed) return kGuaranteedScore;
  if (qos == core::kPodQOSClassBestEffort || node_memory_bytes <= 0) return kBestEffortScore;
  int64_t request = UnitValue(container.resources().requests().Get("memory"));
  int64_t score = 1000 - static_cast<int64_t>(1000.0L * static_cast<long double>(request) / static_cast<long double>(node_memory_bytes));
  // Never as safe as a guaranteed one, never as bad off as one that asked for nothing.
  return std::clamp<int64_t>(score, 1000 + kGuaranteedScore, kBestEffortScore - 1);
}

cri::LinuxResources ContainerResources(core::Pod pod, core::Container container, int64_t node_memory_bytes) {
  cri::LinuxResources resources;
  int64_t request = MilliValue(container.resources().requests().Get("cpu"));
  int64_t limit = Limit(pod, container, "cpu");
  if (request == 0 && !container.resources().requests().contains("cpu")) request = limit;
  resources.cpu_shares = CpuShares(request);
  resources.cpu_quota = CpuQuota(limit);
  resources.cpu_period = kQuotaPeriod;
  resources.memory_limit = Limit(pod, container, "memory");
  resources.oom_score_adj = OomScoreAdjustment(pod, container, node_memory_bytes);
  return resources;
}

cri::LinuxResources PodResources(core::Pod pod) {
  cri::LinuxResources resources;
  core::PodSpec spec = pod.spec();
  int64_t cpu_limit = AllLimited(spec, "cpu") ? PodResource(spec, "cpu", true) : 0;
  int64_t cpu_request = PodResource(spec, "cpu", false);
  resources.cpu_shares = CpuShares(cpu_request == 0 ? cpu_limit : cpu_request);
  resources.cpu_quota = CpuQuota(cpu_limit);
  resources.cpu_period = kQuotaPeriod;
  if (AllLimited(spec, "memory")) resources.memory_limit = PodResource(spec, "memory", true) / 1000;
  return resources;
}

std::string PodCgroup(core::Pod pod, bool systemd) {
  std::string uid(pod.metadata().uid());
  std::string_view qos = QosClass(pod);
  std::string level = qos == core::kPodQOSClassBestEffort ? "besteffort" : qos == core::kPodQOSClassBurstable ? "burstable" : "";
  if (!systemd) return "/kubepods/" + (level.empty() ? "" : level + "/") + "pod" + uid;
  // In a slice's name a dash means nesting.
  std::replace(uid.begin(), uid.end(), '-', '_');
  return "kubepods-" + (level.empty() ? "" : level + "-") + "pod" + uid + ".slice";
}

}  // namespace homeostat::node
