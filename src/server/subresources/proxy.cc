// nodes/NAME/proxy, pods/NAME/proxy and services/NAME/proxy: HTTP passed on to what the name means, upgrades included.
// Source: apimachinery/pkg/util/proxy (the upgrade-aware handler and its rewriting transport).
#include <algorithm>
#include <utility>

#include "homeostat/base/text.h"
#include "http/client.h"
#include "server/admission_requests.h"
#include "server/forwarding.h"
#include "server/subresources/proxy_html.h"
#include "server/subresources/proxy_rewrite.h"
#include "server/subresources/proxy_target.h"
#include "server/subresources/subresources.h"

namespace homeostat::server {
namespace {

constexpr Duration kConnectTime = std::chrono::seconds(30);
constexpr size_t kLargestPage = 4 << 20;

// The path below …/proxy, decoded; "" when the URL ends there.
std::string PathBelow(const RequestInfo& info) {
  std::string path;
  for (size_t i = 3; i < info.parts.size(); ++i) path += "/" + info.parts[i];
  if (info.path.ends_with('/') && !path.ends_with('/')) path += "/";
  return path;
}

// As Go writes a path: what has a meaning in one stays.
std::string EncodePath(std::string_view path) { return http::PercentEncode(path, "$&+,/:;=@"); }

http::Request Forwarded(const RequestContext& context, const std::string& path, const std::string& prefix) {
  http::Request request = ForwardedRequest(context.request, path.empty() ? "/" : EncodePath(path));
  request.headers.Set("X-Forwarded-Uri", EncodePath(prefix) + request.path);
  return request;
}

Result<void> CheckConnect(RequestContext& context) {
  if (context.request.body_too_large) return Fail(RequestTooLargeError("limit is 3145728"));
  return {};
}

http::ClientOptions OptionsFor(RequestContext& context, const ProxyTarget& target) {
  http::ClientOptions options;
  options.address = target.Authority();
  options.connect_time = kConnectTime;
  if (target.tls) {
    // Pods have certificates of nobody's authority.
    TlsClientOptions tls;
    tls.insecure_skip_verify = true;
    tls.server_name = target.host;
    tls.clock = &context.runtime();
    options.tls = tls;
  }
  return options;
}

Status Unreachable(const Status& error) { return ServiceUnavailableError("error trying to reach service: " + error.message()); }

Task<Result<http::Response>> PassUpgrade(RequestContext& context, const ProxyTarget& target, http::Request request) {
  auto pass = ForwardUpgrade(context.runtime(), OptionsFor(context, target), std::move(request));
  auto answer = co_await std::move(pass);
  if (!answer && answer.error().code() != 500) co_return Fail(Unreachable(answer.error()));
  co_return answer;
}

Task<Result<http::Response>> PassRequest(RequestContext& context, const ProxyTarget& target, http::Request request) {
  http::Client client(context.runtime(), OptionsFor(context, target));
  auto call = client.Do(std::move(request));
  auto answer = co_await std::move(call);
  if (!answer) co_return Fail(Unreachable(answer.error()));
  co_return *std::move(answer);
}

Task<Result<http::Response>> AskNode(const NodeHandlers& nodes, std::string node, http::Request request) {
  http::Handler* handler = nodes ? nodes(node) : nullptr;
  if (handler == nullptr) {
    co_return Fail(ServiceUnavailableError("error trying to reach service: node " + GoQuote(node) + " serves no API"));
  }
  auto ask = handler->Handle(std::move(request));
  co_return co_await std::move(ask);
}

// A body that begins with what was read of it already.
class Continued : public http::BodyReader {
 public:
  Continued(Bytes read, std::unique_ptr<http::BodyReader> rest) : read_(std::move(read)), rest_(std::move(rest)) {}
  Task<Result<Bytes>> Read() override {
    if (!read_.empty()) co_return std::exchange(read_, Bytes());
    auto read = rest_->Read();
    co_return co_await std::move(read);
  }

 private:
  Bytes read_;
  std::unique_ptr<http::BodyReader> rest_;
};

bool IsPlainPage(const http::Response& response) {
  std::string_view type = response.headers.Get("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type == "text/html" && response.headers.Get("Content-Encoding").empty();
}

// A page with its links led through the proxy; one that is too large goes on as it is.
Task<Result<http::Response>> RewritePage(ProxyPlace place, http::Response response) {
  std::string page;
  for (const Bytes& part : response.body) page += std::string_view(part);
  while (response.stream && page.size() <= kLargestPage) {
    auto read = response.stream->Read();
    CO_TRY_ASSIGN(Bytes piece, co_await std::move(read));
    if (piece.empty()) response.stream.reset(); else page += std::string_view(piece);
  }
  if (response.stream) {
    response.body.clear();
    response.stream = std::make_unique<Continued>(Bytes(std::move(page)), std::move(response.stream));
    co_return response;
  }
  response.headers.Remove("Content-Length");
  response.body.clear();
  response.body.emplace_back(RewriteHtmlLinks(page, [&place](std::string_view link) { return RewriteLink(place, link); }));
  co_return response;
}

http::Response RedirectToSlash(const RequestContext& context) {
  http::Response response;
  response.code = 301;
  std::string location = context.request.path + "/";
  if (!context.request.query.empty()) location += "?" + context.request.query;
  response.headers.Set("Location", location);
  return response;
}

Task<Result<http::Response>> Proxy(std::shared_ptr<const NodeHandlers> nodes, RequestContext& context) {
  CO_TRY(CheckConnect(context));
  auto admit = AdmitConnect(context, PathBelow(context.info));
  CO_TRY(co_await std::move(admit));
  CO_TRY_ASSIGN(ProxyTarget target, FindProxyTarget(context));
  std::string path = PathBelow(context.info);
  std::string upgrade = WantedUpgrade(context.request);
  const std::string& method = context.request.method;
  if (path.empty() && upgrade.empty() && (method == "GET" || method == "HEAD")) co_return RedirectToSlash(context);
  std::string prefix = context.info.path.substr(0, context.info.path.size() - path.size());
  http::Request request = Forwarded(context, path, prefix);
  if (!target.node.empty()) {
    auto ask = AskNode(*nodes, target.node, std::move(request));
    co_return co_await std::move(ask);
  }
  if (!upgrade.empty()) {
    auto pass = PassUpgrade(context, target, std::move(request));
    co_return co_await std::move(pass);
  }
  ProxyPlace place{prefix, target.Authority(), std::string(context.request.headers.Get("Host")), target.tls};
  auto pass = PassRequest(context, target, std::move(request));
  CO_TRY_ASSIGN(http::Response response, co_await std::move(pass));
  bool redirects = response.headers.Has("Location");
  RewriteResponseHeaders(place, response);
  if (redirects || method == "HEAD" || !IsPlainPage(response)) co_return response;
  auto rewrite = RewritePage(std::move(place), std::move(response));
  co_return co_await std::move(rewrite);
}

}  // namespace

void ServeProxies(ApiServer& server, NodeHandlers nodes) {
  auto shared = std::make_shared<const NodeHandlers>(std::move(nodes));
  for (std::string_view resource : {"nodes", "pods", "services"}) {
    server.HandleResource("", std::string(resource), "proxy", "*",
                          [shared](RequestContext& context) { return Proxy(shared, context); });
  }
}

}  // namespace homeostat::server
