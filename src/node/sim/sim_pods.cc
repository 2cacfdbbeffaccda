// What the simulated nodes do with their pods.
#include <algorithm>

#include "homeostat/api/core/v1.h"
#include "node/sim/sim_nodes.h"

namespace homeostat::node::sim {

using api::core::v1::Container;
using api::core::v1::Pod;

namespace {

std::string FieldPath(std::string_view container) { return "spec.containers{" + std::string(container) + "}"; }

// What a process ends with that SIGKILL ended.
constexpr int32_t kKilled = 137;

bool UsesHostPorts(const Pod& pod) {
  for (Container container : pod.spec().containers()) {
    for (auto port : container.ports()) {
      if (port.host_port() != 0) return true;
    }
  }
  return false;
}

// The times of the containers that an earlier process started.
void Restore(const Pod& pod, SimPodFacts& facts) {
  for (auto status : pod.status().container_statuses()) {
    facts.restarts = std::max(facts.restarts, status.restart_count());
    if (!status.state().running().started_at().empty()) facts.started_at = status.state().running().started_at();
    auto ended = status.state().terminated() ? status.state().terminated() : status.last_state().terminated();
    if (!ended) continue;
    facts.exit_code = ended.exit_code();
    facts.exit_time = ended.finished_at();
    if (facts.started_at.empty()) facts.started_at = ended.started_at();
  }
}

}  // namespace

SimNodes::PodState& SimNodes::StateFor(const std::string& key, const Pod& pod, size_t node) {
  auto known = states_.find(key);
  if (known != states_.end() && known->second.uid == pod.metadata().uid()) return known->second;
  if (known != states_.end()) Forget(key);
  PodState& state = states_[key];
  state.uid = pod.metadata().uid();
  state.node = node;
  state.stage = StageOf(pod);
  state.since = runtime_.Now();
  state.facts.host_ip = nodes_[node].ip;
  if (!options_.images.empty()) {
    state.facts.has_image = [this](std::string_view image) {
      return std::ranges::any_of(options_.images, [&](const std::string& prefix) { return image.starts_with(prefix); });
    };
  }
  Restore(pod, state.facts);
  for (const auto& list : {pod.status().init_container_statuses(), pod.status().container_statuses()}) {
    for (auto status : list) {
      if (!status.container_id().empty()) state.container_ids[std::string(status.name())] = status.container_id();
    }
  }
  // The container's identity is made when it is first asked for; the state keeps its address.
  state.facts.container_id = [this, &state](std::string_view container) {
    std::string& id = state.container_ids[std::string(container)];
    if (id.empty()) {
      id = "containerd://";
      for (int i = 0; i < 4; ++i) {
        uint64_t bits = runtime_.Random();
        for (int shift = 60; shift >= 0; shift -= 4) id += "0123456789abcdef"[(bits >> shift) % 16];
      }
    }
    return id;
  };
  std::string_view ip = pod.status().pod_ip();
  std::string prefix = PodIp(node, 0);
  prefix.pop_back();
  if (ip.starts_with(prefix) && state.stage != SimStage::kFinished) {
    size_t last = 0;
    for (char c : ip.substr(prefix.size())) last = last * 10 + static_cast<size_t>(c - '0');
    if (last < 256) nodes_[node].used_ips.set(last);
  }
  state.facts.pod_ip = ip;
  return state;
}

void SimNodes::AssignIp(PodState& state, const Pod& pod) {
  if (!state.facts.pod_ip.empty()) return;
  if (pod.spec().host_network()) {
    state.facts.pod_ip = state.facts.host_ip;
    return;
  }
  auto& used = nodes_[state.node].used_ips;
  for (size_t last = 2; last < 255; ++last) {
    if (used.test(last)) continue;
    used.set(last);
    state.facts.pod_ip = PodIp(state.node, last);
    return;
  }
}

void SimNodes::Forget(const std::string& key) {
  auto at = states_.find(key);
  if (at == states_.end()) return;
  const PodState& state = at->second;
  const std::string& ip = state.facts.pod_ip;
  std::string prefix = PodIp(state.node, 0);
  prefix.pop_back();
  if (ip.starts_with(prefix)) {
    size_t last = 0;
    for (char c : ip.substr(prefix.size())) last = last * 10 + static_cast<size_t>(c - '0');
    if (last >= 2 && last < 255) nodes_[state.node].used_ips.reset(last);
  }
  states_.erase(at);
}

void SimNodes::Event(size_t node, const object::Value& pod, const std::string& field_path, std::string_view reason,
                     std::string message, std::string_view type) {
  if (!options_.events) return;
  NodeState& state = nodes_[node];
  if (!state.events) state.events = std::make_unique<sdk::EventRecorder>(runtime_, *state.client, "kubelet", state.name);
  state.events->Record(Pod::SchemaKind(), pod, type, reason, std::move(message), field_path);
}

void SimNodes::StartedEvents(const PodState& state, const Pod& pod) {
  for (Container container : pod.spec().containers()) {
    std::string path = FieldPath(container.name());
    Event(state.node, pod.Raw(), path, "Pulled",
          "Container image \"" + std::string(container.image()) + "\" already present on machine");
    Event(state.node, pod.Raw(), path, "Created", "Container created");
    Event(state.node, pod.Raw(), path, "Started", "Container started");
  }
}

Task<Result<sdk::ReconcileOutcome>> SimNodes::Reconcile(std::string key) {
  object::DocumentPtr document = pods_.Get(key);
  if (!document) {
    Forget(key);
    co_return sdk::ReconcileOutcome{};
  }
  Pod pod(document->root());
  auto node = by_name_.find(std::string(pod.spec().node_name()));
  if (node == by_name_.end()) co_return sdk::ReconcileOutcome{};
  StateFor(key, pod, node->second);
  auto step = sdk::meta::IsDeleting(document->root()) ? Stop(document, key) : Advance(document, key);
  auto outcome = co_await std::move(step);
  // Gone while it was being written: the informer will say so.
  if (!outcome && outcome.error().IsNotFound()) co_return sdk::ReconcileOutcome{};
  co_return outcome;
}

Task<Result<void>> SimNodes::WriteStatus(size_t node, object::DocumentPtr pod) {
  sdk::Object<Pod> object(pod);
  auto update = nodes_[node].client->UpdateStatus<Pod>(object);
  CO_TRY(co_await std::move(update));
  co_return {};
}

Task<Result<void>> SimNodes::Enter(object::DocumentPtr document, std::string key, SimStage stage) {
  PodState& state = states_.at(key);
  state.facts.now = Now();
  auto write = WriteStatus(state.node, WithStage(document, stage, state.facts));
  CO_TRY(co_await std::move(write));
  state.stage = stage;
  state.since = runtime_.Now();
  co_return {};
}

void SimNodes::BeginRun(PodState& state) {
  state.facts.started_at = Now();
  state.container_ids.clear();
}

Task<Result<void>> SimNodes::EndRun(object::DocumentPtr document, std::string key, int32_t code) {
  PodState& state = states_.at(key);
  Pod pod(document->root());
  state.facts.exit_code = code;
  state.facts.exit_time = Now();
  if (!Restarts(pod, code)) {
    auto enter = Enter(document, key, SimStage::kFinished);
    co_return co_await std::move(enter);
  }
  if (CrashBackoff(state.facts.restarts) > Duration(0)) {
    auto enter = Enter(document, key, SimStage::kCrashed);
    co_return co_await std::move(enter);
  }
  SimPodFacts before = state.facts;
  ++state.facts.restarts;
  BeginRun(state);
  auto enter = Enter(document, key, SimStage::kRunning);
  auto entered = co_await std::move(enter);
  if (!entered) state.facts = before;
  co_return entered;
}

std::vector<object::DocumentPtr> SimNodes::OthersOn(size_t node, const std::string& key) const {
  std::vector<object::DocumentPtr> others;
  for (const auto& [other, state] : states_) {
    if (state.node != node || other == key || state.stage == SimStage::kNew || state.stage == SimStage::kFinished) continue;
    if (object::DocumentPtr pod = pods_.Get(other)) others.push_back(std::move(pod));
  }
  return others;
}

Task<Result<sdk::ReconcileOutcome>> SimNodes::Admit(object::DocumentPtr document, std::string key) {
  PodState& state = states_.at(key);
  Pod pod(document->root());
  sdk::ReconcileOutcome outcome;
  std::optional<SimFailure> refusal;
  if (UsesHostPorts(pod)) {
    std::vector<object::DocumentPtr> held = OthersOn(state.node, key);
    std::vector<Pod> others;
    for (const object::DocumentPtr& other : held) others.emplace_back(other->root());
    refusal = RefuseHostPorts(pod, others);
  }
  if (!refusal) {
    auto enter = Enter(document, key, SimStage::kCreating);
    CO_TRY(co_await std::move(enter));
    outcome.requeue_after = options_.start_delay;
    co_return outcome;
  }
  state.facts.failure = refusal;
  state.facts.now = Now();
  auto write = WriteStatus(state.node, WithRefusal(document, state.facts));
  CO_TRY(co_await std::move(write));
  state.stage = SimStage::kFinished;
  Event(state.node, pod.Raw(), "", refusal->reason, refusal->message, "Warning");
  co_return outcome;
}

Task<Result<sdk::ReconcileOutcome>> SimNodes::Begin(object::DocumentPtr document, std::string key) {
  PodState& state = states_.at(key);
  Pod pod(document->root());
  sdk::ReconcileOutcome outcome;
  AssignIp(state, pod);
  if (state.facts.pod_ip.empty()) co_return Fail(SystemError("no address is left on node " + nodes_[state.node].name));
  if (std::optional<std::string> missing = MissingImage(pod, state.facts)) {
    const bool first = state.stage != SimStage::kNoImage;
    if (!first) {
      auto follow = Follow(document, key);
      CO_TRY(co_await std::move(follow));
      co_return outcome;
    }
    auto enter = Enter(document, key, SimStage::kNoImage);
    CO_TRY(co_await std::move(enter));
    Event(state.node, pod.Raw(), "", "Failed", "Failed to pull image \"" + *missing + "\": " + *missing + ": not found", "Warning");
    co_return outcome;
  }
  BeginRun(state);
  auto enter = Enter(document, key, SimStage::kRunning);
  CO_TRY(co_await std::move(enter));
  StartedEvents(state, pod);
  if (std::optional<ExitPlan> plan = ReadExitPlan(pod)) outcome.requeue_after = plan->after;
  co_return outcome;
}

Task<Result<void>> SimNodes::Follow(object::DocumentPtr document, std::string key) {
  PodState& state = states_.at(key);
  Pod pod(document->root());
  if (pod.metadata().generation() == pod.status().observed_generation() && pod.spec().readiness_gates().empty()) co_return Done();
  state.facts.now = Now();
  object::DocumentPtr changed = WithStage(document, state.stage, state.facts);
  if (object::Equal(Pod(changed->root()).status().Raw(), pod.status().Raw())) co_return Done();
  auto write = WriteStatus(state.node, changed);
  co_return co_await std::move(write);
}

Task<Result<sdk::ReconcileOutcome>> SimNodes::Advance(object::DocumentPtr document, std::string key) {
  PodState& state = states_.at(key);
  Pod pod(document->root());
  std::optional<Duration> left;
  if (state.stage != SimStage::kNew && state.stage != SimStage::kFinished) left = LeftOfDeadline(pod, runtime_.WallNow());
  if (left && *left == Duration(0)) {
    state.facts.failure = SimFailure{"DeadlineExceeded", "Pod was active on the node longer than the specified deadline"};
    state.facts.exit_code = kKilled;
    state.facts.exit_time = Now();
    auto enter = Enter(document, key, SimStage::kFinished);
    CO_TRY(co_await std::move(enter));
    co_return sdk::ReconcileOutcome{};
  }
  auto step = GoOn(document, key);
  CO_TRY_ASSIGN(sdk::ReconcileOutcome outcome, co_await std::move(step));
  const bool soonest = left && (!outcome.requeue_after || *left < *outcome.requeue_after);
  if (soonest && state.stage != SimStage::kFinished) outcome.requeue_after = *left;
  co_return outcome;
}

Task<Result<sdk::ReconcileOutcome>> SimNodes::GoOn(object::DocumentPtr document, std::string key) {
  PodState& state = states_.at(key);
  Pod pod(document->root());
  Duration elapsed = runtime_.Now() - state.since;
  sdk::ReconcileOutcome outcome;
  switch (state.stage) {
    case SimStage::kNew: {
      auto admit = Admit(document, key);
      co_return co_await std::move(admit);
    }
    case SimStage::kCreating:
    case SimStage::kNoImage: {
      if (state.stage == SimStage::kCreating && elapsed < options_.start_delay) {
        outcome.requeue_after = options_.start_delay - elapsed;
        co_return outcome;
      }
      auto begin = Begin(document, key);
      co_return co_await std::move(begin);
    }
    case SimStage::kRunning: {
      std::optional<ExitPlan> plan = ReadExitPlan(pod);
      if (plan && elapsed >= plan->after) {
        auto end = EndRun(document, key, plan->code);
        CO_TRY(co_await std::move(end));
        if (state.stage == SimStage::kRunning) outcome.requeue_after = plan->after;
        if (state.stage == SimStage::kCrashed) outcome.requeue_after = CrashBackoff(state.facts.restarts);
        co_return outcome;
      }
      if (plan) outcome.requeue_after = plan->after - elapsed;
      auto follow = Follow(document, key);
      CO_TRY(co_await std::move(follow));
      co_return outcome;
    }
    case SimStage::kCrashed: {
      Duration backoff = CrashBackoff(state.facts.restarts);
      if (elapsed < backoff) {
        outcome.requeue_after = backoff - elapsed;
        co_return outcome;
      }
      SimPodFacts before = state.facts;
      ++state.facts.restarts;
      BeginRun(state);
      auto enter = Enter(document, key, SimStage::kRunning);
      auto entered = co_await std::move(enter);
      if (!entered) {
        state.facts = before;
        co_return Fail(entered.error());
      }
      StartedEvents(state, pod);
      if (std::optional<ExitPlan> plan = ReadExitPlan(pod)) outcome.requeue_after = plan->after;
      co_return outcome;
    }
    case SimStage::kFinished:
      co_return outcome;
  }
  co_return outcome;
}

Task<Result<sdk::ReconcileOutcome>> SimNodes::Stop(object::DocumentPtr document, std::string key) {
  PodState& state = states_.at(key);
  Pod pod(document->root());
  sdk::ReconcileOutcome outcome;
  bool running = state.stage == SimStage::kRunning || state.stage == SimStage::kCrashed;
  if (!state.stopping_since) {
    state.stopping_since = runtime_.Now();
    if (running) {
      for (Container container : pod.spec().containers()) {
        Event(state.node, pod.Raw(), FieldPath(container.name()), "Killing",
              "Stopping container " + std::string(container.name()));
      }
    }
  }
  Duration grace = std::chrono::seconds(pod.metadata().deletion_grace_period_seconds());
  Duration delay = running ? std::min(options_.stop_delay, grace) : Duration(0);
  Duration elapsed = runtime_.Now() - *state.stopping_since;
  if (elapsed < delay) {
    outcome.requeue_after = delay - elapsed;
    co_return outcome;
  }
  if (running) {
    state.facts.exit_code = 0;
    state.facts.exit_time = Now();
    state.facts.now = state.facts.exit_time;
    auto write = WriteStatus(state.node, WithStopped(document, state.facts));
    CO_TRY(co_await std::move(write));
    state.stage = SimStage::kFinished;
  }
  sdk::DeleteOptions options;
  options.grace_period_seconds = 0;
  options.precondition_uid = state.uid;
  auto remove =
      nodes_[state.node].client->Delete<Pod>(std::string(pod.metadata().namespace_()), std::string(pod.metadata().name()), options);
  CO_TRY(co_await std::move(remove));
  co_return outcome;
}

}  // namespace homeostat::node::sim
