#include "homeostat/base/host_port.h"
#include "homeostat/sdk/kubeconfig.h"

#include <algorithm>
#include <cstdlib>

#include "homeostat/base/files.h"
#include "homeostat/base/text.h"
#include "homeostat/object/yaml.h"

namespace homeostat::sdk {
namespace {

using object::Value;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string Text(const Value& object, std::string_view name) { return std::string(object.Get(name).AsString()); }

// A file's path, relative ones from where the kubeconfig stands.
std::string Path(const Value& object, std::string_view name, std::string_view directory) {
  std::string path = Text(object, name);
  if (path.empty() || path.front() == '/' || directory.empty()) return path;
  return std::string(directory) + "/" + path;
}

Result<std::string> Decoded(const Value& object, std::string_view name) {
  std::string text = Text(object, name);
  if (text.empty()) return text;
  auto decoded = Base64Decode(text);
  if (!decoded) return Fail(SystemError(std::string(name) + ": illegal base64 data"));
  return *decoded;
}

Result<KubeconfigCluster> ParseCluster(const Value& object, std::string_view directory) {
  KubeconfigCluster cluster;
  cluster.server = Text(object, "server");
  TRY_ASSIGN(cluster.certificate_authority, Decoded(object, "certificate-authority-data"));
  cluster.certificate_authority_file = Path(object, "certificate-authority", directory);
  cluster.tls_server_name = Text(object, "tls-server-name");
  cluster.proxy_url = Text(object, "proxy-url");
  cluster.insecure_skip_tls_verify = object.Get("insecure-skip-tls-verify").AsBool();
  return cluster;
}

Result<KubeconfigUser> ParseUser(const Value& object, std::string_view directory) {
  KubeconfigUser user;
  TRY_ASSIGN(user.client_certificate, Decoded(object, "client-certificate-data"));
  TRY_ASSIGN(user.client_key, Decoded(object, "client-key-data"));
  user.client_certificate_file = Path(object, "client-certificate", directory);
  user.client_key_file = Path(object, "client-key", directory);
  user.token = Text(object, "token");
  user.token_file = Path(object, "tokenFile", directory);
  user.username = Text(object, "username");
  user.password = Text(object, "password");
  user.impersonate = Text(object, "as");
  user.exec = object.Get("exec").IsObject();
  user.auth_provider = object.Get("auth-provider").IsObject();
  return user;
}

Result<KubeconfigContext> ParseContext(const Value& object, std::string_view) {
  return KubeconfigContext{Text(object, "cluster"), Text(object, "user"), Text(object, "namespace")};
}

template <class T>
const T* Find(const std::vector<std::pair<std::string, T>>& entries, std::string_view name) {
  auto found = std::ranges::find(entries, name, [](const auto& entry) -> std::string_view { return entry.first; });
  return found == entries.end() ? nullptr : &found->second;
}

// The named entries under `list`, each with its value under `member`.
template <class T>
Result<std::vector<std::pair<std::string, T>>> ParseEntries(const Value& root, std::string_view list, std::string_view member,
                                                            std::string_view directory,
                                                            Result<T> (*parse)(const Value&, std::string_view)) {
  std::vector<std::pair<std::string, T>> entries;
  for (const Value& item : root.Get(list).items()) {
    std::string name = Text(item, "name");
    auto parsed = parse(item.Get(member), directory);
    if (!parsed) return Fail(parsed.error().WithContext(std::string(member) + " " + GoQuote(name)));
    if (Find(entries, name) == nullptr) entries.emplace_back(std::move(name), *std::move(parsed));
  }
  return entries;
}

template <class T>
void MergeEntries(std::vector<std::pair<std::string, T>>& into, const std::vector<std::pair<std::string, T>>& from) {
  for (const auto& entry : from) {
    if (Find(into, entry.first) == nullptr) into.push_back(entry);
  }
}

std::string DirectoryOf(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash));
}

// The text itself where it stands in the file, else that of the file it names.
Result<std::string> TextOrFile(const std::string& text, const std::string& file) {
  if (!text.empty() || file.empty()) return text;
  return ReadFile(file);
}

std::vector<std::string> FilesOf(const KubeconfigOptions& options) {
  if (!options.explicit_file.empty()) return {options.explicit_file};
  std::vector<std::string> files;
  if (options.environment.empty()) {
    if (!options.home.empty()) files.push_back(options.home + "/.kube/config");
    return files;
  }
  std::string_view rest = options.environment;
  while (true) {
    size_t colon = rest.find(':');
    std::string file(rest.substr(0, colon));
    if (!file.empty() && std::ranges::find(files, file) == files.end()) files.push_back(std::move(file));
    if (colon == std::string_view::npos) return files;
    rest.remove_prefix(colon + 1);
  }
}

Status InvalidConfiguration(const std::string& what) { return SystemError("invalid configuration: " + what); }

}  // namespace

KubeconfigOptions KubeconfigOptions::FromEnvironment() {
  KubeconfigOptions options;
  options.environment = Environment("KUBECONFIG");
  options.home = Environment("HOME");
  options.service_host = Environment("KUBERNETES_SERVICE_HOST");
  options.service_port = Environment("KUBERNETES_SERVICE_PORT");
  return options;
}

void Kubeconfig::MergeFrom(const Kubeconfig& other) {
  MergeEntries(clusters, other.clusters);
  MergeEntries(users, other.users);
  MergeEntries(contexts, other.contexts);
  if (current_context.empty()) current_context = other.current_context;
}

Result<Kubeconfig> ParseKubeconfig(std::string_view text, std::string_view directory) {
  object::Arena arena;
  TRY_ASSIGN(Value root, object::ParseYaml(arena, text));
  if (root.IsNull()) return Kubeconfig();
  if (!root.IsObject()) return Fail(SystemError("a kubeconfig is an object"));
  std::string_view kind = root.Get("kind").AsString(), version = root.Get("apiVersion").AsString();
  if ((!kind.empty() && kind != "Config") || (!version.empty() && version != "v1")) {
    return Fail(SystemError("no kind " + GoQuote(kind) + " is registered for version " + GoQuote(version)));
  }
  Kubeconfig config;
  TRY_ASSIGN(config.clusters, ParseEntries(root, "clusters", "cluster", directory, &ParseCluster));
  TRY_ASSIGN(config.users, ParseEntries(root, "users", "user", directory, &ParseUser));
  TRY_ASSIGN(config.contexts, ParseEntries(root, "contexts", "context", directory, &ParseContext));
  config.current_context = Text(root, "current-context");
  return config;
}

Result<Kubeconfig> LoadKubeconfig(const KubeconfigOptions& options) {
  Kubeconfig merged;
  for (const std::string& file : FilesOf(options)) {
    auto text = ReadFile(file);
    if (!text && text.error().IsNotFound() && options.explicit_file.empty()) continue;
    if (!text) return Fail(text.error());
    auto parsed = ParseKubeconfig(*text, DirectoryOf(file));
    if (!parsed) return Fail(parsed.error().WithContext("error loading config file " + GoQuote(file)));
    merged.MergeFrom(*parsed);
  }
  return merged;
}

Result<ClientConfig> ResolveContext(const Kubeconfig& kubeconfig, std::string_view name) {
  ClientConfig config;
  config.context = name.empty() ? kubeconfig.current_context : std::string(name);
  if (config.context.empty()) return Fail(InvalidConfiguration("no context is set"));
  const KubeconfigContext* context = Find(kubeconfig.contexts, config.context);
  if (context == nullptr) return Fail(SystemError("context " + GoQuote(config.context) + " does not exist"));
  const KubeconfigCluster* cluster = Find(kubeconfig.clusters, context->cluster);
  if (cluster == nullptr) return Fail(SystemError("cluster " + GoQuote(context->cluster) + " does not exist"));
  if (cluster->server.empty()) return Fail(InvalidConfiguration("cluster " + GoQuote(context->cluster) + " has no server defined"));
  if (!cluster->proxy_url.empty()) return Fail(InvalidConfiguration("cluster " + GoQuote(context->cluster) + " has a proxy-url, which is not supported"));
  config.server = cluster->server;
  config.insecure_skip_tls_verify = cluster->insecure_skip_tls_verify;
  config.tls_server_name = cluster->tls_server_name;
  TRY_ASSIGN(config.certificate_authority, TextOrFile(cluster->certificate_authority, cluster->certificate_authority_file));
  if (!context->ns.empty()) config.ns = context->ns;
  if (context->user.empty()) return config;
  const KubeconfigUser* user = Find(kubeconfig.users, context->user);
  if (user == nullptr) return Fail(SystemError("auth info " + GoQuote(context->user) + " does not exist"));
  if (user->exec || user->auth_provider) {
    return Fail(InvalidConfiguration("user " + GoQuote(context->user) + " uses a credential plugin, which is not supported"));
  }
  TRY_ASSIGN(config.client_certificate, TextOrFile(user->client_certificate, user->client_certificate_file));
  TRY_ASSIGN(config.client_key, TextOrFile(user->client_key, user->client_key_file));
  config.token = user->token;
  config.token_file = user->token_file;
  config.username = user->username;
  config.password = user->password;
  config.impersonate_user = user->impersonate;
  return config;
}

Result<ClientConfig> InClusterConfig(const KubeconfigOptions& options) {
  if (options.service_host.empty() || options.service_port.empty()) {
    return Fail(SystemError("unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"));
  }
  ClientConfig config;
  config.server = "https://" + JoinHostPort(options.service_host, options.service_port);
  config.token_file = options.service_account_directory + "/token";
  TRY(ReadFile(config.token_file));
  TRY_ASSIGN(config.certificate_authority, ReadFile(options.service_account_directory + "/ca.crt"));
  if (auto ns = ReadFile(options.service_account_directory + "/namespace"); ns && !ns->empty()) config.ns = *ns;
  return config;
}

Result<ClientConfig> LoadClientConfig(const KubeconfigOptions& options) {
  TRY_ASSIGN(Kubeconfig kubeconfig, LoadKubeconfig(options));
  bool said = !options.context.empty() || !kubeconfig.current_context.empty() || !options.explicit_file.empty();
  if (!said && !options.service_host.empty()) return InClusterConfig(options);
  return ResolveContext(kubeconfig, options.context);
}

}  // namespace homeostat::sdk
