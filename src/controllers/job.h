// JobController: runs each Job's pods to their ends, counts each pod once, and says when the Job has come to its own
// (job_sync.h). Pods carry a finalizer until they are counted; it is also taken off pods whose Job is gone or done.
#pragma once

#include <map>

#include "controllers/job_sync.h"
#include "controllers/pod_control.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct JobOptions {
  int workers = 5;
};

class JobController {
 public:
  // All must outlive it. Loop only.
  JobController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, JobOptions options = {});
  void Start();
  bool idle() const { return controller_.idle() && orphans_.idle(); }

 private:
  using Job = api::batch::v1::Job;
  using JobObject = sdk::Object<Job>;

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<std::vector<object::DocumentPtr>>> ClaimPods(JobObject job);
  // Writes the status, takes finalizers off, and writes what came of that.
  Task<Result<void>> Track(JobSync& sync, JobObject job, std::string key);
  Task<Result<JobObject>> WriteStatus(const JobSync& sync, JobObject job, std::string key);
  // key: of the Job on whose behalf; empty for none.
  Task<Result<void>> Strip(object::DocumentPtr pod, std::string key);
  // A pod with the finalizer whose Job no longer counts.
  Task<Result<sdk::ReconcileOutcome>> ReconcileOrphan(std::string key);
  void JobChanged(const sdk::Change& change);
  void PodChanged(const sdk::Change& change);

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& jobs_;
  sdk::Informer& pods_;
  sdk::EventRecorder events_;
  PodControl pod_control_;
  std::map<std::string, JobRetry> retries_;
  sdk::Controller controller_;
  sdk::Controller orphans_;
};

}  // namespace homeostat::controllers
