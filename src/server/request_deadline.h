// How long a request may take before it is given up.
//
// Source of the rules and texts: apiserver's endpoints/filters (request_deadline.go) and endpoints/handlers (requestTimeoutUpperBound).
#pragma once

#include <optional>

#include "homeostat/base/runtime.h"
#include "server/context.h"

namespace homeostat::server {

// A watch or a stream: it lasts as long as somebody wants it, and counts for no limit.
bool IsLongRunning(const RequestInfo& info);

// What a write may take, webhooks that it waits for included; nullopt: this request has no limit, as all that is read is at hand.
// 400 for a parameter `timeout` that is no duration.
Result<std::optional<Duration>> TimeAllowed(const RequestInfo& info, const http::Query& query);

// Awaits what a verb answers, at most that long: 504 then, and the verb's task is destroyed.
Task<Result<http::Response>> AnswerWithin(Runtime& runtime, Duration limit, Task<Result<http::Response>> answer);

}  // namespace homeostat::server
