// CronJobController: starts a Job whenever the schedule says so, unless one still runs and may not run beside it; keeps a few
// finished ones, and tells in the status what runs.
#pragma once

#include "controllers/cron_plan.h"
#include "controllers/expectations.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct CronJobOptions {
  int workers = 5;
};

class CronJobController {
 public:
  // All must outlive it. Loop only.
  CronJobController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, CronJobOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return controller_.idle(); }

 private:
  using CronJob = api::batch::v1::CronJob;
  using Job = api::batch::v1::Job;
  // A CronJob while it is looked at: `cron` has the status as it shall be.
  struct Look {
    std::string key;
    object::DocumentPtr cron;
    std::optional<Duration> again;
    CronJob View() const { return CronJob(cron->root()); }
  };
  using Step = Task<Result<void>>;

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Step CleanUp(Look& look, std::vector<object::DocumentPtr> jobs);
  Step Review(Look& look, std::vector<object::DocumentPtr> jobs);
  // Starts the Job that is due, if one is.
  Step Schedule(Look& look);
  Step Replace(Look& look);
  Step StartJob(Look& look, int64_t time);
  Task<Result<bool>> DeleteJob(Look& look, object::DocumentPtr job);
  void Tell(const Look& look, std::string_view type, std::string_view reason, std::string message);
  void CronChanged(const sdk::Change& change);

  Runtime& runtime_;
  sdk::Client client_;
  sdk::Informer& crons_;
  sdk::Informer& jobs_;
  sdk::EventRecorder events_;
  OwnWrites own_writes_;
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
