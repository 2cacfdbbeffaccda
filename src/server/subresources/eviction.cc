// pods/NAME/eviction: a deletion that asks the pod's disruption budget first. Source: pkg/registry/core/pod/storage/eviction.go.
#include <algorithm>
#include <utility>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/core/v1_builders.h"
#include "homeostat/api/policy/v1.h"
#include "homeostat/api/policy/v1_builders.h"
#include "homeostat/object/selectors.h"
#include "server/admission_requests.h"
#include "server/change.h"
#include "server/delete.h"
#include "server/metadata.h"
#include "server/object_store.h"
#include "server/subresources/review.h"
#include "server/subresources/subresources.h"

namespace homeostat::server {
namespace {

using api::core::v1::Pod;
using api::core::v1::PodBuilder;
using api::policy::v1::Eviction;
using api::policy::v1::PodDisruptionBudget;
using api::policy::v1::PodDisruptionBudgetBuilder;

// Evictions that the budgets' controller has not seen yet.
constexpr size_t kMostDisruptedPods = 2000;
// Seconds after which a client had better ask again.
constexpr int kRetryAfter = 10;
constexpr int kAttempts = 20;
constexpr std::string_view kCause = "DisruptionBudget";
constexpr std::string_view kCondition = "DisruptionAllowed";

const schema::Kind& EvictionKind() {
  static const schema::Kind kind = BodyKind({"policy", "v1", "Eviction"}, Eviction::SchemaType());
  return kind;
}

// Ends well or badly before a budget is needed: such a pod serves nobody.
bool ServesNobody(const Pod& pod) {
  std::string_view phase = pod.status().phase();
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" || !pod.metadata().deletion_timestamp().empty();
}

// It may begin to serve while it is being evicted.
bool MayStillServe(const Pod& pod) { return pod.status().phase() == "Pending" && pod.metadata().deletion_timestamp().empty(); }

template <class List>
bool IsTrue(const List& conditions, std::string_view type) {
  for (auto condition : conditions) {
    if (condition.type() == type) return condition.status() == "True";
  }
  return false;
}

Status Refused(std::string_view cause, int retry_after) {
  StatusDetails details;
  details.retry_after_seconds = retry_after;
  details.causes.push_back({std::string(kCause), std::string(cause), ""});
  return Status(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.").WithDetails(details);
}

Status StillProcessed(std::string_view budget) {
  return Refused("The disruption budget " + std::string(budget) + " is still being processed by the server.", kRetryAfter);
}

// Why a budget that allows no disruption allows none.
std::string WhyNone(const PodDisruptionBudget& budget) {
  auto status = budget.status();
  std::string start = "The disruption budget " + std::string(budget.metadata().name());
  std::string reason, message;
  for (auto condition : status.conditions()) {
    if (condition.type() != kCondition || condition.status() != "False") continue;
    reason = condition.reason();
    message = condition.message();
  }
  if (!message.empty() && reason == "SyncFailed") {
    return start + " does not allow evicting pods currently because it failed sync: " + message;
  }
  if (status.current_healthy() <= status.desired_healthy()) {
    return start + " needs " + std::to_string(status.desired_healthy()) + " healthy pods and has " +
           std::to_string(status.current_healthy()) + " currently";
  }
  std::string text = start + " does not allow evicting pods currently";
  return message.empty() ? text : text + " (" + reason + "): " + message;
}

Result<void> CheckBudget(const PodDisruptionBudget& budget) {
  auto status = budget.status();
  std::string_view name = budget.metadata().name();
  if (status.observed_generation() < budget.metadata().generation()) return Fail(StillProcessed(name));
  if (status.disruptions_allowed() < 0) {
    return Fail(ForbiddenError("policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative"));
  }
  if (status.disrupted_pods().size() > kMostDisruptedPods) {
    return Fail(ForbiddenError("policy", "poddisruptionbudget", name,
                               "DisruptedPods map too big - too many evictions not confirmed by PDB controller"));
  }
  if (status.disruptions_allowed() == 0) return Fail(Refused(WhyNone(budget), 0));
  return {};
}

// The budget with one disruption less, for that pod.
Value Spent(object::Arena& arena, const PodDisruptionBudget& budget, std::string_view pod, std::string_view now) {
  PodDisruptionBudgetBuilder changed{schema::Subtree(budget)};
  auto status = changed.mutable_status();
  int32_t left = budget.status().disruptions_allowed() - 1;
  status.set_disruptions_allowed(left);
  status.set_disrupted_pods(pod, now);
  if (left > 0) return changed.FreezeInto(arena);
  size_t index = 0;
  for (auto condition : budget.status().conditions()) {
    if (condition.type() == kCondition) break;
    ++index;
  }
  bool there = index < budget.status().conditions().size();
  bool turned = !there || budget.status().conditions()[index].status() != "False";
  auto condition = there ? status.mutable_conditions(index) : status.add_conditions();
  condition.set_type(kCondition).set_status("False").set_reason("InsufficientPods").clear_message();
  condition.set_observed_generation(budget.status().observed_generation());
  if (turned) condition.set_last_transition_time(now);
  return changed.FreezeInto(arena);
}

// The pod with the condition that tells why it goes.
Value WithCondition(RequestContext& context, const Pod& pod) {
  PodBuilder changed{schema::Subtree(pod)};
  auto status = changed.mutable_status();
  size_t index = 0;
  for (auto condition : pod.status().conditions()) {
    if (condition.type() == "DisruptionTarget") break;
    ++index;
  }
  bool there = index < pod.status().conditions().size();
  bool turned = !there || pod.status().conditions()[index].status() != "True";
  auto condition = there ? status.mutable_conditions(index) : status.add_conditions();
  condition.set_type("DisruptionTarget").set_status("True").set_reason("EvictionByEvictionAPI").set_message("Eviction API: evicting");
  if (turned) condition.set_last_transition_time(FormatNow(context.runtime()));
  return changed.FreezeInto(context.arena());
}

// A request that writes several objects needs a tree for each, since the cache keeps what was written.
class OwnTree {
 public:
  explicit OwnTree(RequestContext& context) : context_(context), work_(std::exchange(context.work, std::make_shared<object::Document>())) {}
  ~OwnTree() { context_.work = std::move(work_); }
  OwnTree(const OwnTree&) = delete;

 private:
  RequestContext& context_;
  std::shared_ptr<object::Document> work_;
};

// What one request for an eviction asks.
struct Wish {
  std::string ns, name;
  DeleteQuery options;
  std::optional<Status> fault = {};  // of the options, which only the deletion itself looks at
  bool versioned = false;            // the client named a resourceVersion
};

Task<Result<UpdateDecision>> DecideCondition(RequestContext& context, const DeleteQuery& options, std::string name, Value current) {
  if (!current) co_return Fail(NotFoundError("", "pods", name));
  CO_TRY(CheckPreconditions(context, options, current));
  co_return UpdateDecision{UpdateDecision::Action::kStore, WithCondition(context, Pod(current))};
}

// Notes on the pod why it goes, then deletes it.
Task<Result<void>> Remove(RequestContext& context, const Wish& wish, DeleteQuery options) {
  if (!options.dry_run) {
    OwnTree tree(context);
    UpdateFunction decide = [&context, &options, name = wish.name](object::DocumentPtr, Value current) {
      return DecideCondition(context, options, name, current);
    };
    auto update = StoreUpdate(context, wish.ns, wish.name, MakeWriteInfo(context, ""), false, decide);
    CO_TRY_ASSIGN(Answer updated, co_await std::move(update));
    // The version that the client meant is the one before this.
    if (options.precondition_resource_version) options.precondition_resource_version = MetadataString(updated.value, "resourceVersion");
  }
  if (wish.fault) co_return Fail(*wish.fault);
  auto deletion = DeleteAdmitted(context, options, wish.ns, wish.name);
  co_return co_await std::move(deletion);
}

Result<object::DocumentPtr> FindPod(RequestContext& context, const Wish& wish) {
  object::DocumentPtr pod = context.parts.objects.Get("", "pods", wish.ns, wish.name);
  if (!pod) return Fail(NotFoundError("", "pods", wish.name));
  context.arena().Keep(pod);
  return pod;
}

// Removes a pod that needs no budget; false if, as it stands now, it does.
Task<Result<bool>> RemoveUnguarded(RequestContext& context, const Wish& wish) {
  for (int attempt = 1;; ++attempt) {
    CO_TRY_ASSIGN(object::DocumentPtr document, FindPod(context, wish));
    Pod pod(document->root());
    if (!ServesNobody(pod)) co_return false;
    DeleteQuery options = wish.options;
    if (MayStillServe(pod) && !wish.versioned) options.precondition_resource_version = pod.metadata().resource_version();
    auto removal = Remove(context, wish, options);
    auto removed = co_await std::move(removal);
    if (removed) co_return true;
    if (!removed.error().IsConflict() || wish.versioned || attempt == kAttempts) co_return Fail(removed.error());
  }
}

std::vector<object::DocumentPtr> BudgetsOf(RequestContext& context, const Pod& pod) {
  std::vector<object::DocumentPtr> found;
  for (const object::DocumentPtr& document : context.parts.objects.List("policy", "poddisruptionbudgets", pod.metadata().namespace_())) {
    auto selector = object::LabelSelector::FromLabelSelector(document->root().Path({"spec", "selector"}));
    if (selector && selector->Matches(pod.Raw().Path({"metadata", "labels"}))) found.push_back(document);
  }
  return found;
}

Task<Result<UpdateDecision>> DecideSpending(RequestContext& context, std::string budget, std::string pod, Value current) {
  if (!current) co_return Fail(NotFoundError("policy", "poddisruptionbudgets", budget));
  PodDisruptionBudget view(current);
  CO_TRY(CheckBudget(view));
  Value spent = Spent(context.arena(), view, pod, FormatNow(context.runtime()));
  spent = TrackUpdate(context, current, spent, "kube-apiserver", "status");
  co_return UpdateDecision{UpdateDecision::Action::kStore, spent};
}

// Takes one disruption out of the budget, or says why not.
Task<Result<void>> Spend(RequestContext& context, const Wish& wish, std::string budget) {
  OwnTree tree(context);
  const Resource* pods = context.resource;
  context.resource = context.parts.resources.Find("policy", "v1", "poddisruptionbudgets");
  UpdateFunction decide = [&context, budget, pod = wish.name](object::DocumentPtr, Value current) {
    return DecideSpending(context, budget, pod, current);
  };
  auto update = StoreUpdate(context, wish.ns, budget, MakeWriteInfo(context, "kube-apiserver"), wish.options.dry_run, decide);
  auto updated = co_await std::move(update);
  context.resource = pods;
  if (!updated) co_return Fail(updated.error());
  co_return Done();
}

// An unhealthy pod that may go without a disruption being counted.
bool IsFree(const Pod& pod, const PodDisruptionBudget& budget) {
  if (IsTrue(pod.status().conditions(), "Ready")) return false;
  if (budget.spec().unhealthy_pod_eviction_policy() == "AlwaysAllow") return true;
  auto status = budget.status();
  return status.current_healthy() >= status.desired_healthy() && status.desired_healthy() > 0;
}

Task<Result<void>> RemoveGuarded(RequestContext& context, const Wish& wish) {
  CO_TRY_ASSIGN(object::DocumentPtr document, FindPod(context, wish));
  Pod pod(document->root());
  std::vector<object::DocumentPtr> budgets = BudgetsOf(context, pod);
  if (budgets.size() > 1) {
    co_return Fail(Status(500, "", "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."));
  }
  DeleteQuery options = wish.options;
  bool free = false;
  std::string name;
  if (!budgets.empty()) {
    PodDisruptionBudget budget(budgets[0]->root());
    name = budget.metadata().name();
    free = IsFree(pod, budget);
    if (free) {
      // It must still be the unhealthy one when it goes.
      options.precondition_resource_version = pod.metadata().resource_version();
    } else {
      auto spend = Spend(context, wish, name);
      CO_TRY(co_await std::move(spend));
    }
  }
  auto removal = Remove(context, wish, options);
  auto removed = co_await std::move(removal);
  if (!removed && removed.error().IsConflict() && free && !wish.versioned) co_return Fail(StillProcessed(name));
  co_return removed;
}

std::string Listed(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : " ") + text;
  return "[" + list + "]";
}

// The options of the deletion: those in the body, with the request's dry run.
Result<Wish> ReadWish(RequestContext& context, const Eviction& eviction, const WriteQuery& query) {
  const RequestInfo& info = context.info;
  Wish wish{info.ns, info.name, {}};
  if (eviction.metadata().name() != info.name) return Fail(BadRequestError("name in URL does not match name in Eviction object"));
  if (!eviction.has_delete_options()) {
    wish.options.dry_run = query.dry_run;
    return wish;
  }
  auto asked = eviction.delete_options();
  if (asked.ignore_store_read_error_with_cluster_breaking_potential()) {
    schema::FieldErrors errors;
    errors.Invalid(schema::FieldPath("deleteOptions").Child("ignoreStoreReadErrorWithClusterBreakingPotential"), true,
                   "can not be set for pod eviction, try after removing the option");
    return Fail(errors.ToStatus("policy", "Eviction", info.name));
  }
  std::vector<std::string> body_dry_run, query_dry_run;
  for (std::string_view text : asked.dry_run()) body_dry_run.emplace_back(text);
  for (std::string_view text : context.query.GetAll("dryRun")) query_dry_run.emplace_back(text);
  if (!body_dry_run.empty() && !query_dry_run.empty() && body_dry_run != query_dry_run) {
    return Fail(Status(500, "", "Non-matching dry-run options in request and content: " + Listed(query_dry_run) + " and " + Listed(body_dry_run)));
  }
  wish.options = DeleteOptionsOf(asked.Raw(), wish.fault);
  wish.options.dry_run = wish.options.dry_run || query.dry_run;
  wish.versioned = wish.options.precondition_resource_version.has_value();
  return wish;
}

Task<Result<void>> Admit(RequestContext& context, Value eviction, bool dry_run) {
  kinds::RuleContext rules = context.Rules(dry_run, "eviction");
  admission::Request request{admission::Operation::kCreate, context.storage(), "eviction", context.info.ns, context.info.name,
                             eviction, Value(), WriteOptionsValue(context, admission::Operation::kCreate, dry_run), rules};
  auto mutate = context.parts.admission.Mutate(request);
  CO_TRY(co_await std::move(mutate));
  auto validate = context.parts.admission.Validate(request);
  co_return co_await std::move(validate);
}

Task<Result<http::Response>> HandleEviction(RequestContext& context) {
  CO_TRY_ASSIGN(WriteQuery query, ReadCreateQuery(context));
  CO_TRY_ASSIGN(Value body, DecodeBody(context, EvictionKind(), query.field_validation, "v1beta1"));
  CO_TRY_ASSIGN(body, EnsureNamespace(context, Eviction::SchemaType(), body));
  CO_TRY_ASSIGN(Wish wish, ReadWish(context, Eviction(body), query));
  auto admit = Admit(context, body, wish.options.dry_run);
  CO_TRY(co_await std::move(admit));
  auto unguarded = RemoveUnguarded(context, wish);
  CO_TRY_ASSIGN(bool removed, co_await std::move(unguarded));
  if (!removed) {
    auto guarded = RemoveGuarded(context, wish);
    CO_TRY(co_await std::move(guarded));
  }
  co_return EncodePlainSuccess(201, context.output);
}

}  // namespace

void ServeEviction(ApiServer& server) { server.HandleResource("", "pods", "eviction", "create", HandleEviction); }

}  // namespace homeostat::server
