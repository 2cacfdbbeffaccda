// One look at a container: a command in it, an HTTP or gRPC request to it, a connection to one of its ports. Used by
// probes and by lifecycle hooks.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "node/cri.h"
#include "node/pod_spec.h"

namespace homeostat::node {

struct ExecCheck {
  std::vector<std::string> command;
};
struct HttpCheck {
  std::string scheme = "http", host, path;   // host: an address or name, without brackets
  int32_t port = 0;
  std::vector<std::pair<std::string, std::string>> headers;
};
struct TcpCheck {
  std::string host;
  int32_t port = 0;
};
struct GrpcCheck {
  std::string host, service;
  int32_t port = 0;
};
using Check = std::variant<ExecCheck, HttpCheck, TcpCheck, GrpcCheck>;

// Pure: what a probe or hook asks for. The error is for ports that name nothing.
Result<Check> ProbeCheck(core::Probe probe, core::Container container, std::string_view pod_ip);
Result<Check> HttpHookCheck(core::HTTPGetAction action, core::Container container, std::string_view pod_ip);

struct CheckResult {
  enum class Kind : uint8_t { kSuccess, kWarning, kFailure };
  Kind kind = Kind::kSuccess;
  std::string output;     // at most 10 KiB
};

// An error is for checks that could not be made at all. Ends after the timeout at the latest (0: none, for hooks).
Task<Result<CheckResult>> RunCheck(Runtime& runtime, cri::Cri& cri, std::string container_id, Check check, Duration timeout);

// The URL as messages show it.
std::string ShownUrl(const HttpCheck& check);

namespace internal {
// grpc.health.v1 Check; in a file of its own, as gRPC's headers stay out of the others.
Task<CheckResult> RunGrpcCheck(Runtime& runtime, GrpcCheck check, Duration timeout);
}  // namespace internal

}  // namespace homeostat::node
