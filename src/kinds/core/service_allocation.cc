// What a service gets: families of addresses, addresses, ports of the nodes.
// Source of the rules: pkg/registry/core/service/storage, alloc.go and storage.go.
#include <algorithm>
#include <map>
#include <set>

#include "homeostat/api/core/v1.h"
#include "homeostat/object/ip.h"
#include "kinds/core/service.h"
#include "kinds/edit.h"

namespace homeostat::kinds {
namespace {

namespace types = api::core::v1::types;

constexpr std::string_view kNone = "None", kV4 = "IPv4", kV6 = "IPv6";

using Texts = std::vector<std::string>;

std::string_view PoolOf(std::string_view family) { return family == kV4 ? kIpv4Pool : kIpv6Pool; }
std::string_view Other(std::string_view family) { return family == kV4 ? kV6 : kV4; }
std::string_view FamilyOf(std::string_view text) {
  auto ip = object::ParseIp(text);
  return ip && ip->IsV4() ? kV4 : kV6;
}

// The fields of a spec that allocation works on.
struct Fields {
  std::string type, ip;
  Texts ips, families;
  std::optional<std::string> policy;
  bool has_selector = false, local_traffic = false;
  std::optional<bool> balancer_ports;
  struct Port {
    std::string name, protocol;
    int64_t port = 0, node_port = 0;
  };
  std::vector<Port> ports;
  int64_t health_port = 0;

  static Fields Read(const Value& service) {
    Value spec = service.Get("spec");
    Fields fields;
    auto text = [&](std::string_view name) { return std::string(spec.Get(name).AsString()); };
    auto texts = [&](std::string_view name) {
      Texts list;
      for (const Value& item : spec.Get(name).items()) list.emplace_back(item.AsString());
      return list;
    };
    fields.type = text("type");
    fields.ip = text("clusterIP");
    fields.ips = texts("clusterIPs");
    fields.families = texts("ipFamilies");
    if (spec.Get("ipFamilyPolicy")) fields.policy = text("ipFamilyPolicy");
    fields.has_selector = !spec.Get("selector").empty();
    fields.local_traffic = text("externalTrafficPolicy") == "Local";
    if (Value ports = spec.Get("allocateLoadBalancerNodePorts")) fields.balancer_ports = ports.AsBool();
    for (const Value& port : spec.Get("ports").items()) {
      fields.ports.push_back({std::string(port.Get("name").AsString()), std::string(port.Get("protocol").AsString()),
                              port.Get("port").AsInt(), port.Get("nodePort").AsInt()});
    }
    fields.health_port = spec.Get("healthCheckNodePort").AsInt();
    return fields;
  }

  Value WriteTo(Arena& arena, const Value& service) const {
    auto list = [&](const Texts& texts) {
      object::ListBuilder builder(arena);
      for (const std::string& item : texts) builder.Append(Value::String(arena, item));
      return texts.empty() ? Value() : builder.Build();
    };
    return Edited(arena, types::kService, service, [&](Edit& edit) {
      edit.In("spec", [&](Edit& spec) {
        spec.SetText("clusterIP", ip);
        spec.Set("clusterIPs", list(ips));
        spec.Set("ipFamilies", list(families));
        spec.Set("ipFamilyPolicy", policy ? Value::String(arena, *policy) : Value());
        size_t i = 0;
        spec.Each("ports", [&](Edit& port) {
          int64_t number = ports[i++].node_port;
          port.Set("nodePort", number == 0 ? Value() : Value::Int(number));
        });
        spec.Set("healthCheckNodePort", health_port == 0 ? Value() : Value::Int(health_port));
      });
    });
  }

  bool NeedsIp() const { return type != "ExternalName"; }
  bool IsNone() const { return !ips.empty() && ips[0] == kNone; }
  bool Exposes() const { return type == "NodePort" || type == "LoadBalancer"; }
  // A port of the nodes for each port, also where none is named.
  bool GetsNodePorts() const { return type == "NodePort" || (type == "LoadBalancer" && balancer_ports.value_or(true)); }
  bool NeedsHealthPort() const { return type == "LoadBalancer" && local_traffic; }
  bool IsSingleStack() const { return policy == "SingleStack"; }
};

// Faults that end the write at once.
class Refused {
 public:
  explicit Refused(const Value& service) : name_(service.Get("metadata").Get("name").AsString()) {}
  FieldErrors errors;
  Status status() const { return errors.ToStatus("", "Service", name_); }
  Status Internal(std::string_view text) const { return InternalError(text); }
  std::string_view name() const { return name_; }

 private:
  std::string_view name_;
};

BadValue Shown(const Texts& texts) {
  std::string json;
  for (const std::string& text : texts) json += (json.empty() ? "[" : ",") + BadValue(text).text();
  return json.empty() ? BadValue::Null() : BadValue::Json(json + "]");
}

class Allocation {
 public:
  Allocation(RuleContext& context, Claims& claims, const Value& service, const Value& old)
      : context_(context), claims_(claims), service_(service), old_service_(old), now_(Fields::Read(service)), refused_(service) {
    if (old) old_ = Fields::Read(old);
  }

  Result<Value> Run() {
    if (old_) TakeOverOld();
    NormalizeIps();
    TRY(SettleFamilies());
    TRY(old_ ? UpdateIps() : TakeIps());
    TRY(old_ ? UpdatePorts() : TakePorts());
    TRY(SettleHealthPort());
    return now_.WriteTo(context_.arena, service_);
  }

 private:
  // An update that says nothing of what was allocated keeps it.
  void TakeOverOld() {
    if (old_->NeedsIp() && now_.NeedsIp()) {
      if (now_.ip.empty()) now_.ip = old_->ip;
      if (now_.ips.empty()) now_.ips = old_->ips;
    }
    if (old_->GetsNodePorts() && now_.GetsNodePorts()) TakeOverNodePorts();
    if (old_->NeedsHealthPort() && now_.NeedsHealthPort() && now_.health_port == 0) now_.health_port = old_->health_port;
  }

  // By name, unless the same number is already asked for elsewhere.
  void TakeOverNodePorts() {
    std::set<int64_t> kept;
    for (const Fields::Port& port : old_->ports) {
      bool used = std::ranges::any_of(now_.ports, [&](const Fields::Port& other) { return other.node_port == port.node_port; });
      if (used && port.node_port != 0) kept.insert(port.node_port);
    }
    std::map<std::string_view, int64_t> by_name;
    for (const Fields::Port& port : old_->ports) by_name[port.name] = port.node_port;
    for (Fields::Port& port : now_.ports) {
      if (port.node_port != 0) continue;
      auto before = by_name.find(port.name);
      if (before != by_name.end() && !kept.contains(before->second)) port.node_port = before->second;
    }
  }

  // clusterIP is the first of clusterIPs; older clients know only the one.
  void NormalizeIps() {
    if (!old_) {
      if (!now_.ip.empty() && now_.ips.empty()) now_.ips = {now_.ip};
      return;
    }
    if (!old_->ips.empty() && now_.ips.empty() && old_->ip == now_.ip) now_.ips = old_->ips;
    if (old_->ip == now_.ip || old_->ips != now_.ips) return;
    if (!old_->ip.empty() && now_.ip.empty()) now_.ips.clear();
    else now_.ips = {now_.ip};
  }

  bool IsUnchangedDualStack() const {
    return old_ && now_.policy == "PreferDualStack" && old_->type == now_.type && IsOneOf(now_.type, {"ClusterIP", "NodePort", "LoadBalancer"}) &&
           old_->policy.value_or("PreferDualStack") == "PreferDualStack" && old_->ips == now_.ips && old_->families == now_.families;
  }

  void DefaultPolicy() {
    if (now_.policy) return;
    if (old_ && old_->policy) now_.policy = old_->policy;
    else now_.policy = now_.ip == kNone && !now_.has_selector ? "RequireDualStack" : "SingleStack";
  }

  Result<void> Done() { return refused_.errors.empty() ? Result<void>() : Fail(refused_.status()); }

  Result<void> SettleFamilies() {
    if (!now_.NeedsIp() || IsUnchangedDualStack()) return {};
    DefaultPolicy();
    CheckServiceAddresses(now_.WriteTo(context_.arena, service_), old_service_, refused_.errors);
    TRY(Done());
    ReleaseSecondStack();
    FamiliesOfGivenIps();
    TRY(Done());
    if (now_.ip == kNone && !now_.has_selector) {
      FamiliesWithoutPods();
      return {};
    }
    return FamiliesOfCluster();
  }

  // Back to one stack: what was second goes, if it wasn't written down anew.
  void ReleaseSecondStack() {
    FieldPath spec("spec");
    FieldPath path = spec.Child("ipFamilyPolicy");
    auto refuse = [&](std::string_view text) { refused_.errors.Invalid(path, *now_.policy, text); };
    if (old_ && now_.IsSingleStack()) {
      if (old_->ips == now_.ips && now_.ips.size() > 1) now_.ips.resize(1);
      if (old_->families == now_.families && now_.families.size() > 1) now_.families.resize(1);
    } else if (old_) {
      if (!now_.ips.empty() && now_.ips.size() < old_->ips.size()) refuse("must be 'SingleStack' to release the secondary cluster IP");
      if (!now_.families.empty() && now_.families.size() < old_->families.size()) refuse("must be 'SingleStack' to release the secondary IP family");
    }
    if (!now_.IsSingleStack()) return;
    if (now_.ips.size() == 2) refuse("must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified");
    if (now_.families.size() == 2) refuse("must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified");
  }

  void FamiliesOfGivenIps() {
    FieldPath spec("spec");
    for (size_t i = 0; i < now_.ips.size() && now_.ips[i] != kNone; ++i) {
      if (i < now_.families.size()) continue;
      std::string_view family = FamilyOf(now_.ips[i]);
      if (claims_.Has(PoolOf(family))) now_.families.emplace_back(family);
      else refused_.errors.Invalid(spec.Child("clusterIPs").Index(i), Shown(now_.ips), std::string(family) + " is not configured on this cluster");
    }
  }

  // Whoever writes the endpoints may write any family.
  void FamiliesWithoutPods() {
    if (now_.families.empty()) now_.families = {std::string(PrimaryFamily(context_.objects))};
    if (now_.families.size() == 1 && !now_.IsSingleStack()) now_.families.emplace_back(Other(now_.families[0]));
  }

  Result<void> FamiliesOfCluster() {
    FieldPath spec("spec");
    bool dual = claims_.Has(kIpv4Pool) && claims_.Has(kIpv6Pool);
    if (now_.policy == "RequireDualStack" && !dual) {
      refused_.errors.Invalid(spec.Child("ipFamilyPolicy"), *now_.policy, "this cluster is not configured for dual-stack services");
    }
    for (size_t i = 0; i < now_.families.size(); ++i) {
      if (claims_.Has(PoolOf(now_.families[i]))) continue;
      refused_.errors.Invalid(spec.Child("ipFamilies").Index(i), now_.families[i], "not configured on this cluster");
    }
    TRY(Done());
    if (now_.families.empty()) now_.families = {std::string(PrimaryFamily(context_.objects))};
    if (!now_.IsSingleStack() && now_.families.size() == 1 && dual) now_.families.emplace_back(Other(now_.families[0]));
    return {};
  }

  // The address at one place of the list: that asked for, or any.
  Result<void> TakeIp(size_t place) {
    if (now_.ips.size() <= place) now_.ips.resize(place + 1);
    const std::string& family = now_.families[place];
    auto taken = claims_.Take(PoolOf(family), now_.ips[place]);
    if (taken) {
      now_.ips[place] = *taken;
      if (place == 0) now_.ip = *taken;
      return {};
    }
    FieldPath spec("spec");
    if (now_.ips[place].empty() && taken.error() == kPoolIsFull) {
      return Fail(refused_.Internal("failed to allocate a serviceIP for Service " + BadValue(refused_.name()).text() + ": " + taken.error()));
    }
    std::string what = now_.ips[place].empty() ? "failed to allocate IP: " : "failed to allocate IP " + now_.ips[place] + ": ";
    refused_.errors.Invalid(spec.Child("clusterIPs"), Shown(now_.ips), what + taken.error());
    return Fail(refused_.status());
  }

  Result<void> TakeIps() {
    if (!now_.NeedsIp() || now_.IsNone()) return {};
    for (size_t i = 0; i < now_.families.size(); ++i) TRY(TakeIp(i));
    return {};
  }

  Result<void> UpdateIps() {
    if (IsUnchangedDualStack()) return {};
    if (!old_->NeedsIp() && now_.NeedsIp()) return TakeIps();
    if (old_->IsNone()) return {};
    if (old_->NeedsIp() && !now_.NeedsIp()) {
      for (const std::string& ip : old_->ips) claims_.GiveBack(PoolOf(FamilyOf(ip)), ip);
      return {};
    }
    if (old_->families.size() == 1 && now_.families.size() == 2) return TakeIp(1);
    if (old_->families.size() == 2 && now_.families.size() == 1 && old_->ips.size() == 2) {
      claims_.GiveBack(PoolOf(old_->families[1]), old_->ips[1]);
    }
    return {};
  }

  Result<void> TakePort(size_t index, int64_t wanted) {
    auto taken = claims_.Take(kNodePortPool, wanted == 0 ? std::string() : std::to_string(wanted));
    if (taken) {
      now_.ports[index].node_port = std::stoll(*taken);
      return {};
    }
    if (wanted == 0) return Fail(refused_.Internal("failed to allocate a nodePort: " + taken.error()));
    FieldPath spec("spec");
    refused_.errors.Invalid(spec.Child("ports").Index(index).Child("nodePort"), wanted, taken.error());
    return Fail(refused_.status());
  }

  // Protocols of one port of the service share a port of the nodes.
  Result<void> TakePorts() {
    if (!now_.Exposes()) return {};
    std::map<int64_t, int64_t> by_port;
    for (size_t i = 0; i < now_.ports.size(); ++i) {
      Fields::Port& port = now_.ports[i];
      if (port.node_port == 0 && !now_.GetsNodePorts()) continue;
      int64_t shared = by_port.contains(port.port) ? by_port[port.port] : 0;
      if (shared == 0) {
        auto asked = std::ranges::find_if(now_.ports, [&](const Fields::Port& p) { return p.port == port.port && p.node_port != 0; });
        TRY(TakePort(i, asked == now_.ports.end() ? 0 : asked->node_port));
        by_port[port.port] = port.node_port;
      } else if (port.node_port == 0) {
        port.node_port = shared;
      } else if (port.node_port != shared) {
        TRY(TakePort(i, port.node_port));
      }
    }
    return {};
  }

  static std::set<int64_t> NodePorts(const Fields& fields) {
    std::set<int64_t> numbers;
    for (const Fields::Port& port : fields.ports) if (port.node_port != 0) numbers.insert(port.node_port);
    return numbers;
  }

  Result<void> UpdatePorts() {
    std::set<int64_t> before = NodePorts(*old_), held = before;
    if (now_.Exposes()) {
      for (size_t i = 0; i < now_.ports.size(); ++i) {
        int64_t wanted = now_.ports[i].node_port;
        if (wanted == 0 && !now_.GetsNodePorts()) continue;
        if (wanted != 0 && held.contains(wanted)) continue;
        TRY(TakePort(i, wanted));
        held.insert(now_.ports[i].node_port);
      }
    }
    std::set<int64_t> after = now_.Exposes() ? NodePorts(now_) : std::set<int64_t>();
    for (int64_t port : before) if (!after.contains(port)) claims_.GiveBack(kNodePortPool, std::to_string(port));
    return {};
  }

  Result<void> SettleHealthPort() {
    bool needed = old_ && old_->NeedsHealthPort();
    if (needed && !now_.NeedsHealthPort()) claims_.GiveBack(kNodePortPool, std::to_string(old_->health_port));
    if (needed || !now_.NeedsHealthPort()) return {};
    auto taken = claims_.Take(kNodePortPool, now_.health_port == 0 ? std::string() : std::to_string(now_.health_port));
    if (!taken) {
      std::string asked = now_.health_port == 0 ? "failed to allocate a HealthCheck NodePort 0: "
                                                : "failed to allocate requested HealthCheck NodePort " + std::to_string(now_.health_port) + ": ";
      return Fail(refused_.Internal(asked + taken.error()));
    }
    now_.health_port = std::stoll(*taken);
    return {};
  }

  RuleContext& context_;
  Claims& claims_;
  const Value &service_, &old_service_;
  Fields now_;
  std::optional<Fields> old_;
  Refused refused_;
};

}  // namespace

Result<Value> AllocateService(RuleContext& context, Claims& claims, Value service, Value old) {
  return Allocation(context, claims, service, old).Run();
}

void ServiceHolds(Value service, const std::function<void(std::string_view pool, std::string_view thing)>& held) {
  Fields fields = Fields::Read(service);
  if (fields.NeedsIp() && !fields.IsNone()) {
    for (const std::string& ip : fields.ips) held(PoolOf(FamilyOf(ip)), ip);
  }
  std::set<int64_t> ports;
  for (const Fields::Port& port : fields.ports) ports.insert(port.node_port);
  if (fields.NeedsHealthPort()) ports.insert(fields.health_port);
  for (int64_t port : ports) if (port != 0) held(kNodePortPool, std::to_string(port));
}

}  // namespace homeostat::kinds
