#include "homeostat/sdk/controller.h"

#include <utility>

#include "homeostat/base/log.h"
#include "homeostat/schema/api_version.h"

namespace homeostat::sdk {
namespace {

// The metrics of a work queue, under the names that upstream's dashboards read.
struct QueueMetrics {
  QueueMetrics(MetricsRegistry& registry, const std::string& name)
      : adds(registry.Counters("workqueue_adds_total", "Total number of adds handled by workqueue", {"name"}).With({name})),
        retries(registry.Counters("workqueue_retries_total", "Total number of retries handled by workqueue", {"name"}).With({name})),
        depth(registry.Gauges("workqueue_depth", "Current depth of workqueue", {"name"}).With({name})),
        work_seconds(registry
                         .Histograms("workqueue_work_duration_seconds", "How long in seconds processing an item from workqueue takes.",
                                     {"name"}, ExponentialBounds(1e-8, 10, 10))
                         .With({name})) {}
  Counter& adds;
  Counter& retries;
  Gauge& depth;
  Histogram& work_seconds;
};

}  // namespace

struct Controller::State {
  State(Runtime& loop, ControllerOptions controller_options, ReconcileFunction function)
      : runtime(loop), options(std::move(controller_options)), reconcile(std::move(function)), queue(options.backoff), wake(loop), group(loop) {
    if (options.metrics != nullptr) metrics.emplace(*options.metrics, options.name);
  }

  Runtime& runtime;
  ControllerOptions options;
  ReconcileFunction reconcile;
  WorkQueue queue;
  std::optional<QueueMetrics> metrics;
  std::vector<Informer*> watched;
  int running = 0;
  Signal wake;
  TaskGroup group;

  void Add(std::string key) {
    queue.Add(std::move(key));
    if (metrics) {
      metrics->adds.Add();
      metrics->depth.Set(static_cast<double>(queue.depth()));
    }
    wake.Notify();
  }
  Task<void> Work();
  Task<void> Handle(std::string key);
};

Task<void> Controller::State::Work() {
  for (Informer* informer : watched) {
    auto sync = informer->WaitForSync();
    co_await sync;
  }
  while (true) {
    std::optional<std::string> key = queue.Take(runtime.Now());
    if (key) {
      auto handle = Handle(*std::move(key));
      co_await handle;
    } else if (std::optional<MonotonicTime> due = queue.NextDue()) {
      auto wait = wake.WaitFor(*due - runtime.Now());
      co_await wait;
    } else {
      auto wait = wake.Wait();
      co_await wait;
    }
  }
}

Task<void> Controller::State::Handle(std::string key) {
  ++running;
  MonotonicTime begun = runtime.Now();
  auto work = reconcile(key);
  Result<ReconcileOutcome> outcome = co_await work;
  --running;
  if (outcome) {
    queue.Forget(key);
    if (outcome->requeue_after) queue.AddAt(key, runtime.Now() + *outcome->requeue_after);
  } else {
    if (!outcome.error().IsConflict()) {
      options.log.Warning("Reconciliation failed", {{"controller", options.name}, {"key", key}, {"err", outcome.error()}});
    }
    queue.AddAfterFailure(key, runtime.Now());
    if (metrics) metrics->retries.Add();
  }
  queue.Finish(key);
  if (metrics) {
    metrics->work_seconds.Observe(std::chrono::duration<double>(runtime.Now() - begun).count());
    metrics->depth.Set(static_cast<double>(queue.depth()));
  }
  // The others may wait for a time that is no longer the next.
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
  WatchMapped(informer, [](const Change& change) {
    return std::vector<std::string>{meta::Key((change.current ? change.current : change.previous)->root())};
  });
}

void Controller::WatchOwned(Informer& informer, const schema::Kind& owner) {
  WatchMapped(informer, [&owner](const Change& change) {
    std::vector<std::string> keys;
    for (const object::DocumentPtr& object : {change.previous, change.current}) {
      if (!object) continue;
      object::Value reference = meta::ControllerOf(object->root());
      if (reference.Get("kind").AsString() != owner.gvk.kind) continue;
      // The version may be another one that the kind is served in; its group may not.
      if (schema::ParseApiVersion(reference.Get("apiVersion").AsString()).group != owner.gvk.group) continue;
      std::string name(reference.Get("name").AsString());
      keys.push_back(owner.namespaced ? std::string(meta::Namespace(object->root())) + "/" + name : name);
    }
    return keys;
  });
}

void Controller::WatchMapped(Informer& informer, std::function<std::vector<std::string>(const Change&)> map) {
  WaitFor(informer);
  informer.AddHandler([state = std::weak_ptr(state_), map = std::move(map)](const Change& change) {
    auto alive = state.lock();
    if (!alive) return;
    for (std::string& key : map(change)) alive->Add(std::move(key));
  });
}

void Controller::WaitFor(Informer& informer) { state_->watched.push_back(&informer); }

void Controller::Start() {
  for (int i = 0; i < state_->options.workers; ++i) state_->group.Spawn(state_->Work());
}

bool Controller::idle() const {
  for (const Informer* informer : state_->watched) {
    if (!informer->synced()) return false;
  }
  std::optional<MonotonicTime> due = state_->queue.NextDue();
  return state_->running == 0 && state_->queue.depth() == 0 && (!due || *due > state_->runtime.Now());
}

}  // namespace homeostat::sdk
