#include "controllers/job.h"

#include <algorithm>
#include <utility>

#include "controllers/claims.h"
#include "controllers/finalizers.h"
#include "controllers/parallel.h"
#include "homeostat/schema/diff.h"

namespace homeostat::controllers {

using api::core::v1::Pod;
using object::Value;

namespace {

constexpr std::string_view kOurselves = "kubernetes.io/job-controller";

bool IsManagedElsewhere(const api::batch::v1::Job& job) { return job.spec().has_managed_by() && job.spec().managed_by() != kOurselves; }

}  // namespace

JobController::JobController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, JobOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      jobs_(informers.For<Job>()),
      pods_(informers.For<Pod>()),
      events_(runtime, client_, "job-controller"),
      pod_control_(runtime, client_, pods_, events_, Job::SchemaKind()),
      controller_(runtime, {.name = "job", .workers = options.workers, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }),
      orphans_(runtime, {.name = "job_orphan_pod", .workers = 1, .backoff = {}, .log = client_.options().log},
               [this](std::string key) { return ReconcileOrphan(std::move(key)); }) {
  AddControllerIndex(pods_);
  controller_.Watch(jobs_);
  jobs_.AddHandler([this](const sdk::Change& change) { JobChanged(change); });
  pod_control_.Follow(jobs_);
  pods_.AddHandler([this](const sdk::Change& change) { PodChanged(change); });
  controller_.WatchMapped(pods_, [this](const sdk::Change& change) { return OwnersConcerned(jobs_, change, SpecSelector); });
  orphans_.WaitFor(jobs_);
  orphans_.WaitFor(pods_);
}

void JobController::Start() {
  controller_.Start();
  orphans_.Start();
}

void JobController::JobChanged(const sdk::Change& change) {
  const Value& job = (change.current ? change.current : change.previous)->root();
  if (change.current && !IsJobFinished(Job(job))) return;
  for (const object::DocumentPtr& pod : OwnedBy(pods_, job)) {
    if (HasFinalizer(pod->root(), kJobTrackingFinalizer)) orphans_.Enqueue(sdk::meta::Key(pod->root()));
  }
}

void JobController::PodChanged(const sdk::Change& change) {
  const Value& pod = (change.current ? change.current : change.previous)->root();
  object::DocumentPtr job = ResolveController(jobs_, pod);
  bool counts = job && !IsJobFinished(Job(job->root()));
  if (change.current && !counts && HasFinalizer(pod, kJobTrackingFinalizer)) orphans_.Enqueue(sdk::meta::Key(pod));
}

Task<Result<std::vector<object::DocumentPtr>>> JobController::ClaimPods(JobObject job) {
  ClaimTarget target{&Job::SchemaKind(), job.document(), {}, &Pod::SchemaKind(), std::string(kJobTrackingFinalizer)};
  CO_TRY_ASSIGN(target.selector, object::LabelSelector::FromLabelSelector(job->spec().selector().Raw()));
  auto claim = ClaimObjects(client_, std::move(target), Candidates(pods_, job->Raw()));
  co_return co_await claim;
}

Task<Result<sdk::ReconcileOutcome>> JobController::Reconcile(std::string key) {
  if (!jobs_.Get(key)) {
    pod_control_.Forget(key);
    retries_.erase(key);
    co_return sdk::ReconcileOutcome();
  }
  auto check = pod_control_.IsUpToDate(key);
  CO_TRY_ASSIGN(bool up_to_date, co_await check);
  if (!up_to_date) co_return sdk::ReconcileOutcome{kRecheck};
  JobObject job(jobs_.Get(key));
  if (!job || IsManagedElsewhere(*job)) co_return sdk::ReconcileOutcome();
  if (IsJobFinished(*job)) {
    retries_.erase(key);
    co_return sdk::ReconcileOutcome();
  }
  std::string_view mode = job->spec().completion_mode();
  if (!mode.empty() && mode != "NonIndexed" && mode != "Indexed") {
    events_.Record(Job::SchemaKind(), job->Raw(), "Warning", "UnknownCompletionMode", "Skipped Job sync because completion mode is unknown");
    co_return sdk::ReconcileOutcome();
  }
  bool settled = pod_control_.Satisfied(key);
  auto claim = ClaimPods(job);
  CO_TRY_ASSIGN(std::vector<object::DocumentPtr> pods, co_await claim);
  JobSync sync({job.document(), std::move(pods), settled, retries_[key], runtime_.WallNow()});
  PodChanges changes{job.document(), key, sync.actions().create, sync.actions().remove, {}};
  if (sync.actions().drop_finalizers) changes.drop_finalizer = kJobTrackingFinalizer;
  auto act = pod_control_.Apply(std::move(changes));
  PodOutcome acted = co_await act;
  sync.Acted({acted.created, acted.removed});
  auto track = Track(sync, job, key);
  CO_TRY(co_await track);
  if (acted.fault) co_return Fail(*acted.fault);
  sdk::ReconcileOutcome outcome{sync.actions().again};
  if (!pod_control_.Satisfied(key)) outcome.requeue_after = std::min(kRecheckExpectations, outcome.requeue_after.value_or(kRecheckExpectations));
  co_return outcome;
}

Task<Result<void>> JobController::Track(JobSync& sync, JobObject job, std::string key) {
  auto write = WriteStatus(sync, job, key);
  CO_TRY_ASSIGN(JobObject stored, co_await write);
  bool counted = stored.document() != job.document() || !sync.to_strip().empty();
  if (counted) retries_[key] = sync.retry();
  std::vector<Task<Result<void>>> strips;
  for (const object::DocumentPtr& pod : sync.to_strip()) strips.push_back(Strip(pod, key));
  auto all = InParallel(runtime_, std::move(strips));
  std::vector<Result<void>> results = co_await all;
  std::set<std::string> uids;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]) uids.emplace(sdk::meta::Uid(sync.to_strip()[i]->root()));
  }
  sync.Stripped(uids);
  auto again = WriteStatus(sync, stored, key);
  CO_TRY(co_await again);
  for (const JobEvent& event : sync.events()) events_.Record(Job::SchemaKind(), job->Raw(), event.type, event.reason, event.message);
  co_return FirstError(results);
}

Task<Result<JobController::JobObject>> JobController::WriteStatus(const JobSync& sync, JobObject job, std::string key) {
  object::DocumentPtr next = sync.Written(job.document());
  if (schema::IsEqual(api::batch::v1::JobStatus::SchemaType(), job->status().Raw(), Job(next->root()).status().Raw())) co_return job;
  auto update = client_.UpdateStatus<Job>(JobObject(std::move(next)));
  Result<JobObject> updated = co_await update;
  if (!updated && updated.error().IsNotFound()) co_return job;
  if (!updated) co_return Fail(updated.error().WithContext("tracking status"));
  pod_control_.own_writes().Wrote(key, jobs_, (*updated)->metadata().resource_version());
  co_return *updated;
}

Task<Result<void>> JobController::Strip(object::DocumentPtr pod, std::string key) {
  auto patch = client_.Patch(Pod::SchemaKind(), std::string(sdk::meta::Namespace(pod->root())), std::string(sdk::meta::Name(pod->root())),
                             sdk::PatchType::kStrategicMerge, DropFinalizerPatch(kJobTrackingFinalizer), {}, {});
  Result<object::DocumentPtr> patched = co_await patch;
  if (!patched) {
    // The informer may go on showing it, with its finalizer, to a Job that has counted it by then.
    if (!key.empty()) pod_control_.Doubt(key);
    if (patched.error().IsNotFound()) co_return Done();
    co_return Fail(patched.error().WithContext("removing tracking finalizer"));
  }
  // One that was being deleted is gone with its finalizer, and the answer need not have the version of that.
  if (!key.empty() && sdk::meta::IsDeleting((*patched)->root())) pod_control_.Doubt(key);
  if (!key.empty()) pod_control_.own_writes().Wrote(key, pods_, sdk::meta::ResourceVersion((*patched)->root()));
  co_return Done();
}

Task<Result<sdk::ReconcileOutcome>> JobController::ReconcileOrphan(std::string key) {
  object::DocumentPtr pod = pods_.Get(key);
  if (!pod || !HasFinalizer(pod->root(), kJobTrackingFinalizer)) co_return sdk::ReconcileOutcome();
  Value owner = sdk::meta::ControllerOf(pod->root());
  if (owner && (owner.Get("kind").AsString() != "Job" || owner.Get("apiVersion").AsString() != "batch/v1")) co_return sdk::ReconcileOutcome();
  object::DocumentPtr job = ResolveController(jobs_, pod->root());
  if (job && (IsManagedElsewhere(Job(job->root())) || !IsJobFinished(Job(job->root())))) co_return sdk::ReconcileOutcome();
  auto strip = Strip(pod, "");
  CO_TRY(co_await strip);
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
