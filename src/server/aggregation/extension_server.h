// ExtensionServer: the service behind one APIService: how it is asked, and what it has said of itself.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "homeostat/base/http.h"
#include "homeostat/base/runtime.h"
#include "http/client.h"
#include "kinds/behaviour.h"
#include "kinds/user.h"
#include "server/aggregation/api_service.h"

namespace homeostat::server {

// Who this server is to extension servers, PEM; empty: it doesn't say.
struct ProxyIdentity {
  std::string certificate, private_key;
};

// What an extension server said of itself.
struct RemoteDocuments {
  std::string resources;        // of its group version, the JSON list that aggregated discovery shows
  bool stale = true;            // it could not be asked, lately
  std::string group_openapi;    // where it serves the document of its group version, /openapi/v3/…?hash=…; "" if it has none
  std::string openapi_v2;       // what of its document of version 2 is about its group version, JSON; "" if it has none
};

// Loop only. Runtime and objects must outlive it and the tasks it returned, which must not outlive it.
class ExtensionServer {
 public:
  ExtensionServer(Runtime& runtime, const kinds::ObjectReader& objects, std::string loopback, std::shared_ptr<const ApiService> service,
                  const ProxyIdentity& identity);

  const ApiService& service() const { return *service_; }
  // The same spec with another state.
  void SetService(std::shared_ptr<const ApiService> service) { service_ = std::move(service); }
  // What was last found out about it, which its condition should say.
  const Availability& verdict() const { return verdict_; }
  void SetVerdict(Availability verdict) { verdict_ = std::move(verdict); }

  // Why it can't be asked at all: TLS options that are none.
  const std::optional<Status>& fault() const { return fault_; }
  // host:port of an endpoint.
  Result<std::string> Locate() const;
  // Passes a request on to that endpoint. Errors of the connection as http::Client has them.
  Task<Result<http::Response>> Ask(std::string authority, http::Request request);
  // The same for a request that wants to change the protocol.
  Task<Result<http::Response>> AskForUpgrade(std::string authority, http::Request request);
  // A document, as one of the server's own users; a body larger than `limit` is an error.
  struct Fetched {
    int code = 0;
    http::Headers headers;
    std::string body;
  };
  Task<Result<Fetched>> Fetch(std::string path, http::Headers headers, User user, Duration limit_of_time, size_t limit);

  // Discovery and OpenAPI as the server has them now. Errors leave what was known and mark it stale.
  Task<void> RefreshDocuments();
  void MarkStale();
  const RemoteDocuments& documents() const { return documents_; }
  // Counts up when the documents change.
  uint64_t generation() const { return generation_; }

  // --- for its follower (aggregator.cc)
  Signal& poked() { return poked_; }
  void Poke() {
    ++pokes_;
    poked_.Notify();
  }
  uint64_t pokes() const { return pokes_; }
  bool closed() const { return closed_; }
  void Close() {
    closed_ = true;
    Poke();
  }

 private:
  http::ClientOptions OptionsFor(const std::string& authority) const;
  Task<Result<std::string>> FetchResources();
  Task<void> RefreshOpenApi();
  void Change(std::string RemoteDocuments::*field, std::string value);

  Runtime& runtime_;
  const kinds::ObjectReader& objects_;
  const std::string loopback_;
  std::shared_ptr<const ApiService> service_;
  TlsClientOptions tls_;
  std::optional<Status> fault_;
  Availability verdict_;
  std::map<std::string, std::shared_ptr<http::Client>> clients_;  // by authority
  RemoteDocuments documents_;
  std::string v2_tag_;
  uint64_t generation_ = 1, pokes_ = 0;
  bool closed_ = false;
  Signal poked_;
};

// Says in the request who asks, in place of what the client may have said. Source: client-go/transport (SetAuthProxyHeaders).
void SetIdentity(http::Request& request, const User& user);

}  // namespace homeostat::server
