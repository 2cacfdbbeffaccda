#include "controllers/ttl_after_finished.h"

#include <utility>

#include "homeostat/api/batch/v1.h"
#include "homeostat/object/time.h"

namespace homeostat::controllers {

using api::batch::v1::Job;

namespace {

// When it is to go; nullopt if it stays, or has not finished.
std::optional<WallTime> ExpiryOf(const Job& job) {
  if (!job.spec().has_ttl_seconds_after_finished() || sdk::meta::IsDeleting(job.Raw())) return std::nullopt;
  for (auto condition : job.status().conditions()) {
    if ((condition.type() != "Complete" && condition.type() != "Failed") || condition.status() != "True") continue;
    auto finished = object::ParseTime(condition.last_transition_time());
    if (!finished) return std::nullopt;
    return finished->ToClock() + std::chrono::seconds(job.spec().ttl_seconds_after_finished());
  }
  return std::nullopt;
}

}  // namespace

TtlAfterFinishedController::TtlAfterFinishedController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers)
    : runtime_(runtime),
      client_(std::move(client)),
      jobs_(informers.For<Job>()),
      controller_(runtime, {.name = "ttl_jobs_to_delete", .workers = 5, .backoff = {}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.Watch(jobs_);
}

Task<Result<sdk::ReconcileOutcome>> TtlAfterFinishedController::Reconcile(std::string key) {
  sdk::Object<Job> known(jobs_.Get(key));
  std::optional<WallTime> expiry = known ? ExpiryOf(*known) : std::nullopt;
  if (!expiry) co_return sdk::ReconcileOutcome();
  if (*expiry > runtime_.WallNow()) co_return sdk::ReconcileOutcome{*expiry - runtime_.WallNow()};
  // It may have been given more time since.
  auto get = client_.Get<Job>(std::string(known->metadata().namespace_()), std::string(known->metadata().name()));
  Result<sdk::Object<Job>> fresh = co_await get;
  if (!fresh && fresh.error().IsNotFound()) co_return sdk::ReconcileOutcome();
  if (!fresh) co_return Fail(fresh.error());
  expiry = ExpiryOf(**fresh);
  if (!expiry) co_return sdk::ReconcileOutcome();
  if (*expiry > runtime_.WallNow()) co_return sdk::ReconcileOutcome{*expiry - runtime_.WallNow()};
  sdk::DeleteOptions options;
  options.propagation_policy = "Foreground";
  options.precondition_uid = (*fresh)->metadata().uid();
  options.precondition_resource_version = (*fresh)->metadata().resource_version();
  auto deletion = client_.Delete<Job>(std::string((*fresh)->metadata().namespace_()), std::string((*fresh)->metadata().name()), options);
  Result<void> deleted = co_await deletion;
  if (!deleted && !deleted.error().IsNotFound()) co_return Fail(deleted.error());
  co_return sdk::ReconcileOutcome();
}

}  // namespace homeostat::controllers
