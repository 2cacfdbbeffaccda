// Controller: workers that take keys from a queue and reconcile them, and what feeds the queue. Manager: runs
// controllers together.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/log.h"
#include "homeostat/base/runtime.h"
#include "homeostat/sdk/client.h"
#include "homeostat/sdk/informer.h"
#include "homeostat/sdk/work_queue.h"

namespace homeostat::sdk {

// What a reconciliation wants next.
struct ReconcileOutcome {
  std::optional<Duration> requeue_after;
};

// Level-triggered: looks at what is, does the next step towards what should be. Errors are retried with back-off;
// a conflict is retried at once and not logged as a failure.
using ReconcileFunction = std::function<Task<Result<ReconcileOutcome>>(std::string key)>;

struct ControllerOptions {
  std::string name;
  int workers = 5;
  BackoffOptions backoff;
  Logger log;
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

  void Start();                        // workers run until destroyed
  bool idle() const;                   // nothing queued, delayed within now, or running

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Writes Events about objects, merging repeated ones as client-go's correlator does (count, lastTimestamp; a token
// bucket per source and object: burst 25, then one in 300 s). Failures to write are logged, never awaited by callers.
class EventRecorder {
 public:
  EventRecorder(Runtime& runtime, Client client, std::string component, std::string host = {});
  ~EventRecorder();
  // `about` is the object (its kind is passed since trees of lists do not carry it). type: Normal or Warning.
  // field_path: a part of the object, e.g. spec.containers{web}.
  void Record(const schema::Kind& kind, const object::Value& about, std::string_view type, std::string_view reason,
              std::string message, std::string_view field_path = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A Lease held by one of several: LeaderElection ends (task completes) when leadership is lost.
struct LeaderElectionOptions {
  std::string ns, name, identity;
  Duration lease_duration = std::chrono::seconds(15), renew_deadline = std::chrono::seconds(10),
           retry_period = std::chrono::seconds(2);
};
// Waits to become leader, runs `lead` (spawned in a group destroyed on loss), completes on loss.
Task<Result<void>> LeadWhileElected(Runtime& runtime, Client client, LeaderElectionOptions options,
                                    std::function<Task<void>()> lead);

}  // namespace homeostat::sdk
