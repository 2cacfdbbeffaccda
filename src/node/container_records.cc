#include "node/pod_status.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

constexpr std::string_view kStatusUnknown = "ContainerStatusUnknown";
constexpr std::string_view kLostWhenTerminated = "The container could not be located when the pod was terminated";
constexpr std::string_view kLostWhenDeleted =
    "The container could not be located when the pod was deleted.  The container used to be Running";
constexpr int32_t kLostExitCode = 137;

using Termination = ContainerRecord::Termination;
using State = ContainerRecord::State;

schema::ListView<core::ContainerStatus> OldStatuses(core::PodStatus old, ContainerKind kind) {
  if (kind == ContainerKind::kInit) return old.init_container_statuses();
  return kind == ContainerKind::kRegular ? old.container_statuses() : old.ephemeral_container_statuses();
}

core::ContainerStatus FindOld(core::PodStatus old, const ContainerSpec& spec) {
  for (core::ContainerStatus status : OldStatuses(old, spec.kind)) {
    if (status.name() == spec.container.name()) return status;
  }
  return {};
}

Termination FromApi(core::ContainerStateTerminated t) {
  return {t.exit_code(), t.signal(), std::string(t.reason()), std::string(t.message()), std::string(t.started_at()),
          std::string(t.finished_at()), std::string(t.container_id())};
}

std::string TimeOrEmpty(int64_t nanoseconds) { return nanoseconds <= 0 ? "" : FormatTime(FromNanoseconds(nanoseconds)); }

Termination Lost(std::string_view message) {
  return {.exit_code = kLostExitCode, .reason = std::string(kStatusUnknown), .message = std::string(message)};
}

class Recorder {
 public:
  Recorder(const StatusInput& input, ContainerSpec spec)
      : input_(input), spec_(spec), old_(FindOld(input.old, spec)), name_(spec.container.name()) {}

  ContainerRecord Make() {
    record_.spec = spec_;
    record_.image = spec_.container.image();
    const RuntimeContainer* latest = input_.runtime->Latest(name_);
    if (latest != nullptr) {
      FromRuntime(*latest);
    } else {
      FromMemory();
    }
    ApplyFailure(latest);
    if (input_.settled) SettleMissing();
    DecideReadiness();
    return std::move(record_);
  }

 private:
  void Wait(std::string_view reason, std::string_view message = {}) {
    record_.state = State::kWaiting;
    record_.waiting_reason = reason;
    record_.waiting_message = message;
  }

  // Why a container waits that was never made.
  std::string_view FirstReason() const { return input_.pod.spec().init_containers().empty() ? "ContainerCreating" : "PodInitializing"; }

  Termination ExitOf(const RuntimeContainer& container) const {
    const cri::ContainerStatus& status = container.status;
    return {.exit_code = status.exit_code, .reason = status.reason, .message = status.message,
            .started_at = TimeOrEmpty(status.started_at), .finished_at = TimeOrEmpty(status.finished_at),
            .container_id = ShownContainerId(input_.runtime_name, status.id)};
  }

  void FromRuntime(const RuntimeContainer& latest) {
    record_.seen = true;
    record_.restart_count = latest.restart_count;
    if (!latest.status.image.empty()) record_.image = latest.status.image;
    record_.image_id = latest.status.image_ref;
    record_.container_id = ShownContainerId(input_.runtime_name, latest.status.id);
    record_.user = latest.status.user;
    SetPrevious(latest);
    switch (latest.status.state) {
      case cri::ContainerState::kRunning:
        record_.state = State::kRunning;
        record_.started_at = TimeOrEmpty(latest.status.started_at);
        return;
      case cri::ContainerState::kExited:
        record_.state = State::kTerminated;
        record_.terminated = ExitOf(latest);
        return;
      case cri::ContainerState::kUnknown:
        // It ran and can't be found running: it must not look as if it had never run.
        if (old_.state().has_running()) {
          record_.state = State::kTerminated;
          record_.terminated = Lost(kLostWhenTerminated);
          record_.restart_count = old_.restart_count() + 1;
          return;
        }
        break;
      case cri::ContainerState::kCreated:
        // About to start: for others it waits as it did before it was made.
        if (!old_.state().waiting().reason().empty()) {
          Wait(old_.state().waiting().reason(), old_.state().waiting().message());
        } else {
          Wait(FirstReason());
        }
        return;
    }
    Wait("");
  }

  // How the one before the newest ended.
  void SetPrevious(const RuntimeContainer& latest) {
    for (const RuntimeContainer& container : input_.runtime->containers) {
      if (container.name != name_ || container.status.id == latest.status.id) continue;
      if (container.exited()) record_.last = ExitOf(container);
      return;
    }
    if (old_.container_id() == record_.container_id) {
      if (old_.last_state().has_terminated()) record_.last = FromApi(old_.last_state().terminated());
    } else if (old_.state().has_terminated()) {
      record_.last = FromApi(old_.state().terminated());
    } else if (old_.last_state().has_terminated()) {
      record_.last = FromApi(old_.last_state().terminated());
    }
  }

  // The runtime has no container of that name: never had, or it was removed.
  void FromMemory() {
    Wait(FirstReason());
    if (!old_) return;
    record_.restart_count = old_.restart_count();
    if (old_.last_state().has_terminated()) record_.last = FromApi(old_.last_state().terminated());
    if (old_.state().has_terminated()) {
      record_.seen = true;
      record_.state = State::kTerminated;
      record_.terminated = FromApi(old_.state().terminated());
      record_.image = old_.image();
      record_.image_id = old_.image_id();
      record_.container_id = old_.container_id();
    } else if (old_.state().has_running() && !record_.last) {
      record_.last = Lost(kLostWhenDeleted);
      if (!input_.pod.metadata().has_deletion_timestamp()) ++record_.restart_count;
    }
    bool one_shot_init = spec_.kind == ContainerKind::kInit && !spec_.restartable_init();
    if (one_shot_init && record_.state == State::kWaiting && AnyRegularCreated()) {
      record_.state = State::kTerminated;
      record_.terminated = {.reason = "Completed",
                            .message = "Unable to get init container status from container runtime and pod has been "
                                       "initialized, treat it as exited normally"};
    }
  }

  bool AnyRegularCreated() const {
    for (core::Container container : input_.pod.spec().containers()) {
      if (input_.runtime->Latest(container.name()) != nullptr) return true;
    }
    return false;
  }

  // A container that is to be started and could not be waits, and says why.
  void ApplyFailure(const RuntimeContainer* latest) {
    auto failure = input_.failures.find(name_);
    if (failure == input_.failures.end() || input_.terminal) return;
    bool done = spec_.kind == ContainerKind::kInit && !spec_.restartable_init() && latest != nullptr && latest->exited() &&
                latest->status.exit_code == 0;
    if (done || !ShouldBeRunning(spec_, input_.pod, *input_.runtime)) return;
    if (record_.state == State::kTerminated) record_.last = record_.terminated;
    Wait(failure->second.reason, failure->second.message);
  }

  // Once all is over, a container that was begun and has no end is lost.
  void SettleMissing() {
    if (record_.state == State::kTerminated) return;
    bool begun = record_.seen || record_.last || (spec_.kind == ContainerKind::kRegular && AnyRegularCreated());
    if (!begun) return;
    record_.state = State::kTerminated;
    record_.terminated = Lost(kLostWhenTerminated);
  }

  void DecideReadiness() {
    if (spec_.kind == ContainerKind::kEphemeral) return;
    ProbeOutcomes outcomes;
    const RuntimeContainer* latest = input_.runtime->Latest(name_);
    if (latest != nullptr) {
      auto found = input_.probes->find(latest->status.id);
      if (found != input_.probes->end()) outcomes = found->second;
    }
    // After a restart of the node agent what was true stays so until the probes have spoken.
    bool same = old_ && old_.container_id() == record_.container_id;
    auto holds = [&](ProbeOutcome outcome, bool exists, bool before) {
      if (!exists) return true;
      if (outcome == ProbeOutcome::kUnknown) return same && before;
      return outcome == ProbeOutcome::kSuccess;
    };
    bool running = record_.state == State::kRunning;
    record_.started = running && holds(outcomes.startup, spec_.container.has_startup_probe(), old_.started());
    if (spec_.kind == ContainerKind::kInit && !spec_.restartable_init()) {
      record_.ready = record_.state == State::kTerminated && record_.terminated.exit_code == 0;
      return;
    }
    record_.ready = record_.started && holds(outcomes.readiness, spec_.container.has_readiness_probe(), old_.ready());
  }

  const StatusInput& input_;
  ContainerSpec spec_;
  core::ContainerStatus old_;
  std::string_view name_;
  ContainerRecord record_;
};

// Counts that the phase follows from.
struct Tally {
  int pending_init = 0, pending_sidecars = 0, failed_init = 0;
  int unknown = 0, running = 0, waiting = 0, stopped = 0, stopped_for_good = 0, succeeded = 0;
};

// How the container ended most lately, if it isn't running.
const Termination* EndOf(const ContainerRecord& record) {
  if (record.state == State::kTerminated) return &record.terminated;
  if (record.state == State::kWaiting && record.last) return &*record.last;
  return nullptr;
}

void CountInit(core::PodSpec spec, const ContainerRecord& record, Tally& tally) {
  const Termination* end = EndOf(record);
  if (record.spec.restartable_init()) {
    if (record.state == State::kRunning) {
      ++tally.running;
      if (!record.started) ++tally.pending_sidecars;
    } else if (end == nullptr) {
      ++tally.pending_sidecars;
      ++tally.waiting;
    }
    return;
  }
  if (end == nullptr) {
    ++tally.pending_init;
  } else if (end->exit_code != 0 && !RestartsAfterExit(record.spec.container, spec, end->exit_code)) {
    ++tally.failed_init;
  }
}

void CountRegular(core::PodSpec spec, const ContainerRecord& record, Tally& tally) {
  const Termination* end = EndOf(record);
  if (record.state == State::kRunning) {
    ++tally.running;
  } else if (end == nullptr) {
    ++tally.waiting;
  } else {
    ++tally.stopped;
    if (!RestartsAfterExit(record.spec.container, spec, end->exit_code)) ++tally.stopped_for_good;
    if (record.state == State::kTerminated && end->exit_code == 0) ++tally.succeeded;
  }
}

}  // namespace

std::vector<ContainerRecord> MakeContainerRecords(const StatusInput& input) {
  std::vector<ContainerRecord> records;
  for (const ContainerSpec& spec : AllContainers(input.pod.spec())) records.push_back(Recorder(input, spec).Make());
  return records;
}

std::string_view MakePhase(core::PodSpec spec, const std::vector<ContainerRecord>& records, bool terminal, bool begun) {
  Tally tally;
  for (const ContainerRecord& record : records) {
    if (record.spec.kind == ContainerKind::kInit) CountInit(spec, record, tally);
    if (record.spec.kind == ContainerKind::kRegular) CountRegular(spec, record, tally);
  }
  if (tally.failed_init > 0) return core::kPodPhaseFailed;
  bool initializing = tally.pending_init > 0 || (tally.pending_sidecars > 0 && !begun);
  if (initializing || tally.waiting > 0) return core::kPodPhasePending;
  if (tally.running > 0) return core::kPodPhaseRunning;
  if (tally.stopped == 0) return core::kPodPhasePending;
  if (!terminal && tally.stopped != tally.stopped_for_good) return core::kPodPhaseRunning;
  return tally.stopped == tally.succeeded ? core::kPodPhaseSucceeded : core::kPodPhaseFailed;
}

}  // namespace homeostat::node
