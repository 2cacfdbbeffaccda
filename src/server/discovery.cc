#include "server/discovery.h"

#include <algorithm>

#include "homeostat/api/registry.h"
#include "homeostat/base/hash.h"
#include "homeostat/object/json.h"
#include "homeostat/schema/conform.h"
#include "server/encode.h"
#include "server/routes.h"

namespace homeostat::server {
namespace {

constexpr std::string_view kAggregatedKind = "APIGroupDiscoveryList";

void AppendText(std::string& out, std::string_view text) { object::AppendJsonString(out, text); }

template <class Range>
void AppendList(std::string& out, const Range& texts) {
  out += '[';
  bool first = true;
  for (std::string_view text : texts) {
    if (!first) out += ',';
    first = false;
    AppendText(out, text);
  }
  out += ']';
}

void AppendShortNamesAndCategories(std::string& out, const schema::Kind& kind) {
  if (!kind.short_names.empty()) {
    out += R"(,"shortNames":)";
    AppendList(out, kind.short_names);
  }
  if (!kind.categories.empty()) {
    out += R"(,"categories":)";
    AppendList(out, kind.categories);
  }
}

// Custom kinds list theirs in an order of their own.
std::vector<std::string_view> VerbNames(uint32_t verbs, bool custom = false) {
  static constexpr std::pair<uint32_t, std::string_view> kCustomNames[] = {
      {schema::kDelete, "delete"}, {schema::kDeleteCollection, "deletecollection"}, {schema::kGet, "get"},
      {schema::kList, "list"},     {schema::kPatch, "patch"},                       {schema::kCreate, "create"},
      {schema::kUpdate, "update"}, {schema::kWatch, "watch"}};
  static constexpr std::pair<uint32_t, std::string_view> kNames[] = {
      {schema::kCreate, "create"}, {schema::kDelete, "delete"}, {schema::kDeleteCollection, "deletecollection"},
      {schema::kGet, "get"},       {schema::kList, "list"},     {schema::kPatch, "patch"},
      {schema::kUpdate, "update"}, {schema::kWatch, "watch"}};
  std::vector<std::string_view> names;
  for (auto [bit, name] : custom ? kCustomNames : kNames) if ((verbs & bit) != 0) names.push_back(name);
  return names;
}

// Of a kind whose definition is being deleted discovery lists no writes, though what is there can still be changed.
uint32_t ListedVerbs(const Resource& resource) {
  const uint32_t writes = schema::kCreate | schema::kUpdate | schema::kPatch;
  return resource.terminating ? resource.kind->verbs & ~writes : resource.kind->verbs;
}

std::string GroupVersion(std::string_view group, std::string_view version) { return schema::GroupVersionKind{group, version, {}}.ApiVersion(); }

// One entry of an APIResourceList; `sub` null for the resource itself.
void AppendResource(std::string& out, const Resource& resource, const schema::Subresource* sub) {
  const schema::Kind& kind = *resource.kind;
  out += R"({"name":)";
  std::string name(kind.plural);
  if (sub != nullptr) name += "/" + std::string(sub->name);
  AppendText(out, name);
  out += R"(,"singularName":)";
  AppendText(out, sub == nullptr ? kind.singular : "");
  out += std::string(R"(,"namespaced":)") + (kind.namespaced ? "true" : "false");
  const schema::GroupVersionKind& gvk = sub == nullptr ? kind.gvk : sub->kind;
  if (gvk.group != kind.gvk.group || gvk.version != kind.gvk.version) {
    if (!gvk.group.empty()) {
      out += R"(,"group":)";
      AppendText(out, gvk.group);
    }
    out += R"(,"version":)";
    AppendText(out, gvk.version);
  }
  out += R"(,"kind":)";
  AppendText(out, gvk.kind);
  out += R"(,"verbs":)";
  AppendList(out, VerbNames(sub == nullptr ? ListedVerbs(resource) : sub->verbs, resource.custom));
  if (sub == nullptr) {
    AppendShortNamesAndCategories(out, kind);
    if (!kind.storage_version_hash.empty()) {
      out += R"(,"storageVersionHash":)";
      AppendText(out, kind.storage_version_hash);
    }
  }
  out += '}';
}

std::string ResourceListJson(const Resources& resources, std::string_view group, std::string_view version) {
  std::string out = R"({"kind":"APIResourceList",)";
  // The core group's document has no apiVersion, upstream's custom since v1.0.
  if (!group.empty()) out += R"("apiVersion":"v1",)";
  out += R"("groupVersion":)";
  AppendText(out, GroupVersion(group, version));
  out += R"(,"resources":[)";
  bool first = true;
  for (const Resource* resource : resources.AllOf(group, version)) {
    if (!first) out += ',';
    first = false;
    AppendResource(out, *resource, nullptr);
    std::vector<const schema::Subresource*> subs;
    for (const schema::Subresource& sub : resource->kind->subresources) subs.push_back(&sub);
    if (!resource->custom) std::ranges::sort(subs, {}, &schema::Subresource::name);
    for (const schema::Subresource* sub : subs) {
      out += ',';
      AppendResource(out, *resource, sub);
    }
  }
  return out + "]}";
}

void AppendGroupVersion(std::string& out, std::string_view group, std::string_view version) {
  out += R"({"groupVersion":)";
  AppendText(out, GroupVersion(group, version));
  out += R"(,"version":)";
  AppendText(out, version);
  out += '}';
}

// The members of an APIGroup after its kind and apiVersion.
void AppendGroup(std::string& out, const DiscoveredGroup& group) {
  out += R"("name":)";
  AppendText(out, group.group);
  out += R"(,"versions":[)";
  for (size_t i = 0; i < group.versions.size(); ++i) {
    if (i > 0) out += ',';
    AppendGroupVersion(out, group.group, group.versions[i].version);
  }
  out += R"(],"preferredVersion":)";
  AppendGroupVersion(out, group.group, group.versions.front().version);
}

std::string GroupListJson(const ApiServices& services) {
  std::string out = R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)";
  bool first = true;
  for (const DiscoveredGroup* group : services.groups_by_name()) {
    if (group->group.empty()) continue;
    if (!first) out += ',';
    first = false;
    out += '{';
    AppendGroup(out, *group);
    out += '}';
  }
  return out + "]}";
}

void AppendResponseKind(std::string& out, const schema::GroupVersionKind& gvk, const Resource& resource) {
  const schema::Kind& parent = *resource.kind;
  bool same = !resource.custom && gvk.group == parent.gvk.group && gvk.version == parent.gvk.version;
  out += R"("responseKind":{"group":)";
  AppendText(out, same ? "" : gvk.group);
  out += R"(,"version":)";
  AppendText(out, same ? "" : gvk.version);
  out += R"(,"kind":)";
  AppendText(out, gvk.kind);
  out += '}';
}

void AppendAggregatedResource(std::string& out, const Resource& resource) {
  const schema::Kind& kind = *resource.kind;
  out += R"({"resource":)";
  AppendText(out, kind.plural);
  out += ',';
  AppendResponseKind(out, kind.gvk, resource);
  out += std::string(R"(,"scope":)") + (kind.namespaced ? "\"Namespaced\"" : "\"Cluster\"");
  out += R"(,"singularResource":)";
  AppendText(out, kind.singular);
  out += R"(,"verbs":)";
  AppendList(out, VerbNames(ListedVerbs(resource), resource.custom));
  AppendShortNamesAndCategories(out, kind);
  if (!kind.subresources.empty()) {
    out += R"(,"subresources":[)";
    bool first = true;
    for (const schema::Subresource& sub : kind.subresources) {
      if (!first) out += ',';
      first = false;
      out += R"({"subresource":)";
      AppendText(out, sub.name);
      out += ',';
      AppendResponseKind(out, sub.kind, resource);
      out += R"(,"verbs":)";
      AppendList(out, VerbNames(sub.verbs, resource.custom));
      out += '}';
    }
    out += ']';
  }
  out += '}';
}

// The resources of a version, as a JSON list, and whether they are what is there now.
void AppendVersion(std::string& out, const Resources& resources, const Aggregator& aggregator, const DiscoveredGroup& group,
                   const DiscoveredVersion& version) {
  out += R"({"version":)";
  AppendText(out, version.version);
  bool stale = false;
  if (version.remote) {
    auto extension = aggregator.Find(version.remote->name);
    stale = !extension || extension->documents().stale;
    if (extension && extension->documents().resources.size() > 2) out += R"(,"resources":)" + extension->documents().resources;
  } else {
    out += R"(,"resources":[)";
    bool first = true;
    for (const Resource* resource : resources.AllOf(group.group, version.version)) {
      if (!first) out += ',';
      first = false;
      AppendAggregatedResource(out, *resource);
    }
    out += ']';
  }
  out += stale ? R"(,"freshness":"Stale"})" : R"(,"freshness":"Current"})";
}

// core: only the core group, for /api; else all others, for /apis.
std::string AggregatedJson(const Resources& resources, const Aggregator& aggregator, bool core, std::string_view version) {
  std::string out = R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/)" + std::string(version) +
                    R"(","metadata":{},"items":[)";
  bool first = true;
  for (const DiscoveredGroup& group : aggregator.services().groups()) {
    if (group.group.empty() != core || std::ranges::none_of(group.versions, &DiscoveredVersion::served)) continue;
    if (!first) out += ',';
    first = false;
    out += R"({"metadata":{)";
    if (!core) {
      out += R"("name":)";
      AppendText(out, group.group);
    }
    out += R"(},"versions":[)";
    bool first_version = true;
    for (const DiscoveredVersion& entry : group.versions) {
      if (!entry.served) continue;
      if (!first_version) out += ',';
      first_version = false;
      AppendVersion(out, resources, aggregator, group, entry);
    }
    out += "]}";
  }
  return out + "]}";
}

// The version of aggregated discovery a client prefers to the old form; empty for none.
std::string AggregatedVersion(std::string_view accept) {
  for (const AcceptClause& clause : ParseAccept(accept)) {
    if (clause.Parameter("as") == kAggregatedKind && clause.Parameter("g") == "apidiscovery.k8s.io") {
      std::string_view version = clause.Parameter("v");
      if ((version == "v2" || version == "v2beta1") && clause.type == "application" && clause.subtype == "json") {
        return std::string(version);
      }
      continue;
    }
    bool plain = clause.Parameter("as").empty() &&
                 (clause.subtype == "json" || clause.subtype == "*" || clause.subtype == "yaml" ||
                  clause.subtype == "vnd.kubernetes.protobuf");
    if (plain) return "";
  }
  return "";
}

// A discovery document of meta/v1 in the encoding asked for. routed: it lies behind the router.
http::Response DocumentResponse(const std::string& json, std::string_view kind, const PathRequest& request, bool routed) {
  const MediaTypeOptions& output = request.output;
  auto offered = NegotiateOutput(request.request.headers.Get("Accept"), NegotiationScope{.transformations = false, .routed = routed});
  if (!offered) return EncodeStatus(offered.error(), output);
  const schema::Type* type = api::FindTypeOfKind("", "v1", kind);
  object::Arena arena;
  auto tree = object::ParseJson(arena, json);
  if (type == nullptr || !tree) return EncodeStatus(InternalError("discovery: no type for " + std::string(kind)), output);
  schema::ConformReport report;
  report.collect = false;
  auto typed = schema::Conform(arena, *tree, *type, report);
  if (!typed) return EncodeStatus(typed.error(), output);
  auto body = EncodeValue(*type, tree->Get("apiVersion").AsString(), kind, *typed, output.encoding, output.pretty);
  if (!body) return EncodeStatus(body.error(), output);
  return BytesResponse(200, *std::move(body), MediaType(output.encoding));
}

http::Response AggregatedResponse(const http::Request& request, std::string json, std::string_view version) {
  json += '\n';
  std::string etag = "\"" + Sha256Hex(json) + "\"";
  http::Response response;
  if (request.headers.Get("If-None-Match") == etag) {
    response.code = 304;
  } else {
    response = BytesResponse(200, Bytes(std::move(json)),
                             "application/json;g=apidiscovery.k8s.io;v=" + std::string(version) + ";as=APIGroupDiscoveryList");
  }
  response.headers.Set("ETag", etag);
  response.headers.Set("Cache-Control", "public");
  response.headers.Set("Vary", "Accept");
  return response;
}

http::Response CoreVersions(const PathRequest& request) {
  std::string json = R"({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":)";
  AppendText(json, request.request.headers.Get("Host"));
  json += "}]}";
  http::Response response = DocumentResponse(json, "APIVersions", request, true);
  response.headers.Set("Vary", "Accept");
  return response;
}

http::Response NoSuchPage() { return BytesResponse(404, Bytes::Static("404 page not found\n"), "text/plain; charset=utf-8"); }

// /apis/GROUP and /apis/GROUP/VERSION.
http::Response GroupDocument(const Resources& resources, const ApiServices& services, const PathRequest& request) {
  std::string_view rest = std::string_view(request.info.path).substr(std::string_view("/apis/").size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  size_t slash = rest.find('/');
  std::string_view name = rest.substr(0, slash);
  auto group = std::ranges::find_if(services.groups(), [&](const auto& entry) { return entry.group == name && !name.empty(); });
  if (group == services.groups().end()) return NoSuchPage();
  if (slash == rest.npos) {
    std::string json = R"({"kind":"APIGroup","apiVersion":"v1",)";
    AppendGroup(json, *group);
    return DocumentResponse(json + "}", "APIGroup", request, false);
  }
  std::string_view version = rest.substr(slash + 1);
  const bool routed = IsBuiltInGroup(resources, name);
  if (!routed && version.find('/') != version.npos) return NoSuchPage();
  if (!resources.HasGroupVersion(name, version)) return routed ? EncodeStatus(NoSuchResource(), request.output) : NoSuchPage();
  if (routed && request.request.method != "GET") return EncodeStatus(MethodNotAllowed(), request.output);
  return DocumentResponse(ResourceListJson(resources, name, version), "APIResourceList", request, routed);
}

http::Response CoreDocument(const Resources& resources, const PathRequest& request) {
  std::string_view version = std::string_view(request.info.path).substr(std::string_view("/api/").size());
  if (version.ends_with('/')) version.remove_suffix(1);
  if (!resources.HasGroupVersion("", version)) return EncodeStatus(NoSuchResource(), request.output);
  if (request.request.method != "GET") return EncodeStatus(MethodNotAllowed(), request.output);
  return DocumentResponse(ResourceListJson(resources, "", version), "APIResourceList", request, true);
}

}  // namespace

void ServeDiscovery(ApiServer& server, const Aggregator& aggregator) {
  Resources& resources = server.parts().resources;
  auto root = [&resources, &aggregator](const PathRequest& request, bool core) {
    std::string version = AggregatedVersion(request.request.headers.Get("Accept"));
    if (!version.empty()) return AggregatedResponse(request.request, AggregatedJson(resources, aggregator, core, version), version);
    if (core) return CoreVersions(request);
    http::Response response = DocumentResponse(GroupListJson(aggregator.services()), "APIGroupList", request, false);
    response.headers.Set("Vary", "Accept");
    return response;
  };
  // With a slash at the end they are the same documents.
  server.HandlePath("/api", OnlyGet([root](const PathRequest& request) { return AnswerNow(root(request, true)); }));
  server.HandlePath("/apis", [root](const PathRequest& request) { return AnswerNow(root(request, false)); });
  server.HandlePath("/api/", [root, &resources](const PathRequest& request) {
    if (request.info.path != "/api/") return AnswerNow(CoreDocument(resources, request));
    return AnswerNow(request.request.method == "GET" ? root(request, true) : EncodeStatus(MethodNotAllowed(), request.output));
  });
  server.HandlePath("/apis/", [root, &resources, &aggregator](const PathRequest& request) {
    return AnswerNow(request.info.path == "/apis/" ? root(request, false) : GroupDocument(resources, aggregator.services(), request));
  });
}

}  // namespace homeostat::server
