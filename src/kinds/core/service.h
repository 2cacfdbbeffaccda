// Services: shared between the parts of their behaviour.
#pragma once

#include "kinds/allocation.h"
#include "kinds/behaviour.h"
#include "kinds/checks.h"

namespace homeostat::kinds {

// Families of addresses as pools. The one of the cluster's first range is the default.
inline constexpr std::string_view kIpv4Pool = "service-ip/IPv4", kIpv6Pool = "service-ip/IPv6", kNodePortPool = "node-port";
std::span<const Pool* const> ServicePools();
// IPv4 or IPv6.
std::string_view PrimaryFamily(const ObjectReader& objects);

// The allocate hook, and what a stored service holds.
Result<Value> AllocateService(RuleContext& context, Claims& claims, Value service, Value old);
void ServiceHolds(Value service, const std::function<void(std::string_view pool, std::string_view thing)>& held);

void CheckService(const Value& service, const Value& old, FieldErrors& errors);
void CheckServiceUpdate(const Value& service, const Value& old, FieldErrors& errors);
void CheckServiceStatusUpdate(const Value& service, const Value& old, FieldErrors& errors);
// Addresses and families among themselves.
void CheckServiceAddresses(const Value& service, const Value& old, FieldErrors& errors);

Value ServiceCell(object::Arena& arena, std::string_view cell, Value service, WallTime now);

inline std::string_view ServiceType(const Value& service) { return service.Get("spec").Get("type").AsString(); }
inline bool IsHeadless(const Value& service) {
  Value ips = service.Get("spec").Get("clusterIPs");
  return ips.size() == 1 && ips.At(0).AsString() == "None";
}
// Reachable from outside the cluster.
bool IsExternallyAccessible(const Value& service);
// Its load balancer asks the nodes where its pods are.
bool NeedsHealthCheck(const Value& service);

}  // namespace homeostat::kinds
