#include "server/request_deadline.h"

#include <algorithm>

#include "homeostat/object/time.h"

namespace homeostat::server {
namespace {

constexpr Duration kLongestWrite = std::chrono::seconds(34);

bool IsWrite(std::string_view verb) {
  return verb == "create" || verb == "update" || verb == "patch" || verb == "delete" || verb == "deletecollection";
}

}  // namespace

bool IsLongRunning(const RequestInfo& info) {
  return info.verb == "watch" || info.subresource == "exec" || info.subresource == "attach" || info.subresource == "log" ||
         info.subresource == "portforward" || info.subresource == "proxy";
}

Result<std::optional<Duration>> TimeAllowed(const RequestInfo& info, const http::Query& query) {
  if (IsLongRunning(info)) return std::nullopt;
  Duration limit = kLongestWrite;
  if (std::string_view asked = query.Get("timeout"); !asked.empty()) {
    auto parsed = object::ParseDuration(asked);
    if (!parsed) return Fail(BadRequestError("invalid timeout specified in the request URL - " + parsed.error().message()));
    if (*parsed > Duration::zero()) limit = std::min(limit, *parsed);
  }
  if (!info.resource_request || !IsWrite(info.verb)) return std::nullopt;
  return limit;
}

Task<Result<http::Response>> AnswerWithin(Runtime& runtime, Duration limit, Task<Result<http::Response>> answer) {
  auto within = Within(runtime, limit, std::move(answer));
  std::optional<Result<http::Response>> answered = co_await std::move(within);
  if (!answered) co_return Fail(TimeoutError("request did not complete within requested timeout - context deadline exceeded"));
  co_return *std::move(answered);
}

}  // namespace homeostat::server
