// HorizontalPodAutoscalerController: sizes what an autoscaler names by what its pods use, every fifteen seconds. Metrics are asked
// of the metrics APIs, which others serve; where there is none, the conditions say so.
#pragma once

#include <map>
#include <unordered_map>

#include "controllers/autoscaler_plan.h"
#include "controllers/scale_target.h"
#include "homeostat/object/selectors.h"
#include "homeostat/sdk/controller.h"

namespace homeostat::controllers {

struct AutoscalerOptions {
  Duration period = std::chrono::seconds(15);
};

class HorizontalPodAutoscalerController {
 public:
  // All must outlive it. Loop only.
  HorizontalPodAutoscalerController(Runtime& runtime, sdk::Client client, sdk::InformerFactory& informers, AutoscalerOptions options = {});
  void Start() { controller_.Start(); }
  bool idle() const { return true; }     // always on its rounds

 private:
  using Scaler = sdk::Object<api::autoscaling::v2::HorizontalPodAutoscaler>;
  // An autoscaler while it is looked at, with the status as it shall be.
  struct Look {
    std::string key;
    Scaler scaler;
    api::autoscaling::v2::HorizontalPodAutoscalerBuilder next;
  };
  // What one metric calls for, and the name it goes by in messages.
  struct Measured {
    int32_t replicas = 0;
    std::string name;
  };

  Task<Result<sdk::ReconcileOutcome>> Reconcile(std::string key);
  Task<Result<void>> Act(Look& look);
  Task<Result<int32_t>> Decide(Look& look, const ScaleTarget& target, std::string& why);
  Task<Result<Measured>> MeasureAll(Look& look, const ScaleTarget& target);
  Task<Result<Measured>> Measure(Look& look, const ScaleTarget& target, size_t index);
  Task<Result<Proposal>> MeasureResource(Look& look, const ScaleTarget& target, std::string resource, std::string container,
                                         api::autoscaling::v2::MetricTarget wanted);
  Task<Result<Proposal>> MeasurePods(const Look& look, const ScaleTarget& target, api::autoscaling::v2::PodsMetricSource metric);
  Task<Result<Proposal>> MeasureObject(const Look& look, const ScaleTarget& target, api::autoscaling::v2::ObjectMetricSource metric, bool share);
  Task<Result<Proposal>> MeasureExternal(const Look& look, const ScaleTarget& target, api::autoscaling::v2::ExternalMetricSource metric, bool share);
  // For a metric of something else than pods: wanted in all, or a share of it per pod.
  Result<Proposal> ForUsage(const Look& look, const ScaleTarget& target, api::autoscaling::v2::MetricTarget wanted, bool share, int64_t usage) const;
  // Notes which pods the autoscaler is for; an error, with its condition and event, if that can't be told or they have another one.
  Result<void> CheckSelector(Look& look, const ScaleTarget& target);
  Result<MetricView> ViewOf(const Look& look, const ScaleTarget& target) const;
  Task<Result<void>> Rescale(Look& look, ScaleTarget target, int32_t replicas, std::string why);
  Task<Result<void>> WriteStatus(Look& look);
  void SetCondition(Look& look, std::string_view type, bool holds, std::string_view reason, std::string message);
  void Tell(const Look& look, std::string_view type, std::string_view reason, std::string message);

  Runtime& runtime_;
  sdk::Client client_;
  AutoscalerOptions options_;
  sdk::Informer& scalers_;
  sdk::Informer& pods_;
  sdk::EventRecorder events_;
  std::unordered_map<std::string, ScalingHistory> histories_;
  std::map<std::string, object::LabelSelector> selectors_;   // as they were last seen, by key
  sdk::Controller controller_;
};

}  // namespace homeostat::controllers
