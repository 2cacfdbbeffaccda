#include "controllers/horizontal_pod_autoscaler.h"

#include <algorithm>
#include <utility>

#include "controllers/metrics_api.h"
#include "homeostat/base/go_text.h"
#include "homeostat/base/text.h"
#include "homeostat/object/quantity.h"
#include "homeostat/object/selectors.h"
#include "homeostat/object/time.h"
#include "homeostat/schema/diff.h"
#include "object/go_selector.h"

namespace homeostat::controllers {

using api::autoscaling::v2::HorizontalPodAutoscaler;
using api::autoscaling::v2::HorizontalPodAutoscalerBuilder;
using api::autoscaling::v2::MetricSpec;
using api::core::v1::Pod;

namespace {

constexpr int kRescaleAttempts = 5;             // where somebody else changes the scale meanwhile
constexpr Duration kRescalePause = std::chrono::milliseconds(10);
constexpr std::string_view kActive = "ScalingActive", kAble = "AbleToScale", kLimited = "ScalingLimited";

std::string AverageText(std::string_view resource, int64_t milli) {
  auto format = resource == "memory" ? object::Quantity::Format::kBinarySI : object::Quantity::Format::kDecimalSI;
  return object::Quantity::OfMilli(milli, format).ToString();
}

template <class ValueBuilder>
void ShowValue(ValueBuilder current, std::string_view resource, const Proposal& proposal) {
  if (proposal.utilization) current.set_average_utilization(*proposal.utilization);
  current.set_average_value(AverageText(resource, proposal.average));
}

template <class ValueBuilder>
void ShowUsage(ValueBuilder current, const Proposal& proposal, bool share) {
  if (share) current.set_average_value(AverageText({}, proposal.average));
  else current.set_value(AverageText({}, proposal.average));
}

std::string_view FailureReason(std::string_view type) {
  if (type == "Resource") return "FailedGetResourceMetric";
  if (type == "ContainerResource") return "FailedGetContainerResourceMetric";
  if (type == "Pods") return "FailedGetPodsMetric";
  if (type == "Object") return "FailedGetObjectMetric";
  if (type == "External") return "FailedGetExternalMetric";
  return "InvalidMetricSourceType";
}

// The target is a share per pod, not a total.
bool IsShare(const MetricSpec& metric) {
  if (metric.type() == "Object") return metric.object().target().type() == "AverageValue";
  return metric.external().target().has_average_value();
}

// What stands before an error of the metric where several are told of.
std::string FailureContext(const MetricSpec& metric) {
  std::string type(metric.type());
  if (type == "Resource") return "failed to get " + std::string(metric.resource().name()) + " resource metric value";
  if (type == "ContainerResource") return "failed to get " + std::string(metric.container_resource().container()) + " container metric value";
  if (type == "Pods") return "failed to get pods metric value";
  if (type == "Object") {
    std::string share = IsShare(metric) ? ": failed to get " + std::string(metric.object().metric().name()) + " object metric" : std::string();
    return "failed to get object metric value" + share;
  }
  std::string name(metric.external().metric().name());
  return "failed to get " + name + " external metric value: failed to get " + (IsShare(metric) ? name + " external metric" : "external metric " + name);
}

std::string SelectorText(const object::Value& selector) {
  auto parsed = object::LabelSelector::FromLabelSelector(selector);
  return parsed ? parsed->ToString() : std::string();
}

}  // namespace

HorizontalPodAutoscalerController::HorizontalPodAutoscalerController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers,
                                                                     AutoscalerOptions options)
    : runtime_(runtime),
      client_(std::move(client)),
      options_(options),
      scalers_(informers.For<HorizontalPodAutoscaler>()),
      pods_(informers.For<Pod>()),
      events_(runtime, client_, "horizontal-pod-autoscaler"),
      controller_(runtime, {.name = "horizontalpodautoscaler", .workers = 5, .backoff = {.base = options.period, .limit = options.period}, .log = client_.options().log},
                  [this](std::string key) { return Reconcile(std::move(key)); }) {
  controller_.WaitFor(pods_);
  // What it writes itself wakes nobody; what somebody else asks for is looked at soon.
  controller_.WatchMapped(scalers_, [](const sdk::Change& change) -> std::vector<std::string> {
    if (change.current && change.previous &&
        object::Equal(HorizontalPodAutoscaler(change.current->root()).spec().Raw(), HorizontalPodAutoscaler(change.previous->root()).spec().Raw())) {
      return {};
    }
    return {sdk::meta::Key((change.current ? change.current : change.previous)->root())};
  });
}

void HorizontalPodAutoscalerController::Tell(const Look& look, std::string_view type, std::string_view reason, std::string message) {
  events_.Record(HorizontalPodAutoscaler::SchemaKind(), look.scaler->Raw(), type, reason, std::move(message));
}

void HorizontalPodAutoscalerController::SetCondition(Look& look, std::string_view type, bool holds, std::string_view reason, std::string message) {
  auto list = look.next.View().status().conditions();
  auto status = look.next.mutable_status();
  size_t at = 0;
  while (at < list.size() && list[at].type() != type) ++at;
  bool turned = at == list.size() || (list[at].status() == "True") != holds;
  auto condition = at == list.size() ? status.add_conditions() : status.mutable_conditions(at);
  condition.set_type(type).set_status(holds ? "True" : "False").set_reason(reason).set_message(message);
  if (turned) condition.set_last_transition_time(object::FormatTime(object::Timestamp::FromClock(runtime_.WallNow())));
}

Task<Result<sdk::ReconcileOutcome>> HorizontalPodAutoscalerController::Reconcile(std::string key) {
  Scaler scaler(scalers_.Get(key));
  if (!scaler) {
    histories_.erase(key);
    selectors_.erase(key);
    co_return sdk::ReconcileOutcome();
  }
  Look look{key, scaler, HorizontalPodAutoscalerBuilder(schema::Subtree(scaler.document()))};
  auto act = Act(look);
  Result<void> acted = co_await act;
  auto write = WriteStatus(look);
  Result<void> written = co_await write;
  if (!written && !written.error().IsNotFound()) {
    Tell(look, "Warning", "FailedUpdateStatus", written.error().message());
    co_return Fail(written.error());
  }
  if (!acted) co_return Fail(acted.error());
  co_return sdk::ReconcileOutcome{options_.period};
}

Task<Result<void>> HorizontalPodAutoscalerController::WriteStatus(Look& look) {
  auto before = look.scaler->status(), after = look.next.View().status();
  if (schema::IsEqual(decltype(before)::SchemaType(), before.Raw(), after.Raw())) co_return Done();
  auto update = client_.UpdateStatus<HorizontalPodAutoscaler>(Scaler(look.next.Freeze()));
  CO_TRY(co_await update);
  co_return Done();
}

Task<Result<void>> HorizontalPodAutoscalerController::Act(Look& look) {
  auto reference = look.scaler->spec().scale_target_ref();
  std::string ns(look.scaler->metadata().namespace_()), kind(reference.kind()), name(reference.name());
  auto find = FindScale(client_, ns, std::string(reference.api_version()), kind, name);
  Result<ScaleTarget> target = co_await find;
  if (!target) {
    Tell(look, "Warning", "FailedGetScale", target.error().message());
    SetCondition(look, kAble, false, "FailedGetScale", "the HPA controller was unable to get the target's current scale: " + target.error().message());
    co_return Fail(target.error().WithContext("failed to query scale subresource for " + kind + "/" + ns + "/" + name));
  }
  SetCondition(look, kAble, true, "SucceededGetScale", "the HPA controller was able to get the target's current scale");
  int32_t current = target->replicas();
  ScalingHistory& history = histories_[look.key];
  if (history.recommendations.empty()) history.recommendations.push_back({runtime_.WallNow(), current});
  look.next.mutable_status().set_current_replicas(current);
  std::string why;
  auto decide = Decide(look, *target, why);
  CO_TRY_ASSIGN(int32_t wanted, co_await decide);
  look.next.mutable_status().set_desired_replicas(wanted);
  if (wanted == current) co_return Done();
  auto rescale = Rescale(look, *target, wanted, why);
  co_return co_await rescale;
}

Task<Result<int32_t>> HorizontalPodAutoscalerController::Decide(Look& look, const ScaleTarget& target, std::string& why) {
  auto spec = look.scaler->spec();
  int32_t current = target.replicas(), lowest = spec.has_min_replicas() ? spec.min_replicas() : 1;
  look.next.mutable_status().clear_current_metrics();
  if (current == 0) {
    SetCondition(look, kActive, false, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero");
    co_return 0;
  }
  if (current > spec.max_replicas()) {
    why = "Current number of replicas above Spec.MaxReplicas";
    co_return spec.max_replicas();
  }
  if (current < lowest) {
    why = "Current number of replicas below Spec.MinReplicas";
    co_return lowest;
  }
  auto measure = MeasureAll(look, target);
  Result<Measured> measured = co_await measure;
  if (!measured) {
    Tell(look, "Warning", "FailedComputeMetricsReplicas", measured.error().message());
    co_return Fail(measured.error().WithContext("failed to compute desired number of replicas based on listed metrics for " +
                                                std::string(spec.scale_target_ref().kind()) + "/" + look.key));
  }
  SizeDecision decision = DecideSize(*look.scaler, current, measured->replicas, histories_[look.key], runtime_.WallNow());
  SetCondition(look, kAble, true, decision.able_reason, decision.able_message);
  SetCondition(look, kLimited, decision.limited, decision.limited_reason, decision.limited_message);
  why = measured->replicas > current ? measured->name + " above target" : "All metrics below target";
  co_return decision.replicas;
}

Task<Result<HorizontalPodAutoscalerController::Measured>> HorizontalPodAutoscalerController::MeasureAll(Look& look, const ScaleTarget& target) {
  CO_TRY(CheckSelector(look, target));
  auto metrics = look.scaler->spec().metrics();
  Measured best;
  std::optional<Status> fault;
  std::string fault_reason, fault_message;
  size_t faults = 0;
  for (size_t i = 0; i < metrics.size(); ++i) {
    auto measure = Measure(look, target, i);
    Result<Measured> one = co_await measure;
    if (one) {
      if (best.name.empty() || one->replicas > best.replicas) best = *std::move(one);
      continue;
    }
    std::string reason(FailureReason(metrics[i].type()));
    Tell(look, "Warning", reason, one.error().message());
    look.next.mutable_status().add_current_metrics();   // in its place, without a type
    ++faults;
    if (fault) continue;
    fault_reason = reason;
    fault_message = "the HPA was unable to compute the replica count: " + one.error().message();
    fault = one.error().WithContext(FailureContext(metrics[i]));
  }
  if (fault) fault = fault->WithContext("invalid metrics (" + std::to_string(faults) + " invalid out of " + std::to_string(metrics.size()) + "), first error is");
  // With some metrics missing it may grow, but not shrink.
  if (fault && (faults >= metrics.size() || best.replicas < target.replicas())) {
    SetCondition(look, kActive, false, fault_reason, fault_message);
    co_return Fail(*fault);
  }
  SetCondition(look, kActive, true, "ValidMetricFound", "the HPA was able to successfully calculate a replica count from " + best.name);
  co_return best;
}

Result<void> HorizontalPodAutoscalerController::CheckSelector(Look& look, const ScaleTarget& target) {
  auto refuse = [&](std::string_view reason, std::string_view event, std::string message, std::string condition) {
    Tell(look, "Warning", event, message);
    SetCondition(look, kActive, false, reason, std::move(condition));
    return Fail(SystemError(std::move(message)));
  };
  std::string text(target.selector());
  if (text.empty()) return refuse("InvalidSelector", "SelectorRequired", "selector is required", "the HPA target's scale is missing a selector");
  auto selector = object::LabelSelector::Parse(text);
  if (!selector) {
    std::string message = "couldn't convert selector into a corresponding internal selector object: " + selector.error().message();
    return refuse("InvalidSelector", "InvalidSelector", message, message);
  }
  selectors_[look.key] = *selector;
  std::erase_if(selectors_, [&](const auto& known) { return !scalers_.Get(known.first); });
  std::string ns(look.scaler->metadata().namespace_()), prefix = ns + "/";
  std::vector<std::string> selecting;
  for (auto other = selectors_.lower_bound(prefix); other != selectors_.end() && other->first.starts_with(prefix); ++other) {
    bool shares = std::ranges::any_of(pods_.List(ns), [&](const object::DocumentPtr& pod) {
      return selector->Matches(sdk::meta::Labels(pod->root())) && other->second.Matches(sdk::meta::Labels(pod->root()));
    });
    if (shares) selecting.push_back("{" + other->first.substr(prefix.size()) + " " + ns + "}");
  }
  if (selecting.size() <= 1) return {};
  std::string message = "pods by selector " + text + " are controlled by multiple HPAs: [" + JoinTexts(selecting, " ") + "]";
  return refuse("AmbiguousSelector", "AmbiguousSelector", message, message);
}

Result<MetricView> HorizontalPodAutoscalerController::ViewOf(const Look& look, const ScaleTarget& target) const {
  MetricView view;
  view.current = target.replicas();
  view.tolerances = TolerancesOf(*look.scaler);
  view.now = runtime_.WallNow();
  TRY_ASSIGN(object::LabelSelector selector, object::LabelSelector::Parse(target.selector()));
  for (object::DocumentPtr& pod : pods_.List(look.scaler->metadata().namespace_())) {
    if (selector.Matches(sdk::meta::Labels(pod->root()))) view.pods.push_back(std::move(pod));
  }
  return view;
}

Task<Result<HorizontalPodAutoscalerController::Measured>> HorizontalPodAutoscalerController::Measure(Look& look, const ScaleTarget& target, size_t index) {
  auto metric = look.scaler->spec().metrics()[index];
  std::string type(metric.type());
  if (type == "Resource") {
    std::string resource(metric.resource().name());
    auto measure = MeasureResource(look, target, resource, {}, metric.resource().target());
    CO_TRY_ASSIGN(Proposal proposal, co_await measure);
    auto shown = look.next.mutable_status().add_current_metrics();
    auto to = shown.set_type(type).mutable_resource();
    ShowValue(to.set_name(resource).mutable_current(), resource, proposal);
    co_return Measured{proposal.replicas, resource + (proposal.utilization ? " resource utilization (percentage of request)" : " resource")};
  }
  if (type == "ContainerResource") {
    std::string resource(metric.container_resource().name()), container(metric.container_resource().container());
    auto measure = MeasureResource(look, target, resource, container, metric.container_resource().target());
    CO_TRY_ASSIGN(Proposal proposal, co_await measure);
    auto shown = look.next.mutable_status().add_current_metrics();
    auto to = shown.set_type(type).mutable_container_resource();
    ShowValue(to.set_name(resource).set_container(container).mutable_current(), resource, proposal);
    co_return Measured{proposal.replicas, resource + (proposal.utilization ? " container resource utilization (percentage of request)" : " resource")};
  }
  if (type == "Pods") {
    auto measure = MeasurePods(look, target, metric.pods());
    CO_TRY_ASSIGN(Proposal proposal, co_await measure);
    auto shown = look.next.mutable_status().add_current_metrics();
    auto to = shown.set_type(type).mutable_pods();
    to.mutable_metric().set_name(metric.pods().metric().name());
    ShowValue(to.mutable_current(), {}, proposal);
    co_return Measured{proposal.replicas, "pods metric " + std::string(metric.pods().metric().name())};
  }
  if (type == "Object") {
    auto source = metric.object();
    auto measure = MeasureObject(look, target, source, IsShare(metric));
    CO_TRY_ASSIGN(Proposal proposal, co_await measure);
    auto shown = look.next.mutable_status().add_current_metrics();
    auto to = shown.set_type(type).mutable_object();
    to.set_described_object(schema::Subtree(source.described_object())).set_metric(schema::Subtree(source.metric()));
    ShowUsage(to.mutable_current(), proposal, IsShare(metric));
    std::string name(source.metric().name());
    co_return Measured{proposal.replicas, IsShare(metric) ? "external metric " + name + "(" + object::GoSelectorText(source.metric().selector().Raw()) + ")"
                                                          : std::string(source.described_object().kind()) + " metric " + name};
  }
  if (type == "External") {
    auto source = metric.external();
    auto measure = MeasureExternal(look, target, source, IsShare(metric));
    CO_TRY_ASSIGN(Proposal proposal, co_await measure);
    auto shown = look.next.mutable_status().add_current_metrics();
    auto to = shown.set_type(type).mutable_external();
    to.set_metric(schema::Subtree(source.metric()));
    ShowUsage(to.mutable_current(), proposal, IsShare(metric));
    co_return Measured{proposal.replicas, "external metric " + std::string(source.metric().name()) + "(" + object::GoSelectorText(source.metric().selector().Raw()) + ")"};
  }
  co_return Fail(SystemError("unknown metric source type " + GoQuote(type)));
}

Task<Result<Proposal>> HorizontalPodAutoscalerController::MeasureResource(Look& look, const ScaleTarget& target, std::string resource, std::string container,
                                                                          api::autoscaling::v2::MetricTarget wanted) {
  bool average = wanted.has_average_value();
  if (!average && !wanted.has_average_utilization()) {
    co_return Fail(SystemError("invalid resource metric source: neither an average utilization target nor an average value (usage) target was set"));
  }
  std::string what = "failed to get " + resource + (average ? " usage" : " utilization");
  CO_TRY_ASSIGN(MetricView view, ViewOf(look, target));
  view.resource = resource;
  view.container = container;
  auto ask = AskResourceMetrics(client_, std::string(look.scaler->metadata().namespace_()), std::string(target.selector()), resource, container);
  Result<PodMetrics> metrics = co_await ask;
  if (!metrics) co_return Fail(metrics.error().WithContext("unable to get metrics for resource " + resource).WithContext(what));
  view.metrics = *std::move(metrics);
  Result<Proposal> proposal;
  if (average) {
    CO_TRY_ASSIGN(object::Quantity value, object::Quantity::Parse(wanted.average_value()));
    proposal = ForAverage(view, value.MilliValue());
  } else {
    proposal = ForUtilization(view, wanted.average_utilization());
  }
  if (!proposal) co_return Fail(proposal.error().WithContext(what));
  co_return proposal;
}

Task<Result<Proposal>> HorizontalPodAutoscalerController::MeasurePods(const Look& look, const ScaleTarget& target,
                                                                      api::autoscaling::v2::PodsMetricSource metric) {
  CO_TRY_ASSIGN(MetricView view, ViewOf(look, target));
  CO_TRY_ASSIGN(object::Quantity wanted, object::Quantity::Parse(metric.target().average_value()));
  std::string name(metric.metric().name());
  auto ask = AskPodMetric(client_, std::string(look.scaler->metadata().namespace_()), std::string(target.selector()), name,
                          SelectorText(metric.metric().selector().Raw()));
  Result<PodMetrics> metrics = co_await ask;
  if (!metrics) co_return Fail(metrics.error().WithContext("unable to get metric " + name));
  view.metrics = *std::move(metrics);
  co_return ForAverage(view, wanted.MilliValue());
}

Result<Proposal> HorizontalPodAutoscalerController::ForUsage(const Look& look, const ScaleTarget& target, api::autoscaling::v2::MetricTarget wanted,
                                                             bool share, int64_t usage) const {
  TRY_ASSIGN(object::Quantity quantity, object::Quantity::Parse(share ? wanted.average_value() : wanted.value()));
  if (share) return ForShare(TolerancesOf(*look.scaler), usage, quantity.MilliValue(), target.current());
  TRY_ASSIGN(MetricView view, ViewOf(look, target));
  return ForTotal(view, usage, quantity.MilliValue());
}

Task<Result<Proposal>> HorizontalPodAutoscalerController::MeasureObject(const Look& look, const ScaleTarget& target,
                                                                        api::autoscaling::v2::ObjectMetricSource metric, bool share) {
  if (share ? !metric.target().has_average_value() : !metric.target().has_value()) {
    co_return Fail(SystemError("invalid object metric source: neither a value target nor an average value target was set"));
  }
  std::string ns(look.scaler->metadata().namespace_()), name(metric.metric().name());
  auto reference = metric.described_object();
  DescribedObject object{std::string(reference.api_version()), std::string(reference.kind()), std::string(reference.name())};
  auto ask = AskObjectMetric(client_, ns, object, name, SelectorText(metric.metric().selector().Raw()));
  Result<int64_t> usage = co_await ask;
  if (!usage) {
    co_return Fail(SystemError("unable to get metric " + name + ": " + usage.error().message() + " on " + object.kind + " " + ns + "/" + object.name));
  }
  co_return ForUsage(look, target, metric.target(), share, *usage);
}

Task<Result<Proposal>> HorizontalPodAutoscalerController::MeasureExternal(const Look& look, const ScaleTarget& target,
                                                                          api::autoscaling::v2::ExternalMetricSource metric, bool share) {
  if (share ? !metric.target().has_average_value() : !metric.target().has_value()) {
    co_return Fail(SystemError("invalid external metric source: neither a value target nor an average value target was set"));
  }
  std::string ns(look.scaler->metadata().namespace_()), name(metric.metric().name());
  auto ask = AskExternalMetric(client_, ns, name, SelectorText(metric.metric().selector().Raw()));
  Result<int64_t> usage = co_await ask;
  if (!usage) {
    co_return Fail(SystemError("unable to get external metric " + ns + "/" + name + "/" + object::GoSelectorText(metric.metric().selector().Raw()) + ": " + usage.error().message()));
  }
  co_return ForUsage(look, target, metric.target(), share, *usage);
}

Task<Result<void>> HorizontalPodAutoscalerController::Rescale(Look& look, ScaleTarget target, int32_t replicas, std::string why) {
  int32_t before = target.replicas();
  Result<void> written = Done();
  for (int attempt = 0; attempt < kRescaleAttempts; ++attempt) {
    auto write = WriteScale(client_, target, replicas);
    written = co_await write;
    if (written || !written.error().IsConflict()) break;
    auto again = GetJson(client_, target.path, {});
    Result<object::DocumentPtr> latest = co_await again;
    if (latest) target.scale = *std::move(latest);
    auto pause = Sleep(runtime_, kRescalePause);
    co_await pause;
  }
  std::string size = "New size: " + std::to_string(replicas) + "; reason: " + why;
  if (!written) {
    Tell(look, "Warning", "FailedRescale", size + "; error: " + written.error().message());
    SetCondition(look, kAble, false, "FailedUpdateScale", "the HPA controller was unable to update the target scale: " + written.error().message());
    look.next.mutable_status().set_desired_replicas(look.scaler->status().desired_replicas());
    co_return Fail(written.error().WithContext("failed to rescale " + look.key));
  }
  SetCondition(look, kAble, true, "SucceededRescale", "the HPA controller was able to update the target scale to " + std::to_string(replicas));
  Tell(look, "Normal", "SuccessfulRescale", size);
  look.next.mutable_status().set_last_scale_time(object::FormatTime(object::Timestamp::FromClock(runtime_.WallNow())));
  NoteScaling(*look.scaler, before, replicas, histories_[look.key], runtime_.WallNow());
  co_return Done();
}

}  // namespace homeostat::controllers
