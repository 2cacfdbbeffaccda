// Endpoints, and addresses that traffic may be sent to.
#include "homeostat/api/core/v1.h"
#include "homeostat/object/ip.h"
#include "homeostat/schema/diff.h"
#include "kinds/cells.h"
#include "kinds/core/addresses.h"
#include "kinds/core/behaviours.h"

namespace homeostat::kinds {
namespace {

constexpr size_t kShown = 3;

void CheckAddress(const Value& address, const FieldPath& path, FieldErrors& errors) {
  std::string_view ip = address.Get("ip").AsString(), host = address.Get("hostname").AsString();
  CheckLegacyIp(ip, path.Child("ip"), errors);
  if (!host.empty()) CheckDns1123Label(host, path.Child("hostname"), errors);
  if (Value node = address.Get("nodeName")) CheckDns1123Subdomain(node.AsString(), path.Child("nodeName"), errors);
  CheckEndpointIp(ip, path.Child("ip"), errors);
}

void CheckPort(const Value& port, bool needs_name, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = port.Get("name").AsString();
  if (!name.empty()) CheckDns1123Label(name, path.Child("name"), errors);
  else if (needs_name) errors.Required(path.Child("name"));
  int64_t number = port.Get("port").AsInt();
  AddInvalid(errors, path.Child("port"), number, object::IsValidPortNum(number));
  RequireOneOf(port.Get("protocol").AsString(), {"SCTP", "TCP", "UDP"}, path.Child("protocol"), errors);
  if (Value protocol = port.Get("appProtocol")) CheckQualifiedName(protocol.AsString(), path.Child("appProtocol"), errors);
}

void CheckSubsets(const Value& subsets, const FieldPath& path, FieldErrors& errors) {
  for (size_t i = 0; i < subsets.size(); ++i) {
    Value subset = subsets.At(i), ready = subset.Get("addresses"), waiting = subset.Get("notReadyAddresses"), ports = subset.Get("ports");
    FieldPath at = path.Index(i);
    if (ready.empty() && waiting.empty()) errors.Required(at, "must specify `addresses` or `notReadyAddresses`");
    for (size_t j = 0; j < ready.size(); ++j) CheckAddress(ready.At(j), at.Child("addresses").Index(j), errors);
    for (size_t j = 0; j < waiting.size(); ++j) CheckAddress(waiting.At(j), at.Child("notReadyAddresses").Index(j), errors);
    for (size_t j = 0; j < ports.size(); ++j) CheckPort(ports.At(j), ports.size() > 1, at.Child("ports").Index(j), errors);
  }
}

void ValidateCreate(RuleContext&, Value endpoints, FieldErrors& errors) {
  CheckSubsets(endpoints.Get("subsets"), FieldPath("subsets"), errors);
}

// Old faults may stay as they are.
void ValidateUpdate(RuleContext& context, Value endpoints, Value old, FieldErrors& errors) {
  const schema::Type& type = *api::core::v1::types::kEndpoints.FindField("subsets")->type;
  if (!schema::IsEqual(type, endpoints.Get("subsets"), old.Get("subsets"))) ValidateCreate(context, endpoints, errors);
}

void Warn(RuleContext& context, Value endpoints, Value) {
  if (context.warnings == nullptr) return;
  Value subsets = endpoints.Get("subsets");
  FieldPath path("subsets");
  for (size_t i = 0; i < subsets.size(); ++i) {
    for (std::string_view list : {"addresses", "notReadyAddresses"}) {
      Value addresses = subsets.At(i).Get(list);
      for (size_t j = 0; j < addresses.size(); ++j) {
        std::string at = path.Index(i).Child(list).Index(j).Child("ip").String();
        for (std::string& text : object::GetWarningsForIP(at, addresses.At(j).Get("ip").AsString())) context.warnings->push_back(std::move(text));
      }
    }
  }
}

std::string HostAndPort(std::string_view ip, int64_t port) {
  bool v6 = ip.find(':') != ip.npos;
  return (v6 ? "[" : "") + std::string(ip) + (v6 ? "]:" : ":") + std::to_string(port);
}

// The first few, and how many there are beside them.
std::string Shown(const Value& subsets) {
  if (subsets.empty()) return "<none>";
  std::vector<std::string> shown;
  size_t count = 0;
  auto add = [&](const Value& addresses, auto text) {
    count += addresses.size();
    for (const Value& address : addresses.items()) {
      if (shown.size() < kShown) shown.push_back(text(address.Get("ip").AsString()));
    }
  };
  for (const Value& subset : subsets.items()) {
    if (subset.Get("ports").empty()) add(subset.Get("addresses"), [](std::string_view ip) { return std::string(ip); });
    for (const Value& port : subset.Get("ports").items()) {
      add(subset.Get("addresses"), [&](std::string_view ip) { return HostAndPort(ip, port.Get("port").AsInt()); });
    }
  }
  std::string text;
  for (const std::string& item : shown) text += (text.empty() ? "" : ",") + item;
  if (count > shown.size()) text += " + " + std::to_string(count - kShown) + " more...";
  return text;
}

Value Cell(object::Arena& arena, std::string_view, Value endpoints, WallTime) { return TextCell(arena, Shown(endpoints.Get("subsets"))); }

}  // namespace

void CheckEndpointIp(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  auto ip = object::ParseIp(text);
  if (!ip) return errors.Invalid(path, text, "must be a valid IP address");
  if (ip->IsUnspecified()) errors.Invalid(path, text, "may not be unspecified (" + std::string(text) + ")");
  if (ip->IsLoopback()) errors.Invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
  if (ip->IsLinkLocalUnicast()) errors.Invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  if (ip->IsLinkLocalMulticast()) errors.Invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

const Behaviour kEndpointsBehaviour = {
    .group = "",
    .kind = "Endpoints",
    .validate_name = object::NameIsDNSSubdomain,
    .validate_create = ValidateCreate,
    .validate_update = ValidateUpdate,
    .warn = Warn,
    .cell = Cell,
};

}  // namespace homeostat::kinds
