// Health: /livez, /readyz and /healthz, each a list of named checks, and /version. Open to anyone.
// Source: upstream's server/healthz; names of checks that clients look for are its own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/api_server.h"

namespace homeostat::server {

// One check: nullopt when well, else why not (shown in the log, not to strangers).
struct HealthCheck {
  std::string name;
  std::function<std::optional<std::string>()> check;
  bool live = true, ready = true;       // which of /livez and /readyz it belongs to; /healthz has the live ones
};

// Registers the three, each with verbose, exclude and one path per check.
void ServeHealth(ApiServer& server, std::vector<HealthCheck> checks);

// What /version tells.
struct VersionInfo {
  std::string git_version;              // v1.36.3+homeostat.1
  std::string git_commit;
  std::string build_date;               // RFC 3339
};
void ServeVersion(ApiServer& server, VersionInfo version);

// /debug/api_priority_and_fairness/dump_…, which flow control must outlive.
void ServeFlowControlDumps(ApiServer& server, const FlowControl& flow_control);

// / lists every path; call it after all others are registered.
void ServeIndex(ApiServer& server);

}  // namespace homeostat::server
