// PodRunner: carries one pod through its life on this node. The decisions are PodWorker's; this asks the runtime, does
// the steps, runs the probes, and writes the status. Loop only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "node/container_start.h"
#include "node/node_context.h"
#include "node/pod_worker.h"
#include "node/runtime_reader.h"

namespace homeostat::node {

class PodRunner {
 public:
  // `done` is called, from the loop, once nothing of the pod is left; the runner may then be destroyed (not from inside).
  PodRunner(NodeContext& context, object::DocumentPtr pod, std::function<void(const std::string& uid)> done);
  ~PodRunner();
  PodRunner(const PodRunner&) = delete;

  void Start();
  // A newer state of the API object. Older ones than it has are passed over.
  void SetPod(object::DocumentPtr pod);
  // The API object is gone. `last`: its last state, with the grace period of its deletion.
  void SetGone(object::DocumentPtr last);
  // The node ends the pod, or refuses to begin it.
  void End(StartFailure failure, bool refused = false);
  // Something about the pod may have changed: look again.
  void Wake();
  // What its volumes show has changed.
  void RefreshVolumes();

  const object::DocumentPtr& pod() const { return worker_.document(); }
  const RuntimePod& runtime() const { return worker_.runtime(); }
  WorkerState state() const { return worker_.state(); }
  // As last written, or as the API had it.
  core::PodStatus status() const;
  const std::string& uid() const { return uid_; }

 private:
  Task<void> Run();
  Task<void> Turn(WorkerOutput* output);
  Task<void> Execute(PodStep step);
  Task<Result<void>> Do(PodStep step);
  Task<void> ExecuteStart(PodStep step);
  Task<Result<void>> SetUpVolumes();
  Task<Result<void>> CreateSandbox(uint32_t attempt);
  Task<Result<void>> StopSandboxes();
  Task<Result<void>> CleanUp(bool remove);
  Task<Result<void>> ReportGone();
  Task<void> Refresh();
  Task<void> RemoveSuperfluous(Superfluous garbage);
  void AbandonStart();
  void Begin(PodStep step);

  Task<void> WriteStatus();
  Task<Result<object::DocumentPtr>> SendStatus(object::DocumentPtr status);
  object::DocumentPtr MakeStatus();

  NodeContext& context_;
  std::string uid_;
  PodWorker worker_;
  RuntimeReader reader_;
  std::function<void(const std::string&)> done_;
  object::DocumentPtr written_status_;
  bool woken_ = true, refresh_due_ = false, refreshing_ = false, collecting_ = false;
  StartStage start_stage_ = StartStage::kPreparing;
  PodStep start_step_;
  std::optional<WallTime> next_refresh_;
  Signal wake_;
  TaskGroup main_, jobs_, start_;
  std::map<std::string, std::unique_ptr<TaskGroup>> kills_;
};

}  // namespace homeostat::node
