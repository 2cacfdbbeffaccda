#include "controllers/mirror_plan.h"

#include <algorithm>
#include <map>

#include "controllers/claims.h"
#include "controllers/trigger_times.h"
#include "homeostat/api/discovery/v1_builders.h"
#include "homeostat/object/ip.h"
#include "homeostat/object/names.h"
#include "homeostat/schema/diff.h"

namespace homeostat::controllers {

using api::core::v1::Endpoints;
using api::discovery::v1::EndpointSlice;
using api::discovery::v1::EndpointSliceBuilder;
using object::Value;

namespace {

constexpr size_t kMostAddresses = 1000;
constexpr std::string_view kSkipMirror = "endpointslice.kubernetes.io/skip-mirror";
constexpr std::string_view kLock = "control-plane.alpha.kubernetes.io/leader";
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

struct Address {
  std::string ip, uid;                // of the target
  auto operator<=>(const Address&) const = default;
};
struct Mirrored {
  Value address;                      // an EndpointAddress
  bool ready = false;
};
using Addresses = std::map<Address, Mirrored>;

// Addresses by port; an address that is listed both ways is not ready.
std::map<PlannedPort, Addresses> ByPort(const Endpoints& endpoints) {
  std::map<PlannedPort, Addresses> ports;
  for (auto subset : endpoints.subsets()) {
    auto add = [&](auto list, bool ready) {
      for (auto address : list) {
        Address key{std::string(address.ip()), std::string(address.target_ref().uid())};
        for (auto port : subset.ports()) {
          PlannedPort planned{std::string(port.name()), std::string(port.protocol()), port.port(), {}};
          if (port.has_app_protocol()) planned.app_protocol = port.app_protocol();
          auto [entry, first] = ports[planned].try_emplace(key, Mirrored{address.Raw(), ready});
          if (!first) entry->second.ready &= ready;
        }
      }
    };
    add(subset.addresses(), true);
    add(subset.not_ready_addresses(), false);
  }
  return ports;
}

struct Group {
  std::vector<PlannedPort> ports;
  std::vector<Mirrored> endpoints;
};

// Ports that stand before the same addresses make a group.
std::vector<Group> GroupsOf(const Endpoints& endpoints) {
  std::map<std::vector<std::pair<Address, bool>>, Group> groups;
  for (auto& [port, addresses] : ByPort(endpoints)) {
    std::vector<std::pair<Address, bool>> key;
    for (const auto& [address, mirrored] : addresses) key.emplace_back(address, mirrored.ready);
    Group& group = groups[key];
    group.ports.push_back(port);
    if (!group.endpoints.empty()) continue;
    for (const auto& [address, mirrored] : addresses) group.endpoints.push_back(mirrored);
  }
  std::vector<Group> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

void SetMetadata(EndpointSliceBuilder& slice, const Endpoints& endpoints) {
  auto metadata = slice.mutable_metadata();
  metadata.set_namespace(endpoints.metadata().namespace_());
  metadata.clear_labels().clear_annotations().clear_owner_references();
  for (auto [key, value] : endpoints.metadata().labels()) metadata.set_labels(key, value);
  metadata.set_labels(kSliceServiceLabel, endpoints.metadata().name()).set_labels(kSliceManagedByLabel, kMirrorManager);
  for (auto [key, value] : endpoints.metadata().annotations()) {
    if (key != kTriggerTimeAnnotation && key != kLastApplied) metadata.set_annotations(key, value);
  }
  AddControllerReference(metadata, Endpoints::SchemaKind(), endpoints.Raw());
}

void SetEndpoints(EndpointSliceBuilder& slice, const SliceGroup& group, const std::vector<Mirrored>& endpoints) {
  slice.set_address_type(group.address_type).clear_ports().clear_endpoints();
  for (const PlannedPort& port : group.ports) {
    auto to = slice.add_ports();
    to.set_name(port.name).set_port(port.port).set_protocol(port.protocol);
    if (port.app_protocol) to.set_app_protocol(*port.app_protocol);
  }
  for (const Mirrored& one : endpoints) {
    api::core::v1::EndpointAddress address(one.address);
    auto to = slice.add_endpoints();
    auto ip = object::ParseIp(address.ip());
    to.add_addresses(ip ? ip->ToString() : std::string(address.ip()));
    to.mutable_conditions().set_ready(one.ready);
    if (address.target_ref()) to.set_target_ref(schema::Subtree(address.target_ref()));
    if (address.has_node_name()) to.set_node_name(address.node_name());
    if (!address.hostname().empty()) to.set_hostname(address.hostname());
  }
}

object::DocumentPtr SliceFor(const Endpoints& endpoints, const SliceGroup& group, const std::vector<Mirrored>& wanted, const object::DocumentPtr& before) {
  EndpointSliceBuilder slice;
  if (before) slice = EndpointSliceBuilder(schema::Subtree(before));
  SetMetadata(slice, endpoints);
  SetEndpoints(slice, group, wanted);
  if (before) {
    object::DocumentPtr next = slice.Freeze();
    return schema::IsEqual(EndpointSlice::SchemaType(), before->root(), next->root()) ? before : next;
  }
  std::string name(endpoints.metadata().name()), prefix = name + "-";
  slice.mutable_metadata().set_generate_name(object::NameIsDNSSubdomain(prefix, true).empty() ? prefix : name);
  return slice.Freeze();
}

// What would be made takes the place of what would be removed, so that names stay few.
void Recycle(const Endpoints& endpoints, MirrorPlan& plan) {
  std::vector<object::DocumentPtr> made;
  for (const object::DocumentPtr& slice : plan.create) {
    auto old = std::ranges::find_if(plan.remove, [&](const object::DocumentPtr& one) {
      return EndpointSlice(one->root()).address_type() == EndpointSlice(slice->root()).address_type();
    });
    if (old == plan.remove.end()) {
      made.push_back(slice);
      continue;
    }
    EndpointSliceBuilder next{schema::Subtree(*old)};
    SetMetadata(next, endpoints);
    EndpointSlice from(slice->root());
    next.set_ports(schema::Subtree(from.ports())).set_endpoints(schema::Subtree(from.endpoints()));
    plan.update.push_back(next.Freeze());
    plan.remove.erase(old);
  }
  plan.create = std::move(made);
}

}  // namespace

bool WantsMirror(const Endpoints& endpoints) {
  return endpoints.metadata().labels().Get(kSkipMirror) != "true" && !endpoints.metadata().annotations().contains(kLock);
}

MirrorPlan PlanMirror(const Endpoints& endpoints, const std::vector<object::DocumentPtr>& slices) {
  MirrorPlan plan;
  std::map<SliceGroup, std::vector<Mirrored>> wanted;
  for (Group& group : GroupsOf(endpoints)) {
    size_t taken = 0;
    for (const Mirrored& one : group.endpoints) {
      auto address = object::ParseIp(api::core::v1::EndpointAddress(one.address).ip());
      if (!address) {
        ++plan.invalid;
      } else if (taken++ >= kMostAddresses) {
        ++plan.too_many;
      } else {
        wanted[{address->IsV4() ? "IPv4" : "IPv6", group.ports}].push_back(one);
      }
    }
  }
  std::map<SliceGroup, object::DocumentPtr> kept;
  for (const object::DocumentPtr& slice : slices) {
    SliceGroup group = GroupOf(EndpointSlice(slice->root()));
    bool keep = wanted.contains(group) && kept.emplace(std::move(group), slice).second;
    if (!keep) plan.remove.push_back(slice);
  }
  for (const auto& [group, list] : wanted) {
    auto before = kept.find(group);
    object::DocumentPtr old = before == kept.end() ? nullptr : before->second;
    object::DocumentPtr next = SliceFor(endpoints, group, list, old);
    if (!old) {
      plan.create.push_back(std::move(next));
    } else if (next != old) {
      plan.update.push_back(std::move(next));
    }
  }
  Recycle(endpoints, plan);
  return plan;
}

}  // namespace homeostat::controllers
