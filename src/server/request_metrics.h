// RequestMetrics: what is counted of requests, under the names that dashboards made for kube-apiserver read; and /metrics.
#pragma once

#include <memory>
#include <string>

#include "cache/cache.h"
#include "homeostat/base/metrics.h"
#include "server/api_server.h"
#include "server/health.h"
#include "server/resources.h"

namespace homeostat::server {

class RequestMetrics {
 public:
  explicit RequestMetrics(MetricsRegistry& registry);

  // `verb` is upstream's in capitals (GET, LIST, WATCH, POST …).
  void Finished(std::string_view verb, std::string_view group, std::string_view version, std::string_view resource,
                std::string_view subresource, std::string_view scope, int code, Duration took);
  void InFlight(int reading, int mutating);

 private:
  MetricFamily<Counter>& total_;
  MetricFamily<Histogram>& seconds_;
  MetricFamily<Gauge>& in_flight_;
};

// Registers /metrics and /metrics/slis.
void ServeMetrics(ApiServer& server, MetricsRegistry& registry, const cache::Cache& cache, const VersionInfo& version);

}  // namespace homeostat::server
