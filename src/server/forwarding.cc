#include "server/forwarding.h"

#include <algorithm>
#include <cctype>
#include <memory>

#include "homeostat/base/text.h"
#include "http/splice.h"

namespace homeostat::server {
namespace {

// Fields that belong to one connection, or to this server alone.
bool StaysHere(const std::string& lower, const http::Request& request) {
  static constexpr std::string_view kNames[] = {"connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
                                                "te", "trailer", "transfer-encoding", "upgrade", "content-length", "authorization"};
  if (std::ranges::find(kNames, lower) != std::end(kNames) || lower.starts_with("impersonate-") || lower.starts_with(':')) return true;
  for (std::string_view line : request.headers.GetAll("Connection")) {
    std::string options = "," + LowerCase(line) + ",";
    std::erase(options, ' ');
    if (options.find("," + lower + ",") != std::string::npos) return true;
  }
  return false;
}

std::string HostOf(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  return host.size() > 2 && host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

std::string WantedUpgrade(const http::Request& request) {
  for (std::string_view line : request.headers.GetAll("Connection")) {
    if (LowerCase(line).find("upgrade") != std::string::npos) return std::string(request.headers.Get("Upgrade"));
  }
  return "";
}

http::Request ForwardedRequest(const http::Request& original, std::string path) {
  http::Request request;
  request.method = original.method;
  request.path = std::move(path);
  request.query = original.query;
  request.body = original.body;
  for (const auto& [name, value] : original.headers.lines()) {
    if (!StaysHere(LowerCase(name), original)) request.headers.Add(name, value);
  }
  if (!original.remote_address.empty()) {
    std::string chain(original.headers.Get("X-Forwarded-For"));
    request.headers.Set("X-Forwarded-For", chain + (chain.empty() ? "" : ", ") + HostOf(original.remote_address));
  }
  std::string upgrade = WantedUpgrade(original);
  if (!upgrade.empty()) {
    request.headers.Set("Connection", "Upgrade");
    request.headers.Set("Upgrade", upgrade);
  }
  return request;
}

void RemoveConnectionFields(http::Response& response) {
  for (std::string_view name : {"Connection", "Keep-Alive", "Proxy-Authenticate", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
                                "Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
                                "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Max-Age"}) {
    response.headers.Remove(name);
  }
}

Task<Result<http::Response>> ForwardUpgrade(Runtime& runtime, http::ClientOptions options, http::Request request) {
  options.http2 = false;
  http::Client client(runtime, std::move(options));
  std::string protocol(request.headers.Get("Upgrade"));
  auto call = client.Upgrade(std::move(request));
  CO_TRY_ASSIGN(auto upgraded, co_await std::move(call));
  if (!upgraded.stream) {
    if (upgraded.response.code >= 400) co_return std::move(upgraded.response);
    co_return Fail(Status(500, "", "invalid upgrade response: status code " + std::to_string(upgraded.response.code)));
  }
  http::Response response = std::move(upgraded.response);
  response.code = 101;
  response.upgrade = protocol;
  response.headers.Remove("Connection");
  response.headers.Remove("Upgrade");
  response.on_stream = [&runtime, back = std::move(upgraded.stream)](std::unique_ptr<Stream> front) mutable {
    return http::Splice(runtime, std::move(front), std::move(back));
  };
  co_return response;
}

}  // namespace homeostat::server
