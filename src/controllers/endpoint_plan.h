// Which pods stand behind a Service, and how its EndpointSlices change for it. Pure.
//
// Slices change as little as possible, as each change goes to every node: what is right stays where it is, what is new fills
// slices that change anyway, then the slice it fits best, then new ones.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/discovery/v1.h"
#include "homeostat/object/value.h"

namespace homeostat::controllers {

inline constexpr size_t kEndpointsPerSlice = 100;
inline constexpr std::string_view kSliceServiceLabel = "kubernetes.io/service-name";
inline constexpr std::string_view kSliceManagedByLabel = "endpointslice.kubernetes.io/managed-by";
inline constexpr std::string_view kSliceManager = "endpointslice-controller.k8s.io";
inline constexpr std::string_view kHeadlessLabel = "service.kubernetes.io/headless";

// It has an address and has not ended; while it is being deleted, only if asked for.
bool BelongsInEndpoints(const api::core::v1::Pod& pod, bool include_terminating);
// It is addressed by its own name below the Service's.
bool HasHostname(const api::core::v1::Pod& pod, const api::core::v1::Service& service);
bool HasClusterAddress(const api::core::v1::Service& service);
// IPv4 and IPv6, as the Service has them.
std::vector<std::string> AddressTypes(const api::core::v1::Service& service);
// The pod's address of that type; empty if it has none.
std::string AddressOf(const api::core::v1::Pod& pod, std::string_view address_type);
// The number of a Service's port on this pod; nullopt if a named one is not there.
std::optional<int32_t> TargetPort(const api::core::v1::ServicePort& port, const api::core::v1::Pod& pod);

struct PlannedPort {
  std::string name, protocol;
  int32_t port = 0;
  std::optional<std::string> app_protocol;
  auto operator<=>(const PlannedPort&) const = default;
};
std::vector<PlannedPort> PortsOf(const api::core::v1::Service& service, const api::core::v1::Pod& pod);

struct PlannedEndpoint {
  std::string address, hostname, node, zone, pod_ns, pod_name, pod_uid;
  bool ready = false, serving = false, terminating = false;
  bool zone_hint = false, node_hint = false;    // the traffic distribution asks for its own zone, or node
  bool operator==(const PlannedEndpoint&) const = default;
  // Whose endpoint it is: the same in another state has the same key.
  std::string Key() const { return address + "/" + hostname + "/" + pod_ns + "/" + pod_name + "/" + pod_uid; }
};
PlannedEndpoint EndpointOf(const api::core::v1::Service& service, const api::core::v1::Pod& pod, std::string_view address_type,
                           std::string_view zone);

// Endpoints that can share slices.
struct SliceGroup {
  std::string address_type;
  std::vector<PlannedPort> ports;       // sorted
  auto operator<=>(const SliceGroup&) const = default;
};
SliceGroup GroupOf(const api::discovery::v1::EndpointSlice& slice);
using WantedEndpoints = std::map<SliceGroup, std::vector<PlannedEndpoint>>;

struct SlicePlan {
  std::vector<object::DocumentPtr> create, update, remove;
};
// `slices`: those of the Service's name that this controller manages and that aren't being deleted; what an earlier Service of that
// name has left is removed. `address_types`: each has at least one slice, if only an empty one. `changed`: see TriggerTimes.
SlicePlan PlanSlices(const api::core::v1::Service& service, const std::vector<object::DocumentPtr>& slices,
                     const WantedEndpoints& wanted, const std::vector<std::string>& address_types, std::string_view changed = {});

}  // namespace homeostat::controllers
