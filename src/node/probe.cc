#include "node/probe.h"

#include "homeostat/base/host_port.h"
#include "homeostat/base/http.h"
#include "homeostat/base/net.h"
#include "homeostat/object/ip.h"
#include "http/client.h"
#include "node/errors.h"
#include "node/values.h"

namespace homeostat::node {

namespace {

constexpr size_t kMostOutput = 10 * 1024;
constexpr int kMostRedirects = 10;
constexpr Duration kNoTimeout = std::chrono::hours(24);

std::string Capped(std::string text) {
  if (text.size() > kMostOutput) text.resize(kMostOutput);
  return text;
}

CheckResult Failed(std::string output) { return {CheckResult::Kind::kFailure, Capped(std::move(output))}; }

std::string_view HostOr(std::string_view host, std::string_view pod_ip) { return host.empty() ? pod_ip : host; }

// The host and port a redirect leads to, and its path. False if it leads to another host, or is no HTTP URL.
bool FollowRedirect(std::string_view location, HttpCheck& check) {
  if (location.starts_with("/") && !location.starts_with("//")) {
    check.path = location;
    return true;
  }
  size_t scheme_end = location.find("://");
  if (scheme_end == std::string_view::npos) return false;
  std::string_view scheme = location.substr(0, scheme_end), rest = location.substr(scheme_end + 3);
  size_t path_at = rest.find('/');
  std::string_view authority = rest.substr(0, path_at);
  std::string default_port = scheme == "https" ? ":443" : ":80";
  std::string target(authority);
  if (target.rfind(':') == std::string::npos || target.ends_with(']')) target += default_port;
  size_t colon = target.rfind(':');
  std::string host = target.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host != check.host || (scheme != "http" && scheme != "https")) return false;
  check.scheme = scheme;
  check.port = std::atoi(target.substr(colon + 1).c_str());
  check.path = path_at == std::string_view::npos ? "/" : std::string(rest.substr(path_at));
  return true;
}

http::Request MakeRequest(const HttpCheck& check) {
  http::Request request;
  size_t question = check.path.find('?');
  request.path = check.path.substr(0, question);
  if (!request.path.starts_with('/')) request.path = "/" + request.path;
  if (question != std::string::npos) request.query = check.path.substr(question + 1);
  for (const auto& [name, value] : check.headers) request.headers.Add(name, value);
  if (!request.headers.Has("User-Agent")) request.headers.Set("User-Agent", "kube-probe/1.36");
  if (!request.headers.Has("Accept")) request.headers.Set("Accept", "*/*");
  request.headers.Set("Connection", "close");
  return request;
}

struct HttpAnswer {
  int code = 0;
  std::string location, body;
};

Task<Result<HttpAnswer>> AskOnce(Runtime& runtime, HttpCheck check) {
  http::ClientOptions options;
  options.address = JoinHostPort(check.host, check.port);
  options.http2 = false;
  if (check.scheme == "https") {
    // A probe asks whether it answers, not who it is.
    options.tls = TlsClientOptions{.server_name = check.host, .insecure_skip_verify = true};
  }
  http::Client client(runtime, std::move(options));
  http::Request request = MakeRequest(check);
  auto call = client.Do(std::move(request));
  CO_TRY_ASSIGN(http::Response response, co_await std::move(call));
  HttpAnswer answer;
  answer.code = response.code;
  answer.location = response.headers.Get("Location");
  auto read = http::ReadAll(std::move(response), kMostOutput);
  // A longer body is cut off; what counts is the code.
  Result<Bytes> body = co_await std::move(read);
  if (body) answer.body = body->str();
  co_return answer;
}

Task<CheckResult> RunHttp(Runtime& runtime, HttpCheck check) {
  std::string first_url = ShownUrl(check);
  for (int redirects = 0;; ++redirects) {
    auto ask = AskOnce(runtime, check);
    Result<HttpAnswer> answer = co_await std::move(ask);
    if (!answer) co_return Failed("Get \"" + first_url + "\": " + answer.error().message());
    bool redirect = answer->code >= 300 && answer->code < 400 && answer->code != 304 && !answer->location.empty();
    if (redirect && redirects >= kMostRedirects) co_return Failed("Get \"" + first_url + "\": stopped after 10 redirects");
    if (redirect && FollowRedirect(answer->location, check)) continue;
    if (redirect) {
      co_return CheckResult{CheckResult::Kind::kWarning, "Probe terminated redirects, Response body: " + answer->body};
    }
    if (answer->code >= 200 && answer->code < 400) co_return CheckResult{CheckResult::Kind::kSuccess, answer->body};
    co_return Failed("HTTP probe failed with statuscode: " + std::to_string(answer->code));
  }
}

Task<CheckResult> RunTcp(Runtime& runtime, TcpCheck check) {
  std::string address = JoinHostPort(check.host, check.port);
  auto connect = runtime.network().Connect(address);
  Result<std::unique_ptr<Stream>> stream = co_await std::move(connect);
  if (!stream) co_return Failed(stream.error().message());
  co_return CheckResult{};
}

std::string ShownCommand(const std::vector<std::string>& command) {
  std::string out;
  for (const std::string& word : command) out += (out.empty() ? "" : " ") + word;
  return "\"" + out + "\"";
}

Task<Result<CheckResult>> RunExec(cri::Cri& cri, std::string container_id, ExecCheck check, Duration timeout) {
  int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
  auto call = cri.ExecSync(container_id, check.command, seconds);
  Result<cri::ExecResult> result = co_await std::move(call);
  if (!result) {
    if (result.error().code() != 504) co_return Fail(result.error());
    co_return Failed("command timed out: " + ShownCommand(check.command) + " timed out after " + object::FormatDuration(timeout));
  }
  std::string output = Capped(result->out + result->err);
  if (result->exit_code == 0) co_return CheckResult{CheckResult::Kind::kSuccess, std::move(output)};
  co_return Failed(std::move(output));
}

std::string TimedOut(const Check& check, Duration timeout) {
  if (const HttpCheck* http = std::get_if<HttpCheck>(&check)) {
    return "Get \"" + ShownUrl(*http) + "\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
  }
  if (const TcpCheck* tcp = std::get_if<TcpCheck>(&check)) return "dial tcp " + JoinHostPort(tcp->host, tcp->port) + ": i/o timeout";
  return "timeout: health rpc did not complete within " + object::FormatDuration(timeout);
}

Task<CheckResult> RunOverNetwork(Runtime& runtime, Check check, Duration timeout) {
  if (HttpCheck* http = std::get_if<HttpCheck>(&check)) {
    auto run = RunHttp(runtime, std::move(*http));
    co_return co_await std::move(run);
  }
  if (TcpCheck* tcp = std::get_if<TcpCheck>(&check)) {
    auto run = RunTcp(runtime, std::move(*tcp));
    co_return co_await std::move(run);
  }
  auto run = internal::RunGrpcCheck(runtime, std::move(std::get<GrpcCheck>(check)), timeout);
  co_return co_await std::move(run);
}

}  // namespace

std::string ShownUrl(const HttpCheck& check) {
  return check.scheme + "://" + JoinHostPort(check.host, check.port) + (check.path.starts_with('/') ? "" : "/") + check.path;
}

Result<Check> HttpHookCheck(core::HTTPGetAction action, core::Container container, std::string_view pod_ip) {
  HttpCheck http;
  if (action.scheme() == core::kURISchemeHTTPS) http.scheme = "https";
  http.host = HostOr(action.host(), pod_ip);
  http.path = action.path();
  std::optional<int32_t> port = ResolvePort(action.port(), container);
  if (!port) return Fail(NodeError("couldn't find port of container " + std::string(container.name())));
  http.port = *port;
  for (core::HTTPHeader header : action.http_headers()) http.headers.emplace_back(header.name(), header.value());
  return http;
}

Result<Check> ProbeCheck(core::Probe probe, core::Container container, std::string_view pod_ip) {
  if (probe.has_exec()) {
    ExecCheck exec;
    for (std::string_view word : probe.exec().command()) exec.command.emplace_back(word);
    return exec;
  }
  if (probe.has_http_get()) return HttpHookCheck(probe.http_get(), container, pod_ip);
  if (probe.has_tcp_socket()) {
    std::optional<int32_t> port = ResolvePort(probe.tcp_socket().port(), container);
    if (!port) return Fail(NodeError("couldn't find port of container " + std::string(container.name())));
    return TcpCheck{std::string(HostOr(probe.tcp_socket().host(), pod_ip)), *port};
  }
  if (probe.has_grpc()) return GrpcCheck{std::string(pod_ip), std::string(probe.grpc().service()), probe.grpc().port()};
  return Fail(NodeError("missing probe handler for " + std::string(container.name())));
}

Task<Result<CheckResult>> RunCheck(Runtime& runtime, cri::Cri& cri, std::string container_id, Check check, Duration timeout) {
  if (ExecCheck* exec = std::get_if<ExecCheck>(&check)) {
    auto run = RunExec(cri, std::move(container_id), std::move(*exec), timeout);
    co_return co_await std::move(run);
  }
  std::string timed_out = TimedOut(check, timeout);
  Duration limit = timeout.count() > 0 ? timeout : kNoTimeout;
  auto run = RunOverNetwork(runtime, std::move(check), limit);
  auto within = Within(runtime, limit, std::move(run));
  std::optional<CheckResult> result = co_await std::move(within);
  if (!result) co_return Failed(timed_out);
  co_return std::move(*result);
}

}  // namespace homeostat::node
