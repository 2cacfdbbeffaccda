#include "homeostat/sdk/kubeconfig.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "homeostat/base/files.h"
#include "homeostat/base/text.h"
#include "homeostat/object/yaml.h"
#include "http/client.h"

namespace homeostat::sdk {
namespace {

using object::Value;

constexpr std::string_view kServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount/";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> Files(const std::string& flag) {
  if (!flag.empty()) return {flag};
  std::vector<std::string> files;
  std::string list = Environment("KUBECONFIG");
  for (size_t start = 0; start < list.size();) {
    size_t colon = std::min(list.find(':', start), list.size());
    if (colon > start) files.push_back(list.substr(start, colon - start));
    start = colon + 1;
  }
  if (files.empty() && list.empty()) files.push_back(Environment("HOME") + "/.kube/config");
  return files;
}

// The entry of that name in a list of {name, KIND: {...}}.
Value FindNamed(const Value& list, std::string_view name, std::string_view member) {
  for (const Value& item : list.items()) if (item.Get("name").AsString() == name) return item.Get(member);
  return {};
}

// A PEM that stands in the file itself, base64, or in another file.
Result<std::string> Embedded(const Value& entry, const std::string& name, const std::string& directory) {
  if (Value data = entry.Get(name + "-data")) {
    auto decoded = Base64Decode(data.AsString());
    if (!decoded) return Fail(SystemError("kubeconfig: " + name + "-data is not base64"));
    return *decoded;
  }
  std::string path(entry.Get(name).AsString());
  if (path.empty()) return std::string();
  if (path.front() != '/') path = directory + "/" + path;
  return ReadFile(path);
}

Result<ClusterAccess> InCluster() {
  std::string host = Environment("KUBERNETES_SERVICE_HOST"), port = Environment("KUBERNETES_SERVICE_PORT");
  std::string folder(kServiceAccountFolder);
  auto token = ReadFile(folder + "token");
  if (host.empty() || !token) {
    return Fail(SystemError("no kubeconfig: give --kubeconfig, set KUBECONFIG, or make ~/.kube/config"));
  }
  ClusterAccess access;
  access.server = "https://" + (host.find(':') != host.npos ? "[" + host + "]" : host) + ":" + port;
  access.token = *token;
  if (auto authority = ReadFile(folder + "ca.crt")) access.authority = *authority;
  auto ns = ReadFile(folder + "namespace");
  access.ns = ns ? *ns : "default";
  return access;
}

// Adds the bearer token where the request has none.
class TokenTransport : public http::Handler {
 public:
  TokenTransport(std::shared_ptr<http::Handler> next, std::string token) : next_(std::move(next)), token_(std::move(token)) {}
  Task<http::Response> Handle(http::Request request) override {
    if (!request.headers.Has("Authorization")) request.headers.Set("Authorization", "Bearer " + token_);
    return next_->Handle(std::move(request));
  }

 private:
  std::shared_ptr<http::Handler> next_;
  std::string token_;
};

}  // namespace

Result<ClusterAccess> ParseKubeconfig(std::string_view text, const std::string& context, const std::string& directory) {
  object::Arena arena;
  TRY_ASSIGN(Value config, object::ParseYaml(arena, text));
  std::string name = context.empty() ? std::string(config.Get("current-context").AsString()) : context;
  Value chosen = FindNamed(config.Get("contexts"), name, "context");
  if (!chosen) return Fail(SystemError("kubeconfig: no context \"" + name + "\""));
  Value cluster = FindNamed(config.Get("clusters"), chosen.Get("cluster").AsString(), "cluster");
  if (!cluster) return Fail(SystemError("kubeconfig: no cluster \"" + std::string(chosen.Get("cluster").AsString()) + "\""));
  Value user = FindNamed(config.Get("users"), chosen.Get("user").AsString(), "user");
  ClusterAccess access;
  access.server = cluster.Get("server").AsString();
  access.server_name = cluster.Get("tls-server-name").AsString();
  access.insecure_skip_verify = cluster.Get("insecure-skip-tls-verify").AsBool();
  TRY_ASSIGN(access.authority, Embedded(cluster, "certificate-authority", directory));
  TRY_ASSIGN(access.client_certificate, Embedded(user, "client-certificate", directory));
  TRY_ASSIGN(access.client_key, Embedded(user, "client-key", directory));
  access.token = user.Get("token").AsString();
  std::string_view ns = chosen.Get("namespace").AsString();
  access.ns = ns.empty() ? "default" : ns;
  return access;
}

Result<ClusterAccess> LoadClusterAccess(const std::string& flag, const std::string& context) {
  std::optional<Status> fault;
  for (const std::string& file : Files(flag)) {
    auto text = ReadFile(file);
    if (!text) {
      // A file named by hand must be there; of a list those that are missing are passed over.
      if (!flag.empty()) return Fail(text.error());
      continue;
    }
    auto access = ParseKubeconfig(*text, context, std::filesystem::path(file).parent_path().string());
    if (access) return access;
    if (!fault) fault = access.error().WithContext(file);
  }
  if (fault) return Fail(*fault);
  return InCluster();
}

Result<std::shared_ptr<http::Handler>> MakeTransport(Runtime& runtime, const ClusterAccess& access) {
  std::string_view url = access.server;
  bool secure = url.starts_with("https://");
  if (!secure && !url.starts_with("http://")) return Fail(SystemError("the server's address must be an URL, not " + access.server));
  std::string address(url.substr(secure ? 8 : 7));
  while (address.ends_with('/')) address.pop_back();
  if (address.rfind(':') == std::string::npos || address.ends_with(']')) address += secure ? ":443" : ":80";
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  http::ClientOptions options;
  options.address = address;
  if (secure) {
    TlsClientOptions tls;
    tls.ca = access.authority;
    tls.certificate = access.client_certificate;
    tls.private_key = access.client_key;
    tls.server_name = access.server_name.empty() ? host : access.server_name;
    tls.insecure_skip_verify = access.insecure_skip_verify;
    options.tls = tls;
  }
  std::shared_ptr<http::Handler> transport = std::make_shared<http::Client>(runtime, std::move(options));
  if (!access.token.empty()) transport = std::make_shared<TokenTransport>(transport, access.token);
  return transport;
}

}  // namespace homeostat::sdk
