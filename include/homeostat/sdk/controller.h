// Controller: workers that take keys from a queue and reconcile them, and what feeds the queue. Manager: runs
// controllers together.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/api/core/v1.h"
#include "homeostat/base/log.h"
#include "homeostat/base/metrics.h"
#include "homeostat/base/runtime.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/informer.h"
#include "homeostat/sdk/work_queue.h"

namespace homeostat::sdk {

// What a reconciliation wants next.
struct ReconcileOutcome {
  std::optional<Duration> requeue_after;
};

// Level-triggered: looks at what is, does the next step towards what should be. Errors are retried with back-off; so is a
// conflict, but it is not logged as a failure: the next look will see what somebody else wrote.
using ReconcileFunction = std::function<Task<Result<ReconcileOutcome>>(std::string key)>;

struct ControllerOptions {
  std::string name;
  int workers = 5;
  BackoffOptions backoff;
  Logger log;                            // failures, at warning level
  MetricsRegistry* metrics = nullptr;    // workqueue_… with upstream's names; must outlive the controller
};

class Controller {
 public:
  Controller(Runtime& runtime, ControllerOptions options, ReconcileFunction reconcile);
  ~Controller();
  Controller(const Controller&) = delete;

  void Enqueue(std::string key);
  void EnqueueAfter(std::string key, Duration delay);
  // Enqueues the key of every object that changes.
  void Watch(Informer& informer);
  // Enqueues the controlling owner (of that kind) of every object that changes, before and after the change.
  void WatchOwned(Informer& informer, const schema::Kind& owner);
  // Enqueues the keys the function names.
  void WatchMapped(Informer& informer, std::function<std::vector<std::string>(const Change&)> map);

  // Nothing is queued because of it, but workers wait for its first list as well.
  void WaitFor(Informer& informer);

  // Workers run until the controller is destroyed, once what was watched has synced.
  void Start();
  bool idle() const;                   // synced, and nothing is queued, due or running

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Writes Events about objects in the order they are recorded, merging repeated ones as client-go's correlator does:
// the same again raises the count; more than ten that differ only in their message within ten minutes become one; a
// source says no more about an object than a burst of 25, then one in 300 s. Recording never waits and never fails: what
// can't be written is tried for two minutes and then dropped with a line in the client's log, as is what comes while a
// thousand events wait.
class EventRecorder {
 public:
  EventRecorder(Runtime& runtime, Client client, std::string component, std::string host = {});
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  // `about` is the object; kind is its kind, for trees that don't carry it. type: Normal or Warning. field_path: the part
  // that is meant, e.g. spec.containers{web}.
  void Record(const schema::Kind& kind, const object::Value& about, std::string_view type, std::string_view reason,
              std::string message, std::string_view field_path = {});
  // About something that may not exist as an object here, in that namespace ("": default).
  void RecordReference(const api::core::v1::ObjectReference& about, std::string_view ns, std::string_view type,
                       std::string_view reason, std::string message);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A Lease held by one of several. The holder renews it every retry_period; if it can't for renew_deadline it stops leading,
// before the others, who take over once they have seen no renewal for lease_duration, may start. Only the passing of time on
// each one's own clock counts, never the times in the Lease.
struct LeaderElectionOptions {
  std::string ns, name, identity;
  Duration lease_duration = std::chrono::seconds(15), renew_deadline = std::chrono::seconds(10),
           retry_period = std::chrono::seconds(2);
};
// Waits to become leader, runs `lead`, and completes when leadership is lost (an error) or `lead` has ended (then the Lease
// is given back). The task of `lead` is destroyed on loss, and with this task.
Task<Result<void>> LeadWhileElected(Runtime& runtime, Client client, LeaderElectionOptions options,
                                    std::function<Task<void>()> lead);

}  // namespace homeostat::sdk
