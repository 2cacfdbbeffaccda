#include "server/request_metrics.h"

#include <algorithm>

#include "server/encode.h"

namespace homeostat::server {
namespace {

// Upstream's buckets of request times, in seconds.
const std::vector<double>& LatencyBuckets() {
  static const std::vector<double> buckets = {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1,  1.25, 1.5, 2,
                                              3,     4,     5,    6,   8,   10,  15,  20,  30, 45,   60};
  return buckets;
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

RequestMetrics::RequestMetrics(MetricsRegistry& registry)
    : total_(registry.Counters("apiserver_request_total", "Requests answered, by verb, resource and code.",
                               {"code", "component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version"})),
      seconds_(registry.Histograms("apiserver_request_duration_seconds", "Time from a request's arrival to its answer.",
                                   {"component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version"},
                                   LatencyBuckets())),
      in_flight_(registry.Gauges("apiserver_current_inflight_requests", "Requests being worked on.", {"request_kind"})) {
  InFlight(0, 0);
}

void RequestMetrics::Finished(std::string_view verb, std::string_view group, std::string_view version, std::string_view resource,
                              std::string_view subresource, std::string_view scope, int code, Duration took) {
  std::string code_text = std::to_string(code);
  total_.With({code_text, "apiserver", "", group, resource, scope, subresource, verb, version}).Add();
  seconds_.With({"apiserver", "", group, resource, scope, subresource, verb, version}).Observe(Seconds(took));
}

void RequestMetrics::InFlight(int reading, int mutating) {
  in_flight_.With({"readOnly"}).Set(reading);
  in_flight_.With({"mutating"}).Set(mutating);
}

StoreMetrics::StoreMetrics(MetricsRegistry& registry)
    : total_(registry.Counters("etcd_requests_total", "Requests to the store, by operation and kind of object.",
                               {"operation", "group", "resource"})),
      failed_(registry.Counters("etcd_request_errors_total", "Requests to the store that failed.",
                                {"operation", "group", "resource"})),
      seconds_(registry.Histograms("etcd_request_duration_seconds", "Time that the store took to answer.",
                                   {"operation", "group", "resource"}, LatencyBuckets())) {}

void StoreMetrics::Finished(std::string_view operation, std::string_view group, std::string_view resource, bool failed,
                            Duration took) {
  total_.With({operation, group, resource}).Add();
  if (failed) failed_.With({operation, group, resource}).Add();
  seconds_.With({operation, group, resource}).Observe(Seconds(took));
}

void ServeMetrics(ApiServer& server, MetricsRegistry& registry, const cache::Cache& cache, const VersionInfo& version) {
  registry.AddProcessMetrics();
  registry.Gauges("kubernetes_build_info", "The version of this program; always 1.", {"git_version", "major", "minor"})
      .With({version.git_version, "1", "36"})
      .Set(1);
  registry.Gauges("kubernetes_healthcheck", "1 while a health check is well.", {"name", "type"}).With({"ping", "livez"}).Set(1);
  GaugeFamily& objects = registry.Gauges("apiserver_storage_objects", "Objects stored, by resource.", {"resource"});
  Resources& resources = server.parts().resources;
  registry.BeforeRender([&objects, &resources, &cache] {
    for (const Resource* resource : resources.All()) {
      if (resource->kind != resource->storage || resource->kind->virtual_kind) continue;
      std::string name(resource->kind->plural);
      if (!resource->kind->gvk.group.empty()) name += "." + std::string(resource->kind->gvk.group);
      objects.With({name}).Set(static_cast<double>(cache.Count(StoragePrefix(*resource->storage, ""))));
    }
  });
  auto answer = [&registry](const PathRequest&) {
    return AnswerNow(BytesResponse(200, Bytes(registry.Render()), "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"));
  };
  server.HandlePath("/metrics", answer);
  server.HandlePath("/metrics/slis", answer);
}

}  // namespace homeostat::server
