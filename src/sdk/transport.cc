#include "homeostat/sdk/transport.h"

#include <utility>

#include "homeostat/base/files.h"
#include "homeostat/base/text.h"
#include "http/client.h"

namespace homeostat::sdk {
namespace {

// How old a token may be that was read from a file, as in client-go.
constexpr Duration kTokenAge = std::chrono::minutes(1);

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

class Transport : public http::Handler {
 public:
  Transport(Runtime& runtime, const ClientConfig& config, ServerUrl url, http::ClientOptions options)
      : runtime_(runtime),
        prefix_(std::move(url.path)),
        token_(config.token),
        token_file_(config.token_file),
        impersonate_user_(config.impersonate_user),
        client_(runtime, std::move(options)) {
    if (!config.username.empty()) basic_ = "Basic " + Base64Encode(config.username + ":" + config.password);
  }

  Task<http::Response> Handle(http::Request request) override {
    if (!token_file_.empty() && (!read_at_ || runtime_.Now() - *read_at_ > kTokenAge)) {
      auto read = RunOffLoop<Result<std::string>>(runtime_, [file = token_file_] { return ReadFile(file); });
      Result<std::string> text = co_await read;
      // One that can't be read now may still be good.
      if (text) token_ = Trimmed(*std::move(text));
      read_at_ = runtime_.Now();
    }
    request.path = prefix_ + request.path;
    if (!request.headers.Has("Authorization")) {
      if (!token_.empty()) {
        request.headers.Set("Authorization", "Bearer " + token_);
      } else if (!basic_.empty()) {
        request.headers.Set("Authorization", basic_);
      }
    }
    if (!impersonate_user_.empty() && !request.headers.Has("Impersonate-User")) {
      request.headers.Set("Impersonate-User", impersonate_user_);
    }
    auto call = client_.Handle(std::move(request));
    http::Response response = co_await call;
    co_return response;
  }

 private:
  Runtime& runtime_;
  std::string prefix_, token_, token_file_, basic_, impersonate_user_;
  std::optional<MonotonicTime> read_at_;
  http::Client client_;
};

}  // namespace

Result<ServerUrl> ParseServerUrl(std::string_view text) {
  ServerUrl url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    url.tls = false;
    rest.remove_prefix(7);
  } else if (rest.find("://") != std::string_view::npos) {
    return Fail(SystemError("server " + GoQuote(text) + ": only http and https are supported"));
  }
  size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  if (slash != std::string_view::npos) url.path = rest.substr(slash);
  while (!url.path.empty() && url.path.back() == '/') url.path.pop_back();
  url.port = url.tls ? "443" : "80";
  size_t bracket = authority.find(']');
  size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (authority.starts_with('[') && bracket != std::string_view::npos) {
    url.host = authority.substr(1, bracket - 1);
  } else {
    url.host = authority.substr(0, colon);
  }
  if (colon != std::string_view::npos && colon + 1 < authority.size()) url.port = authority.substr(colon + 1);
  if (url.host.empty()) return Fail(SystemError("server " + GoQuote(text) + " names no host"));
  return url;
}

Result<std::shared_ptr<http::Handler>> MakeTransport(Runtime& runtime, const ClientConfig& config) {
  TRY_ASSIGN(ServerUrl url, ParseServerUrl(config.server));
  http::ClientOptions options;
  options.address = url.Address();
  if (url.tls) {
    TlsClientOptions tls;
    tls.ca = config.certificate_authority;
    tls.certificate = config.client_certificate;
    tls.private_key = config.client_key;
    tls.server_name = config.tls_server_name.empty() ? url.host : config.tls_server_name;
    tls.insecure_skip_verify = config.insecure_skip_tls_verify;
    tls.clock = &runtime;
    // A bad certificate is told now and not by the first request.
    TRY(TlsClient::Make(tls));
    options.tls = std::move(tls);
  }
  return std::make_shared<Transport>(runtime, config, std::move(url), std::move(options));
}

}  // namespace homeostat::sdk
