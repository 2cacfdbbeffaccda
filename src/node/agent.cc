#include "node/agent.h"

#include <unistd.h>

#include "homeostat/base/files.h"
#include "homeostat/base/text.h"
#include "homeostat/sdk/controller.h"
#include "homeostat/sdk/informer.h"
#include "node/environment.h"
#include "node/errors.h"
#include "node/files.h"
#include "node/internal/agent_defaults.h"
#include "node/node_api.h"
#include "node/node_reporter.h"
#include "node/pod_manager.h"
#include "node/process.h"
#include "node/service_proxy.h"

namespace homeostat::node {

using internal::RuntimeOptions;

namespace {

constexpr Duration kRuntimeLimit = std::chrono::seconds(60);

std::string FieldPath(core::PodSpec spec, const std::string& container) {
  if (container.empty()) return "";
  ContainerSpec found = FindContainer(spec, container);
  const char* list = found.kind == ContainerKind::kInit        ? "spec.initContainers"
                     : found.kind == ContainerKind::kEphemeral ? "spec.ephemeralContainers"
                                                               : "spec.containers";
  return std::string(list) + "{" + container + "}";
}

}  // namespace

std::string DefaultNodeName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return *name == 0 ? "node" : LowerCase(name);
}

Result<void> CanBeNode(const AgentOptions& options) {
  if (geteuid() != 0) return Fail(NodeError("running containers needs root"));
  if (!options.containerd_socket.empty()) {
    if (!PathExists(options.containerd_socket)) return Fail(NodeError("there is no container runtime at " + options.containerd_socket));
    return {};
  }
  return CanRunContainerd(RuntimeOptions(options));
}

struct Agent::State {
  State(Runtime& the_runtime, sdk::Client the_client, Logger the_log, AgentOptions the_options)
      : runtime(the_runtime), client(std::move(the_client)), log(std::move(the_log)), options(std::move(the_options)),
        recorder(runtime, client, "kubelet", options.node_name) {}

  Task<Result<void>> StartRuntime();
  Task<Result<void>> PrepareImages();
  Task<Result<void>> SetUpNetwork(object::DocumentPtr node);
  Result<void> PrepareFolders();
  void MakeParts(NodeDescription description);
  void Record(const object::DocumentPtr& pod, const PodEvent& event);
  std::vector<object::DocumentPtr> ServicesFor(core::Pod pod) const;

  Runtime& runtime;
  sdk::Client client;
  Logger log;
  AgentOptions options;
  sdk::EventRecorder recorder;
  std::string socket;
  std::unique_ptr<cri::Cri> cri;
  std::string runtime_version;
  HostFacts host;

  std::unique_ptr<sdk::Informer> pods, services;
  std::unique_ptr<ServiceProxy> proxy;
  std::unique_ptr<Tokens> tokens;
  std::unique_ptr<Volumes> volumes;
  std::unique_ptr<References> references;
  std::unique_ptr<Images> images;
  std::unique_ptr<Prober> prober;
  std::unique_ptr<NodeContext> context;
  std::unique_ptr<NodeReporter> reporter;
  std::unique_ptr<PodManager> manager;
  std::unique_ptr<NodeApi> api;
  object::DocumentPtr node;
};

Agent::Agent(Runtime& runtime, sdk::Client client, Logger log, AgentOptions options) {
  internal::FillNames(options);
  state_ = std::make_unique<State>(runtime, std::move(client), log.Named("node"), std::move(options));
  state_->api = std::make_unique<NodeApi>(runtime);
}
Agent::~Agent() = default;

const std::string& Agent::node_name() const { return state_->options.node_name; }
http::Handler& Agent::ApiHandler() { return *state_->api; }

Result<void> Agent::State::PrepareFolders() {
  // Others may enter, not list: containers of any user reach their volumes below.
  TRY(MakeDirectories(options.directory, 0711));
  for (const char* folder : {"/pods", "/logs"}) TRY(MakeDirectories(options.directory + folder, 0711));
  return MakeDirectories(options.directory + "/seccomp", 0700);
}

Task<Result<void>> Agent::State::StartRuntime() {
  if (options.containerd_socket.empty()) {
    auto start = StartContainerd(runtime, RuntimeOptions(options));
    CO_TRY_ASSIGN(socket, co_await std::move(start));
  } else {
    socket = options.containerd_socket;
    if (!PathExists(socket)) co_return Fail(NodeError("there is no container runtime at " + socket));
  }
  cri = cri::MakeGrpcCri(runtime, socket);
  auto wait = WaitForCri(runtime, *cri, kRuntimeLimit);
  Result<cri::RuntimeVersion> version = co_await std::move(wait);
  if (!version) co_return Fail(NodeError("the container runtime at " + socket + " does not answer: " + version.error().message()));
  std::string number = version->runtime_version.substr(0, version->runtime_version.find('~'));
  runtime_version = version->runtime_name + "://" + number;
  co_return Done();
}

Task<Result<void>> Agent::State::PrepareImages() {
  auto pause = ImportImage(runtime, *cri, socket, std::string(kPauseImage), PauseImageArchive(), options.directory + "/work");
  CO_TRY(co_await std::move(pause));
  if (options.images_folder.empty()) co_return Done();
  ImportOptions import{socket, options.images_folder, options.directory + "/imported"};
  auto run = ImportImages(runtime, *cri, std::move(import));
  CO_TRY_ASSIGN(std::vector<std::string> failures, co_await std::move(run));
  for (const std::string& failure : failures) log.Warning("Can't import an image", {{"err", failure}});
  co_return Done();
}

Task<Result<void>> Agent::State::SetUpNetwork(object::DocumentPtr registered) {
  if (!options.containerd_socket.empty()) co_return Done();
  network::PodNetworkOptions network = options.network;
  core::NodeSpec spec = core::Node(registered->root()).spec();
  if (!spec.pod_cidrs().empty()) network.pod_cidrs.clear();
  for (std::string_view cidr : spec.pod_cidrs()) network.pod_cidrs.emplace_back(cidr);
  network.address_directory = options.directory + "/addresses";
  CO_TRY_ASSIGN(std::string script, network::MasqueradeScript(network));
  auto nft = RunNft(runtime, std::move(script));
  Result<void> masquerade = co_await std::move(nft);
  network.masquerade_by_plugin = !masquerade;
  if (!masquerade) log.Warning("Masquerading is left to the bridge plugin", {{"err", masquerade.error()}});
  CO_TRY_ASSIGN(std::string configuration, network::CniConfiguration(network));
  std::string folder = PathsOf(RuntimeOptions(options)).cni_configurations;
  CO_TRY(ReplaceFile(folder + "/10-" + network.name + ".conflist", configuration, 0644));
  if (options.proxy_client) {
    proxy = std::make_unique<ServiceProxy>(runtime, *options.proxy_client, log, network::ServiceProxyOptions{network.name, network.bridge, network.pod_cidrs});
    auto write = proxy->Start();
    co_await std::move(write);
  }
  co_return Done();
}

void Agent::State::Record(const object::DocumentPtr& pod, const PodEvent& event) {
  recorder.Record(core::Pod::SchemaKind(), pod->root(), event.warning ? "Warning" : "Normal", event.reason, event.message,
                  FieldPath(core::Pod(pod->root()).spec(), event.container));
}

std::vector<object::DocumentPtr> Agent::State::ServicesFor(core::Pod pod) const {
  std::vector<object::DocumentPtr> visible;
  for (const object::DocumentPtr& document : services->List()) {
    if (ServiceIsVisible(core::Service(document->root()), pod)) visible.push_back(document);
  }
  return visible;
}

void Agent::State::MakeParts(NodeDescription description) {
  auto changed = [this](const std::string& uid) {
    if (manager) manager->ReferenceChanged(uid);
  };
  auto probed = [this](const std::string& uid) {
    if (manager) manager->Wake(uid);
  };
  EventSink events = [this](const object::DocumentPtr& pod, const PodEvent& event) { Record(pod, event); };
  tokens = std::make_unique<Tokens>(runtime, client);
  volumes = std::make_unique<Volumes>(runtime, *tokens, options.directory + "/pods");
  references = std::make_unique<References>(runtime, client, changed);
  images = std::make_unique<Images>(runtime, *cri, client, events);
  prober = std::make_unique<Prober>(runtime, *cri, events, probed);
  services = std::make_unique<sdk::Informer>(runtime, client, core::Service::SchemaKind());
  pods = std::make_unique<sdk::Informer>(runtime, client, core::Pod::SchemaKind(),
                                         sdk::InformerOptions{.field_selector = "spec.nodeName=" + options.node_name, .managed_fields = false});
  Result<std::string> resolv = ReadFile("/etc/resolv.conf");
  context = std::make_unique<NodeContext>(NodeContext{
      .runtime = runtime, .cri = *cri, .client = client, .log = log, .node_name = options.node_name, .owner = internal::OwnerMark(options),
      .host_ips = description.addresses.empty() ? description.machine.addresses : description.addresses,
      .pods_folder = options.directory + "/pods", .logs_folder = options.directory + "/logs",
      .seccomp_folder = options.directory + "/seccomp",
      .dns = {options.cluster_dns, options.cluster_domain, ParseResolvConf(resolv ? *resolv : "")},
      .cgroups = DetectCgroups(host.systemd_cgroups), .memory_bytes = description.machine.memory_bytes,
      .allocatable = NodeAllocatable(description), .events = events, .volumes = *volumes, .references = *references,
      .images = *images, .prober = *prober, .services = [this](core::Pod pod) { return ServicesFor(pod); }});
  reporter = std::make_unique<NodeReporter>(runtime, client, log, *cri, recorder, std::move(description));
  manager = std::make_unique<PodManager>(*context, *pods, [this] { return node; });
  api->Attach(*context, *manager);
}

Task<Result<void>> Agent::Start() {
  State& state = *state_;
  state.host = DetectHost();
  CO_TRY(state.PrepareFolders());
  auto start = state.StartRuntime();
  CO_TRY(co_await std::move(start));
  auto import = state.PrepareImages();
  CO_TRY(co_await std::move(import));
  NodeDescription description{.name = state.options.node_name, .machine = DetectMachine(state.options.directory),
                              .labels = state.options.labels, .kubelet_version = state.options.kubelet_version,
                              .runtime_version = state.runtime_version, .api_port = state.options.api_port,
                              .max_pods = state.options.max_pods, .addresses = state.options.node_addresses};
  description.machine.hostname = state.options.node_name;
  if (state.options.containerd_socket.empty()) {
    if (state.options.network.pod_cidrs.empty()) state.options.network.pod_cidrs = {FreePodRange(state.options.network.bridge)};
    description.pod_cidrs = state.options.network.pod_cidrs;
  }
  state.MakeParts(std::move(description));
  auto enroll = state.reporter->Register();
  state.node = co_await std::move(enroll);
  auto network = state.SetUpNetwork(state.node);
  CO_TRY(co_await std::move(network));
  state.services->Start();
  auto sync = state.services->WaitForSync();
  co_await std::move(sync);
  state.recorder.Record(core::Node::SchemaKind(), state.node->root(), "Normal", "Starting", "Starting kubelet.");
  state.reporter->Start();
  state.manager->Start();
  state.pods->Start();
  auto listed = state.pods->WaitForSync();
  co_await std::move(listed);
  co_return Done();
}

Task<Result<void>> Agent::Stop(bool stop_runtime) {
  State& state = *state_;
  state.api->Detach();
  state.manager.reset();
  state.reporter.reset();
  state.pods.reset();
  state.services.reset();
  if (!stop_runtime || !state.options.containerd_socket.empty()) co_return Done();
  auto stop = StopContainerd(state.runtime, RuntimeOptions(state.options));
  co_return co_await std::move(stop);
}

}  // namespace homeostat::node
