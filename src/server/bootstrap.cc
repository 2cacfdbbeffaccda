#include "server/bootstrap.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include "homeostat/object/json.h"
#include "server/embedded_data.h"
#include "server/metadata.h"

namespace homeostat::server {
namespace {

using object::Value;

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

// The URL of the collection an object belongs to; empty if its kind is not served.
struct Target {
  std::string path;
  std::string key;
  bool namespaced = false;
};
Target TargetOf(const Resources& resources, const Value& object) {
  std::string_view api_version = object.Get("apiVersion").AsString();
  size_t slash = api_version.find('/');
  std::string_view group = slash == api_version.npos ? std::string_view() : api_version.substr(0, slash);
  std::string_view version = slash == api_version.npos ? api_version : api_version.substr(slash + 1);
  const Resource* resource = resources.FindKind(group, version, object.Get("kind").AsString());
  if (resource == nullptr) return {};
  std::string_view ns = MetadataString(object, "namespace");
  std::string path = group.empty() ? "/api/" + std::string(version) : "/apis/" + std::string(group) + "/" + std::string(version);
  if (resource->namespaced()) path += "/namespaces/" + std::string(ns);
  path += "/" + std::string(resource->kind->plural);
  return {path, StorageKey(*resource->storage, ns, MetadataString(object, "name")), resource->namespaced()};
}

// What went wrong first, shared by all who create at once.
using Fault = std::shared_ptr<std::optional<Status>>;

Task<void> CreateOne(std::shared_ptr<http::Handler> transport, std::string path, std::string body, Fault fault) {
  http::Request request;
  request.method = "POST";
  request.path = path;
  request.headers.Set("Content-Type", "application/json");
  request.headers.Set("User-Agent", "kube-apiserver/v1.36.3");
  request.body = Bytes(std::move(body));
  auto create = transport->Handle(std::move(request));
  http::Response response = co_await std::move(create);
  if (response.code == 201 || response.code == 409) co_return;
  std::string text = response.body.empty() ? std::string() : response.body.front().str();
  if (!*fault) *fault = InternalError("creating an object of " + path + ": " + text);
}

// Creates those that are missing, all at once, so that they share a few commits: first what has no namespace, among it the
// namespaces, then the rest.
Task<Result<void>> CreateMissing(Runtime& runtime, const cache::Cache& cache, const Resources& resources,
                                 std::shared_ptr<http::Handler> transport, std::string text) {
  object::Arena arena;
  CO_TRY_ASSIGN(Value list, object::ParseJson(arena, text));
  Fault fault = std::make_shared<std::optional<Status>>();
  for (bool namespaced : {false, true}) {
    TaskGroup group(runtime);
    for (const Value& object : list.items()) {
      Target target = TargetOf(resources, object);
      if (target.path.empty() || target.namespaced != namespaced || cache.Get(target.key)) continue;
      group.Spawn(CreateOne(transport, target.path, object::JsonText(object), fault));
    }
    auto join = group.Join();
    co_await std::move(join);
    if (*fault) co_return Fail(**fault);
  }
  co_return Done();
}

}  // namespace

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

Task<Result<void>> Bootstrap(Runtime& runtime, const cache::Cache& cache, const Resources& resources,
                             std::shared_ptr<http::Handler> transport, BootstrapOptions options) {
  CO_TRY_ASSIGN(std::string address, FirstServiceAddress(options.service_cidr));
  auto common = CreateMissing(runtime, cache, resources, transport, std::string(BootstrapObjects()));
  CO_TRY(co_await std::move(common));
  auto own = CreateMissing(runtime, cache, resources, transport, OwnObjects(options, address, resources));
  co_return co_await std::move(own);
}

}  // namespace homeostat::server
