#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "auth/pki.h"
#include "cli/flag_values.h"
#include "cli/serving.h"
#include "cli/stand_in.h"
#include "cli/upstream_flags.h"
#include "cli/version.h"
#include "controllers/garbage_collector.h"
#include "controllers/namespace.h"
#include "homeostat/base/files.h"
#include "homeostat/base/host_port.h"
#include "homeostat/base/log.h"
#include "homeostat/sdk/custom_kinds.h"
#include "http/server.h"
#include "server/bootstrap.h"
#include "server/control_plane.h"

namespace homeostat::cli {
namespace {

constexpr std::string_view kUsed[] = {
    "advertise-address", "anonymous-auth",  "api-audiences",     "authorization-mode", "bind-address",
    "cert-dir",          "client-ca-file",  "secure-port",       "service-account-issuer", "service-account-signing-key-file",
    "service-account-key-file", "service-account-jwks-uri",
    "service-cluster-ip-range", "tls-cert-file", "tls-private-key-file", "v", "disable-admission-plugins", "enable-admission-plugins",
    "admission-control-config-file",
    "etcd-compaction-interval", "token-auth-file", "audit-policy-file", "audit-log-path", "audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize",
    "proxy-client-cert-file", "proxy-client-key-file", "requestheader-client-ca-file", "requestheader-allowed-names",
};
// Watches may be open: they end cleanly at once, and nothing else is worth waiting for.
constexpr Duration kShutdownGrace = std::chrono::milliseconds(30);

class KubeApiserver : public Serving {
 public:
  KubeApiserver(RealRuntime& runtime, UpstreamFlags flags) : runtime_(runtime), flags_(std::move(flags)) {
    LogOptions log;
    log.verbosity = std::atoi(flags_.Get("v", "0").c_str());
    log_ = Logger::Make(runtime_, log);
  }

  Task<Result<void>> Start() override {
    for (const std::string& other : flags_.Others(kUsed)) log_.V(1).Info("the flag has no effect here", {{"flag", "--" + other}});
    const std::string host = flags_.Get("bind-address", "0.0.0.0");
    const std::string address = JoinHostPort(host, flags_.Get("secure-port", "6443"));
    CO_TRY_ASSIGN(std::unique_ptr<Listener> listener, runtime_.network().Listen(address));
    CO_TRY(LoadCertificates(host));
    CO_TRY(MakeControlPlane(listener->address(), host));
    auto start = control_plane_->Start();
    CO_TRY(co_await std::move(start));
    CO_TRY_ASSIGN(std::shared_ptr<TlsServer> secure, TlsServer::Make(tls_));
    server_ = std::make_unique<http::Server>(runtime_, std::move(listener), std::move(secure), control_plane_->server());
    server_->Start();
    CO_TRY(StartControllers());
    co_return Result<void>();
  }

  Task<void> Stop() override {
    garbage_collector_.reset();
    namespaces_.reset();
    custom_kinds_.reset();
    informers_.reset();
    if (server_) {
      auto shutdown = server_->Shutdown(kShutdownGrace);
      co_await std::move(shutdown);
      server_.reset();
    }
    if (control_plane_) {
      auto stop = control_plane_->Stop();
      co_await std::move(stop);
      control_plane_.reset();
    }
  }

 private:
  Result<std::string> Read(std::string_view flag) const {
    const std::string path = flags_.Get(flag);
    if (path.empty()) return std::string();
    auto text = ReadFile(path);
    if (!text) return Fail(text.error().WithContext(fmt::format("--{}", flag)));
    return text;
  }

  // The pair that the flags name or that lies in --cert-dir; where there is none, one of our own. It is left in --cert-dir, as
  // kube-apiserver does, so that whoever gave the folder can know the server by it.
  Result<void> LoadCertificates(const std::string& host) {
    TRY_ASSIGN(tls_.client_ca, Read("client-ca-file"));
    std::string directory = flags_.Get("cert-dir", "/var/run/kubernetes");
    std::string certificate = flags_.Get("tls-cert-file", directory + "/apiserver.crt");
    std::string key = flags_.Get("tls-private-key-file", directory + "/apiserver.key");
    auto given = ReadFile(certificate);
    if (given || flags_.Has("tls-cert-file")) {
      TRY_ASSIGN(tls_.certificate, std::move(given));
      TRY_ASSIGN(tls_.private_key, ReadFile(key));
      authority_ = tls_.client_ca;
      return {};
    }
    auth::PkiOptions options;
    options.server_dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"};
    options.server_ip_addresses = {"127.0.0.1", "::1"};
    if (host != "0.0.0.0" && host != "::" && host != "127.0.0.1") options.server_ip_addresses.push_back(host);
    TRY_ASSIGN(auth::Pki pki, auth::LoadPki(runtime_, options));
    tls_.certificate = pki.server.certificate;
    tls_.private_key = pki.server.private_key;
    authority_ = pki.authority.certificate;
    if (!flags_.Has("cert-dir")) return {};
    TRY(MakeDirectories(directory, 0755));
    TRY(WriteFileAtomically(key, pki.server.private_key));
    return WriteFileAtomically(certificate, pki.server.certificate + pki.authority.certificate, 0644);
  }

  Result<server::audit::AuditOptions> ReadAudit() const {
    AuditFlags audit;
    audit.policy_file = flags_.Get("audit-policy-file", "");
    audit.log_path = flags_.Get("audit-log-path", "");
    for (auto [name, number] : {std::pair("audit-log-maxage", &audit.max_age_days), std::pair("audit-log-maxbackup", &audit.max_backups),
                                std::pair("audit-log-maxsize", &audit.max_megabytes)}) {
      std::string text = flags_.Get(name, std::to_string(*number));
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
      if (error != std::errc() || end != text.data() + text.size()) return Fail(SystemError("--" + std::string(name) + " " + text + " is no number"));
    }
    return ReadAuditFlags(audit);
  }

  Result<void> MakeControlPlane(std::string_view address, const std::string& host) {
    server::ControlPlaneOptions options;
    options.engine = store::MakeMemoryEngine(runtime_);
    options.log = log_;
    options.service_cidr = flags_.Get("service-cluster-ip-range", options.service_cidr);
    options.advertise_address = flags_.Get("advertise-address", host == "0.0.0.0" || host == "::" ? "127.0.0.1" : host);
    options.advertise_port = static_cast<uint16_t>(std::atoi(std::string(address.substr(address.rfind(':') + 1)).c_str()));
    options.version = {std::string(kGitVersion), std::string(kGitCommit), std::string(kBuildDate)};
    options.authority_certificate = authority_;
    if (flags_.Has("authorization-mode")) options.authorization_modes = flags_.List("authorization-mode");
    options.admission_plugins = {flags_.List("enable-admission-plugins"), flags_.List("disable-admission-plugins"), flags_.Get("admission-control-config-file", "")};
    TRY_ASSIGN(options.static_tokens, ReadStaticTokens(flags_.Get("token-auth-file"), "--token-auth-file"));
    TRY_ASSIGN(options.compaction_period, ReadInterval(flags_.Get("etcd-compaction-interval", "5m0s"), "--etcd-compaction-interval"));
    TRY_ASSIGN(options.proxy_identity.certificate, Read("proxy-client-cert-file"));
    TRY_ASSIGN(options.proxy_identity.private_key, Read("proxy-client-key-file"));
    TRY_ASSIGN(options.proxy_authority, Read("requestheader-client-ca-file"));
    options.proxy_names = flags_.List("requestheader-allowed-names");
    TRY_ASSIGN(options.audit, ReadAudit());
    options.server.anonymous = flags_.Get("anonymous-auth", "true") == "true";
    TRY(ReadTokenFlags(options));
    control_plane_ = std::make_unique<server::ControlPlane>(runtime_, std::move(options));
    return {};
  }

  Result<void> ReadTokenFlags(server::ControlPlaneOptions& options) const {
    TRY_ASSIGN(options.service_account_key, Read("service-account-signing-key-file"));
    const std::vector<std::string> key_files = flags_.All("service-account-key-file");
    if (!key_files.empty() && options.service_account_key.empty()) {
      return Fail(SystemError("--service-account-signing-key-file and --service-account-issuer are required flags"));
    }
    for (const std::string& path : key_files) {
      auto text = ReadFile(path);
      if (!text) return Fail(text.error().WithContext("--service-account-key-file"));
      auto keys = auth::SigningKey::LoadPublic(*text);
      if (!keys) return Fail(keys.error().WithContext("--service-account-key-file " + path));
      options.service_account_public_keys += *text + "\n";
    }
    // The first one issues; tokens of the others, which earlier ones may have been, are good as well.
    std::vector<std::string> issuers = flags_.All("service-account-issuer");
    if (issuers.empty()) issuers = {options.tokens.issuer};
    options.tokens.issuer = issuers.front();
    options.tokens.other_issuers.assign(issuers.begin() + 1, issuers.end());
    const std::string own = "https://" + JoinHostPort(options.advertise_address, options.advertise_port);
    options.tokens.jwks_uri = flags_.Get("service-account-jwks-uri", own + "/openid/v1/jwks");
    options.tokens.api_audiences = flags_.List("api-audiences");
    if (options.tokens.api_audiences.empty()) options.tokens.api_audiences = std::move(issuers);
    return {};
  }

  sdk::Client ClientFor(const std::string& controller) {
    sdk::ClientOptions options;
    options.user_agent = controller + "/" + std::string(kGitVersion);
    options.runtime = &runtime_;
    options.log = log_;
    return sdk::Client(control_plane_->TransportFor("system:serviceaccount:kube-system:" + controller,
                                                    {"system:serviceaccounts", "system:serviceaccounts:kube-system"}),
                       options);
  }

  // Tests can't easily add flags to what a harness starts, so it is the environment that asks for controllers.
  Result<void> StartControllers() {
    const char* wanted = std::getenv("HOMEOSTAT_CONTROLLERS");
    if (wanted == nullptr || *wanted == '\0') return {};
    informers_ = std::make_unique<sdk::InformerFactory>(runtime_, ClientFor("generic-garbage-collector"),
                                                        sdk::InformerOptions{.managed_fields = false});
    custom_kinds_ = std::make_unique<sdk::CustomKinds>(*informers_);
    custom_kinds_->FollowExtensions(runtime_, ClientFor("namespace-controller"), *informers_);
    for (const std::string& name : SplitAtCommas(wanted)) {
      if (name == "namespace") {
        controllers::NamespaceOptions options;
        options.custom_kinds = custom_kinds_.get();
        namespaces_ = std::make_unique<controllers::NamespaceController>(runtime_, ClientFor("namespace-controller"), *informers_, options);
        namespaces_->Start();
      } else if (name == "gc") {
        controllers::GarbageCollectorOptions options;
        options.custom_kinds = custom_kinds_.get();
        garbage_collector_ =
            std::make_unique<controllers::GarbageCollector>(runtime_, ClientFor("generic-garbage-collector"), *informers_, options);
        garbage_collector_->Start();
      } else {
        return Fail(SystemError("HOMEOSTAT_CONTROLLERS: " + name + " is not known; it can be namespace and gc"));
      }
    }
    informers_->Start();
    return {};
  }

  RealRuntime& runtime_;
  UpstreamFlags flags_;
  Logger log_;
  TlsServerOptions tls_;
  std::string authority_;
  std::unique_ptr<server::ControlPlane> control_plane_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<sdk::InformerFactory> informers_;
  std::unique_ptr<sdk::CustomKinds> custom_kinds_;
  std::unique_ptr<controllers::NamespaceController> namespaces_;
  std::unique_ptr<controllers::GarbageCollector> garbage_collector_;
};

}  // namespace

int RunKubeApiserver(std::span<const std::string_view> words) {
  auto flags = UpstreamFlags::Parse(KubeApiserverFlags(), words);
  if (!flags) {
    fmt::print(stderr, "Error: {}\n", flags.error().message());
    return 1;
  }
  if (flags->help()) {
    fmt::print("{}", HelpText("kube-apiserver", KubeApiserverFlags(), kUsed));
    return 0;
  }
  if (flags->Has("version")) {
    fmt::print("Kubernetes {}\n", kGitVersion);
    return 0;
  }
  umask(0077);
  std::unique_ptr<RealRuntime> runtime = RealRuntime::Make(1);
  KubeApiserver server(*runtime, *std::move(flags));
  return Serve(*runtime, server, true);
}

}  // namespace homeostat::cli
