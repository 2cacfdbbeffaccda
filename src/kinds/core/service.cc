// Service: how it is prepared, checked and shown.
// Source of the rules: pkg/registry/core/service/strategy.go, pkg/api/service.
#include "kinds/core/service.h"

#include <algorithm>
#include <set>

#include "homeostat/api/core/v1.h"
#include "homeostat/base/text.h"
#include "homeostat/object/ip.h"
#include "kinds/cells.h"
#include "kinds/core/behaviours.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

bool NeedsIp(const Value& service) { return ServiceType(service) != "ExternalName"; }
bool Exposes(const Value& service) { return ServiceType(service) == "NodePort" || ServiceType(service) == "LoadBalancer"; }

std::set<int64_t> NodePorts(const Value& service) {
  std::set<int64_t> ports;
  for (const Value& port : service.Get("spec").Get("ports").items()) {
    if (int64_t number = port.Get("nodePort").AsInt(); number != 0) ports.insert(number);
  }
  return ports;
}

// A change of type drops what the old type had and the new one can't have, unless it was changed as well: then it is refused.
void DropByType(Edit& spec, const Value& service, const Value& old) {
  Value old_spec = old.Get("spec"), now = service.Get("spec");
  auto same = [&](std::string_view field) { return object::Equal(now.Get(field), old_spec.Get(field)); };
  if (NeedsIp(old) && !NeedsIp(service)) {
    if (same("clusterIP") && same("clusterIPs")) spec.Erase("clusterIP"), spec.Erase("clusterIPs");
    if (same("ipFamilies")) spec.Erase("ipFamilies");
    if (same("ipFamilyPolicy")) spec.Erase("ipFamilyPolicy");
  }
  if (Exposes(old) && !Exposes(service)) {
    std::set<int64_t> before = NodePorts(old);
    if (std::ranges::includes(before, NodePorts(service))) spec.Each("ports", [](Edit& port) { port.Erase("nodePort"); });
  }
  if (NeedsHealthCheck(old) && !NeedsHealthCheck(service) && same("healthCheckNodePort")) spec.Erase("healthCheckNodePort");
  bool was_balanced = ServiceType(old) == "LoadBalancer", balanced = ServiceType(service) == "LoadBalancer";
  if (was_balanced && !balanced) {
    if (same("allocateLoadBalancerNodePorts")) spec.Erase("allocateLoadBalancerNodePorts");
    if (same("loadBalancerClass")) spec.Erase("loadBalancerClass");
  }
  if (IsExternallyAccessible(old) && !IsExternallyAccessible(service) && same("externalTrafficPolicy")) spec.Erase("externalTrafficPolicy");
  // Traffic inside the cluster has no policy where there is no address.
  if (!NeedsIp(service)) spec.Erase("internalTrafficPolicy");
}

Value PrepareUpdate(RuleContext& context, Value service, Value old) {
  if (!context.subresource.empty()) return service;
  return Edited(context.arena, types::kService, service, [&](Edit& edit) {
    edit.In("spec", [&](Edit& spec) { DropByType(spec, service, old); });
    if (ServiceType(service) != "LoadBalancer" && edit.Get("status").Get("loadBalancer")) {
      edit.In("status", [](Edit& status) { status.Erase("loadBalancer"); });
    }
  });
}

void ValidateCreate(RuleContext&, Value service, FieldErrors& errors) { CheckService(service, Value(), errors); }

void ValidateUpdate(RuleContext& context, Value service, Value old, FieldErrors& errors) {
  if (context.subresource == "status") CheckServiceStatusUpdate(service, old, errors);
  else CheckServiceUpdate(service, old, errors);
}

void WarnOfAddressList(const Value& list, std::string_view path, bool ranges, std::vector<std::string>& warnings) {
  for (size_t i = 0; i < list.size(); ++i) {
    std::string at = std::string(path) + "[" + std::to_string(i) + "]";
    Messages texts = ranges ? object::GetWarningsForCIDR(at, list.At(i).AsString()) : object::GetWarningsForIP(at, list.At(i).AsString());
    for (std::string& text : texts) warnings.push_back(std::move(text));
  }
}

void Warn(RuleContext& context, Value service, Value) {
  if (context.warnings == nullptr) return;
  std::vector<std::string>& warnings = *context.warnings;
  Value spec = service.Get("spec");
  std::string_view type = ServiceType(service), first = spec.Get("clusterIP").AsString();
  if (context.subresource == "status") {
    Value ingress = service.Path({"status", "loadBalancer", "ingress"});
    for (size_t i = 0; i < ingress.size(); ++i) {
      std::string_view ip = ingress.At(i).Get("ip").AsString();
      if (ip.empty()) continue;
      for (std::string& text : object::GetWarningsForIP("status.loadBalancer.ingress[" + std::to_string(i) + "]", ip)) warnings.push_back(std::move(text));
    }
    return;
  }
  if (service.Path({"metadata", "annotations", "service.kubernetes.io/topology-aware-hints"})) {
    warnings.push_back("annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead");
  }
  bool headless = type == "ClusterIP" && first == "None";
  if (!first.empty() && first != "None") WarnOfAddressList(spec.Get("clusterIPs"), "spec.clusterIPs", false, warnings);
  if (headless) {
    if (!spec.Get("loadBalancerIP").AsString().empty()) warnings.push_back("spec.loadBalancerIP is ignored for headless services");
    if (!spec.Get("externalIPs").empty()) warnings.push_back("spec.externalIPs is ignored for headless services");
    if (spec.Get("sessionAffinity").AsString() != "None") warnings.push_back("spec.SessionAffinity is ignored for headless services");
  }
  WarnOfAddressList(spec.Get("externalIPs"), "spec.externalIPs", false, warnings);
  if (!spec.Get("externalIPs").empty() && !headless && type != "ExternalName") {
    warnings.push_back("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
  }
  if (std::string_view ip = spec.Get("loadBalancerIP").AsString(); !ip.empty()) {
    for (std::string& text : object::GetWarningsForIP("spec.loadBalancerIP", ip)) warnings.push_back(std::move(text));
  }
  WarnOfAddressList(spec.Get("loadBalancerSourceRanges"), "spec.loadBalancerSourceRanges", true, warnings);
  if (type == "ExternalName" && !spec.Get("externalIPs").empty()) {
    warnings.push_back("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
  }
  if (type != "ExternalName" && !spec.Get("externalName").AsString().empty()) {
    warnings.push_back("spec.externalName is ignored when spec.type is not \"ExternalName\"");
  }
  if (spec.Get("trafficDistribution").AsString() == "PreferClose") {
    warnings.push_back("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
  }
}

Value PrepareCreate(RuleContext& context, Value service) {
  if (NeedsIp(service)) return service;
  return Edited(context.arena, types::kService, service, [](Edit& edit) { edit.In("spec", [](Edit& spec) { spec.Erase("internalTrafficPolicy"); }); });
}

std::string Joined(const Value& list) {
  std::string joined;
  for (const Value& item : list.items()) joined += (joined.empty() ? "" : ",") + std::string(item.AsString());
  return joined;
}

std::string ExternalIp(const Value& service) {
  Value spec = service.Get("spec");
  std::string_view type = ServiceType(service);
  std::string given = Joined(spec.Get("externalIPs"));
  if (type == "ClusterIP" || type == "NodePort") return given.empty() ? "<none>" : given;
  if (type == "ExternalName") return std::string(spec.Get("externalName").AsString());
  if (type != "LoadBalancer") return "<unknown>";
  std::set<std::string_view> balanced;
  for (const Value& entry : service.Path({"status", "loadBalancer", "ingress"}).items()) {
    std::string_view ip = entry.Get("ip").AsString(), host = entry.Get("hostname").AsString();
    if (!ip.empty() || !host.empty()) balanced.insert(ip.empty() ? host : ip);
  }
  std::string all;
  for (std::string_view address : balanced) all += (all.empty() ? "" : ",") + std::string(address);
  if (!given.empty()) all += (all.empty() ? "" : ",") + given;
  return all.empty() ? "<pending>" : all;
}

std::string Ports(const Value& service) {
  std::string all;
  for (const Value& port : service.Get("spec").Get("ports").items()) {
    int64_t node_port = port.Get("nodePort").AsInt();
    if (!all.empty()) all += ',';
    all += std::to_string(port.Get("port").AsInt());
    if (node_port > 0) all += ":" + std::to_string(node_port);
    all += "/" + std::string(port.Get("protocol").AsString());
  }
  return all.empty() ? "<none>" : all;
}

}  // namespace

Value ServiceCell(object::Arena& arena, std::string_view cell, Value service, WallTime) {
  return TextCell(arena, cell == "external_ip" ? ExternalIp(service) : Ports(service));
}

const Behaviour kServiceBehaviour = {
    .group = "",
    .kind = "Service",
    .validate_name = object::NameIsDNSLabel,
    .allocate = AllocateService,
    .holds = ServiceHolds,
    .prepare_create = PrepareCreate,
    .prepare_update = PrepareUpdate,
    .validate_create = ValidateCreate,
    .validate_update = ValidateUpdate,
    .warn = Warn,
    .cell = ServiceCell,
};

}  // namespace homeostat::kinds
