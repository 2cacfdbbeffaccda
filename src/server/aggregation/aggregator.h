// Aggregator: other API servers behind this one. Requests for a group version whose APIService names a service go to that
// service, under the name of who sent them; whether it can be asked is looked after in the APIService's status; APIServices
// for what this server itself serves are made without being asked for.
// Source: kube-aggregator (proxy handler, availability controllers, discovery manager, autoregister controller).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "server/aggregation/api_services.h"
#include "server/aggregation/extension_server.h"
#include "server/api_server.h"

namespace homeostat::server {

struct AggregatorOptions {
  ProxyIdentity identity;
  // The authority of that certificate (PEM) and the names in it: what extension servers are told when the first is to be asked. Without
  // an authority they are told nothing.
  std::string identity_authority;
  std::vector<std::string> identity_names;
  std::string loopback;  // host:port of this server, for services that lead back to it
};

// Loop only. The server must outlive it, and it the requests.
class Aggregator {
 public:
  // Writes through `transport`. Diverts the server's requests from the moment it is made.
  Aggregator(ApiServer& server, std::shared_ptr<http::Handler> transport, AggregatorOptions options);
  ~Aggregator();

  // Looks after what is stored, and what comes. Call once, when the cache is loaded.
  void Start();

  const ApiServices& services() const { return services_; }
  // Null where this server itself answers, or nobody does.
  std::shared_ptr<ExtensionServer> Find(const std::string& name) const;
  // Every extension server; by the names of their APIServices.
  const std::map<std::string, std::shared_ptr<ExtensionServer>, std::less<>>& extensions() const { return extensions_; }
  // Passes a request on to an extension server, as it is.
  Task<http::Response> Pass(std::shared_ptr<ExtensionServer> extension, const PathRequest& request);
  // Counts up when groups or what extension servers say of themselves changes.
  uint64_t generation() const;

 private:
  std::optional<Task<http::Response>> Divert(const PathRequest& request);
  void Observe(const std::string& name, const std::shared_ptr<const ApiService>& now);
  void ObserveServices(std::string_view resource, const cache::WatchEvent& event);
  void PokeFor(std::string_view ns, std::string_view service);
  // Looks after one extension server until it is closed.
  Task<void> Follow(std::shared_ptr<ExtensionServer> extension);
  Task<Availability> Judge(std::shared_ptr<ExtensionServer> extension);
  static Task<Availability> Probe(std::shared_ptr<ExtensionServer> extension);
  Task<void> ProbeInto(std::shared_ptr<ExtensionServer> extension, std::shared_ptr<std::optional<Availability>> verdict);
  Task<bool> WriteCondition(std::string name, Availability available);
  Task<void> WriteLocal(std::string name);
  // Says in kube-system/extension-apiserver-authentication how extension servers know requests that are passed on.
  Task<void> PublishIdentity();
  // Makes, mends and removes the APIServices of custom kinds' groups.
  void MarkGroup(std::string_view group);
  Task<void> RegisterGroups();
  Task<bool> RegisterGroup(std::string group);
  Task<int> Send(std::string method, std::string path, std::string body);

  ApiServer& server_;
  Parts& parts_;
  std::shared_ptr<http::Handler> transport_;
  const AggregatorOptions options_;
  ApiServices services_;
  std::map<std::string, std::shared_ptr<ExtensionServer>, std::less<>> extensions_;
  uint64_t changes_ = 0;
  std::set<std::string, std::less<>> marked_;  // groups to be looked at
  bool registering_ = false, published_ = false;
  TaskGroup group_;
};

}  // namespace homeostat::server
