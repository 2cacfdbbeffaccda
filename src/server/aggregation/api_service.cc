#include "server/aggregation/api_service.h"

#include <algorithm>

#include "callout/service_location.h"
#include "homeostat/api/apiregistration/v1.h"
#include "homeostat/api/core/v1.h"
#include "homeostat/api/discovery/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"

namespace homeostat::server {
namespace {

using api::apiregistration::v1::APIService;
using api::apiregistration::v1::APIServiceCondition;
using api::core::v1::Service;
using api::discovery::v1::Endpoint;
using api::discovery::v1::EndpointPort;
using api::discovery::v1::EndpointSlice;

constexpr std::string_view kManagedLabel = "kube-aggregator.kubernetes.io/automanaged";

bool HasReadyEndpoint(const EndpointSlice& slice, std::string_view port_name) {
  bool ready = false, has_port = false;
  for (Endpoint endpoint : slice.endpoints()) ready = ready || !endpoint.conditions().has_ready() || endpoint.conditions().ready();
  for (EndpointPort port : slice.ports()) has_port = has_port || (port.has_name() && port.name() == port_name && port.has_port());
  return ready && has_port;
}

void AppendMember(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (out.back() != '{') out += ',';
  object::AppendJsonString(out, name);
  out += ':';
  object::AppendJsonString(out, value);
}

}  // namespace

Availability AvailableByItself() { return {"True", "Local", "Local APIServices are always available"}; }

ApiService ReadApiService(const object::Value& object) {
  APIService view(object);
  ApiService service;
  service.name = view.metadata().name();
  service.uid = view.metadata().uid();
  service.managed = object.Path({"metadata", "labels", kManagedLabel}).AsString();
  auto spec = view.spec();
  service.spec = {.group = std::string(spec.group()),
                  .version = std::string(spec.version()),
                  .group_priority = spec.group_priority_minimum(),
                  .version_priority = spec.version_priority(),
                  .service = std::nullopt,
                  .ca_bundle = std::string(spec.ca_bundle()),
                  .insecure_skip_tls_verify = spec.insecure_skip_tls_verify()};
  if (spec.has_service()) {
    auto reference = spec.service();
    service.spec.service = {std::string(reference.namespace_()), std::string(reference.name()), reference.has_port() ? reference.port() : 443};
  }
  for (APIServiceCondition condition : view.status().conditions()) {
    if (condition.type() != "Available") continue;
    service.available = {std::string(condition.status()), std::string(condition.reason()), std::string(condition.message())};
  }
  return service;
}

std::optional<Availability> JudgeService(const ServiceReference& reference, const object::Value& object,
                                         const std::vector<object::DocumentPtr>& slices) {
  std::string subject = "service/" + reference.name + " in " + GoQuote(reference.ns);
  if (!object) return Availability{"False", "ServiceNotFound", subject + " is not present"};
  Service service(object);
  if (service.spec().type() != "ClusterIP") return std::nullopt;
  std::optional<std::string> port_name = callout::NameOfPort(object, reference.port);
  if (!port_name) {
    return Availability{"False", "ServicePortError", subject + " is not listening on port " + std::to_string(reference.port)};
  }
  if (slices.empty()) return Availability{"False", "EndpointsNotFound", "cannot find endpointslices for " + subject};
  bool any = std::ranges::any_of(slices, [&](const object::DocumentPtr& slice) {
    return HasReadyEndpoint(EndpointSlice(slice->root()), *port_name);
  });
  if (any) return std::nullopt;
  return Availability{"False", "MissingEndpoints",
                      "endpointslices for " + subject + " have no addresses with port name " + GoQuote(*port_name)};
}

std::string ConditionPatch(const object::Value& api_service, const Availability& available, std::string_view now) {
  std::string conditions, since(now);
  bool placed = false;
  auto append = [&](std::string_view type, const Availability& state, std::string_view time) {
    std::string one = "{";
    AppendMember(one, "type", type);
    AppendMember(one, "status", state.status);
    AppendMember(one, "lastTransitionTime", time);
    AppendMember(one, "reason", state.reason);
    AppendMember(one, "message", state.message);
    conditions += (conditions.empty() ? "" : ",") + one + "}";
  };
  for (const object::Value& condition : api_service.Path({"status", "conditions"}).items()) {
    std::string_view type = condition.Get("type").AsString(), time = condition.Get("lastTransitionTime").AsString();
    Availability state{std::string(condition.Get("status").AsString()), std::string(condition.Get("reason").AsString()),
                       std::string(condition.Get("message").AsString())};
    if (type != "Available") {
      append(type, state, time);
      continue;
    }
    placed = true;
    append(type, available, state.status == available.status ? time : now);
  }
  if (!placed) append("Available", available, now);
  std::string patch = R"({"metadata":{"resourceVersion":)";
  object::AppendJsonString(patch, api_service.Path({"metadata", "resourceVersion"}).AsString());
  return patch + R"(},"status":{"conditions":[)" + conditions + "]}}";
}

}  // namespace homeostat::server
