#include "server/request_info.h"

#include <algorithm>
#include <array>

#include "homeostat/base/text.h"
#include "homeostat/object/selectors.h"

namespace homeostat::server {
namespace {

std::vector<std::string> SplitPath(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  if (path.empty()) return parts;
  size_t start = 0;
  while (true) {
    size_t slash = path.find('/', start);
    parts.emplace_back(path.substr(start, slash == std::string_view::npos ? slash : slash - start));
    if (slash == std::string_view::npos) return parts;
    start = slash + 1;
  }
}

std::string VerbOfMethod(std::string_view method) {
  if (method == "POST") return "create";
  if (method == "GET" || method == "HEAD") return "get";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return "delete";
  return "";
}

// The name that a field selector pins with metadata.name=x, which authorization then treats as the request's name.
std::string NameInFieldSelector(std::string_view text) {
  auto selector = object::FieldSelector::Parse(text);
  if (!selector) return "";
  auto name = selector->RequiresExactMatch("metadata.name");
  bool fits = name && *name != "." && *name != ".." && name->find_first_of("/%") == name->npos;
  return fits ? std::string(*name) : "";
}

bool IsNamespaceSubresource(std::string_view part) { return part == "status" || part == "finalize"; }

// Fills namespace, resource, name and subresource from the parts that follow the group version.
void FillResource(RequestInfo& info, std::vector<std::string> parts) {
  if (parts.empty()) return;
  if (parts[0] == "namespaces") {
    if (parts.size() > 1) {
      info.ns = parts[1];
      // namespaces/NAME/RESOURCE…, unless what follows is a subresource of the namespace itself.
      info.below_namespace = parts.size() > 2 && !IsNamespaceSubresource(parts[2]);
      if (info.below_namespace) parts.erase(parts.begin(), parts.begin() + 2);
    }
  }
  info.parts = parts;
  if (parts.size() >= 3) info.subresource = parts[2];
  if (parts.size() >= 2) info.name = parts[1];
  info.resource = parts[0];
}

// A GET without a name is a list, with watch=1 a watch; a DELETE without a name is of the collection.
void RefineVerb(RequestInfo& info, const http::Query& query) {
  if (info.name.empty() && info.verb == "get") {
    std::string_view watch = query.Get("watch");
    bool watching = query.Has("watch") && watch != "false" && watch != "0" && watch != "False" && watch != "f" && watch != "F" &&
                    watch != "FALSE";
    info.verb = watching ? "watch" : "list";
    if (query.Has("fieldSelector")) info.name = NameInFieldSelector(query.Get("fieldSelector"));
  } else if (info.name.empty() && info.verb == "delete") {
    info.verb = "deletecollection";
  }
  if (info.verb != "list" && info.verb != "watch" && info.verb != "deletecollection") return;
  info.field_selector = query.Get("fieldSelector");
  info.label_selector = query.Get("labelSelector");
}

}  // namespace

RequestInfo ParseRequestInfo(std::string_view method, std::string_view decoded_path, const http::Query& query) {
  RequestInfo info;
  info.path = decoded_path;
  info.verb = LowerCase(method);
  std::vector<std::string> parts = SplitPath(decoded_path);
  if (parts.size() < 3) return info;
  if (parts[0] != "api" && parts[0] != "apis") return info;
  info.prefix = parts[0];
  size_t used = 1;
  if (info.prefix == "apis") {
    if (parts.size() < 4) return info;
    info.group = parts[used++];
  }
  info.version = parts[used++];
  parts.erase(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(used));
  info.resource_request = true;
  info.verb = VerbOfMethod(method);

  // The deprecated form /watch/… in front of the resource, and /proxy/….
  if (parts[0] == "watch" || parts[0] == "proxy") {
    if (parts.size() < 2) {
      info.resource_request = false;
      info.verb = LowerCase(method);
      return info;
    }
    if (parts[0] == "watch") info.verb = "watch"; else info.verb = "proxy";
    parts.erase(parts.begin());
  }
  FillResource(info, std::move(parts));
  if (info.verb == "watch") return info;
  RefineVerb(info, query);
  return info;
}

}  // namespace homeostat::server
