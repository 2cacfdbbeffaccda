// What autoscalers ask the metrics APIs, which others serve: metrics of pods, of other objects, and of things outside the cluster.
// Values are thousandths. Errors are upstream's texts.
#pragma once

#include <string>
#include <string_view>

#include "controllers/autoscaler_plan.h"
#include "homeostat/sdk/client.h"

namespace homeostat::controllers {

// metrics.k8s.io: what the pods that are selected use of a resource; `container`: that one alone, if not empty.
Task<Result<PodMetrics>> AskResourceMetrics(sdk::Client client, std::string ns, std::string selector, std::string resource, std::string container);
// custom.metrics.k8s.io: a metric of the pods that are selected. metric_selector: of the metric's own labels.
Task<Result<PodMetrics>> AskPodMetric(sdk::Client client, std::string ns, std::string selector, std::string metric, std::string metric_selector);
// The same of one object.
struct DescribedObject {
  std::string api_version, kind, name;
};
Task<Result<int64_t>> AskObjectMetric(sdk::Client client, std::string ns, DescribedObject object, std::string metric, std::string metric_selector);
// external.metrics.k8s.io: the sum of its values.
Task<Result<int64_t>> AskExternalMetric(sdk::Client client, std::string ns, std::string metric, std::string metric_selector);

}  // namespace homeostat::controllers
