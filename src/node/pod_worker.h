// PodWorker: the life of one pod on its node, as a state machine. Pure: told what is and what time it is, it says which
// steps to begin; pod_runner.h carries them out and tells how they ended.
//
//   state        what is trusted                    may run            left when
//   kRunning     specification wants containers     yes                deleted, over, or ended by the node → kTerminating
//   kTerminating no container may start             until their end    nothing runs, no sandbox is ready   → kStopped
//   kStopped     the status is final                no                 cleaned up and (if deleted) reported → kDone
//   kDone        nothing of it is left here         no                 –
//
// Steps run side by side, each under a key: a step is given out again only after it was reported as finished. At most
// one container is being started at a time, in the order of the specification, as a hook after a start must have ended
// before the next container starts. Steps may be repeated: each looks at what is there first.
//
// What the runtime was seen to have before a step finished says nothing of what that step did: such an observation is
// passed over, and Next gives out nothing until there is a newer one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/backoff.h"
#include "node/pod_plan.h"
#include "node/pod_status.h"

namespace homeostat::node {

enum class WorkerState : uint8_t { kRunning, kTerminating, kStopped, kDone };

enum class StepKind : uint8_t {
  kSetUpVolumes,
  kCreateSandbox,   // attempt
  kStartContainer,  // container
  kKillContainer,   // kill, grace_seconds; hurry: instead of the one under way, which is given up
  kStopSandboxes,   // all of them; gives networks back
  kCleanUp,         // volumes, cgroup; with `remove` also containers, sandboxes, logs
  kReportGone,      // the API object can go: nothing runs, the last status is written
};

struct PodStep {
  StepKind kind = StepKind::kSetUpVolumes;
  std::string key;                 // no two steps of one key at a time
  uint32_t attempt = 0;
  std::string container;           // its name: the specification may change before the step ends
  KillStep kill;
  int64_t grace_seconds = 0;
  bool hurry = false;
  bool remove = false;
};

// An Event to be recorded about the pod, or about one of its containers.
struct PodEvent {
  bool warning = false;
  std::string reason, message;
  std::string container;
  bool operator==(const PodEvent&) const = default;
};

struct WorkerOutput {
  std::vector<PodStep> steps;
  std::vector<PodEvent> events;
  std::optional<WallTime> wake;    // ask again then, if nothing happens before
};

class PodWorker {
 public:
  explicit PodWorker(object::DocumentPtr pod) : pod_(std::move(pod)) {}

  // --- what is
  void SetPod(object::DocumentPtr pod) { pod_ = std::move(pod); }
  // The API object is gone: nothing more is reported.
  void SetGone() { gone_ = true; }
  // To be called before the runtime is asked; its answer comes with SetRuntime. False: steps finished meanwhile, ask again.
  uint64_t BeginObservation() const { return epoch_; }
  bool SetRuntime(RuntimePod runtime, uint64_t begun);
  // The node ends the pod: it fails with this. `refused`: it never began here, so nothing is said of its containers.
  void End(StartFailure failure, bool refused = false);
  // The status as it was last written is final (see StatusInput::settled), so the pod may be reported gone.
  void SetFinalStatusWritten() { final_written_ = true; }

  // --- how steps ended
  void Finished(const PodStep& step, const Result<void>& result, WallTime now);
  void StartFailed(const PodStep& step, StartFailure failure, WallTime now);

  WorkerOutput Next(const ProbeBook& probes, WallTime now);

  WorkerState state() const { return state_; }
  core::Pod pod() const { return core::Pod(pod_->root()); }
  const object::DocumentPtr& document() const { return pod_; }
  const RuntimePod& runtime() const { return runtime_; }
  bool gone() const { return gone_; }
  bool volumes_ready() const { return volumes_ready_; }
  // No step is under way.
  bool idle() const { return under_way_.empty(); }
  // What of the status only the worker knows.
  void FillStatus(StatusInput& input) const;

 private:
  struct ContainerMemory {
    std::optional<StartFailure> failure;
    std::optional<WallTime> retry_at;
    Backoff<WallTime> restarts;
    Backoff<WallTime> pulls;
    std::optional<WallTime> pull_failed_at;
    uint64_t hash = 0;
    std::string backed_off_for;    // id of the container whose back-off was told by an event
  };

  void Begin(PodStep step, WorkerOutput& out);
  bool UnderWay(const std::string& key) const { return under_way_.contains(key); }
  void WakeAt(WallTime time, WallTime now, WorkerOutput& out) const;
  // True if the time has come, or there is none to wait for.
  bool Due(std::optional<WallTime> time, WallTime now, WorkerOutput& out) const;

  void CheckEnd(WallTime now, WorkerOutput& out);
  void NextRunning(const ProbeBook& probes, WallTime now, WorkerOutput& out);
  void NextSandbox(const PodPlan& plan, WallTime now, WorkerOutput& out);
  void NextStarts(const PodPlan& plan, WallTime now, WorkerOutput& out);
  bool MayStart(const ContainerSpec& spec, WallTime now, WorkerOutput& out);
  bool MayRestart(ContainerMemory& memory, const ContainerSpec& spec, WallTime now, WorkerOutput& out);
  void NextTerminating(WallTime now, WorkerOutput& out);
  void NextStopped(WallTime now, WorkerOutput& out);
  void KillForEnd(const RuntimeContainer& container, WallTime now, WorkerOutput& out);
  bool MustWaitForOthers(const RuntimeContainer& container) const;
  int64_t GraceFor(const KillStep& kill) const;
  std::string ShownBackoff(const ContainerMemory& memory, const ContainerSpec& spec) const;

  object::DocumentPtr pod_;
  RuntimePod runtime_;
  WorkerState state_ = WorkerState::kRunning;
  uint64_t epoch_ = 0;             // counts finished steps
  bool gone_ = false, observed_ = false, refused_ = false;
  bool volumes_ready_ = false, final_written_ = false, cleaned_ = false, removed_ = false, reported_ = false;
  std::optional<WallTime> volumes_retry_at_, sandbox_retry_at_, end_retry_at_;
  std::optional<StartFailure> failure_;
  std::optional<WallTime> ending_since_;
  std::map<std::string, ContainerMemory, std::less<>> memory_;
  std::map<std::string, WallTime> kill_retry_at_;    // by container id
  std::map<std::string, WallTime> kill_deadline_;    // by container id, while a kill is under way
  std::set<std::string> under_way_;
};

}  // namespace homeostat::node
