// Event: what the audit log says of a request at one stage, as a line of JSON.
//
// Source of the shape: audit.k8s.io/v1 Event.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "homeostat/base/runtime.h"
#include "kinds/user.h"
#include "server/audit/policy.h"

namespace homeostat::server::audit {

// What a request is about.
struct ObjectReference {
  std::string resource, ns, name, uid, group, version, resource_version, subresource;
};

struct Event {
  Level level = Level::kNone;
  std::string id;
  Stage stage = Stage::kRequestReceived;
  std::string uri, verb;
  User user;
  std::optional<User> impersonated;
  std::vector<std::string> source_addresses;
  std::string user_agent;
  std::optional<ObjectReference> object;
  // JSON; empty: nothing is known. The status without kind and apiVersion.
  std::string response_status, request_object, response_object;
  WallTime received, stage_time;
  std::map<std::string, std::string> annotations;
};

// One line, its end included.
std::string ToLine(const Event& event);

// The addresses that a request came from: those that proxies name, then the peer's unless it is the last of them.
std::vector<std::string> SourceAddresses(std::string_view forwarded_for, std::string_view real_ip, std::string_view peer);

}  // namespace homeostat::server::audit
