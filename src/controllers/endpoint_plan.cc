#include "controllers/endpoint_plan.h"

#include <algorithm>
#include <utility>

#include "controllers/claims.h"
#include "controllers/pods.h"
#include "controllers/trigger_times.h"
#include "homeostat/api/discovery/v1_builders.h"
#include "homeostat/object/names.h"

namespace homeostat::controllers {

using api::core::v1::Pod;
using api::core::v1::Service;
using api::core::v1::ServicePort;
using api::discovery::v1::EndpointSlice;
using api::discovery::v1::EndpointSliceBuilder;
using object::Value;

namespace {

constexpr std::string_view kTypes[] = {"IPv4", "IPv6"};

std::string_view TypeOfAddress(std::string_view address) { return kTypes[address.find(':') != std::string_view::npos]; }

bool IsReserved(std::string_view label) {
  return label == kSliceServiceLabel || label == kSliceManagedByLabel || label == kHeadlessLabel;
}

// The labels that the Service's slices have.
std::map<std::string, std::string> LabelsFor(const Service& service) {
  std::map<std::string, std::string> labels;
  for (auto [key, value] : service.metadata().labels()) {
    if (!IsReserved(key)) labels.emplace(key, value);
  }
  if (!HasClusterAddress(service)) labels.emplace(kHeadlessLabel, "");
  labels.emplace(kSliceServiceLabel, service.metadata().name());
  labels.emplace(kSliceManagedByLabel, kSliceManager);
  return labels;
}

bool HasLabels(const EndpointSlice& slice, const std::map<std::string, std::string>& labels) {
  auto own = slice.metadata().labels();
  if (own.size() != labels.size()) return false;
  return std::ranges::all_of(labels, [&](const auto& label) { return own.contains(label.first) && own.Get(label.first) == label.second; });
}

PlannedEndpoint ReadEndpoint(const api::discovery::v1::Endpoint& endpoint) {
  PlannedEndpoint planned;
  planned.address = endpoint.addresses().empty() ? std::string_view() : endpoint.addresses()[0];
  planned.hostname = endpoint.hostname();
  planned.node = endpoint.node_name();
  planned.zone = endpoint.zone();
  planned.pod_ns = endpoint.target_ref().namespace_();
  planned.pod_name = endpoint.target_ref().name();
  planned.pod_uid = endpoint.target_ref().uid();
  planned.ready = endpoint.conditions().ready();
  planned.serving = endpoint.conditions().serving();
  planned.terminating = endpoint.conditions().terminating();
  planned.zone_hint = !endpoint.hints().for_zones().empty();
  planned.node_hint = !endpoint.hints().for_nodes().empty();
  return planned;
}

void WriteEndpoint(EndpointSliceBuilder& slice, const PlannedEndpoint& planned) {
  auto endpoint = slice.add_endpoints();
  endpoint.add_addresses(planned.address);
  endpoint.mutable_conditions().set_ready(planned.ready).set_serving(planned.serving).set_terminating(planned.terminating);
  if (!planned.hostname.empty()) endpoint.set_hostname(planned.hostname);
  if (!planned.node.empty()) endpoint.set_node_name(planned.node);
  if (!planned.zone.empty()) endpoint.set_zone(planned.zone);
  endpoint.mutable_target_ref().set_kind("Pod").set_namespace(planned.pod_ns).set_name(planned.pod_name).set_uid(planned.pod_uid);
  if (planned.zone_hint) endpoint.mutable_hints().add_for_zones().set_name(planned.zone);
  if (planned.node_hint) endpoint.mutable_hints().add_for_nodes().set_name(planned.node);
}

// A slice as it is and as it shall be.
struct Draft {
  object::DocumentPtr existing;         // null: a new one
  std::vector<PlannedEndpoint> endpoints;
  bool changed = false;
};

// All slices of one group, and what becomes of them.
class GroupPlanner {
 public:
  GroupPlanner(const SliceGroup& group, const std::vector<PlannedEndpoint>& wanted) : group_(group) {
    for (const PlannedEndpoint& endpoint : wanted) missing_.emplace(endpoint.Key(), endpoint);
  }

  void AddExisting(object::DocumentPtr slice, bool relabel) {
    Draft draft{std::move(slice), {}, relabel};
    for (auto item : EndpointSlice(draft.existing->root()).endpoints()) {
      PlannedEndpoint current = ReadEndpoint(item);
      auto wanted = missing_.find(current.Key());
      if (wanted == missing_.end()) {
        draft.changed = true;
        continue;
      }
      draft.changed |= wanted->second != current;
      draft.endpoints.push_back(wanted->second);
      missing_.erase(wanted);
    }
    drafts_.push_back(std::move(draft));
  }

  std::vector<Draft> Finish() {
    // Slices that change anyway, the fullest first.
    std::vector<Draft*> open;
    for (Draft& draft : drafts_) {
      if (draft.changed) open.push_back(&draft);
    }
    std::ranges::stable_sort(open, std::greater<>(), [](const Draft* draft) { return draft->endpoints.size(); });
    for (Draft* draft : open) Fill(*draft);
    while (missing_.size() >= kEndpointsPerSlice) AddNew();
    if (!missing_.empty()) {
      Draft* best = BestFit();
      if (best != nullptr) {
        Fill(*best);
      } else {
        AddNew();
      }
    }
    return std::move(drafts_);
  }
  const SliceGroup& group() const { return group_; }

 private:
  void Fill(Draft& draft) {
    while (!missing_.empty() && draft.endpoints.size() < kEndpointsPerSlice) {
      draft.endpoints.push_back(std::move(missing_.begin()->second));
      missing_.erase(missing_.begin());
      draft.changed = true;
    }
  }
  void AddNew() {
    drafts_.push_back({nullptr, {}, true});
    Fill(drafts_.back());
  }
  // The slice that has room for the rest, and the least of it.
  Draft* BestFit() {
    Draft* best = nullptr;
    for (Draft& draft : drafts_) {
      if (draft.endpoints.size() + missing_.size() > kEndpointsPerSlice) continue;
      if (best == nullptr || draft.endpoints.size() > best->endpoints.size()) best = &draft;
    }
    return best;
  }

  const SliceGroup& group_;
  std::map<std::string, PlannedEndpoint> missing_;
  std::vector<Draft> drafts_;
};

bool IsOwnedBy(const Value& slice, const Service& service) {
  return std::ranges::any_of(slice.Path({"metadata", "ownerReferences"}).items(), [&](const Value& owner) {
    return owner.Get("uid").AsString() == service.metadata().uid() && owner.Get("kind").AsString() == "Service" && owner.Get("apiVersion").AsString() == "v1";
  });
}

object::DocumentPtr WriteSlice(const Service& service, const std::map<std::string, std::string>& labels, const SliceGroup& group,
                               const Draft& draft, std::string_view changed) {
  EndpointSliceBuilder slice;
  if (draft.existing) slice = EndpointSliceBuilder(schema::Subtree(draft.existing));
  auto metadata = slice.mutable_metadata();
  if (!draft.existing) {
    std::string prefix = std::string(service.metadata().name()) + "-";
    bool fits = object::NameIsDNSSubdomain(prefix, true).empty();
    metadata.set_generate_name(fits ? prefix : std::string(service.metadata().name())).set_namespace(service.metadata().namespace_());
    AddControllerReference(metadata, Service::SchemaKind(), service.Raw());
    slice.set_address_type(group.address_type);
  }
  metadata.clear_labels();
  for (const auto& [key, value] : labels) metadata.set_labels(key, value);
  SetTriggerTime(metadata, changed);
  slice.clear_ports();
  for (const PlannedPort& port : group.ports) {
    auto target = slice.add_ports();
    target.set_name(port.name).set_protocol(port.protocol).set_port(port.port);
    if (port.app_protocol) target.set_app_protocol(*port.app_protocol);
  }
  slice.clear_endpoints();
  for (const PlannedEndpoint& endpoint : draft.endpoints) WriteEndpoint(slice, endpoint);
  return slice.Freeze();
}

// What would be made takes the place of what would be removed, where the type of addresses allows it.
void ReuseRemoved(std::vector<std::pair<SliceGroup, Draft>>& drafts, std::vector<object::DocumentPtr>& removed) {
  for (auto& [group, draft] : drafts) {
    if (draft.existing) continue;
    auto found = std::ranges::find_if(removed, [&](const object::DocumentPtr& slice) {
      return EndpointSlice(slice->root()).address_type() == group.address_type;
    });
    if (found == removed.end()) continue;
    draft.existing = *found;
    removed.erase(found);
  }
}

}  // namespace

SliceGroup GroupOf(const EndpointSlice& slice) {
  SliceGroup group{std::string(slice.address_type()), {}};
  for (auto port : slice.ports()) {
    PlannedPort planned{std::string(port.name()), std::string(port.protocol()), port.port(), {}};
    if (port.has_app_protocol()) planned.app_protocol = port.app_protocol();
    group.ports.push_back(std::move(planned));
  }
  std::ranges::sort(group.ports);
  return group;
}

bool BelongsInEndpoints(const Pod& pod, bool include_terminating) {
  if (IsPodTerminal(pod)) return false;
  if (pod.status().pod_ip().empty() && pod.status().pod_ips().empty()) return false;
  return include_terminating || !sdk::meta::IsDeleting(pod.Raw());
}

bool HasHostname(const Pod& pod, const Service& service) {
  return !pod.spec().hostname().empty() && pod.spec().subdomain() == service.metadata().name() &&
         pod.metadata().namespace_() == service.metadata().namespace_();
}

bool HasClusterAddress(const Service& service) { return !service.spec().cluster_ip().empty() && service.spec().cluster_ip() != "None"; }

std::vector<std::string> AddressTypes(const Service& service) {
  std::vector<std::string> types;
  for (std::string_view family : service.spec().ip_families()) types.emplace_back(family);
  if (!types.empty()) return types;
  if (HasClusterAddress(service)) return {std::string(TypeOfAddress(service.spec().cluster_ip()))};
  return {std::string(kTypes[0]), std::string(kTypes[1])};
}

std::string AddressOf(const Pod& pod, std::string_view address_type) {
  for (auto ip : pod.status().pod_ips()) {
    if (TypeOfAddress(ip.ip()) == address_type) return std::string(ip.ip());
  }
  bool single = pod.status().pod_ips().empty() && !pod.status().pod_ip().empty();
  return single && TypeOfAddress(pod.status().pod_ip()) == address_type ? std::string(pod.status().pod_ip()) : std::string();
}

std::optional<int32_t> TargetPort(const ServicePort& port, const Pod& pod) {
  Value target = port.target_port();
  if (!target.IsString()) return static_cast<int32_t>(target.AsInt() != 0 ? target.AsInt() : port.port());
  auto find = [&](const api::core::v1::Container& container) -> std::optional<int32_t> {
    for (auto open : container.ports()) {
      std::string_view protocol = open.protocol().empty() ? std::string_view("TCP") : open.protocol();
      if (open.name() == target.AsString() && protocol == port.protocol()) return open.container_port();
    }
    return std::nullopt;
  };
  for (auto container : pod.spec().containers()) {
    if (auto number = find(container)) return number;
  }
  for (auto container : pod.spec().init_containers()) {
    if (container.restart_policy() != "Always") continue;
    if (auto number = find(container)) return number;
  }
  return std::nullopt;
}

std::vector<PlannedPort> PortsOf(const Service& service, const Pod& pod) {
  std::vector<PlannedPort> ports;
  for (ServicePort port : service.spec().ports()) {
    std::optional<int32_t> number = TargetPort(port, pod);
    if (!number) continue;
    PlannedPort planned{std::string(port.name()), std::string(port.protocol()), *number, {}};
    if (port.has_app_protocol()) planned.app_protocol = port.app_protocol();
    ports.push_back(std::move(planned));
  }
  std::ranges::sort(ports);
  return ports;
}

PlannedEndpoint EndpointOf(const Service& service, const Pod& pod, std::string_view address_type, std::string_view zone) {
  PlannedEndpoint endpoint;
  endpoint.address = AddressOf(pod, address_type);
  endpoint.serving = IsPodReady(pod);
  endpoint.terminating = sdk::meta::IsDeleting(pod.Raw());
  endpoint.ready = service.spec().publish_not_ready_addresses() || (endpoint.serving && !endpoint.terminating);
  if (HasHostname(pod, service)) endpoint.hostname = pod.spec().hostname();
  endpoint.node = pod.spec().node_name();
  endpoint.zone = zone;
  endpoint.pod_ns = pod.metadata().namespace_();
  endpoint.pod_name = pod.metadata().name();
  endpoint.pod_uid = pod.metadata().uid();
  std::string_view distribution = service.spec().traffic_distribution();
  bool by_node = distribution == "PreferSameNode";
  bool by_zone = by_node || distribution == "PreferClose" || distribution == "PreferSameZone";
  endpoint.zone_hint = by_zone && endpoint.ready && !endpoint.zone.empty();
  endpoint.node_hint = by_node && endpoint.ready && !endpoint.node.empty();
  return endpoint;
}

SlicePlan PlanSlices(const Service& service, const std::vector<object::DocumentPtr>& slices, const WantedEndpoints& wanted,
                     const std::vector<std::string>& address_types, std::string_view changed) {
  std::map<std::string, std::string> labels = LabelsFor(service);
  WantedEndpoints groups = wanted;
  // A type without endpoints has one empty slice, so that clients see that the Service was looked at.
  for (const std::string& type : address_types) {
    bool any = std::ranges::any_of(groups, [&](const auto& group) { return group.first.address_type == type; });
    if (!any) groups[{type, {}}];
  }
  std::map<SliceGroup, GroupPlanner> planners;
  for (const auto& [group, endpoints] : groups) planners.emplace(group, GroupPlanner(group, endpoints));
  SlicePlan plan;
  std::vector<object::DocumentPtr> foreign;
  for (const object::DocumentPtr& slice : slices) {
    if (!IsOwnedBy(slice->root(), service)) {
      foreign.push_back(slice);
      continue;
    }
    auto planner = planners.find(GroupOf(EndpointSlice(slice->root())));
    if (planner == planners.end()) {
      plan.remove.push_back(slice);
    } else {
      planner->second.AddExisting(slice, !HasLabels(EndpointSlice(slice->root()), labels));
    }
  }
  std::vector<std::pair<SliceGroup, Draft>> drafts;
  for (auto& [group, planner] : planners) {
    std::vector<Draft> all = planner.Finish();
    bool placeholder = groups[group].empty();
    if (placeholder && all.empty()) all.push_back({nullptr, {}, true});
    for (size_t i = 0; i < all.size(); ++i) {
      bool keep = !all[i].endpoints.empty() || (placeholder && i == 0);
      if (keep) {
        drafts.emplace_back(group, std::move(all[i]));
      } else {
        plan.remove.push_back(all[i].existing);
      }
    }
  }
  ReuseRemoved(drafts, plan.remove);
  plan.remove.insert(plan.remove.end(), foreign.begin(), foreign.end());
  for (const auto& [group, draft] : drafts) {
    bool moved = draft.existing && GroupOf(EndpointSlice(draft.existing->root())) != group;
    if (!draft.changed && !moved) continue;
    (draft.existing ? plan.update : plan.create).push_back(WriteSlice(service, labels, group, draft, changed));
  }
  return plan;
}

}  // namespace homeostat::controllers
