// Everything the server answers for a resource that is not one of the eight verbs on a stored object.
#pragma once

#include "auth/rbac.h"
#include "auth/service_account_tokens.h"
#include "auth/static_tokens.h"
#include "server/api_server.h"

namespace homeostat::server {

// What is wrong with a part of the program; nullopt: nothing.
using HealthFunction = std::function<std::optional<std::string>()>;

struct SubresourceParts {
  auth::ServiceAccountTokens& tokens;
  const auth::StaticTokens& static_tokens;
  auth::RuleResolver& rules;
  auth::Authorizer& authorizer;
  HealthFunction store_health;
};

void ServeSubresources(ApiServer& server, SubresourceParts parts);

// One function per file of this folder.
void ServeScale(ApiServer& server);
void ServeBinding(ApiServer& server);
void ServeEviction(ApiServer& server);
void ServeTokenRequest(ApiServer& server, SubresourceParts parts);
void ServeAccessReviews(ApiServer& server, SubresourceParts parts);
void ServeIdentityReviews(ApiServer& server, SubresourceParts parts);
void ServeComponentStatuses(ApiServer& server, HealthFunction store_health);

// The HTTP API of a node by its name, as upstream's kubelet serves it (/containerLogs, /exec, /attach, /portForward); null
// for a node that has none or can't be reached. Handlers must outlive the requests they serve.
using NodeHandlers = std::function<http::Handler*(const std::string& node)>;
// HTTP to nodes, pods and services (…/proxy/…). Without nodes those of nodes answer 503; may be called again.
void ServeProxies(ApiServer& server, NodeHandlers nodes);
// log, exec, attach and portforward of Pods, and the proxy to nodes. May be called at any time; until then the former answer 405.
void ServeNodeStreams(ApiServer& server, NodeHandlers nodes);

}  // namespace homeostat::server
