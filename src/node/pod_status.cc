#include "node/pod_status.h"

#include "node/internal/status_records.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

using Termination = ContainerRecord::Termination;

void WriteTermination(const Termination& from, core::ContainerStateTerminatedBuilder to) {
  to.set_exit_code(from.exit_code);
  if (from.signal != 0) to.set_signal(from.signal);
  if (!from.reason.empty()) to.set_reason(from.reason);
  if (!from.message.empty()) to.set_message(from.message);
  if (!from.started_at.empty()) to.set_started_at(from.started_at);
  if (!from.finished_at.empty()) to.set_finished_at(from.finished_at);
  if (!from.container_id.empty()) to.set_container_id(from.container_id);
}

void WriteState(const ContainerRecord& record, core::ContainerStateBuilder to) {
  switch (record.state) {
    case ContainerRecord::State::kWaiting: {
      core::ContainerStateWaitingBuilder waiting = to.mutable_waiting();
      if (!record.waiting_reason.empty()) waiting.set_reason(record.waiting_reason);
      if (!record.waiting_message.empty()) waiting.set_message(record.waiting_message);
      return;
    }
    case ContainerRecord::State::kRunning: {
      core::ContainerStateRunningBuilder running = to.mutable_running();
      if (!record.started_at.empty()) running.set_started_at(record.started_at);
      return;
    }
    case ContainerRecord::State::kTerminated: WriteTermination(record.terminated, to.mutable_terminated()); return;
  }
}

void WriteVolumeMounts(core::Container container, core::ContainerStatusBuilder& to) {
  for (core::VolumeMount mount : container.volume_mounts()) {
    core::VolumeMountStatusBuilder out = to.add_volume_mounts();
    out.set_name(mount.name()).set_mount_path(mount.mount_path());
    if (!mount.read_only()) continue;
    // Recursive read-only mounts need a runtime that says it has them.
    out.set_read_only(true).set_recursive_read_only("Disabled");
  }
}

void WriteContainer(const ContainerRecord& record, core::ContainerStatusBuilder to) {
  to.set_name(record.spec.container.name()).set_ready(record.ready).set_restart_count(record.restart_count);
  to.set_image(record.image).set_image_id(record.image_id);
  WriteState(record, to.mutable_state());
  to.mutable_last_state();
  if (record.last) WriteTermination(*record.last, to.mutable_last_state().mutable_terminated());
  if (!record.container_id.empty()) to.set_container_id(record.container_id);
  if (record.spec.kind != ContainerKind::kEphemeral) to.set_started(record.started);
  if (record.seen && record.spec.kind != ContainerKind::kEphemeral) {
    core::ResourceRequirements resources = record.spec.container.resources();
    to.mutable_resources();
    if (!resources.requests().empty()) to.set_allocated_resources(resources.requests());
    if (resources) to.set_resources(resources);
  }
  WriteVolumeMounts(record.spec.container, to);
  if (record.user) {
    core::LinuxContainerUserBuilder user = to.mutable_user().mutable_linux();
    user.set_uid(record.user->uid).set_gid(record.user->gid);
    for (int64_t group : record.user->supplemental_groups) user.add_supplemental_groups(group);
  }
}

void WriteAddresses(const StatusInput& input, core::PodStatusBuilder& status) {
  for (const std::string& ip : input.host_ips) status.add_host_ips().set_ip(ip);
  if (!input.host_ips.empty()) status.set_host_ip(input.host_ips[0]);
  std::vector<std::string> ips = input.runtime->Ips();
  if (input.pod.spec().host_network()) ips = input.host_ips;
  // The addresses of a pod that is over stay, so that one can tell later which it had.
  if (ips.empty() && input.terminal) {
    for (core::PodIP ip : input.old.pod_ips()) ips.emplace_back(ip.ip());
  }
  for (const std::string& ip : ips) status.add_pod_ips().set_ip(ip);
  if (!ips.empty()) status.set_pod_ip(ips[0]);
}

struct PhaseChoice {
  std::string phase, reason, message;
};

PhaseChoice ChoosePhase(const StatusInput& input, const std::vector<ContainerRecord>& records) {
  if (input.failure) return {std::string(core::kPodPhaseFailed), input.failure->reason, input.failure->message};
  bool begun = false;
  for (core::Container container : input.pod.spec().containers()) {
    const RuntimeContainer* latest = input.runtime->LatestInSandbox(container.name());
    begun = begun || latest != nullptr;
  }
  std::string phase(MakePhase(input.pod.spec(), records, input.terminal, begun));
  // A pod that is over without its containers having ended well has failed.
  if (input.settled && !IsTerminalPhase(phase)) phase = core::kPodPhaseFailed;
  // No way leads out of a terminal phase.
  for (std::string_view before : {input.pod.status().phase(), input.old.phase()}) {
    if (IsTerminalPhase(before)) phase = before;
  }
  PhaseChoice choice{phase, "", ""};
  if (phase == input.old.phase()) choice = {phase, std::string(input.old.reason()), std::string(input.old.message())};
  if (choice.reason.empty() && phase == input.pod.status().phase()) {
    choice.reason = input.pod.status().reason();
    choice.message = input.pod.status().message();
  }
  return choice;
}

}  // namespace

namespace {

object::DocumentPtr MakeRefusedStatus(const StatusInput& input) {
  core::PodStatusBuilder status;
  status.set_observed_generation(input.pod.metadata().generation()).set_phase(core::kPodPhaseFailed);
  for (core::PodCondition condition : input.pod.status().conditions()) status.add_conditions(condition);
  status.set_message(input.failure->message).set_reason(input.failure->reason);
  std::string_view since = input.pod.status().start_time();
  if (since.empty()) since = input.old.start_time();
  status.set_start_time(since.empty() ? FormatTime(input.now) : std::string(since));
  status.set_qos_class(QosClass(input.pod));
  return status.Freeze();
}

}  // namespace

object::DocumentPtr MakePodStatus(const StatusInput& input) {
  if (input.refused && input.failure) return MakeRefusedStatus(input);
  std::vector<ContainerRecord> records = MakeContainerRecords(input);
  PhaseChoice choice = ChoosePhase(input, records);
  core::PodStatusBuilder status;
  status.set_observed_generation(input.pod.metadata().generation());
  status.set_phase(choice.phase);
  internal::WriteConditions(input, records, choice.phase, status);
  if (!choice.message.empty()) status.set_message(choice.message);
  if (!choice.reason.empty()) status.set_reason(choice.reason);
  WriteAddresses(input, status);
  bool started = input.old.has_start_time() || input.pod.status().has_start_time();
  std::string_view since = input.old.has_start_time() ? input.old.start_time() : input.pod.status().start_time();
  status.set_start_time(started ? std::string(since) : FormatTime(input.now));
  status.set_qos_class(QosClass(input.pod));
  for (const ContainerRecord& record : records) {
    if (record.spec.kind == ContainerKind::kInit) WriteContainer(record, status.add_init_container_statuses());
    if (record.spec.kind == ContainerKind::kRegular) WriteContainer(record, status.add_container_statuses());
    if (record.spec.kind == ContainerKind::kEphemeral) WriteContainer(record, status.add_ephemeral_container_statuses());
  }
  // Written by others: kept as they are.
  core::PodStatus current = input.pod.status();
  if (current.has_nominated_node_name()) status.set_nominated_node_name(current.nominated_node_name());
  if (!current.resource_claim_statuses().empty()) status.set_resource_claim_statuses(current.resource_claim_statuses());
  return status.Freeze();
}

}  // namespace homeostat::node
