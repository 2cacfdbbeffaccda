#include "controllers/job_sync.h"

#include <algorithm>
#include <map>
#include <utility>

#include "controllers/finalizers.h"
#include "controllers/replica_set_rules.h"

namespace homeostat::controllers {

using api::batch::v1::JobBuilder;
using api::core::v1::Pod;

namespace {

constexpr std::string_view kComplete = "Complete", kFailed = "Failed", kSuspended = "Suspended";
constexpr std::string_view kSuccessCriteriaMet = "SuccessCriteriaMet", kFailureTarget = "FailureTarget";
constexpr int32_t kMostPodsAtOnce = 500;
constexpr size_t kMostUncounted = 500;

std::string UidOf(const object::DocumentPtr& pod) { return std::string(sdk::meta::Uid(pod->root())); }
bool IsTracked(const object::DocumentPtr& pod) { return HasFinalizer(pod->root(), kJobTrackingFinalizer); }
std::string_view PhaseOf(const object::DocumentPtr& pod) { return Pod(pod->root()).status().phase(); }

int32_t CountReady(const std::vector<object::DocumentPtr>& pods) {
  return static_cast<int32_t>(std::ranges::count_if(pods, [](const object::DocumentPtr& pod) { return IsPodReady(Pod(pod->root())); }));
}

bool IsTrue(const Condition* condition) { return condition != nullptr && condition->status == "True"; }

void SortByEnd(std::vector<object::DocumentPtr>& pods) {
  std::ranges::sort(pods, {}, [](const object::DocumentPtr& pod) { return FinishedAt(Pod(pod->root())); });
}

// Puts a condition in its place; one that would be False from the start is left out. Says whether anything changed.
bool Ensure(Conditions& conditions, Condition next) {
  auto found = std::ranges::find(conditions, next.type, &Condition::type);
  if (found == conditions.end()) {
    if (next.status == "False") return false;
    conditions.push_back(std::move(next));
    return true;
  }
  if (found->status == next.status && found->reason == next.reason && found->message == next.message) return false;
  *found = std::move(next);
  return true;
}

}  // namespace

JobSync::JobSync(JobView view) : view_(std::move(view)) {
  ReadStatus();
  CountPods();
  if (IsIndexed(Job())) CountIndexes();
  end_ = FindEnd();
  if (IsIndexed(Job()) && !end_) end_ = FindEndOfIndexes();
  had_end_ = end_.has_value();
  if (had_end_) {
    actions_.remove = active_;
    return;
  }
  NoteDeadline();
  manages_ = view_.settled && !sdk::meta::IsDeleting(view_.job->root());
  if (manages_) PlanPods();
}

Condition JobSync::MakeEnd(std::string type, std::string reason, std::string message) const {
  std::string now = TimeText(view_.now);
  return {std::move(type), "True", std::move(reason), std::move(message), {}, now, now};
}

void JobSync::ReadStatus() {
  auto status = Job().status();
  state_.succeeded = status.succeeded();
  state_.failed = status.failed();
  state_.start_time = status.start_time();
  state_.completion_time = status.completion_time();
  state_.completed_indexes = status.completed_indexes();
  if (status.has_failed_indexes()) state_.failed_indexes = status.failed_indexes();
  for (std::string_view uid : status.uncounted_terminated_pods().succeeded()) state_.uncounted_succeeded.emplace_back(uid);
  for (std::string_view uid : status.uncounted_terminated_pods().failed()) state_.uncounted_failed.emplace_back(uid);
  was_succeeded_.insert(state_.uncounted_succeeded.begin(), state_.uncounted_succeeded.end());
  was_failed_.insert(state_.uncounted_failed.begin(), state_.uncounted_failed.end());
  state_.conditions = ReadConditions(status.conditions());
  if (state_.start_time.empty() && !IsSuspended(Job())) state_.start_time = TimeText(view_.now);
}

bool JobSync::HasIndex(const Pod& pod) const {
  int32_t index = CompletionIndex(pod);
  return !IsIndexed(Job()) || (index >= 0 && index < Job().spec().completions());
}

void JobSync::CountPods() {
  Pods succeeded, failed;
  int32_t ignored = 0;
  for (const object::DocumentPtr& document : view_.pods) {
    Pod pod(document->root());
    if (IsPodActive(pod)) active_.push_back(document);
    if (IsPodTerminating(pod)) ++state_.terminating;
    if (!IsTracked(document)) continue;
    with_finalizer_.insert(UidOf(document));
    if (!HasIndex(pod)) continue;
    if (pod.status().phase() == "Succeeded" && !was_succeeded_.contains(UidOf(document))) succeeded.push_back(document);
    if (CountsAsFailed(pod, Job()) && !was_failed_.contains(UidOf(document))) {
      failed.push_back(document);
      if (!JudgeFailure(Job(), pod).counts) ++ignored;
    }
  }
  state_.active = static_cast<int32_t>(active_.size());
  state_.ready = CountReady(active_);
  succeeded_ = state_.succeeded + static_cast<int32_t>(succeeded.size() + was_succeeded_.size());
  failed_ = state_.failed + static_cast<int32_t>(failed.size() + was_failed_.size()) - ignored;
  NoteRetries(std::move(succeeded), std::move(failed));
}

void JobSync::NoteRetries(Pods succeeded, Pods failed) {
  retry_ = view_.retry;
  SortByEnd(failed);
  if (succeeded.empty()) {
    if (failed.empty()) return;
    retry_.failures += static_cast<int32_t>(failed.size());
    retry_.last = FinishedAt(Pod(failed.back()->root()));
    return;
  }
  // Only what failed after the last success counts.
  SortByEnd(succeeded);
  WallTime last_success = FinishedAt(Pod(succeeded.back()->root()));
  retry_ = {};
  for (const object::DocumentPtr& pod : failed) {
    WallTime at = FinishedAt(Pod(pod->root()));
    if (at <= last_success) continue;
    ++retry_.failures;
    retry_.last = at;
  }
}

void JobSync::CountIndexes() {
  auto job = Job();
  int32_t completions = job.spec().completions();
  former_indexes_ = IndexSet::Parse(state_.completed_indexes, completions);
  succeeded_indexes_ = former_indexes_;
  if (state_.failed_indexes) failed_indexes_ = IndexSet::Parse(*state_.failed_indexes, completions);
  std::set<int32_t> active;
  for (const object::DocumentPtr& pod : active_) active.insert(CompletionIndex(Pod(pod->root())));
  for (const object::DocumentPtr& document : view_.pods) {
    Pod pod(document->root());
    if (!IsTracked(document) || !HasIndex(pod)) continue;
    if (pod.status().phase() == "Succeeded") succeeded_indexes_.Add(CompletionIndex(pod));
    if (!HasLimitPerIndex(job) || !CountsAsFailed(pod, job)) continue;
    FailureVerdict verdict = JudgeFailure(job, pod);
    bool over = verdict.fails_index || (verdict.counts && FailuresBefore(pod) >= job.spec().backoff_limit_per_index());
    if (over) failed_indexes_.Add(CompletionIndex(pod));
  }
  succeeded_ = static_cast<int32_t>(succeeded_indexes_.size());
  if (!HasLimitPerIndex(job)) return;
  for (const object::DocumentPtr& document : view_.pods) {
    Pod pod(document->root());
    int32_t index = CompletionIndex(pod);
    bool waits = IsTracked(document) && HasIndex(pod) && CountsAsFailed(pod, job) && !succeeded_indexes_.Has(index) && !failed_indexes_.Has(index) && !active.contains(index);
    if (!waits) continue;
    object::DocumentPtr& latest = latest_failed_[index];
    bool later = !latest || (AllFailuresBefore(Pod(latest->root())) <= AllFailuresBefore(pod) && FinishedAt(pod) >= FinishedAt(Pod(latest->root())));
    if (later) latest = document;
  }
}

// --- The end.

std::optional<Condition> JobSync::FailureByPolicy() const {
  if (!Job().spec().pod_failure_policy()) return std::nullopt;
  for (const object::DocumentPtr& document : view_.pods) {
    Pod pod(document->root());
    if (!CountsAsFailed(pod, Job())) continue;
    if (auto message = JudgeFailure(Job(), pod).fails_job) return MakeEnd(std::string(kFailureTarget), "PodFailurePolicy", *message);
  }
  return std::nullopt;
}

bool JobSync::ExceedsRestarts() const {
  auto job = Job();
  if (job.spec().template_().spec().restart_policy() != "OnFailure") return false;
  int64_t restarts = 0;
  for (const object::DocumentPtr& document : view_.pods) {
    Pod pod(document->root());
    if (pod.status().phase() != "Running" && pod.status().phase() != "Pending") continue;
    for (auto status : pod.status().init_container_statuses()) restarts += status.restart_count();
    for (auto status : pod.status().container_statuses()) restarts += status.restart_count();
  }
  int32_t limit = job.spec().backoff_limit();
  return limit == 0 ? restarts > 0 : restarts >= limit;
}

std::optional<Condition> JobSync::FindEnd() const {
  auto job = Job();
  if (const Condition* met = FindCondition(state_.conditions, kSuccessCriteriaMet); IsTrue(met)) return *met;
  if (const Condition* target = FindCondition(state_.conditions, kFailureTarget); IsTrue(target)) {
    return MakeEnd(std::string(kFailed), target->reason, target->message);
  }
  if (auto by_policy = FailureByPolicy()) return by_policy;
  if (failed_ > job.spec().backoff_limit() || ExceedsRestarts()) {
    return MakeEnd(std::string(kFailureTarget), "BackoffLimitExceeded", "Job has reached the specified backoff limit");
  }
  auto start = object::ParseTime(state_.start_time);
  if (job.spec().has_active_deadline_seconds() && !IsSuspended(job) && start &&
      view_.now - start->ToClock() >= std::chrono::seconds(job.spec().active_deadline_seconds())) {
    return MakeEnd(std::string(kFailureTarget), "DeadlineExceeded", "Job was active longer than specified deadline");
  }
  return std::nullopt;
}

std::optional<Condition> JobSync::FindEndOfIndexes() const {
  auto job = Job();
  if (HasLimitPerIndex(job)) {
    if (job.spec().has_max_failed_indexes() && failed_indexes_.size() > job.spec().max_failed_indexes()) {
      return MakeEnd(std::string(kFailureTarget), "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes");
    }
    if (!failed_indexes_.empty() && failed_indexes_.size() + succeeded_indexes_.size() >= job.spec().completions()) {
      return MakeEnd(std::string(kFailureTarget), "FailedIndexes", "Job has failed indexes");
    }
  }
  if (auto message = MetSuccessRule(job.spec(), succeeded_indexes_)) return MakeEnd(std::string(kSuccessCriteriaMet), "SuccessPolicy", *message);
  return std::nullopt;
}

// --- Pods.

void JobSync::NoteDeadline() {
  auto job = Job();
  auto start = object::ParseTime(state_.start_time);
  if (!job.spec().has_active_deadline_seconds() || IsSuspended(job) || !start) return;
  actions_.again = start->ToClock() + std::chrono::seconds(job.spec().active_deadline_seconds()) - view_.now;
}

void JobSync::PlanPods() {
  auto job = Job();
  int32_t active = state_.active, parallelism = job.spec().has_parallelism() ? job.spec().parallelism() : 1;
  int32_t wanted = parallelism;
  if (IsSuspended(job)) {
    wanted = 0;
  } else if (!job.spec().has_completions()) {
    // The first success is the signal for the others to come to their end.
    if (succeeded_ > 0) wanted = active;
  } else {
    wanted = std::clamp(job.spec().completions() - succeeded_, 0, std::max(0, parallelism));
  }
  actions_.remove = ForRemoval(std::max(0, active - wanted));
  actions_.drop_finalizers = true;
  if (IsSuspended(job)) return;
  if (actions_.remove.size() > static_cast<size_t>(kMostPodsAtOnce)) actions_.remove.resize(static_cast<size_t>(kMostPodsAtOnce));
  if (!actions_.remove.empty()) return;
  int32_t missing = wanted - active - (ReplacesOnlyFailed(job) ? state_.terminating : 0);
  if (missing > 0) PlanCreations(std::min(missing, kMostPodsAtOnce));
}

JobSync::Pods JobSync::ForRemoval(int32_t at_least) const {
  Pods removed, left;
  if (IsIndexed(Job())) {
    // Of several pods of an index one stays; none of an index that there is not.
    std::map<int32_t, Pods> by_index;
    for (const object::DocumentPtr& pod : active_) by_index[CompletionIndex(Pod(pod->root()))].push_back(pod);
    for (auto& [index, pods] : by_index) {
      bool counts = index >= 0 && index < Job().spec().completions();
      if (counts && pods.size() > 1) SortForDeletion(pods, {}, view_.now);
      if (counts) {
        left.push_back(pods.back());
        pods.pop_back();
      }
      removed.insert(removed.end(), pods.begin(), pods.end());
    }
  } else {
    left = active_;
  }
  if (removed.size() < static_cast<size_t>(at_least)) {
    SortForDeletion(left, {}, view_.now);
    size_t more = std::min(left.size(), static_cast<size_t>(at_least) - removed.size());
    removed.insert(removed.end(), left.begin(), left.begin() + static_cast<ptrdiff_t>(more));
  }
  return removed;
}

void JobSync::PlanCreations(int32_t count) {
  auto job = Job();
  auto put_off = [this](Duration pause) { actions_.again = std::min(pause, actions_.again.value_or(pause)); };
  if (!HasLimitPerIndex(job) && retry_.last) {
    Duration pause = RetryPause(retry_.failures, *retry_.last, view_.now);
    if (pause > Duration(0)) return put_off(pause);
  }
  if (!IsIndexed(job)) {
    actions_.create.assign(static_cast<size_t>(count), JobPod(job, -1, nullptr));
    return;
  }
  IndexSet taken = succeeded_indexes_;
  taken.Add(failed_indexes_);
  for (const object::DocumentPtr& document : view_.pods) {
    Pod pod(document->root());
    bool holds = IsPodActive(pod) || (ReplacesOnlyFailed(job) && IsPodTerminating(pod));
    if (holds && CompletionIndex(pod) >= 0) taken.Add(CompletionIndex(pod));
  }
  std::optional<Duration> soonest;
  for (int32_t index : taken.Missing(static_cast<size_t>(count), job.spec().completions())) {
    auto before = latest_failed_.find(index);
    object::DocumentPtr replaced = before == latest_failed_.end() ? nullptr : before->second;
    Duration pause(0);
    if (replaced) pause = RetryPause(AllFailuresBefore(Pod(replaced->root())) + 1, FinishedAt(Pod(replaced->root())), view_.now);
    if (pause > Duration(0)) {
      soonest = std::min(pause, soonest.value_or(pause));
    } else {
      actions_.create.push_back(JobPod(job, index, replaced));
    }
  }
  if (soonest) put_off(*soonest);
}

void JobSync::Acted(const JobOutcome& outcome) {
  auto removed = static_cast<int32_t>(outcome.removed.size());
  // All have to be on their way, and nothing unseen may run, before the end is marked.
  if (end_ && (removed != state_.active || !view_.settled)) end_.reset();
  state_.active += outcome.created - removed;
  state_.terminating += removed;
  state_.ready -= CountReady(outcome.removed);
  if (!had_end_) MarkComplete();
  ListEnded();
  MarkTarget();
}

void JobSync::MarkComplete() {
  auto job = Job();
  bool complete = state_.active == 0 && (job.spec().has_completions() ? succeeded_ >= job.spec().completions() : succeeded_ > 0);
  if (complete) {
    end_ = MakeEnd(std::string(kSuccessCriteriaMet), "CompletionsReached", "Reached expected number of succeeded pods");
  } else if (manages_) {
    MarkSuspension();
  }
}

void JobSync::MarkSuspension() {
  bool suspended = IsSuspended(Job());
  std::string now = TimeText(view_.now);
  Condition next{std::string(kSuspended), suspended ? "True" : "False", suspended ? "JobSuspended" : "JobResumed", suspended ? "Job suspended" : "Job resumed", {}, now, now};
  if (!Ensure(state_.conditions, next)) return;
  events_.push_back({"Normal", suspended ? "Suspended" : "Resumed", next.message});
  state_.start_time = suspended ? std::string() : now;
}

bool JobSync::MayStrip(const object::DocumentPtr& document) const {
  Pod pod(document->root());
  if (sdk::meta::IsDeleting(view_.job->root()) || end_ || pod.status().phase() == "Succeeded") return true;
  if (!CountsAsFailed(pod, Job())) return false;
  // It tells the next pod of its index how often it was tried.
  auto latest = latest_failed_.find(CompletionIndex(pod));
  return latest == latest_failed_.end() || latest->second != document;
}

void JobSync::ListOne(const object::DocumentPtr& document, bool failed, IndexSet& indexes) {
  Pod pod(document->root());
  std::string uid = UidOf(document);
  if (PhaseOf(document) == "Succeeded" && !was_failed_.contains(uid)) {
    if (IsIndexed(Job())) {
      if (HasIndex(pod) && !former_indexes_.Has(CompletionIndex(pod))) indexes.Add(CompletionIndex(pod));
    } else if (!was_succeeded_.contains(uid)) {
      state_.uncounted_succeeded.push_back(uid);
    }
    return;
  }
  bool fails = failed || (end_ && end_->type != kSuccessCriteriaMet);
  if (!fails || was_failed_.contains(uid) || !HasIndex(pod)) return;
  if (JudgeFailure(Job(), pod).counts) state_.uncounted_failed.push_back(uid);
}

void JobSync::ListEnded() {
  // Whoever lost its finalizer since has been listed, and counts now.
  CountListed(with_finalizer_);
  Pods pods = view_.pods;
  if (IsIndexed(Job())) {
    std::ranges::stable_sort(pods, {}, [](const object::DocumentPtr& pod) { return CompletionIndex(Pod(pod->root())); });
  }
  IndexSet indexes;
  for (const object::DocumentPtr& pod : pods) {
    if (!IsTracked(pod) || !MayStrip(pod)) continue;
    to_strip_.push_back(pod);
    ListOne(pod, CountsAsFailed(Pod(pod->root()), Job()), indexes);
    list_is_full_ = static_cast<size_t>(indexes.size()) + state_.uncounted_succeeded.size() + state_.uncounted_failed.size() >= kMostUncounted;
    if (list_is_full_) break;
  }
  if (!IsIndexed(Job())) return;
  // What did not fit waits for the next look.
  IndexSet counted = former_indexes_;
  counted.Add(indexes);
  state_.completed_indexes = counted.ToString();
  state_.succeeded = static_cast<int32_t>(counted.size());
  if (HasLimitPerIndex(Job())) {
    state_.failed_indexes = failed_indexes_.ToString();
  } else {
    state_.failed_indexes.reset();
  }
}

// What the Job comes to is said before its last pods have ended; that it has come to it, after.
void JobSync::MarkTarget() {
  if (!end_) return;
  if (end_->type == kFailureTarget) {
    state_.conditions.push_back(*end_);
    end_ = MakeEnd(std::string(kFailed), end_->reason, end_->message);
  } else if (end_->type == kSuccessCriteriaMet) {
    if (!IsTrue(FindCondition(state_.conditions, kSuccessCriteriaMet))) state_.conditions.push_back(*end_);
    end_ = MakeEnd(std::string(kComplete), end_->reason, end_->message);
  }
}

bool JobSync::CountListed(const std::set<std::string>& with_finalizer) {
  auto gone = [&](const std::string& uid) { return !with_finalizer.contains(uid); };
  auto succeeded = static_cast<int32_t>(std::erase_if(state_.uncounted_succeeded, gone));
  auto failed = static_cast<int32_t>(std::erase_if(state_.uncounted_failed, gone));
  state_.succeeded += succeeded;
  state_.failed += failed;
  return succeeded + failed > 0;
}

void JobSync::Stripped(const std::set<std::string>& uids) {
  for (const std::string& uid : uids) with_finalizer_.erase(uid);
  CountListed(with_finalizer_);
  bool all_counted = state_.uncounted_succeeded.empty() && state_.uncounted_failed.empty() &&
                     std::ranges::all_of(to_strip_, [&](const object::DocumentPtr& pod) { return uids.contains(UidOf(pod)); });
  if (end_ && !list_is_full_ && all_counted && state_.terminating == 0) MarkEnd();
}

void JobSync::MarkEnd() {
  Ensure(state_.conditions, *end_);
  auto job = Job();
  if (end_->type == kComplete) {
    state_.completion_time = end_->last_transition_time;
    if (job.spec().has_completions() && state_.succeeded > job.spec().completions()) {
      events_.push_back({"Warning", "TooManySucceededPods", "Too many succeeded pods running after completion count reached"});
    }
    events_.push_back({"Normal", "Completed", "Job completed"});
  } else {
    events_.push_back({"Warning", end_->reason, end_->message});
  }
}

object::DocumentPtr JobSync::Written(const object::DocumentPtr& stored) const {
  JobBuilder next{schema::Subtree(stored)};
  auto status = next.mutable_status();
  status.set_active(state_.active).set_ready(state_.ready).set_terminating(state_.terminating);
  status.set_succeeded(state_.succeeded).set_failed(state_.failed).set_completed_indexes(state_.completed_indexes);
  state_.failed_indexes ? status.set_failed_indexes(*state_.failed_indexes) : status.clear_failed_indexes();
  state_.start_time.empty() ? status.clear_start_time() : status.set_start_time(state_.start_time);
  state_.completion_time.empty() ? status.clear_completion_time() : status.set_completion_time(state_.completion_time);
  auto uncounted = status.mutable_uncounted_terminated_pods();
  uncounted.clear_succeeded().clear_failed();
  for (const std::string& uid : state_.uncounted_succeeded) uncounted.add_succeeded(uid);
  for (const std::string& uid : state_.uncounted_failed) uncounted.add_failed(uid);
  WriteConditions(status, state_.conditions);
  return next.Freeze();
}

}  // namespace homeostat::controllers
