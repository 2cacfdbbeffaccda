#include "controllers/metrics_api.h"

#include <limits>
#include <utility>

#include "controllers/scale_target.h"
#include "homeostat/base/http.h"
#include "homeostat/object/quantity.h"

namespace homeostat::controllers {

using object::Value;

namespace {

std::string Query(std::string_view selector, std::string_view metric_selector) {
  http::Query query;
  if (!selector.empty()) query.Add("labelSelector", selector);
  if (!metric_selector.empty()) query.Add("metricLabelSelector", metric_selector);
  return query.Encode();
}

Result<int64_t> ValueOf(const Value& item) {
  TRY_ASSIGN(object::Quantity value, object::Quantity::Parse(item.Get("value").AsString()));
  return value.MilliValue();
}

constexpr std::string_view kCustom = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/";

}  // namespace

Task<Result<PodMetrics>> AskResourceMetrics(sdk::Client client, std::string ns, std::string selector, std::string resource, std::string container) {
  auto get = GetJson(client, "/apis/metrics.k8s.io/v1beta1/namespaces/" + ns + "/pods", Query(selector, {}));
  Result<object::DocumentPtr> list = co_await get;
  if (!list) {
    std::string why = list.error().IsNotFound() ? "the server could not find the requested resource (get pods.metrics.k8s.io)" : list.error().message();
    co_return Fail(SystemError("unable to fetch metrics from resource metrics API: " + why));
  }
  if ((*list)->root().Get("items").empty()) co_return Fail(SystemError("no metrics returned from resource metrics API"));
  co_return ReadPodMetrics((*list)->root(), resource, container);
}

Task<Result<PodMetrics>> AskPodMetric(sdk::Client client, std::string ns, std::string selector, std::string metric, std::string metric_selector) {
  auto get = GetJson(client, std::string(kCustom) + ns + "/pods/*/" + metric, Query(selector, metric_selector));
  Result<object::DocumentPtr> list = co_await get;
  if (!list) co_return Fail(list.error().WithContext("unable to fetch metrics from custom metrics API"));
  if ((*list)->root().Get("items").empty()) co_return Fail(SystemError("no metrics returned from custom metrics API"));
  PodMetrics metrics;
  for (const Value& item : (*list)->root().Get("items").items()) {
    CO_TRY_ASSIGN(metrics[std::string(item.Path({"describedObject", "name"}).AsString())].value, ValueOf(item));
  }
  co_return metrics;
}

Task<Result<int64_t>> AskObjectMetric(sdk::Client client, std::string ns, DescribedObject object, std::string metric, std::string metric_selector) {
  constexpr std::string_view kAsking = "unable to fetch metrics from custom metrics API";
  std::string path = std::string(kCustom) + ns + "/metrics/" + metric;   // of the namespace itself, whatever its name is said to be
  if (object.kind != "Namespace" || object.api_version != "v1") {
    auto find = FindResource(client, object.api_version, object.kind);
    Result<ResourcePlace> place = co_await find;
    if (!place) co_return Fail(place.error().WithContext(kAsking));
    path = std::string(kCustom) + ns + "/" + place->QualifiedName() + "/" + object.name + "/" + metric;
  }
  auto get = GetJson(client, path, Query({}, metric_selector));
  Result<object::DocumentPtr> list = co_await get;
  if (!list) co_return Fail(list.error().WithContext(kAsking));
  Value items = (*list)->root().Get("items");
  if (items.size() != 1) {
    co_return Fail(SystemError(std::string(kAsking) + ": the custom metrics API server returned " + std::to_string(items.size()) +
                               " results when we asked for exactly one"));
  }
  co_return ValueOf(items.At(0));
}

Task<Result<int64_t>> AskExternalMetric(sdk::Client client, std::string ns, std::string metric, std::string metric_selector) {
  auto get = GetJson(client, "/apis/external.metrics.k8s.io/v1beta1/namespaces/" + ns + "/" + metric, Query(metric_selector, {}));
  Result<object::DocumentPtr> list = co_await get;
  if (!list) co_return Fail(list.error().WithContext("unable to fetch metrics from external metrics API"));
  Value items = (*list)->root().Get("items");
  if (items.empty()) co_return Fail(SystemError("no metrics returned from external metrics API"));
  int64_t sum = 0;
  for (const Value& item : items.items()) {
    CO_TRY_ASSIGN(int64_t value, ValueOf(item));
    if (__builtin_add_overflow(sum, value, &sum)) co_return std::numeric_limits<int64_t>::max();
  }
  co_return sum;
}

}  // namespace homeostat::controllers
