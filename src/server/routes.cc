#include "server/routes.h"

#include <algorithm>

#include "server/encode.h"
#include "server/patch.h"

namespace homeostat::server {
namespace {

uint32_t VerbBit(std::string_view verb) {
  if (verb == "get") return schema::kGet;
  if (verb == "list") return schema::kList;
  if (verb == "watch") return schema::kWatch;
  if (verb == "create") return schema::kCreate;
  if (verb == "update") return schema::kUpdate;
  if (verb == "patch") return schema::kPatch;
  if (verb == "delete") return schema::kDelete;
  if (verb == "deletecollection") return schema::kDeleteCollection;
  return 0;
}

constexpr std::string_view kProxy = "proxy";  // the subresource with URLs below it, for any method
constexpr uint32_t kOfObject = schema::kGet | schema::kUpdate | schema::kPatch | schema::kDelete;
constexpr uint32_t kOfCollection = schema::kList | schema::kWatch | schema::kCreate | schema::kDeleteCollection;

bool IsEverywhere(const RequestInfo& info, const schema::Kind& kind) {
  const bool of_object = info.subresource.empty() || info.subresource == "status" || info.subresource == "scale";
  return kind.namespaced && info.ns.empty() && !(info.below_namespace && of_object);
}

bool IsNamed(const RequestInfo& info) { return info.parts.size() > 1; }

// Whether there is such a URL, whatever the method.
bool HasRoute(const RequestInfo& info, const schema::Kind& kind) {
  if (info.verb == "proxy") return false;  // /proxy/ in front of the resource, which is long gone
  const bool in_namespace = !info.ns.empty() && info.parts.front() != "namespaces";
  if (!kind.namespaced && in_namespace) return false;
  // A namespace that is named but empty (namespaces//pods) is one to the router.
  const bool everywhere = IsEverywhere(info, kind);
  if (everywhere) return !IsNamed(info) && (kind.verbs & (schema::kList | schema::kWatch)) != 0;
  if (info.subresource.empty()) return (kind.verbs & (IsNamed(info) ? kOfObject : kOfCollection)) != 0;
  if (kind.FindSubresource(info.subresource) == nullptr) return false;
  return info.parts.size() <= 3 || info.subresource == kProxy;
}

bool IsRouted(std::string_view method) {
  return method == "GET" || method == "POST" || method == "PUT" || method == "PATCH" || method == "DELETE";
}

}  // namespace

bool HasVerbThere(const RequestInfo& info, const schema::Kind& kind, uint32_t verbs) {
  const bool of_collection = info.verb == "list" || info.verb == "create" || info.verb == "deletecollection";
  const bool misplaced = !info.subresource.empty() ? false : IsNamed(info) && !info.name.empty() ? info.verb == "create" : !of_collection && info.verb != "watch";
  const bool needs_namespace = IsEverywhere(info, kind) && (info.verb == "create" || info.verb == "deletecollection");
  return (verbs & VerbBit(info.verb)) != 0 && !misplaced && !needs_namespace;
}

std::optional<Status> RefusedByRouter(const RequestInfo& info, std::string_view method, std::string_view content_type, const Resource& resource) {
  const schema::Kind& kind = *resource.kind;
  if (!HasRoute(info, kind)) return NoSuchResource();
  if (info.subresource == kProxy) return std::nullopt;
  uint32_t verbs = info.subresource.empty() ? kind.verbs : kind.FindSubresource(info.subresource)->verbs;
  const bool odd_watch = info.verb == "watch" && method != "GET";  // /watch/ in front of the resource goes with any method
  if (!IsRouted(method) || odd_watch || !HasVerbThere(info, kind, verbs)) return MethodNotAllowed();
  if (method == "PATCH" && !PatchKindOf(content_type)) return UnsupportedPatchType();
  return std::nullopt;
}

bool HasTables(const RequestInfo& info, const Resource& resource) {
  if (info.subresource.empty()) return !resource.kind->virtual_kind;
  return info.subresource == "scale" || (info.subresource == "status" && !resource.behaviour->no_table_of_status);
}

bool IsBuiltInGroup(const Resources& resources, std::string_view group) {
  return std::ranges::any_of(resources.All(), [&](const Resource* resource) { return !resource->custom && resource->kind->gvk.group == group; });
}

PathHandler OnlyGet(PathHandler handler) {
  return [handler = std::move(handler)](const PathRequest& request) {
    if (request.request.method != "GET") return AnswerNow(EncodeStatus(MethodNotAllowed(), request.output));
    return handler(request);
  };
}

}  // namespace homeostat::server
