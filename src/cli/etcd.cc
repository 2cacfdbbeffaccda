#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "cli/serving.h"
#include "cli/stand_in.h"
#include "cli/upstream_flags.h"
#include "homeostat/base/http.h"
#include "homeostat/base/net.h"
#include "http/server.h"

namespace homeostat::cli {
namespace {

constexpr std::string_view kUsed[] = {"listen-client-urls"};

class Answers : public http::Handler {
 public:
  Task<http::Response> Handle(http::Request request) override {
    http::Response response;
    response.headers.Set("Content-Type", "application/json");
    if (request.path == "/health") {
      response.body.push_back(R"({"health":"true","reason":""})");
    } else if (request.path == "/version") {
      response.body.push_back(R"({"etcdserver":"3.6.8","etcdcluster":"3.6.0","storage":"3.6.0"})");
    } else {
      response.code = 404;
      response.headers.Set("Content-Type", "text/plain; charset=utf-8");
      response.body.push_back("homeostat stands in for etcd and keeps no keys here\n");
    }
    co_return response;
  }
};

class Etcd : public Serving {
 public:
  Etcd(Runtime& runtime, std::vector<std::string> urls) : runtime_(runtime), urls_(std::move(urls)) {}

  Task<Result<void>> Start() override {
    for (const std::string& url : urls_) {
      std::string_view address = url;
      if (!address.starts_with("http://")) co_return Fail(SystemError("--listen-client-urls: only http:// is served, not " + url));
      address.remove_prefix(7);
      if (address.ends_with('/')) address.remove_suffix(1);
      CO_TRY_ASSIGN(std::unique_ptr<Listener> listener, runtime_.network().Listen(std::string(address)));
      servers_.push_back(std::make_unique<http::Server>(runtime_, std::move(listener), nullptr, answers_));
      servers_.back()->Start();
    }
    co_return Result<void>();
  }
  Task<void> Stop() override {
    servers_.clear();
    co_return;
  }

 private:
  Runtime& runtime_;
  std::vector<std::string> urls_;
  Answers answers_;
  std::vector<std::unique_ptr<http::Server>> servers_;
};

}  // namespace

int RunEtcd(std::span<const std::string_view> words) {
  auto flags = UpstreamFlags::Parse(EtcdFlags(), words);
  if (!flags) {
    fmt::print(stderr, "etcd: {}\n", flags.error().message());
    return 2;
  }
  if (flags->help()) {
    fmt::print("{}", HelpText("etcd", EtcdFlags(), kUsed));
    return 0;
  }
  std::vector<std::string> urls = flags->List("listen-client-urls");
  if (urls.empty()) urls = {"http://127.0.0.1:2379"};
  std::unique_ptr<RealRuntime> runtime = RealRuntime::Make(1);
  Etcd etcd(*runtime, std::move(urls));
  return Serve(*runtime, etcd, true);
}

}  // namespace homeostat::cli
