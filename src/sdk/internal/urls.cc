#include "sdk/internal/urls.h"

#include "homeostat/base/http.h"

namespace homeostat::sdk {

std::string ResourcePath(const schema::Kind& kind, std::string_view ns, std::string_view name, std::string_view subresource) {
  std::string path = kind.gvk.group.empty() ? "/api/" : "/apis/";
  path += kind.gvk.ApiVersion();
  if (kind.namespaced && !ns.empty()) path.append("/namespaces/").append(http::PercentEncode(ns));
  path.append("/").append(kind.plural);
  if (!name.empty()) path.append("/").append(http::PercentEncode(name));
  if (!subresource.empty()) path.append("/").append(subresource);
  return path;
}

}  // namespace homeostat::sdk
