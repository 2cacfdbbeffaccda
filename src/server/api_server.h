// ApiServer: a request becomes an answer. The chain is upstream's, in its order: who is it (authentication,
// impersonation), may they (limits, authorization), then the path or the resource's verb.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/authenticator.h"
#include "auth/authorizer.h"
#include "homeostat/base/http.h"
#include "homeostat/base/metrics.h"
#include "server/context.h"
#include "server/flow_control/flow_control.h"

namespace homeostat::server {
namespace audit {
class Audit;
}

// Answers a path that is no resource (/healthz, /openapi/v2, /apis …). Registered for an exact path or, with a trailing
// slash, for everything below it.
struct PathRequest {
  const http::Request& request;
  const RequestInfo& info;
  const http::Query& query;
  const User& user;
  MediaTypeOptions output;
  std::string_view audit_id = {};
};
using PathHandler = std::function<Task<http::Response>(const PathRequest&)>;
// For handlers that have nothing to wait for.
Task<http::Response> AnswerNow(http::Response response);

// Answers a subresource that is no part of the object (binding, eviction, token, log, exec …), or a whole kind that is
// never stored (reviews). Called with everything a verb has.
using ResourceHandler = std::function<Task<Result<http::Response>>(RequestContext&)>;

// Asked before anybody here: a task where another server answers the request, whatever it is for.
using Diversion = std::function<std::optional<Task<http::Response>>(const PathRequest&)>;

struct ApiServerOptions {
  int max_requests = 400;           // in flight, reading; upstream's default
  int max_mutating_requests = 200;
  bool anonymous = true;
};

// Loop only. Must outlive every request.
class ApiServer : public http::Handler {
 public:
  ApiServer(Parts parts, std::vector<auth::Authenticator*> authenticators, ApiServerOptions options = {});
  ~ApiServer() override;

  void HandlePath(std::string path, PathHandler handler);
  // "" as subresource: the kind itself, for the verbs named ("create", "get" …; "*": all).
  void HandleResource(std::string group, std::string plural, std::string subresource, std::string verb, ResourceHandler handler);

  // A request from a socket: who it is from is found out.
  Task<http::Response> Handle(http::Request request) override;
  // A request from within the process, as that user; impersonation, authorization, admission follow as for any other.
  Task<http::Response> HandleAs(User user, http::Request request);
  // A transport for SDK clients of this process.
  std::shared_ptr<http::Handler> InProcess(User user);

  // The audit log is told of requests from now on. Must outlive the server.
  void RecordWith(audit::Audit& audit);
  // Requests that are allowed are shown to `diversion` first.
  void DivertBy(Diversion diversion);
  // From now on requests wait their turn there, instead of being refused beyond the limits of the options. Must outlive the server.
  void LimitWith(FlowControl& flow_control);

  // Requests, and what they ask of the store, are counted in this registry, which must outlive the server, from now on.
  void CountInto(MetricsRegistry& registry);

  Parts& parts();
  // Paths that are served, for the index at /.
  std::vector<std::string> Paths() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace homeostat::server
