// One look at a Job: what to do, and what the status says before and after. Pure; the shell (job.h) does it between the calls.
//
//   JobSync sync(view)        counts pods, decides whether the Job has met its end, and which pods to make or to remove
//   sync.Acted(outcome)       what came of that; the status now lists ended pods as uncounted, and the finalizers to take off
//      … the shell writes sync.Written() if it differs from what is stored
//   sync.Stripped(uids)       pods whose finalizer is off are counted; the end is marked when nothing is left to count
//      … the shell writes sync.Written() again if it differs
//
// A pod is counted exactly once: it is put on the list in the status before its finalizer goes, and from the list into the
// number after. Source: upstream's job controller with its stable features.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/conditions.h"
#include "controllers/job_indexes.h"
#include "controllers/job_pods.h"

namespace homeostat::controllers {

// Failures since the last success, by which new pods are put off.
struct JobRetry {
  int32_t failures = 0;
  std::optional<WallTime> last;
  bool operator==(const JobRetry&) const = default;
};

struct JobView {
  object::DocumentPtr job;
  std::vector<object::DocumentPtr> pods;     // the Job's, ended ones too
  bool settled = true;                       // what was made and removed before shows in them
  JobRetry retry;                            // as of the last look
  WallTime now;
};

struct JobActions {
  std::vector<object::DocumentPtr> create, remove;
  bool drop_finalizers = false;              // of pods that are removed: they count for nothing
  std::optional<Duration> again;
};

struct JobOutcome {
  int created = 0;
  std::vector<object::DocumentPtr> removed;
};

struct JobEvent {
  std::string type, reason, message;
  bool operator==(const JobEvent&) const = default;
};

class JobSync {
 public:
  explicit JobSync(JobView view);

  const JobActions& actions() const { return actions_; }
  const JobRetry& retry() const { return retry_; }
  void Acted(const JobOutcome& outcome);
  // Pods whose finalizer is to be taken off once the status is written.
  const std::vector<object::DocumentPtr>& to_strip() const { return to_strip_; }
  void Stripped(const std::set<std::string>& uids);
  // The document with the status as it stands, on top of the given one (the Job as stored last).
  object::DocumentPtr Written(const object::DocumentPtr& stored) const;
  // To be told when the last write is through.
  const std::vector<JobEvent>& events() const { return events_; }

 private:
  using Pods = std::vector<object::DocumentPtr>;
  struct State {
    int32_t active = 0, ready = 0, terminating = 0, succeeded = 0, failed = 0;
    std::string start_time, completion_time, completed_indexes;
    std::optional<std::string> failed_indexes;
    std::vector<std::string> uncounted_succeeded, uncounted_failed;
    Conditions conditions;
  };

  api::batch::v1::Job Job() const { return api::batch::v1::Job(view_.job->root()); }
  void ReadStatus();
  void CountPods();
  void CountIndexes();
  void NoteRetries(Pods succeeded, Pods failed);
  // Why the Job is over, if it is.
  std::optional<Condition> FindEnd() const;
  std::optional<Condition> FindEndOfIndexes() const;
  std::optional<Condition> FailureByPolicy() const;
  bool ExceedsRestarts() const;
  void PlanPods();
  void NoteDeadline();
  void PlanCreations(int32_t count);
  Pods ForRemoval(int32_t at_least) const;
  void MarkComplete();
  void MarkSuspension();
  // Lists ended pods as uncounted.
  void ListEnded();
  void ListOne(const object::DocumentPtr& pod, bool failed, IndexSet& indexes);
  void MarkTarget();
  void MarkEnd();
  bool CountListed(const std::set<std::string>& with_finalizer);
  bool HasIndex(const api::core::v1::Pod& pod) const;
  bool MayStrip(const object::DocumentPtr& pod) const;
  Condition MakeEnd(std::string type, std::string reason, std::string message) const;

  JobView view_;
  State state_;
  Pods active_;
  std::set<std::string> was_succeeded_, was_failed_;      // uncounted, as stored
  int32_t succeeded_ = 0, failed_ = 0;                    // with those still to be counted
  IndexSet former_indexes_, succeeded_indexes_, failed_indexes_;
  std::map<int32_t, object::DocumentPtr> latest_failed_;  // with backoffLimitPerIndex: of indexes that wait for a new pod
  std::optional<Condition> end_;
  bool had_end_ = false;                                  // before anything was done
  bool manages_ = false;
  bool list_is_full_ = false;
  std::set<std::string> with_finalizer_;
  JobRetry retry_;
  JobActions actions_;
  Pods to_strip_;
  std::vector<JobEvent> events_;
};

}  // namespace homeostat::controllers
