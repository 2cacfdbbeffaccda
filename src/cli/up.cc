#include "cli/up.h"

#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "auth/pki.h"
#include "auth/request_signing.h"
#include "cli/flag_values.h"
#include "cli/serving.h"
#include "cli/version.h"
#include "controllers/controllers.h"
#include "homeostat/base/files.h"
#include "homeostat/base/host_port.h"
#include "homeostat/base/log.h"
#include "homeostat/base/runtime.h"
#include "http/server.h"
#include "node/agent.h"
#include "node/sim/sim_nodes.h"
#include "scheduler/scheduler.h"
#include "server/bootstrap.h"
#include "server/control_plane.h"
#include "server/subresources/subresources.h"

namespace homeostat::cli {
namespace {

constexpr Duration kShutdownGrace = std::chrono::milliseconds(500);

std::string DefaultDataDirectory() {
  if (geteuid() == 0) return "/var/lib/homeostat";
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && *data != '\0') return std::string(data) + "/homeostat";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.local/share/homeostat";
}

// "127.0.0.1" of "127.0.0.1:6443"; a wildcard is reached through loopback.
std::string HostOf(std::string_view address) {
  size_t colon = address.rfind(':');
  std::string host(address.substr(0, colon));
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  if (host == "0.0.0.0") return "127.0.0.1";
  if (host == "::") return "::1";
  return host;
}

uint16_t PortOf(std::string_view address) {
  size_t colon = address.rfind(':');
  return static_cast<uint16_t>(std::atoi(std::string(address.substr(colon + 1)).c_str()));
}

// The cluster while it runs; members stop in reverse order of their making.
class Cluster : public Serving {
 public:
  Cluster(RealRuntime& runtime, UpOptions options) : runtime_(runtime), options_(std::move(options)) {
    if (options_.data_dir.empty()) options_.data_dir = DefaultDataDirectory();
    if (options_.kubeconfig.empty()) options_.kubeconfig = options_.data_dir + "/admin.kubeconfig";
    LogOptions log;
    log.verbosity = options_.verbosity;
    if (options_.log_format == "text") log.format = LogOptions::Format::kText;
    if (options_.log_format == "json") log.format = LogOptions::Format::kJson;
    log_ = Logger::Make(runtime_, log);
  }

  Task<Result<void>> Start() override;
  Task<void> Stop() override;

 private:
  Result<void> OpenDirectory();
  Result<void> Listen();
  Task<Result<void>> StartControlPlane();
  Result<void> StartServing();
  // The parts that are clients of the server.
  void StartClients();
  // Whether this machine is to be a node, and can be.
  Result<void> ChooseNode();
  Task<Result<void>> StartNode();
  // What stays when this process ends, and how it is ended.
  void TellOfContainers() const;
  node::AgentOptions NodeOptions() const;
  // program: what the User-Agent says; empty: from the user's name.
  sdk::Client ClientFor(std::string user, std::vector<std::string> groups, std::string program = {});
  // Signs with the cluster's key, which does not leave this process.
  controllers::CertificateAuthority SigningAuthority();
  Result<std::unique_ptr<store::Engine>> MakeEngine();
  std::string ServiceAccountKeyFile() const { return options_.data_dir + "/pki/sa.key"; }

  RealRuntime& runtime_;
  UpOptions options_;
  Logger log_;
  std::optional<DirectoryLock> lock_;
  auth::Pki pki_;
  std::unique_ptr<Listener> listener_;
  std::string address_;
  std::unique_ptr<server::ControlPlane> control_plane_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<sdk::InformerFactory> informers_;
  std::unique_ptr<controllers::Controllers> controllers_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<node::sim::SimNodes> sim_nodes_;
  std::unique_ptr<node::Agent> agent_;
  bool real_node_ = false;
  bool node_started_ = false;
};

Result<void> Cluster::OpenDirectory() {
  umask(0077);
  TRY(MakeDirectories(options_.data_dir, 0700));
  TRY_ASSIGN(lock_, DirectoryLock::Acquire(options_.data_dir));
  return {};
}

Result<void> Cluster::Listen() {
  TRY_ASSIGN(listener_, runtime_.network().Listen(options_.listen));
  address_ = listener_->address();
  std::string host = options_.advertise_address.empty() ? HostOf(address_) : options_.advertise_address;
  options_.advertise_address = host;
  auth::PkiOptions pki;
  pki.directory = options_.data_dir + "/pki";
  pki.server_dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                          "kubernetes.default.svc.cluster.local"};
  TRY_ASSIGN(std::string service_address, server::FirstServiceAddress(options_.service_cidr));
  pki.server_ip_addresses = {"127.0.0.1", "::1", service_address};
  if (host != "127.0.0.1" && host != "::1") pki.server_ip_addresses.push_back(host);
  TRY_ASSIGN(pki_, auth::LoadPki(runtime_, pki));
  return {};
}

Result<std::unique_ptr<store::Engine>> Cluster::MakeEngine() {
  if (options_.store == "memory") return store::MakeMemoryEngine(runtime_);
  if (options_.store == "rocksdb") {
    store::RocksDbOptions rocksdb;
    rocksdb.directory = options_.data_dir + "/store";
    return store::MakeRocksDbEngine(runtime_, rocksdb);
  }
  return Fail(SystemError("--store " + options_.store + " is not known; it can be rocksdb or memory"));
}

Task<Result<void>> Cluster::StartControlPlane() {
  server::ControlPlaneOptions options;
  CO_TRY_ASSIGN(options.engine, MakeEngine());
  options.log = log_;
  options.service_cidr = options_.service_cidr;
  options.advertise_address = options_.advertise_address;
  options.advertise_port = PortOf(address_);
  options.version = {std::string(kGitVersion), std::string(kGitCommit), std::string(kBuildDate)};
  options.authority_certificate = pki_.authority.certificate;
  options.authorization_modes = options_.authorization_mode;
  CO_TRY_ASSIGN(options.audit, ReadAuditFlags(options_.audit));
  options.proxy_identity = {pki_.proxy_client.certificate, pki_.proxy_client.private_key};
  options.proxy_authority = pki_.proxy_authority.certificate;
  options.proxy_names = {std::string(auth::kProxyClientName)};
  options.admission_plugins = {options_.enable_admission_plugins, options_.disable_admission_plugins, options_.admission_configuration};
  CO_TRY_ASSIGN(options.static_tokens, ReadStaticTokens(options_.token_auth_file, "--token-auth-file"));
  CO_TRY_ASSIGN(options.compaction_period, ReadInterval(options_.compaction_interval, "--compaction-interval"));
  if (auto key = ReadFile(ServiceAccountKeyFile())) options.service_account_key = *key;
  options.save_key = [this](const std::string& pem) {
    if (auto written = WriteFileAtomically(ServiceAccountKeyFile(), pem, 0600); !written) {
      log_.Error("the key for service account tokens could not be kept", {{"error", written.error()}});
    }
  };
  control_plane_ = std::make_unique<server::ControlPlane>(runtime_, std::move(options));
  auto start = control_plane_->Start();
  co_return co_await std::move(start);
}

Result<void> Cluster::StartServing() {
  TlsServerOptions tls;
  tls.certificate = pki_.server.certificate;
  tls.private_key = pki_.server.private_key;
  tls.client_ca = pki_.authority.certificate;
  TRY_ASSIGN(std::shared_ptr<TlsServer> secure, TlsServer::Make(tls));
  server::ServeNodeStreams(control_plane_->server(), [this](const std::string& name) -> http::Handler* {
    return agent_ && agent_->node_name() == name ? &agent_->ApiHandler() : nullptr;
  });
  server_ = std::make_unique<http::Server>(runtime_, std::move(listener_), std::move(secure), control_plane_->server());
  server_->Start();
  std::string url = "https://" + JoinHostPort(HostOf(address_), PortOf(address_));
  std::string kubeconfig = auth::MakeKubeconfig(url, pki_.authority.certificate, pki_.admin, "homeostat", "admin");
  TRY(WriteFileAtomically(options_.kubeconfig, kubeconfig, 0600));
  fmt::print("homeostat is ready at {}; export KUBECONFIG={}\n", url, std::filesystem::absolute(options_.kubeconfig).lexically_normal().string());
  std::fflush(stdout);
  return {};
}

sdk::Client Cluster::ClientFor(std::string user, std::vector<std::string> groups, std::string program) {
  sdk::ClientOptions options;
  if (program.empty()) program = user.substr(user.rfind(':') + 1);
  options.user_agent = program + "/" + std::string(kGitVersion);
  options.runtime = &runtime_;
  options.log = log_;
  return sdk::Client(control_plane_->TransportFor(std::move(user), std::move(groups)), options);
}

controllers::CertificateAuthority Cluster::SigningAuthority() {
  controllers::CertificateAuthority authority;
  authority.read = [](std::string_view request) -> Result<controllers::CertificateSubject> {
    TRY_ASSIGN(auth::RequestSubject subject, auth::ReadRequest(request));
    return controllers::CertificateSubject{subject.common_name, subject.organizations, subject.dns_names, subject.emails, subject.addresses, subject.uris};
  };
  authority.sign = [this](std::string_view request, const std::vector<std::string>& usages, Duration lifetime) {
    return auth::SignRequest(runtime_, pki_.authority, request, usages, lifetime);
  };
  authority.end_of = [](std::string_view certificate) { return auth::EndOfCertificate(certificate); };
  return authority;
}

void Cluster::StartClients() {
  informers_ = std::make_unique<sdk::InformerFactory>(runtime_, ClientFor("system:kube-controller-manager", {}),
                                                      sdk::InformerOptions{.managed_fields = false});
  if (options_.controllers) {
    controllers::ControllersOptions options;
    options.client_for = [this](std::string name) {
      return ClientFor("system:serviceaccount:kube-system:" + name,
                       {"system:serviceaccounts", "system:serviceaccounts:kube-system"}, "kube-controller-manager");
    };
    options.authority = pki_.authority.certificate;
    options.certificates = SigningAuthority();
    options.manager = ClientFor("system:kube-controller-manager", {});
    options.make_token = [this](std::string ns, std::string account, std::string uid, std::string secret) {
      return control_plane_->tokens().IssueLegacy({ns, account, uid, secret});
    };
    controllers_ = std::make_unique<controllers::Controllers>(runtime_, *informers_, std::move(options));
    controllers_->Start();
  }
  if (options_.scheduler) {
    scheduler_ = std::make_unique<scheduler::Scheduler>(runtime_, ClientFor("system:kube-scheduler", {}), *informers_);
    scheduler_->Start();
  }
  if (options_.sim_nodes > 0) {
    node::sim::SimNodesOptions nodes;
    nodes.count = static_cast<size_t>(options_.sim_nodes);
    nodes.images = options_.sim_images;
    auto client_for = [this](const std::string& node) { return ClientFor("system:node:" + node, {"system:nodes"}, "kubelet"); };
    sim_nodes_ = std::make_unique<node::sim::SimNodes>(runtime_, client_for, *informers_, nodes);
    sim_nodes_->Start();
  }
  informers_->Start();
}

node::AgentOptions Cluster::NodeOptions() const {
  node::AgentOptions options;
  options.directory = std::filesystem::absolute(options_.data_dir).lexically_normal().string() + "/node";
  options.images_folder = std::filesystem::absolute(options_.data_dir).lexically_normal().string() + "/images";
  options.containerd_socket = options_.containerd_socket;
  options.kubelet_version = kGitVersion;
  return options;
}

Result<void> Cluster::ChooseNode() {
  if (options_.node == "none") return {};
  if (options_.node != "auto" && options_.node != "containerd") {
    return Fail(SystemError("--node " + options_.node + " is not known; it can be auto, containerd or none"));
  }
  Result<void> can = node::CanBeNode(NodeOptions());
  real_node_ = can.has_value();
  if (can) return {};
  if (options_.node == "containerd") return Fail(SystemError("this machine can't be a node: " + can.error().message()));
  if (options_.sim_nodes == 0) {
    options_.sim_nodes = 1;
    fmt::print("This machine can't be a node ({}); a simulated one takes its place.\n", can.error().message());
  }
  return {};
}

Task<Result<void>> Cluster::StartNode() {
  node::AgentOptions options = NodeOptions();
  options.node_name = node::DefaultNodeName();
  options.proxy_client = ClientFor("system:kube-proxy", {}, "kube-proxy");
  sdk::Client client = ClientFor("system:node:" + options.node_name, {"system:nodes"}, "kubelet");
  agent_ = std::make_unique<node::Agent>(runtime_, std::move(client), log_, std::move(options));
  auto start = agent_->Start();
  CO_TRY(co_await std::move(start));
  node_started_ = true;
  co_return Done();
}

void Cluster::TellOfContainers() const {
  std::error_code error;
  std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  fmt::print("Containers go on, and the next start finds them again. To end them: {} stop-node --data-dir {}\n",
             error ? "homeostat" : program, std::filesystem::absolute(options_.data_dir).lexically_normal().string());
  std::fflush(stdout);
}

Task<Result<void>> Cluster::Start() {
  CO_TRY(ChooseNode());
  CO_TRY(OpenDirectory());
  CO_TRY(Listen());
  auto control_plane = StartControlPlane();
  CO_TRY(co_await std::move(control_plane));
  CO_TRY(StartServing());
  StartClients();
  if (!real_node_) co_return Done();
  auto node = StartNode();
  co_return co_await std::move(node);
}

Task<void> Cluster::Stop() {
  if (agent_) {
    // Containers go on; the next start finds them again.
    auto stop = agent_->Stop(false);
    (void)co_await std::move(stop);
    if (node_started_) TellOfContainers();
  }
  sim_nodes_.reset();
  scheduler_.reset();
  controllers_.reset();
  informers_.reset();
  if (server_) {
    auto shutdown = server_->Shutdown(kShutdownGrace);
    co_await std::move(shutdown);
    server_.reset();
  }
  agent_.reset();
  if (control_plane_) {
    auto stop = control_plane_->Stop();
    co_await std::move(stop);
    control_plane_.reset();
  }
}

}  // namespace

int RunUp(const UpOptions& options) {
  std::unique_ptr<RealRuntime> runtime = RealRuntime::Make();
  Cluster cluster(*runtime, options);
  return Serve(*runtime, cluster, false);
}

}  // namespace homeostat::cli
