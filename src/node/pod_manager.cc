#include "node/pod_manager.h"

#include "node/admit.h"
#include "node/errors.h"

namespace homeostat::node {

namespace {
constexpr Duration kRelist = std::chrono::seconds(1);
constexpr Duration kRotate = std::chrono::seconds(10);
constexpr int64_t kOrphanGraceSeconds = 30;
}  // namespace

PodManager::PodManager(NodeContext& context, sdk::Informer& pods, std::function<object::DocumentPtr()> node)
    : context_(context), pods_(pods), node_(std::move(node)), self_(std::make_shared<PodManager*>(this)), group_(context.runtime) {
  pods_.AddHandler([this](const sdk::Change& change) { Changed(change); });
}
PodManager::~PodManager() { *self_ = nullptr; }

void PodManager::Start() {
  group_.Spawn(FollowRuntime());
  group_.Spawn(RotateLogs());
  group_.Spawn(RemoveOldFolders());
}

void PodManager::Changed(const sdk::Change& change) {
  std::string before = change.previous ? std::string(core::Pod(change.previous->root()).metadata().uid()) : "";
  std::string after = change.current ? std::string(core::Pod(change.current->root()).metadata().uid()) : "";
  if (!before.empty() && before != after) {
    if (PodRunner* runner = FindByUid(before)) runner->SetGone(change.previous);
  }
  if (after.empty()) return;
  if (PodRunner* runner = FindByUid(after)) {
    runner->SetPod(change.current);
  } else {
    Add(change.current);
  }
}

void PodManager::Add(object::DocumentPtr pod) {
  std::string uid(core::Pod(pod->root()).metadata().uid());
  auto runner = std::make_unique<PodRunner>(context_, pod, [self = self_](const std::string& done) {
    if (*self != nullptr) (*self)->runners_.erase(done);
  });
  Admit(*runner);
  PodRunner& added = *runner;
  runners_[uid] = std::move(runner);
  added.Start();
}

// A pod that this node has begun is admitted for good; a new one must fit beside the others.
void PodManager::Admit(PodRunner& runner) {
  core::Pod pod(runner.pod()->root());
  if (pod.status().has_start_time() || IsTerminalPhase(pod.status().phase()) || pod.metadata().has_deletion_timestamp()) return;
  object::DocumentPtr node = node_();
  AdmitInput input{.pod = pod, .node = core::Node(node ? node->root() : object::Value()), .allocatable = context_.allocatable};
  for (const auto& [uid, other] : runners_) {
    if (other->state() == WorkerState::kRunning) input.others.emplace_back(other->pod()->root());
  }
  std::optional<StartFailure> refusal = RefuseToAdmit(input);
  if (!refusal) return;
  constexpr std::string_view kPrefix = "Pod was rejected: ";
  context_.events(runner.pod(), {true, refusal->reason, refusal->message.substr(kPrefix.size()), ""});
  runner.End(std::move(*refusal), true);
}

PodRunner* PodManager::FindByUid(const std::string& uid) const {
  auto found = runners_.find(uid);
  return found == runners_.end() ? nullptr : found->second.get();
}

PodRunner* PodManager::Find(std::string_view ns, std::string_view name) const {
  PodRunner* best = nullptr;
  for (const auto& [uid, runner] : runners_) {
    core::Pod pod(runner->pod()->root());
    if (pod.metadata().namespace_() != ns || pod.metadata().name() != name) continue;
    // One that ends may share its name with its successor.
    if (best == nullptr || runner->state() == WorkerState::kRunning) best = runner.get();
  }
  return best;
}

std::vector<PodRunner*> PodManager::All() const {
  std::vector<PodRunner*> all;
  for (const auto& [uid, runner] : runners_) all.push_back(runner.get());
  return all;
}

void PodManager::ReferenceChanged(const std::string& uid) {
  if (PodRunner* runner = FindByUid(uid)) runner->RefreshVolumes();
}

void PodManager::Wake(const std::string& uid) {
  if (PodRunner* runner = FindByUid(uid)) runner->Wake();
}

Task<void> PodManager::FollowRuntime() {
  for (;;) {
    auto summarize = SummarizePods(context_.cri, context_.owner);
    Result<std::map<std::string, std::string>> summary = co_await std::move(summarize);
    if (summary) {
      for (const auto& [uid, text] : *summary) {
        auto before = summary_.find(uid);
        if (before == summary_.end() || before->second != text) Wake(uid);
      }
      for (const auto& [uid, text] : summary_) {
        if (!summary->contains(uid)) Wake(uid);
      }
      if (pods_.synced()) CheckOrphans(*summary);
      summary_ = std::move(*summary);
    } else {
      context_.log.V(2).Info("Can't list pods of the container runtime", {{"err", summary.error()}});
    }
    co_await Sleep(context_.runtime, kRelist);
  }
}

// Pods that were deleted while no node agent ran. Seen twice before anything is done, so that a pod which is just being
// made is not taken for one.
void PodManager::CheckOrphans(const std::map<std::string, std::string>& summary) {
  std::set<std::string> now;
  for (const auto& [uid, text] : summary) {
    if (runners_.contains(uid)) continue;
    now.insert(uid);
    if (!suspects_.contains(uid) || !being_removed_.insert(uid).second) continue;
    context_.log.Info("Removing containers of a pod that is gone", {{"uid", uid}});
    group_.Spawn(RemoveOrphan(uid));
  }
  suspects_ = std::move(now);
}

Task<void> PodManager::RemoveOrphan(std::string uid) {
  RuntimeReader reader(context_.runtime, context_.cri);
  auto read = reader.Read(uid);
  Result<RuntimePod> pod = co_await std::move(read);
  if (pod) {
    for (const RuntimeContainer& container : pod->containers) {
      if (container.running()) {
        auto stop = context_.cri.StopContainer(container.status.id, kOrphanGraceSeconds);
        (void)co_await std::move(stop);
      }
      auto remove = context_.cri.RemoveContainer(container.status.id);
      (void)co_await std::move(remove);
    }
    for (const cri::SandboxStatus& sandbox : pod->sandboxes) {
      auto stop = context_.cri.StopPodSandbox(sandbox.id);
      (void)co_await std::move(stop);
      auto remove = context_.cri.RemovePodSandbox(sandbox.id);
      (void)co_await std::move(remove);
    }
  }
  auto tear_down = context_.volumes.TearDown(uid);
  Result<void> done = co_await std::move(tear_down);
  if (!done) context_.log.Warning("Can't remove the folder of a pod that is gone", {{"uid", uid}, {"err", done.error()}});
  // What did not work is tried again at the next look.
  being_removed_.erase(uid);
}

Task<void> PodManager::RemoveOldFolders() {
  auto sync = pods_.WaitForSync();
  co_await std::move(sync);
  auto known = context_.volumes.Known();
  Result<std::vector<std::string>> uids = co_await std::move(known);
  if (!uids) co_return;
  auto summarize = SummarizePods(context_.cri, context_.owner);
  Result<std::map<std::string, std::string>> summary = co_await std::move(summarize);
  if (!summary) co_return;
  for (const std::string& uid : *uids) {
    // Those that still have containers go with them.
    if (runners_.contains(uid) || summary->contains(uid)) continue;
    auto tear_down = context_.volumes.TearDown(uid);
    Result<void> done = co_await std::move(tear_down);
    if (!done) context_.log.Warning("Can't remove the folder of a pod that is gone", {{"uid", uid}, {"err", done.error()}});
  }
}

Task<void> PodManager::RotateLogs() {
  for (;;) {
    co_await Sleep(context_.runtime, kRotate);
    std::vector<std::pair<std::string, std::string>> logs;
    for (const auto& [uid, runner] : runners_) {
      for (const RuntimeContainer& container : runner->runtime().containers) {
        if (container.running() && !container.status.log_path.empty()) logs.emplace_back(container.status.id, container.status.log_path);
      }
    }
    for (const auto& [id, path] : logs) {
      auto rotate = RotateLog(context_.runtime, context_.cri, id, path, LogLimits{});
      Result<void> rotated = co_await std::move(rotate);
      if (!rotated && !rotated.error().IsNotFound()) {
        context_.log.Warning("Can't rotate a container's log", {{"container", id}, {"err", rotated.error()}});
      }
    }
  }
}

}  // namespace homeostat::node
