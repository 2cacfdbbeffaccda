#include "homeostat/sdk/controller.h"

#include "homeostat/base/log.h"

namespace homeostat::sdk {

struct Controller::State {
  State(Runtime& loop, ControllerOptions controller_options, ReconcileFunction function)
      : runtime(loop), options(std::move(controller_options)), reconcile(std::move(function)), queue(options.backoff), wake(loop), group(loop) {}

  Runtime& runtime;
  ControllerOptions options;
  ReconcileFunction reconcile;
  WorkQueue queue;
  int running = 0;
  Signal wake;
  TaskGroup group;

  void Add(std::string key) {
    queue.Add(std::move(key));
    wake.Notify();
  }
  Task<void> Work();
  Task<void> Handle(std::string key);
};

Task<void> Controller::State::Work() {
  while (true) {
    std::optional<std::string> key = queue.Take(runtime.Now());
    if (key) {
      auto handle = Handle(*std::move(key));
      co_await std::move(handle);
      continue;
    }
    if (std::optional<MonotonicTime> due = queue.NextDue()) {
      auto wait = wake.WaitFor(*due > runtime.Now() ? *due - runtime.Now() : Duration(0));
      co_await std::move(wait);
    } else {
      auto wait = wake.Wait();
      co_await wait;
    }
  }
}

Task<void> Controller::State::Handle(std::string key) {
  ++running;
  auto work = reconcile(key);
  Result<ReconcileOutcome> outcome = co_await std::move(work);
  --running;
  if (outcome) {
    queue.Forget(key);
    if (outcome->requeue_after) queue.AddAt(key, runtime.Now() + *outcome->requeue_after);
  } else if (outcome.error().IsConflict()) {
    // Somebody else was faster; what is stored now will be seen by the next look.
    queue.AddAfterFailure(key, runtime.Now());
  } else {
    options.log.Warning("reconciling failed", {{"controller", options.name}, {"key", key}, {"error", outcome.error()}});
    queue.AddAfterFailure(key, runtime.Now());
  }
  queue.Finish(key);
  wake.Notify();
}

Controller::Controller(Runtime& runtime, ControllerOptions options, ReconcileFunction reconcile)
    : state_(std::make_shared<State>(runtime, std::move(options), std::move(reconcile))) {}
Controller::~Controller() = default;

void Controller::Enqueue(std::string key) { state_->Add(std::move(key)); }

void Controller::EnqueueAfter(std::string key, Duration delay) {
  state_->queue.AddAt(std::move(key), state_->runtime.Now() + delay);
  state_->wake.Notify();
}

void Controller::Watch(Informer& informer) {
  informer.AddHandler([state = std::weak_ptr(state_)](const Change& change) {
    if (auto alive = state.lock()) alive->Add(meta::Key((change.current ? change.current : change.previous)->root()));
  });
}

void Controller::WatchOwned(Informer& informer, const schema::Kind& owner) {
  WatchMapped(informer, [name = std::string(owner.gvk.kind), namespaced = owner.namespaced](const Change& change) {
    std::vector<std::string> keys;
    for (const object::DocumentPtr& object : {change.previous, change.current}) {
      if (!object) continue;
      object::Value reference = meta::ControllerOf(object->root());
      if (reference.Get("kind").AsString() != name) continue;
      std::string key(reference.Get("name").AsString());
      keys.push_back(namespaced ? std::string(meta::Namespace(object->root())) + "/" + key : key);
    }
    return keys;
  });
}

void Controller::WatchMapped(Informer& informer, std::function<std::vector<std::string>(const Change&)> map) {
  informer.AddHandler([state = std::weak_ptr(state_), map = std::move(map)](const Change& change) {
    auto alive = state.lock();
    if (!alive) return;
    for (std::string& key : map(change)) alive->Add(std::move(key));
  });
}

void Controller::Start() {
  for (int i = 0; i < state_->options.workers; ++i) state_->group.Spawn(state_->Work());
}

bool Controller::idle() const {
  std::optional<MonotonicTime> due = state_->queue.NextDue();
  return state_->running == 0 && state_->queue.depth() == 0 && (!due || *due > state_->runtime.Now());
}

}  // namespace homeostat::sdk
