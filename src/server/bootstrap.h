// Bootstrap: the objects every cluster has from its first moment: namespaces, RBAC's roles and bindings, flow control,
// priority classes, the Service of the API itself. What is missing is made again at each start, and what was taken from roles or flow
// control comes back (bootstrap_repair.h); everything else stays as it is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cache/cache.h"
#include "homeostat/base/http.h"
#include "homeostat/base/log.h"
#include "homeostat/base/runtime.h"
#include "homeostat/schema/defaults.h"
#include "server/resources.h"

namespace homeostat::server {

struct BootstrapOptions {
  std::string service_cidr;
  std::string advertise_address;
  uint16_t advertise_port = 6443;
  std::string authority_certificate;     // PEM
  Logger log;
};

// Loop only. All must outlive it, and what it is given must do so as long as the cache tells of changes.
class Bootstrap {
 public:
  // Writes through `transport`, as the server's own user.
  Bootstrap(Runtime& runtime, cache::Cache& cache, const Resources& resources, const schema::Defaults& defaults,
            std::shared_ptr<http::Handler> transport, BootstrapOptions options);

  // Makes what is missing and repairs what was changed, once.
  Task<Result<void>> MakeAll();
  // From now on what must always be there comes back some seconds after it went: namespaces, the Service of the API, its range of
  // addresses, flow control.
  void Keep();

 private:
  struct Item {
    const Resource* resource;
    std::string collection, name, key, body;
    bool watched = false;   // it is going to be looked at
  };

  Result<void> AddItems(std::string_view text);
  Task<Result<void>> EnsureFrom(size_t first);
  Task<Result<void>> Ensure(size_t index);
  Task<void> EnsureLater(size_t index);
  Task<Result<void>> SayRangeIsReady();
  Task<Result<http::Response>> Send(std::string method, std::string path, std::string body, std::string content);

  Runtime& runtime_;
  cache::Cache& cache_;
  const Resources& resources_;
  const schema::Defaults& defaults_;
  std::shared_ptr<http::Handler> transport_;
  BootstrapOptions options_;
  std::vector<Item> items_;
  std::map<std::string, size_t, std::less<>> kept_;   // of items_, by key
  TaskGroup group_;
};

// The first address of a range, which is the API server's own: 10.96.0.1 of 10.96.0.0/16.
Result<std::string> FirstServiceAddress(std::string_view cidr);

}  // namespace homeostat::server
