#include "node/service_proxy.h"

#include <algorithm>
#include <map>

#include "homeostat/api/core/v1.h"
#include "homeostat/api/discovery/v1.h"
#include "homeostat/base/subprocess.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "node/errors.h"

namespace homeostat::node {
namespace {

using api::core::v1::Service;
using api::discovery::v1::Endpoint;
using api::discovery::v1::EndpointPort;
using api::discovery::v1::EndpointSlice;

constexpr Duration kGather = std::chrono::milliseconds(50);  // changes come in numbers
constexpr Duration kRetry = std::chrono::seconds(10);
constexpr uint32_t kUsualSession = 10800;                    // seconds
constexpr std::string_view kServiceLabel = "kubernetes.io/service-name", kProxyLabel = "service.kubernetes.io/service-proxy-name",
                           kHeadlessLabel = "service.kubernetes.io/headless";

using SlicesByService = std::map<std::string, std::vector<object::DocumentPtr>>;

std::string KeyOf(std::string_view ns, std::string_view name) { return std::string(ns) + "/" + std::string(name); }

bool IsOneOf(const object::Value& metadata, std::string_view label) { return static_cast<bool>(metadata.Path({"labels", label})); }

bool IsReady(const Endpoint& endpoint) { return !endpoint.conditions().has_ready() || endpoint.conditions().ready(); }
bool StillServes(const Endpoint& endpoint) {
  bool serves = !endpoint.conditions().has_serving() || endpoint.conditions().serving();
  return serves && endpoint.conditions().terminating();
}

// The endpoints of a service's port, told by its name.
std::vector<std::pair<std::string, uint16_t>> EndpointsOf(const std::vector<object::DocumentPtr>& slices, std::string_view port_name, bool (*wanted)(const Endpoint&)) {
  std::vector<std::pair<std::string, uint16_t>> found;
  for (const object::DocumentPtr& document : slices) {
    EndpointSlice slice(document->root());
    for (EndpointPort port : slice.ports()) {
      if (port.name() != port_name || !port.has_port()) continue;
      for (Endpoint endpoint : slice.endpoints()) {
        if (!wanted(endpoint) || endpoint.addresses().empty()) continue;
        found.emplace_back(std::string(endpoint.addresses()[0]), static_cast<uint16_t>(port.port()));
      }
    }
  }
  // One endpoint may be in two slices while it moves.
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

std::vector<std::string> AddressesOf(const Service& service) {
  std::vector<std::string> addresses;
  for (std::string_view address : service.spec().cluster_ips()) addresses.emplace_back(address);
  for (std::string_view address : service.spec().external_ips()) addresses.emplace_back(address);
  for (const auto& ingress : service.status().load_balancer().ingress()) {
    if (!ingress.ip().empty() && ingress.ip_mode() != "Proxy") addresses.emplace_back(ingress.ip());
  }
  return addresses;
}

}  // namespace

Task<Result<void>> RunNft(Runtime& runtime, std::string script) {
  SubprocessOptions options;
  options.arguments = {"nft", "-f", "-"};
  auto run = RunCommand(runtime, std::move(options), Bytes(std::move(script)));
  CO_TRY_ASSIGN(CommandOutput output, co_await std::move(run));
  if (output.exit_code != 0) co_return Fail(NodeError("nft: " + output.errors.substr(0, 500)));
  co_return Done();
}

std::vector<network::ServicePort> ServicePortsOf(const std::vector<object::DocumentPtr>& services, const std::vector<object::DocumentPtr>& slices) {
  SlicesByService by_service;
  for (const object::DocumentPtr& slice : slices) {
    object::Value metadata = slice->root().Get("metadata");
    if (IsOneOf(metadata, kHeadlessLabel)) continue;
    by_service[KeyOf(metadata.Get("namespace").AsString(), metadata.Path({"labels", kServiceLabel}).AsString())].push_back(slice);
  }
  std::map<std::string, object::DocumentPtr> in_order;
  for (const object::DocumentPtr& document : services) {
    object::Value metadata = document->root().Get("metadata");
    Service service(document->root());
    std::string_view address = service.spec().cluster_ip();
    if (address.empty() || address == "None" || service.spec().type() == "ExternalName" || IsOneOf(metadata, kProxyLabel)) continue;
    in_order[KeyOf(metadata.Get("namespace").AsString(), metadata.Get("name").AsString())] = document;
  }
  std::vector<network::ServicePort> ports;
  for (const auto& [key, document] : in_order) {
    Service service(document->root());
    const std::vector<object::DocumentPtr>& its_slices = by_service[key];
    for (const auto& port : service.spec().ports()) {
      network::ServicePort one;
      one.protocol = LowerCase(port.protocol());
      one.addresses = AddressesOf(service);
      one.port = static_cast<uint16_t>(port.port());
      one.node_port = static_cast<uint16_t>(port.node_port());
      if (service.spec().session_affinity() == "ClientIP") {
        auto timeout = service.spec().session_affinity_config().client_ip();
        one.session_seconds = timeout.has_timeout_seconds() ? static_cast<uint32_t>(timeout.timeout_seconds()) : kUsualSession;
      }
      one.endpoints = EndpointsOf(its_slices, port.name(), IsReady);
      if (one.endpoints.empty()) one.endpoints = EndpointsOf(its_slices, port.name(), StillServes);
      ports.push_back(std::move(one));
    }
  }
  return ports;
}

network::Sessions ReadSessions(std::string_view json, std::string_view table) {
  network::Sessions sessions;
  auto document = object::ParseJsonDocument(json);
  if (!document) return sessions;
  for (const object::Value& item : (*document)->root().Get("nftables").items()) {
    object::Value set = item.Get("set");
    std::string_view name = set.Get("name").AsString();
    if (set.Get("table").AsString() != table || !name.starts_with(network::kSessionSetPrefix)) continue;
    for (const object::Value& one : set.Get("elem").items()) {
      object::Value element = one.Get("elem");
      int64_t seconds = element.Get("expires").AsInt();
      if (seconds > 0) sessions[std::string(name)].push_back({std::string(element.Get("val").AsString()), static_cast<uint32_t>(seconds)});
    }
  }
  return sessions;
}

ServiceProxy::ServiceProxy(Runtime& runtime, sdk::Client client, Logger log, network::ServiceProxyOptions options)
    : runtime_(runtime),
      log_(std::move(log)),
      options_(std::move(options)),
      services_(runtime, client, Service::SchemaKind(), sdk::InformerOptions{.managed_fields = false}),
      slices_(runtime, client, EndpointSlice::SchemaKind(), sdk::InformerOptions{.managed_fields = false}),
      changed_(runtime),
      group_(runtime) {
  for (sdk::Informer* informer : {&services_, &slices_}) {
    informer->AddHandler([this](const sdk::Change&) {
      stale_ = true;
      changed_.Notify();
    });
  }
}

Task<network::Sessions> ServiceProxy::Sessions() {
  SubprocessOptions options;
  options.arguments = {"nft", "-j", "list", "sets", "inet"};
  auto run = RunCommand(runtime_, std::move(options), Bytes());
  auto output = co_await std::move(run);
  if (!output || output->exit_code != 0) co_return network::Sessions();
  co_return ReadSessions(output->output, network::ServiceTableName(options_.name));
}

Task<bool> ServiceProxy::Write() {
  stale_ = false;
  std::vector<network::ServicePort> ports = ServicePortsOf(services_.List(), slices_.List());
  auto script = network::ServiceProxyScript(options_, ports);
  Result<void> result;
  if (!script) {
    result = Fail(script.error());
  } else if (*script != written_) {
    std::string whole = *script;
    if (std::ranges::any_of(ports, [](const network::ServicePort& port) { return port.session_seconds > 0; })) {
      auto look = Sessions();
      network::Sessions sessions = co_await std::move(look);
      whole = network::ServiceProxyScript(options_, ports, sessions).value_or(whole);
    }
    auto run = RunNft(runtime_, std::move(whole));
    result = co_await std::move(run);
  }
  if (result) written_ = *std::move(script);
  else log_.Warning("The rules of services can't be written", {{"err", result.error()}});
  co_return result.has_value();
}

Task<void> ServiceProxy::Keep(ServiceProxy* proxy) {
  while (true) {
    if (!proxy->stale_) {
      auto wait = proxy->changed_.Wait();
      co_await wait;
    }
    auto gather = Sleep(proxy->runtime_, kGather);
    co_await std::move(gather);
    auto write = proxy->Write();
    bool done = co_await std::move(write);
    if (done) continue;
    proxy->stale_ = true;
    auto pause = Sleep(proxy->runtime_, kRetry);
    co_await std::move(pause);
  }
}

Task<void> ServiceProxy::Start() {
  services_.Start();
  slices_.Start();
  auto services = services_.WaitForSync();
  co_await std::move(services);
  auto slices = slices_.WaitForSync();
  co_await std::move(slices);
  auto write = Write();
  bool done = co_await std::move(write);
  if (!done) stale_ = true;
  group_.Spawn(Keep(this));
}

}  // namespace homeostat::node
