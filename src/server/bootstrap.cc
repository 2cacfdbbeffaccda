#include "server/bootstrap.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <set>

#include "homeostat/object/json.h"
#include "homeostat/schema/api_version.h"
#include "homeostat/schema/conform.h"
#include "server/bootstrap_repair.h"
#include "server/embedded_data.h"
#include "server/metadata.h"

namespace homeostat::server {
namespace {

using object::Value;

constexpr std::string_view kFlowGroup = "flowcontrol.apiserver.k8s.io";
constexpr std::string_view kFlowManager = "api-priority-and-fairness-config-producer-v1";

// Where the Service `kubernetes` leads to.
std::string EndpointObjects(const BootstrapOptions& options) {
  std::string out = fmt::format(
      R"(,{{"apiVersion":"v1","kind":"Endpoints","metadata":{{"name":"kubernetes","namespace":"default",)"
      R"("labels":{{"endpointslice.kubernetes.io/skip-mirror":"true"}}}},"subsets":[{{"addresses":[{{"ip":"{}"}}],)"
      R"("ports":[{{"name":"https","port":{},"protocol":"TCP"}}]}}]}})",
      options.advertise_address, options.advertise_port);
  out += fmt::format(
      R"(,{{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{{"name":"kubernetes","namespace":"default",)"
      R"("labels":{{"kubernetes.io/service-name":"kubernetes"}}}},"addressType":"IPv4",)"
      R"("endpoints":[{{"addresses":["{}"],"conditions":{{"ready":true}}}}],)"
      R"("ports":[{{"name":"https","port":{},"protocol":"TCP"}}]}})",
      options.advertise_address, options.advertise_port);
  return out;
}

// Objects that depend on how the server was started, as JSON.
std::string OwnObjects(const BootstrapOptions& options, std::string_view service_address, const Resources& resources) {
  std::string out = "[";
  out += fmt::format(
      R"({{"apiVersion":"v1","kind":"Service","metadata":{{"name":"kubernetes","namespace":"default",)"
      R"("labels":{{"component":"apiserver","provider":"kubernetes"}}}},"spec":{{"type":"ClusterIP","clusterIP":"{}",)"
      R"("ipFamilyPolicy":"SingleStack","sessionAffinity":"None",)"
      R"("ports":[{{"name":"https","protocol":"TCP","port":443,"targetPort":{}}}]}}}})",
      service_address, options.advertise_port);
  // Nobody else can reach a loopback address, so it is no endpoint.
  if (!options.advertise_address.starts_with("127.") && options.advertise_address != "::1") {
    out += EndpointObjects(options);
  }
  out += fmt::format(R"(,{{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{{"name":"kubernetes"}},)"
                     R"("spec":{{"cidrs":["{}"]}}}})",
                     options.service_cidr);
  out += R"(,{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"extension-apiserver-authentication","namespace":"kube-system"},)"
         R"("data":{"client-ca-file":)";
  object::AppendJsonString(out, options.authority_certificate);
  out += "}}";
  for (const Resources::GroupVersions& group : resources.groups()) {
    if (group.group == "apiregistration.k8s.io") continue;  // as upstream: the group of these objects has none itself
    for (const std::string& version : group.versions) {
      out += fmt::format(
          R"(,{{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{{"name":"{0}.{1}",)"
          R"("labels":{{"kube-aggregator.kubernetes.io/automanaged":"onstart"}}}},"spec":{{"group":"{1}","version":"{0}",)"
          R"("groupPriorityMinimum":{2},"versionPriority":{3}}}}})",
          version, group.group, group.group_priority, VersionPriority(group.group, version));
    }
  }
  return out + "]";
}

// The URL of the collection of a kind; ns "" for those without one.
std::string CollectionPath(const Resource& resource, std::string_view ns) {
  const schema::GroupVersionKind& gvk = resource.kind->gvk;
  std::string path = gvk.group.empty() ? "/api/" + std::string(gvk.version) : "/apis/" + std::string(gvk.group) + "/" + std::string(gvk.version);
  if (resource.namespaced()) path += "/namespaces/" + std::string(ns);
  return path + "/" + std::string(resource.kind->plural);
}

const Resource* ResourceOf(const Resources& resources, const Value& object) {
  auto [group, version] = schema::ParseApiVersion(object.Get("apiVersion").AsString());
  return resources.FindKind(group, version, object.Get("kind").AsString());
}

// How long an object may be missing, or changed; none: it is looked at only at a start.
std::optional<Duration> KeptEvery(const schema::Kind& kind) {
  if (kind.gvk.group.empty() && kind.plural == "namespaces") return std::chrono::seconds(60);
  if (kind.gvk.group == kFlowGroup) return std::chrono::seconds(60);
  if (kind.gvk.group.empty() && kind.plural == "services") return std::chrono::seconds(10);
  if (kind.gvk.group == "networking.k8s.io" && kind.plural == "servicecidrs") return std::chrono::seconds(10);
  return std::nullopt;
}

std::string TextOf(const http::Response& response) { return response.body.empty() ? std::string() : response.body.front().str(); }

}  // namespace

Bootstrap::Bootstrap(Runtime& runtime, cache::Cache& cache, const Resources& resources, const schema::Defaults& defaults,
                     std::shared_ptr<http::Handler> transport, BootstrapOptions options)
    : runtime_(runtime),
      cache_(cache),
      resources_(resources),
      defaults_(defaults),
      transport_(std::move(transport)),
      options_(std::move(options)),
      group_(runtime) {}

Result<void> Bootstrap::AddItems(std::string_view text) {
  object::Arena arena;
  TRY_ASSIGN(Value list, object::ParseJson(arena, text));
  for (const Value& object : list.items()) {
    const Resource* resource = ResourceOf(resources_, object);
    if (resource == nullptr) continue;
    std::string_view ns = MetadataString(object, "namespace"), name = MetadataString(object, "name");
    Item item{resource, CollectionPath(*resource, ns), std::string(name), StorageKey(*resource->storage, ns, name), object::JsonText(object)};
    items_.push_back(std::move(item));
  }
  return {};
}

Task<Result<http::Response>> Bootstrap::Send(std::string method, std::string path, std::string body, std::string content) {
  http::Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  if (request.path.find(kFlowGroup) != std::string::npos) request.path += "?fieldManager=" + std::string(kFlowManager);
  request.headers.Set("Content-Type", content);
  request.headers.Set("User-Agent", "kube-apiserver/v1.36.3");
  request.body = Bytes(std::move(body));
  std::string asked = request.path;
  auto handle = transport_->Handle(std::move(request));
  http::Response response = co_await std::move(handle);
  if (response.code >= 300 && response.code != 404 && response.code != 409) {
    co_return Fail(InternalError("an object that every cluster has, " + asked + ": " + TextOf(response)));
  }
  co_return response;
}

// Makes the object, or repairs it.
Task<Result<void>> Bootstrap::Ensure(size_t index) {
  const Item& item = items_[index];
  cache::EntryPtr entry = cache_.Get(item.key);
  std::string body = item.body, collection = item.collection, path = collection + "/" + item.name;
  if (entry) {
    CO_TRY_ASSIGN(object::DocumentPtr existing, entry->document());
    object::Arena arena;
    schema::ConformReport report;
    CO_TRY_ASSIGN(Value parsed, object::ParseJson(arena, body));
    CO_TRY_ASSIGN(Value wanted, schema::Conform(arena, parsed, *item.resource->kind->type, report));
    CO_TRY_ASSIGN(wanted, defaults_.Apply(arena, *item.resource->kind->type, wanted));
    Repair repair = RepairOf(*item.resource->kind, existing->root(), wanted);
    if (!repair.needed()) co_return Done();
    if (!repair.recreate) {
      auto patch = Send("PATCH", path, std::move(repair.merge_patch), "application/merge-patch+json");
      CO_TRY(co_await std::move(patch));
      co_return Done();
    }
    auto remove = Send("DELETE", path, "", "application/json");
    CO_TRY(co_await std::move(remove));
  }
  auto create = Send("POST", std::move(collection), std::move(body), "application/json");
  CO_TRY(co_await std::move(create));
  co_return Done();
}

namespace {

Task<void> NoteFault(Task<Result<void>> work, std::shared_ptr<std::optional<Status>> fault) {
  auto done = co_await std::move(work);
  if (!done && !*fault) *fault = done.error();
}

}  // namespace

// All at once, so that they share a few commits: first what has no namespace, among it the namespaces, then the rest.
Task<Result<void>> Bootstrap::EnsureFrom(size_t first) {
  auto fault = std::make_shared<std::optional<Status>>();
  for (bool namespaced : {false, true}) {
    TaskGroup group(runtime_);
    for (size_t i = first; i < items_.size(); ++i) {
      if (items_[i].resource->namespaced() == namespaced) group.Spawn(NoteFault(Ensure(i), fault));
    }
    auto join = group.Join();
    co_await std::move(join);
    if (*fault) co_return Fail(**fault);
  }
  co_return Done();
}

Task<Result<void>> Bootstrap::MakeAll() {
  CO_TRY_ASSIGN(std::string address, FirstServiceAddress(options_.service_cidr));
  CO_TRY(AddItems(BootstrapObjects()));
  auto common = EnsureFrom(0);
  CO_TRY(co_await std::move(common));
  size_t first = items_.size();
  CO_TRY(AddItems(OwnObjects(options_, address, resources_)));
  auto own = EnsureFrom(first);
  CO_TRY(co_await std::move(own));
  auto ready = SayRangeIsReady();
  co_return co_await std::move(ready);
}

// The range of services is ready from the start, unless it is another one than this server is told to use.
Task<Result<void>> Bootstrap::SayRangeIsReady() {
  const Resource* resource = resources_.FindAny("networking.k8s.io", "servicecidrs");
  if (resource == nullptr) co_return Done();
  cache::EntryPtr entry = cache_.Get(StorageKey(*resource->storage, "", "kubernetes"));
  if (!entry) co_return Done();
  CO_TRY_ASSIGN(object::DocumentPtr range, entry->document());
  Value cidrs = range->root().Path({"spec", "cidrs"});
  if (cidrs.size() != 1 || cidrs.At(0).AsString() != options_.service_cidr || range->root().Path({"metadata", "deletionTimestamp"})) co_return Done();
  for (const Value& condition : range->root().Path({"status", "conditions"}).items()) {
    if (condition.Get("type").AsString() == "Ready" && condition.Get("status").AsString() != "Unknown") co_return Done();
  }
  std::string body = R"({"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"kubernetes"},"status":{"conditions":[)"
                     R"({"type":"Ready","status":"True","message":"Kubernetes default Service CIDR is ready","lastTransitionTime":")" +
                     FormatNow(runtime_) + R"("}]}})";
  auto apply = Send("PATCH", CollectionPath(*resource, "") + "/kubernetes/status?fieldManager=kubernetes-service-cidr-controller&force=true",
                    std::move(body), "application/apply-patch+yaml");
  CO_TRY(co_await std::move(apply));
  co_return Done();
}

void Bootstrap::Keep() {
  std::set<std::string> prefixes;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (!KeptEvery(*items_[i].resource->kind)) continue;
    kept_.emplace(items_[i].key, i);
    prefixes.insert(StoragePrefix(*items_[i].resource->storage, ""));
  }
  for (const std::string& prefix : prefixes) {
    cache_.Observe(prefix, [this](const cache::WatchEvent& event) {
      auto kept = kept_.find(event.key());
      if (kept == kept_.end() || items_[kept->second].watched) return;
      items_[kept->second].watched = true;
      group_.Spawn(EnsureLater(kept->second));
    });
  }
}

Task<void> Bootstrap::EnsureLater(size_t index) {
  auto pause = Sleep(runtime_, *KeptEvery(*items_[index].resource->kind));
  co_await std::move(pause);
  items_[index].watched = false;
  auto ensure = Ensure(index);
  auto ensured = co_await std::move(ensure);
  if (!ensured) options_.log.Warning("an object that every cluster has", {{"error", ensured.error()}});
  if (items_[index].resource->kind->plural != "servicecidrs") co_return;
  auto ready = SayRangeIsReady();
  auto said = co_await std::move(ready);
  if (!said) options_.log.Warning("the range of services", {{"error", said.error()}});
}

Result<std::string> FirstServiceAddress(std::string_view cidr) {
  std::string network(cidr.substr(0, cidr.find('/')));
  in_addr address{};
  if (inet_pton(AF_INET, network.c_str(), &address) != 1) {
    return Fail(BadRequestError("the service range " + std::string(cidr) + " is not an IPv4 range such as 10.96.0.0/16"));
  }
  address.s_addr = htonl(ntohl(address.s_addr) + 1);
  char text[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &address, text, sizeof text);
  return std::string(text);
}

}  // namespace homeostat::server
