// The homeostat command: reads what it is asked to do and hands over.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <vector>

#include "cli/config_file.h"
#include "cli/remote.h"
#include "cli/stand_in.h"
#include "cli/stop_node.h"
#include "cli/up.h"
#include "cli/version.h"
#include "node/sim/sim_nodes.h"

namespace homeostat::cli {
namespace {

void AddUp(CLI::App& app, UpOptions& options) {
  CLI::App* up = app.add_subcommand("up", "Start a cluster in this process and run it until SIGTERM");
  auto flag = [up](const std::string& name, auto& value, const std::string& help) {
    std::string variable = "HOMEOSTAT_" + name;
    for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return up->add_option("--" + name, value, help)->envname(variable)->run_callback_for_default();
  };
  flag("config", options.config, "A YAML file whose keys are these flags' names; flags and the environment come before it");
  flag("data-dir", options.data_dir, "Where the cluster keeps everything; made with mode 0700");
  flag("listen", options.listen, "Address and port of the API; port 0 picks a free one")->capture_default_str();
  flag("advertise-address", options.advertise_address, "Address under which others reach the API");
  flag("store", options.store, "rocksdb or memory")->capture_default_str();
  flag("node", options.node, "auto, containerd or none: whether this machine is a node of the cluster")->capture_default_str();
  flag("sim-nodes", options.sim_nodes, "How many simulated nodes to add, at most 8192")
      ->check(CLI::Range(0, static_cast<int>(node::sim::kMostSimNodes)));
  flag("sim-images", options.sim_images, "Images that simulated nodes can pull: beginnings of full names, comma separated; all without any")->delimiter(',');
  flag("containerd-socket", options.containerd_socket, "An existing containerd to use in place of our own");
  flag("kubeconfig", options.kubeconfig, "Where to write the administrator's kubeconfig (mode 0600)");
  flag("service-cidr", options.service_cidr, "Range of the services' addresses")->capture_default_str();
  flag("enable-admission-plugins", options.enable_admission_plugins, "Admission plugins to run beside those that are on by default, comma separated")
      ->delimiter(',')
      ->capture_default_str();
  flag("disable-admission-plugins", options.disable_admission_plugins, "Admission plugins not to run, comma separated")->delimiter(',');
  flag("admission-control-config-file", options.admission_configuration, "A file that configures admission plugins, as kube-apiserver's: PodSecurity");
  flag("authorization-mode", options.authorization_mode, "Who decides what users may do: Node, RBAC, AlwaysAllow, comma separated, in this order")
      ->delimiter(',')
      ->capture_default_str();
  flag("token-auth-file", options.token_auth_file, "A file of bearer tokens: token,user,uid,\"group1,group2\" on each line");
  flag("compaction-interval", options.compaction_interval, "How long superseded revisions are kept at least, e.g. 5m0s; 0 keeps them for ever")
      ->capture_default_str();
  flag("audit-policy-file", options.audit.policy_file, "Which requests the audit log tells of: a Policy of audit.k8s.io/v1");
  flag("audit-log-path", options.audit.log_path, "Where the audit log is written, a line of JSON for each event; - for standard output");
  flag("audit-log-maxage", options.audit.max_age_days, "Days that old files of the audit log are kept; 0 keeps them")->capture_default_str();
  flag("audit-log-maxbackup", options.audit.max_backups, "How many old files of the audit log are kept; 0 keeps all")->capture_default_str();
  flag("audit-log-maxsize", options.audit.max_megabytes, "Megabytes after which the audit log begins a new file; 0: never")->capture_default_str();
  flag("controllers", options.controllers, "Run the controllers")->capture_default_str();
  flag("scheduler", options.scheduler, "Run the scheduler")->capture_default_str();
  flag("verbosity", options.verbosity, "How much to log: 0, 2, 4 (each request), 6");
  up->add_option("-v", options.verbosity, "The same as --verbosity");
  flag("log-format", options.log_format, "text or json")->check(CLI::IsMember({"text", "json"}));
}

// Makes what a file says the defaults of `up`, so that flags and the environment come before it.
Result<void> TakeConfigFile(CLI::App& up, const std::string& path) {
  TRY_ASSIGN(FlagValues values, ReadConfigFile(path));
  for (const auto& [name, value] : values) {
    auto wrong = [&](std::string_view what) { return Fail(SystemError(fmt::format("--config {}: {}: {}", path, name, what))); };
    CLI::Option* flag = name == "config" || name == "help" ? nullptr : up.get_option_no_throw("--" + name);
    if (flag == nullptr) return wrong("there is no such flag");
    try {
      flag->default_val(value);
    } catch (const CLI::Error& error) {
      return wrong(error.what());
    }
  }
  return {};
}

// The commands that ask a cluster, and what they are told.
struct RemoteCommands {
  RemoteOptions remote;
  std::vector<std::string> files;
  std::string resources, target, condition = "Available";
  int timeout = 60;
  CLI::App* apply = nullptr;
  CLI::App* get = nullptr;
  CLI::App* wait = nullptr;
};

void AddRemote(CLI::App& app, RemoteCommands& commands) {
  auto add = [&](const std::string& name, const std::string& help) {
    CLI::App* command = app.add_subcommand(name, help);
    command->add_option("--kubeconfig", commands.remote.kubeconfig, "The cluster's kubeconfig; otherwise as kubectl finds it");
    command->add_option("-n,--namespace", commands.remote.ns, "The namespace; otherwise the context's");
    return command;
  };
  commands.apply = add("apply", "Apply the objects of YAML files (server-side apply)");
  commands.apply->add_option("-f,--filename", commands.files, "Files")->required();
  commands.get = add("get", "Show objects as tables");
  commands.get->add_option("resources", commands.resources, "Comma separated, e.g. deployments,pods")->required();
  commands.wait = add("wait", "Wait until an object has a condition");
  commands.wait->add_option("target", commands.target, "RESOURCE/NAME")->required();
  commands.wait->add_option("--for", commands.condition, "The condition's type")->capture_default_str();
  commands.wait->add_option("--timeout", commands.timeout, "Seconds")->capture_default_str();
}

int Main(int argc, char** argv) {
  std::vector<std::string_view> words(argv + 1, argv + argc);
  if (auto code = RunStandIn(argv[0], words)) return *code;
  CLI::App app{"A Kubernetes cluster in one program"};
  app.set_version_flag("--version", std::string(kVersion) + " (Kubernetes " + std::string(kGitVersion) + ")");
  app.require_subcommand(1);
  UpOptions up;
  AddUp(app, up);
  RemoteCommands commands;
  AddRemote(app, commands);
  std::string stop_data_dir;
  CLI::App* stop_node = app.add_subcommand("stop-node", "End the containers of a stopped cluster's node, and their runtime");
  stop_node->add_option("--data-dir", stop_data_dir, "The cluster's data directory")->required();
  CLI::App* envtest = app.add_subcommand("envtest", "Stand in for kube-apiserver and etcd in tests of operators");
  envtest->require_subcommand(1);
  std::string assets;
  CLI::App* install = envtest->add_subcommand("install", "Make the folder that KUBEBUILDER_ASSETS names");
  install->add_option("directory", assets, "The folder")->required();
  CLI::App* version = app.add_subcommand("version", "Print the version");
  if (!words.empty() && words[0] == "up") {
    if (std::string path = ConfigFileOf(words); !path.empty()) {
      if (auto taken = TakeConfigFile(*app.get_subcommand("up"), path); !taken) {
        fmt::print(stderr, "homeostat: {}\n", taken.error().message());
        return 1;
      }
    }
  }
  CLI11_PARSE(app, argc, argv);
  if (version->parsed()) {
    fmt::print("homeostat {} (Kubernetes {})\n", kVersion, kGitVersion);
    return 0;
  }
  if (install->parsed()) return RunEnvtestInstall(assets);
  if (stop_node->parsed()) return RunStopNode(stop_data_dir);
  if (commands.apply->parsed()) return RunApply(commands.remote, commands.files);
  if (commands.get->parsed()) return RunGet(commands.remote, commands.resources);
  if (commands.wait->parsed()) return RunWait(commands.remote, commands.target, commands.condition, commands.timeout);
  return RunUp(up);
}

}  // namespace
}  // namespace homeostat::cli

// Read by jemalloc when it starts. Memory that was freed goes back to the system within a second or two, from a thread of
// jemalloc's own, so that a program that rests is small again; two arenas are enough for one loop and its helpers.
extern "C" {
const char* malloc_conf = "background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0,narenas:2";
}

int main(int argc, char** argv) { return homeostat::cli::Main(argc, argv); }
