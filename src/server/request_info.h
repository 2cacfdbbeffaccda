// RequestInfo: what a URL and a method ask for, before anything is looked up. The rules are upstream's
// (apiserver/pkg/endpoints/request), so that authorization sees the same attributes for the same request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "homeostat/base/http.h"

namespace homeostat::server {

struct RequestInfo {
  bool resource_request = false;
  std::string path;                     // percent-decoded
  std::string verb;                     // get list watch create update patch delete deletecollection; for paths the method in lower case
  std::string prefix;                   // "api" or "apis"
  std::string group, version;
  std::string ns;                       // of the object, also for the Namespace object itself
  bool below_namespace = false;         // the resource stands after namespaces/NAME
  std::string resource, subresource, name;
  std::vector<std::string> parts;       // from the resource on
  std::string field_selector, label_selector;  // of list, watch and deletecollection, as they were sent
};

// decoded_path starts with a slash. method is HTTP's.
RequestInfo ParseRequestInfo(std::string_view method, std::string_view decoded_path, const http::Query& query);

}  // namespace homeostat::server
