#include "callout/target.h"

#include <vector>

#include "callout/service_location.h"
#include "homeostat/base/text.h"

namespace homeostat::callout {
namespace {

using object::Value;

// Without empty segments, "." and "..", beginning with a slash and ending with none: Go's path.Join.
std::string CleanPath(std::string_view path) {
  std::vector<std::string_view> kept;
  while (!path.empty()) {
    size_t slash = path.find('/');
    std::string_view segment = path.substr(0, slash);
    path = slash == path.npos ? std::string_view() : path.substr(slash + 1);
    if (segment.empty() || segment == ".") continue;
    if (segment != "..") kept.push_back(segment);
    else if (!kept.empty()) kept.pop_back();
  }
  std::string clean;
  for (std::string_view segment : kept) clean.append("/").append(segment);
  return clean.empty() ? "/" : clean;
}

// Where the port of an authority begins, with its colon; npos without one. An IPv6 address stands in brackets.
size_t PortAt(std::string_view authority) {
  size_t colon = authority.rfind(':');
  size_t bracket = authority.rfind(']');
  return colon == authority.npos || (bracket != authority.npos && colon < bracket) ? authority.npos : colon;
}

bool IsBlank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

}  // namespace

Target TargetOfService(ServiceReference service, std::string_view path) {
  Target target;
  target.server_name = service.name + "." + service.ns + ".svc";
  target.authority = ServiceLocation{target.server_name, service.port}.Authority();
  target.path = CleanPath(path);
  target.service = std::move(service);
  return target;
}

Result<Target> ReadClientConfig(const Value& client_config) {
  Target target;
  if (Value service = client_config.Get("service")) {
    Value port = service.Get("port");
    target = TargetOfService({std::string(service.Get("namespace").AsString()), std::string(service.Get("name").AsString()),
                              static_cast<int32_t>(port.AsInt() == 0 ? 443 : port.AsInt())},
                             service.Get("path").AsString());
  } else {
    constexpr std::string_view kScheme = "https://";
    std::string_view url = client_config.Get("url").AsString();
    if (url.empty()) return Fail(SystemError("webhook configuration must have either service or URL"));
    if (!url.starts_with(kScheme)) return Fail(SystemError("Unparsable URL: " + GoQuote(url)));
    url.remove_prefix(kScheme.size());
    size_t slash = url.find('/');
    target.authority = url.substr(0, slash);
    target.path = CleanPath(slash == url.npos ? std::string_view() : url.substr(slash));
    std::string_view host = std::string_view(target.authority).substr(0, PortAt(target.authority));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (host.empty()) return Fail(SystemError("Unparsable URL: no host"));
    target.server_name = host;
  }
  std::string_view ca = client_config.Get("caBundle").AsString();
  if (!IsBlank(ca)) target.ca = ca;
  return target;
}

Result<std::string> AddressOf(Runtime& runtime, const kinds::ObjectReader& objects, const Target& target) {
  if (const auto& service = target.service) {
    TRY_ASSIGN(ServiceLocation location, LocateService(objects, runtime, service->ns, service->name, service->port));
    return location.Authority();
  }
  return PortAt(target.authority) == std::string::npos ? target.authority + ":443" : target.authority;
}

}  // namespace homeostat::callout
