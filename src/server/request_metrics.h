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

// What is counted of requests to the store. Under the names of upstream's, whose store is etcd: dashboards look for these
// whatever the store is. Reads are answered from the cache and never get here.
class StoreMetrics {
 public:
  explicit StoreMetrics(MetricsRegistry& registry);

  // `operation` is create, update or delete. An object that was not as expected is no failure.
  void Finished(std::string_view operation, std::string_view group, std::string_view resource, bool failed, Duration took);

 private:
  MetricFamily<Counter>& total_;
  MetricFamily<Counter>& failed_;
  MetricFamily<Histogram>& seconds_;
};

// Registers /metrics and /metrics/slis.
void ServeMetrics(ApiServer& server, MetricsRegistry& registry, const cache::Cache& cache, const VersionInfo& version);

}  // namespace homeostat::server
