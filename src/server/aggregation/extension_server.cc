#include "server/aggregation/extension_server.h"

#include <utility>

#include "callout/caller.h"
#include "callout/service_location.h"
#include "homeostat/base/text.h"
#include "homeostat/object/json.h"
#include "server/aggregation/openapi_merge.h"
#include "server/aggregation/remote_discovery.h"
#include "server/forwarding.h"

namespace homeostat::server {
namespace {

constexpr Duration kConnectTime = std::chrono::seconds(30);
constexpr Duration kDiscoveryTime = std::chrono::seconds(5), kOpenApiTime = std::chrono::seconds(60);
constexpr size_t kDiscoveryBytes = 16 << 20, kOpenApiBytes = 32 << 20;
constexpr size_t kAddresses = 16;  // of which connections are kept

constexpr std::string_view kAggregatedTypes =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

User Named(std::string_view name, std::vector<std::string> groups = {}) {
  User user;
  user.name = name;
  user.groups = std::move(groups);
  return user;
}

// A header's name may hold a text if what can't stand there is written as %XX.
std::string HeaderKey(std::string_view text) { return http::PercentEncode(text, "!#$&'*+^`|"); }

bool IsIdentityField(std::string_view name) {
  static constexpr std::string_view kPrefix = "x-remote-";
  return EqualsIgnoreCase(name.substr(0, kPrefix.size()), kPrefix);
}

Task<Result<ExtensionServer::Fetched>> FetchFrom(std::shared_ptr<http::Client> client, http::Request request, size_t limit) {
  auto call = client->Do(std::move(request));
  CO_TRY_ASSIGN(http::Response response, co_await std::move(call));
  ExtensionServer::Fetched fetched;
  fetched.code = response.code;
  fetched.headers = response.headers;
  auto read = http::ReadAll(std::move(response), limit);
  CO_TRY_ASSIGN(Bytes body, co_await std::move(read));
  fetched.body = body.str();
  co_return fetched;
}

}  // namespace

void SetIdentity(http::Request& request, const User& user) {
  http::Headers kept;
  for (const auto& [name, value] : request.headers.lines()) {
    if (!IsIdentityField(name)) kept.Add(name, value);
  }
  kept.Add("X-Remote-User", user.name);
  if (!user.uid.empty()) kept.Add("X-Remote-Uid", user.uid);
  for (const std::string& group : user.groups) kept.Add("X-Remote-Group", group);
  for (const auto& [key, values] : user.extra) {
    for (const std::string& value : values) kept.Add("X-Remote-Extra-" + HeaderKey(key), value);
  }
  request.headers = std::move(kept);
}

ExtensionServer::ExtensionServer(Runtime& runtime, const kinds::ObjectReader& objects, std::string loopback,
                                 std::shared_ptr<const ApiService> service, const ProxyIdentity& identity)
    : runtime_(runtime), objects_(objects), loopback_(std::move(loopback)), service_(std::move(service)), poked_(runtime) {
  const ApiServiceSpec& spec = service_->spec;
  tls_.ca = spec.ca_bundle;
  tls_.certificate = identity.certificate;
  tls_.private_key = identity.private_key;
  tls_.server_name = spec.service->name + "." + spec.service->ns + ".svc";
  tls_.insecure_skip_verify = spec.insecure_skip_tls_verify;
  tls_.clock = &runtime;
  if (auto checked = TlsClient::Make(tls_); !checked) fault_ = checked.error();
}

Result<std::string> ExtensionServer::Locate() const {
  const ServiceReference& service = *service_->spec.service;
  if (callout::IsThisServer(service)) return loopback_;
  TRY_ASSIGN(callout::ServiceLocation location, callout::LocateService(objects_, runtime_, service.ns, service.name, service.port));
  return location.Authority();
}

http::ClientOptions ExtensionServer::OptionsFor(const std::string& authority) const {
  http::ClientOptions options;
  options.address = authority;
  options.tls = tls_;
  options.connect_time = kConnectTime;
  return options;
}

Task<Result<http::Response>> ExtensionServer::Ask(std::string authority, http::Request request) {
  if (fault_) co_return Fail(*fault_);
  auto found = clients_.find(authority);
  if (found == clients_.end()) {
    if (clients_.size() >= kAddresses) clients_.clear();  // endpoints that have gone; requests under way hold theirs
    found = clients_.emplace(authority, std::make_shared<http::Client>(runtime_, OptionsFor(authority))).first;
  }
  std::shared_ptr<http::Client> client = found->second;
  auto call = client->Do(std::move(request));
  co_return co_await std::move(call);
}

Task<Result<http::Response>> ExtensionServer::AskForUpgrade(std::string authority, http::Request request) {
  if (fault_) co_return Fail(*fault_);
  auto call = ForwardUpgrade(runtime_, OptionsFor(authority), std::move(request));
  co_return co_await std::move(call);
}

Task<Result<ExtensionServer::Fetched>> ExtensionServer::Fetch(std::string path, http::Headers headers, User user,
                                                              Duration limit_of_time, size_t limit) {
  if (fault_) co_return Fail(*fault_);
  CO_TRY_ASSIGN(std::string authority, Locate());
  http::Request request;
  request.path = std::move(path);
  request.headers = std::move(headers);
  SetIdentity(request, user);
  // A connection of its own: that of requests may hang.
  auto client = std::make_shared<http::Client>(runtime_, OptionsFor(authority));
  auto within = Within(runtime_, limit_of_time, FetchFrom(client, std::move(request), limit));
  auto fetched = co_await std::move(within);
  if (!fetched) co_return Fail(TimeoutError("context deadline exceeded (Client.Timeout exceeded while awaiting headers)"));
  co_return *std::move(fetched);
}

void ExtensionServer::Change(std::string RemoteDocuments::*field, std::string value) {
  if (documents_.*field == value) return;
  documents_.*field = std::move(value);
  ++generation_;
}

void ExtensionServer::MarkStale() {
  if (!documents_.stale || !documents_.resources.empty()) ++generation_;
  documents_.stale = true;
  documents_.resources.clear();  // as upstream: what is not available now lists no resources
}

Task<Result<std::string>> ExtensionServer::FetchResources() {
  const std::shared_ptr<const ApiService> service = service_;  // another state of it may come meanwhile
  const ApiServiceSpec& spec = service->spec;
  auto first = Fetch("/apis", {{"Accept", std::string(kAggregatedTypes)}}, Named("system:kube-aggregator", {"system:masters"}),
                     kDiscoveryTime, kDiscoveryBytes);
  auto aggregated = co_await std::move(first);
  if (!aggregated) co_return Fail(aggregated.error());
  if (aggregated->code == 503) co_return Fail(ServiceUnavailableError("discovery answered 503"));
  std::string_view type = aggregated->headers.Get("Content-Type");
  if (aggregated->code == 200 && type.find("as=APIGroupDiscoveryList") != type.npos) {
    CO_TRY_ASSIGN(object::DocumentPtr document, object::ParseJsonDocument(aggregated->body));
    co_return AggregatedResources(document->root(), spec.group, spec.version);
  }
  auto second = Fetch("/apis/" + spec.group + "/" + spec.version, {{"Accept", "application/json"}}, Named("system:kube-aggregator"),
                      kDiscoveryTime, kDiscoveryBytes);
  CO_TRY_ASSIGN(Fetched legacy, co_await std::move(second));
  if (legacy.code != 200) co_return Fail(ServiceUnavailableError("discovery answered " + std::to_string(legacy.code)));
  CO_TRY_ASSIGN(object::DocumentPtr document, object::ParseJsonDocument(legacy.body));
  co_return LegacyResources(document->root());
}

Task<void> ExtensionServer::RefreshOpenApi() {
  std::string path = "apis/" + service_->spec.group + "/" + service_->spec.version;
  auto root = Fetch("/openapi/v3", {{"Accept", "application/json"}}, Named("system:aggregator"), kOpenApiTime, kDiscoveryBytes);
  auto index = co_await std::move(root);
  if (index && index->code == 200) {
    auto document = object::ParseJsonDocument(index->body);
    std::string url(document ? (*document)->root().Path({"paths", path, "serverRelativeURL"}).AsString() : std::string_view());
    Change(&RemoteDocuments::group_openapi, url.starts_with("/openapi/v3/" + path) ? url : std::string());
  } else if (index && index->code == 404) {
    Change(&RemoteDocuments::group_openapi, "");
  }
  http::Headers headers{{"Accept", "application/json"}};
  if (!v2_tag_.empty()) headers.Add("If-None-Match", v2_tag_);
  auto whole = Fetch("/openapi/v2", std::move(headers), Named("system:aggregator"), kOpenApiTime, kOpenApiBytes);
  auto spec_v2 = co_await std::move(whole);
  if (!spec_v2 || spec_v2->code == 304) co_return;
  if (spec_v2->code != 200) {
    Change(&RemoteDocuments::openapi_v2, "");
    co_return;
  }
  v2_tag_ = spec_v2->headers.Get("ETag");
  auto document = object::ParseJsonDocument(spec_v2->body);
  Change(&RemoteDocuments::openapi_v2, document ? FilterOpenApiV2((*document)->root(), "/" + path + "/") : std::string());
}

Task<void> ExtensionServer::RefreshDocuments() {
  auto fetch = FetchResources();
  auto resources = co_await std::move(fetch);
  if (!resources) {
    MarkStale();
    co_return;
  }
  if (documents_.stale) ++generation_;
  documents_.stale = false;
  Change(&RemoteDocuments::resources, *std::move(resources));
  auto openapi = RefreshOpenApi();
  co_await std::move(openapi);
}

}  // namespace homeostat::server
