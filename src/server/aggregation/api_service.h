// An APIService as the server reads it: a version of a group, and the service that answers for it, if not this server itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "callout/target.h"
#include "homeostat/object/value.h"

namespace homeostat::server {

using callout::ServiceReference;

struct ApiServiceSpec {
  std::string group, version;
  int32_t group_priority = 0, version_priority = 0;
  std::optional<ServiceReference> service;  // none: this server answers
  std::string ca_bundle;                    // PEM
  bool insecure_skip_tls_verify = false;
  bool operator==(const ApiServiceSpec&) const = default;
};

// The condition Available; a status of "" means that there is none.
struct Availability {
  std::string status, reason, message;
  bool operator==(const Availability&) const = default;
};
Availability AvailableByItself();  // of those without a service

struct ApiService {
  std::string name, uid;
  std::string managed;  // by this server: "true" always, "onstart" when it starts, "" not
  ApiServiceSpec spec;
  Availability available;

  bool is_available() const { return available.status == "True"; }
};
ApiService ReadApiService(const object::Value& object);

// What can be said of a remote service without asking it; nullopt: ask it. service absent: there is none.
// Source: kube-aggregator/pkg/controllers/status/remote.
std::optional<Availability> JudgeService(const ServiceReference& reference, const object::Value& service,
                                         const std::vector<object::DocumentPtr>& slices);

// The merge patch that sets the condition in the status of this APIService; `now` as meta/v1 Time writes it. The time of the
// last change stays while the condition's status does.
std::string ConditionPatch(const object::Value& api_service, const Availability& available, std::string_view now);

}  // namespace homeostat::server
