// EndpointSlice. Source of the rules: pkg/apis/discovery/validation, pkg/registry/discovery/endpointslice.
#include <set>
#include <string>

#include "homeostat/api/discovery/v1.h"
#include "homeostat/object/ip.h"
#include "homeostat/schema/diff.h"
#include "kinds/cells.h"
#include "kinds/core/addresses.h"
#include "kinds/discovery/discovery.h"
#include "kinds/edit.h"
#include "kinds/group_checks.h"

namespace homeostat::kinds {
namespace {

namespace v1 = api::discovery::v1;

constexpr size_t kMaxEndpoints = 1000, kMaxPorts = 20000, kMaxAddresses = 100, kMaxTopologyLabels = 16, kMaxHints = 8;
constexpr size_t kShown = 3;

Value Limit(size_t limit) { return Value::Int(static_cast<int64_t>(limit)); }

bool CheckCount(const Value& list, size_t limit, const FieldPath& path, FieldErrors& errors) {
  if (list.size() <= limit) return true;
  errors.TooMany(path, list.size(), Limit(limit).AsInt());
  return false;
}

void CheckAddress(std::string_view address, std::string_view type, const FieldPath& list_path, size_t index, FieldErrors& errors) {
  FieldPath path = list_path.Index(index);
  if (type == "FQDN") return CheckFullyQualifiedDomainName(address, path, errors);
  if (type != "IPv4" && type != "IPv6") return;
  bool v4 = type == "IPv4";
  object::Messages messages = v4 ? object::IsValidIPForLegacyField(address, true) : object::IsValidIP(address);
  if (!messages.empty()) return AddInvalid(errors, path, address, messages);
  auto ip = object::ParseIp(address);
  if (ip && ip->IsV4() != v4) errors.Invalid(list_path, address, v4 ? "must be an IPv4 address" : "must be an IPv6 address");
  CheckEndpointIp(address, path, errors);
}

template <class CheckName>
void CheckHintNames(const Value& hints, const FieldPath& path, FieldErrors& errors, CheckName check) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < hints.size(); ++i) {
    std::string_view name = hints.At(i).Get("name").AsString();
    FieldPath name_path = path.Index(i).Child("name");
    if (!seen.insert(name).second) errors.Duplicate(name_path, name);
    AddInvalid(errors, name_path, name, check(name));
  }
}

void CheckHints(const Value& hints, const FieldPath& path, FieldErrors& errors) {
  if (!CheckCount(hints.Get("forZones"), kMaxHints, path.Child("forZones"), errors)) return;
  CheckHintNames(hints.Get("forZones"), path.Child("forZones"), errors, object::IsValidLabelValue);
  if (!CheckCount(hints.Get("forNodes"), kMaxHints, path.Child("forNodes"), errors)) return;
  CheckHintNames(hints.Get("forNodes"), path.Child("forNodes"), errors, object::IsDNS1123Subdomain);
}

void CheckEndpoint(const Value& endpoint, std::string_view type, const FieldPath& path, FieldErrors& errors) {
  Value addresses = endpoint.Get("addresses");
  FieldPath addresses_path = path.Child("addresses");
  if (addresses.empty()) {
    errors.Required(addresses_path, "must contain at least 1 address");
  } else {
    CheckCount(addresses, kMaxAddresses, addresses_path, errors);
  }
  for (size_t i = 0; i < addresses.size(); ++i) CheckAddress(addresses.At(i).AsString(), type, addresses_path, i, errors);
  if (Value node = endpoint.Get("nodeName")) CheckDns1123Subdomain(node.AsString(), path.Child("nodeName"), errors);
  Value topology = endpoint.Get("deprecatedTopology");
  CheckCount(topology, kMaxTopologyLabels, path.Child("deprecatedTopology"), errors);
  CheckLabels(topology, path.Child("deprecatedTopology"), errors);
  if (Value hostname = endpoint.Get("hostname")) CheckDns1123Label(hostname.AsString(), path.Child("hostname"), errors);
  if (Value hints = endpoint.Get("hints")) CheckHints(hints, path.Child("hints"), errors);
}

void CheckEndpoints(const Value& endpoints, std::string_view type, FieldErrors& errors) {
  FieldPath path("endpoints");
  if (!CheckCount(endpoints, kMaxEndpoints, path, errors)) return;
  for (size_t i = 0; i < endpoints.size(); ++i) CheckEndpoint(endpoints.At(i), type, path.Index(i), errors);
}

void CheckPorts(const Value& ports, FieldErrors& errors) {
  FieldPath list_path("ports");
  if (!CheckCount(ports, kMaxPorts, list_path, errors)) return;
  std::set<std::string_view> seen;
  for (size_t i = 0; i < ports.size(); ++i) {
    FieldPath path = list_path.Index(i);
    Value port = ports.At(i);
    std::string_view name = port.Get("name").AsString();
    if (!name.empty()) CheckDns1123Label(name, path.Child("name"), errors);
    if (!seen.insert(name).second) errors.Duplicate(path.Child("name"), name);
    if (!port.Get("protocol")) {
      errors.Required(path.Child("protocol"));
    } else {
      CheckOneOf(port.Get("protocol").AsString(), {"SCTP", "TCP", "UDP"}, path.Child("protocol"), errors);
    }
    if (Value protocol = port.Get("appProtocol")) CheckQualifiedName(protocol.AsString(), path.Child("appProtocol"), errors);
  }
}

bool SameEndpoints(const Value& slice, const Value& old) {
  return schema::IsEqual(*v1::EndpointSlice::SchemaType().FindField("endpoints")->type, slice.Get("endpoints"), old.Get("endpoints"));
}

void CheckSlice(const Value& slice, const Value& old, FieldErrors& errors) {
  std::string_view type = slice.Get("addressType").AsString();
  RequireOneOf(type, {"FQDN", "IPv4", "IPv6"}, FieldPath("addressType"), errors);
  CheckPorts(slice.Get("ports"), errors);
  if (!old || !SameEndpoints(slice, old)) CheckEndpoints(slice.Get("endpoints"), type, errors);
}

void CheckNew(RuleContext&, Value slice, FieldErrors& errors) { CheckSlice(slice, Value(), errors); }

void CheckUpdate(RuleContext&, Value slice, Value old, FieldErrors& errors) {
  CheckSlice(slice, old, errors);
  CheckImmutableField(v1::EndpointSlice::SchemaType(), "addressType", slice, old, FieldPath(), errors);
}

// What v1 does not know any more; the name of a node that stood only there is kept if it was known before.
Value WithoutTopology(RuleContext& context, const Value& slice, const Value& old) {
  constexpr std::string_view kHostname = "kubernetes.io/hostname";
  std::set<std::string_view> known;
  for (const Value& endpoint : old.Get("endpoints").items()) known.insert(endpoint.Get("deprecatedTopology").Get(kHostname).AsString());
  known.erase("");
  return Edited(context.arena, v1::EndpointSlice::SchemaType(), slice, [&](Edit& edit) {
    edit.Each("endpoints", [&](Edit& endpoint) {
      Value node = endpoint.Get("deprecatedTopology").Get(kHostname);
      if (node && known.contains(node.AsString())) endpoint.Fill("nodeName", node);
      endpoint.Erase("deprecatedTopology");
    });
  });
}

Value PrepareNew(RuleContext& context, Value slice) { return WithoutTopology(context, slice, Value()); }
Value PrepareUpdate(RuleContext& context, Value slice, Value old) {
  if (SameEndpoints(slice, old)) return slice;
  // The generation counts what was sent, topology and all.
  return Edited(context.arena, v1::EndpointSlice::SchemaType(), WithoutTopology(context, slice, old), [&](Edit& edit) {
    edit.In("metadata", [&](Edit& metadata) {
      metadata.Set("generation", Value::Int(old.Path({"metadata", "generation"}).AsInt() + 1));
    });
  });
}

void Warn(RuleContext& context, Value slice, Value old) {
  if (!old && slice.Get("addressType").AsString() == "FQDN") {
    context.warnings->push_back("spec.addressType: FQDN endpoints are deprecated");
  }
  std::string_view manager = slice.Path({"metadata", "labels", "endpointslice.kubernetes.io/managed-by"}).AsString();
  if (manager == "endpointslice-controller.k8s.io" || manager == "endpointslicemirroring-controller.k8s.io") return;
  FieldPath path("endpoints");
  Value endpoints = slice.Get("endpoints");
  for (size_t i = 0; i < endpoints.size(); ++i) {
    Value addresses = endpoints.At(i).Get("addresses");
    for (size_t j = 0; j < addresses.size(); ++j) {
      std::string where = path.Index(i).Child("addresses").Index(j).String();
      for (std::string& warning : object::GetWarningsForIP(where, addresses.At(j).AsString())) {
        context.warnings->push_back(std::move(warning));
      }
    }
  }
}

std::string FirstOf(const std::vector<std::string>& texts) {
  std::string joined;
  for (size_t i = 0; i < std::min(texts.size(), kShown); ++i) joined += (i == 0 ? "" : ",") + texts[i];
  if (texts.size() > kShown) joined += " + " + std::to_string(texts.size() - kShown) + " more...";
  return joined.empty() ? "<unset>" : joined;
}

Value Cell(object::Arena& arena, std::string_view cell, Value slice, WallTime) {
  std::vector<std::string> texts;
  if (cell == "ports") {
    for (const Value& port : slice.Get("ports").items()) {
      Value number = port.Get("port");
      texts.push_back(number ? std::to_string(number.AsInt()) : std::string(port.Get("name").AsString()));
    }
  } else {
    for (const Value& endpoint : slice.Get("endpoints").items()) {
      for (const Value& address : endpoint.Get("addresses").items()) texts.emplace_back(address.AsString());
    }
  }
  return TextCell(arena, FirstOf(texts));
}

}  // namespace

const Behaviour kEndpointSlice{.group = "discovery.k8s.io", .kind = "EndpointSlice", .prepare_create = PrepareNew,
                               .prepare_update = PrepareUpdate, .validate_create = CheckNew, .validate_update = CheckUpdate,
                               .warn = Warn, .cell = Cell};

}  // namespace homeostat::kinds
