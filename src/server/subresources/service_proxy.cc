// proxy of Services: requests that the API server passes on to a pod behind the service. Here it finds out who would answer;
// passing on is not there yet, and says so. Source of the rules: pkg/registry/core/service ResourceLocation.
#include <algorithm>
#include <optional>

#include "homeostat/base/text.h"
#include "server/subresources/subresources.h"

namespace homeostat::server {
namespace {

// What is asked for: NAME, NAME:PORT or SCHEME:NAME:PORT.
struct Target {
  std::string name, port;
};

std::optional<Target> ParseTarget(std::string_view id) {
  size_t first = id.find(':'), second = first == id.npos ? id.npos : id.find(':', first + 1);
  if (first == id.npos) return Target{std::string(id), ""};
  if (second == id.npos) return Target{std::string(id.substr(0, first)), std::string(id.substr(first + 1))};
  std::string_view scheme = id.substr(0, first), port = id.substr(second + 1);
  if (port.find(':') != port.npos || (!scheme.empty() && scheme != "http" && scheme != "https")) return std::nullopt;
  return Target{std::string(id.substr(first + 1, second - first - 1)), std::string(port)};
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Result<void> FindPort(const Value& service, Target& target) {
  if (!IsNumber(target.port)) return {};
  for (const Value& port : service.Path({"spec", "ports"}).items()) {
    if (std::to_string(port.Get("port").AsInt()) != target.port) continue;
    target.port = port.Get("name").AsString();
    return {};
  }
  return Fail(ServiceUnavailableError("no service port " + target.port + " found for service " + GoQuote(target.name)));
}

bool HasAddress(const Value& subset, std::string_view port) {
  return !subset.Get("addresses").empty() &&
         std::ranges::any_of(subset.Get("ports").items(), [&](const Value& other) { return other.Get("name").AsString() == port; });
}

Result<http::Response> Proxy(RequestContext& context) {
  auto target = ParseTarget(context.info.name);
  if (!target) return Fail(BadRequestError("invalid service request " + GoQuote(context.info.name)));
  const kinds::ObjectReader& objects = context.parts.objects;
  object::DocumentPtr service = objects.Get("", "services", context.info.ns, target->name);
  if (!service) return Fail(context.NotFound(target->name));
  TRY(FindPort(service->root(), *target));
  object::DocumentPtr endpoints = objects.Get("", "endpoints", context.info.ns, target->name);
  if (!endpoints) return Fail(NotFoundError("", "endpoints", target->name));
  auto subsets = endpoints->root().Get("subsets").items();
  if (std::ranges::none_of(subsets, [&](const Value& subset) { return HasAddress(subset, target->port); })) {
    return Fail(ServiceUnavailableError("no endpoints available for service " + GoQuote(context.info.name)));
  }
  return Fail(Status(501, "NotImplemented", "this server does not pass requests on to services yet"));
}

Task<Result<http::Response>> Ready(Result<http::Response> response) { co_return response; }

}  // namespace

void ServeServiceProxy(ApiServer& server) {
  server.HandleResource("", "services", "proxy", "*", [](RequestContext& context) { return Ready(Proxy(context)); });
}

}  // namespace homeostat::server
