// The pure rules of HorizontalPodAutoscalers: how many replicas a metric calls for, and how far the size may go at once.
// Source: upstream's replica calculator and its scaling rules.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "homeostat/api/autoscaling/v2_builders.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/base/result.h"
#include "homeostat/base/runtime.h"

namespace homeostat::controllers {

// --- Metrics.

// What was measured of a pod, in thousandths.
struct PodMetric {
  int64_t value = 0;
  WallTime at{};
  Duration window{};
};
using PodMetrics = std::map<std::string, PodMetric>;     // by pod

// Of the items of a PodMetricsList (metrics.k8s.io), for one resource; container: of that one alone, if not empty.
PodMetrics ReadPodMetrics(const object::Value& list, std::string_view resource, std::string_view container);

struct Tolerances {
  double down = 0.1, up = 0.1;
  bool Contain(double ratio) const { return 1.0 - down <= ratio && ratio <= 1.0 + up; }
};
Tolerances TolerancesOf(const api::autoscaling::v2::HorizontalPodAutoscaler& scaler);

struct Proposal {
  int32_t replicas = 0;
  int64_t average = 0;                      // per pod, in thousandths
  std::optional<int32_t> utilization;       // percent of what pods ask for
};
// What there is to reckon with.
struct MetricView {
  int32_t current = 0;                      // replicas wanted now
  std::string resource, container;
  Tolerances tolerances;
  std::vector<object::DocumentPtr> pods;    // of the target
  PodMetrics metrics;
  WallTime now;
};
// For an average share of what the pods ask for (percent). Errors are upstream's texts.
Result<Proposal> ForUtilization(const MetricView& view, int32_t target);
// For an average per pod, in thousandths.
Result<Proposal> ForAverage(const MetricView& view, int64_t target);
// For a metric of something else than pods, in thousandths: in proportion to the pods that are ready. The proposal's average is the
// metric itself.
Result<Proposal> ForTotal(const MetricView& view, int64_t usage, int64_t target);
// The same for a share per pod; `replicas`: as many as there are.
Proposal ForShare(const Tolerances& tolerances, int64_t usage, int64_t target, int32_t replicas);

// --- Sizes.

// What has been recommended and done lately, per autoscaler.
struct ScalingHistory {
  struct Entry {
    WallTime at;
    int32_t count = 0;
  };
  std::vector<Entry> recommendations, ups, downs;
};

struct SizeDecision {
  int32_t replicas = 0;
  std::string able_reason, able_message;        // of the condition AbleToScale
  bool limited = false;                         // of the condition ScalingLimited
  std::string limited_reason, limited_message;
};
// The size for a proposed one: with the behaviour that is asked for, or upstream's usual one. Notes the recommendation.
SizeDecision DecideSize(const api::autoscaling::v2::HorizontalPodAutoscaler& scaler, int32_t current, int32_t proposed, ScalingHistory& history, WallTime now);
// Notes that it was scaled.
void NoteScaling(const api::autoscaling::v2::HorizontalPodAutoscaler& scaler, int32_t before, int32_t after, ScalingHistory& history, WallTime now);

}  // namespace homeostat::controllers
