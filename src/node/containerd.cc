#include "node/containerd.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "homeostat/base/files.h"
#include "homeostat/base/subprocess.h"
#include "node/errors.h"
#include "node/files.h"
#include "node/image_archive.h"
#include "node/process.h"
#include "node/trial.h"

namespace homeostat::node {

namespace {

constexpr Duration kPoll = std::chrono::milliseconds(20);
constexpr Duration kStartLimit = std::chrono::seconds(60);
// Ours keeps everything from others; what containers see must not be so.
constexpr const char* kStartWithUmask = "umask 0022; exec \"$0\" \"$@\"";
constexpr Duration kStopLimit = std::chrono::seconds(20);

bool HasCapSysResource() {
  constexpr int kBit = 24;
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("CapEff:")) return (std::stoull(line.substr(7), nullptr, 16) >> kBit) & 1;
  }
  return false;
}

// What the pid file says: the process, and which folder it works in. A folder that was removed and made again has
// the same name but is another.
struct PidRecord {
  pid_t pid = 0;
  uint64_t root = 0;
};

PidRecord ReadRecord(const std::string& path) {
  std::ifstream in(path);
  PidRecord record;
  in >> record.pid >> record.root;
  return in ? record : PidRecord();
}

pid_t ReadPid(const std::string& path) { return ReadRecord(path).pid; }

uint64_t IdentityOfFolder(const std::string& path) {
  struct stat about;
  return stat(path.c_str(), &about) == 0 ? about.st_ino : 0;
}

std::string LastLines(const std::string& path) {
  Result<std::string> log = ReadFile(path);
  if (!log) return "";
  while (!log->empty() && log->back() == '\n') log->pop_back();
  size_t line = log->rfind('\n');
  return line == std::string::npos ? *log : log->substr(line + 1);
}

// What starting found: a process to wait for.
struct Started {
  pid_t pid = 0;
};

Result<void> CheckPrerequisites(const ContainerdOptions& options) {
  if (geteuid() != 0) return Fail(NodeError("running containers needs root"));
  for (const char* program : {"containerd", "runc", "ctr"}) {
    if (FindProgram(program).empty()) {
      return Fail(NodeError(std::string(program) + " is not installed (Debian packages containerd, runc)"));
    }
  }
  if (!PathExists(options.cni_binaries + "/bridge") || !PathExists(options.cni_binaries + "/host-local")) {
    return Fail(NodeError("the CNI plugins are not in " + options.cni_binaries +
                              " (Debian package containernetworking-plugins)"));
  }
  return {};
}

// Blocking. True once the process is gone.
bool StopProcess(pid_t pid, const std::string& config, int signal) {
  if (!IsProcess(pid, config)) return true;
  kill(pid, signal);
  return false;
}

// Blocking: everything of a start but the waiting. Returns 0 as the pid while an instance with another configuration
// still has to end.
Result<Started> EnsureProcess(const ContainerdOptions& options) {
  TRY(CheckPrerequisites(options));
  ContainerdPaths paths = PathsOf(options);
  for (const std::string& folder : {options.directory, paths.run, paths.root}) TRY(MakeDirectories(folder, 0711));
  TRY(MakeDirectories(paths.cni_configurations, 0755));
  HostFacts host = DetectHost();
  host.overlay = CanMountOverlay(paths.root);
  std::string config = ContainerdConfiguration(options, host);
  Result<std::string> old_config = ReadFile(paths.config);
  PidRecord record = ReadRecord(paths.pid_file);
  if (IsProcess(record.pid, paths.config)) {
    bool same = old_config && *old_config == config && record.root == IdentityOfFolder(paths.root);
    if (same) return Started{record.pid};
    StopProcess(record.pid, paths.config, SIGTERM);
    return Started{0};
  }
  TRY(ReplaceFile(paths.config, config, 0600));
  unlink(paths.socket.c_str());
  TRY_ASSIGN(pid_t pid, StartDaemon({"sh", "-c", kStartWithUmask, "containerd", "--config", paths.config}, paths.log));
  TRY(ReplaceFile(paths.pid_file, std::to_string(pid) + " " + std::to_string(IdentityOfFolder(paths.root)) + "\n", 0644));
  return Started{pid};
}

}  // namespace

Result<void> CanRunContainerd(const ContainerdOptions& options) {
  TRY(CheckPrerequisites(options));
  return TryWhatContainersNeed();
}

HostFacts DetectHost() {
  HostFacts facts;
  facts.systemd_cgroups = PathExists("/run/systemd/system") && PathExists("/sys/fs/cgroup/cgroup.controllers");
  facts.may_lower_oom_score = HasCapSysResource();
  return facts;
}

ContainerdPaths PathsOf(const ContainerdOptions& options) {
  ContainerdPaths paths;
  paths.config = options.directory + "/config.toml";
  paths.log = options.directory + "/containerd.log";
  paths.root = options.directory + "/root";
  paths.imported = options.directory + "/imported";
  paths.run = "/run/homeostat/" + Sha256(options.directory).substr(0, 12);
  paths.socket = paths.run + "/containerd.sock";
  paths.pid_file = paths.run + "/containerd.pid";
  paths.cni_configurations = options.cni_configurations.empty() ? options.directory + "/cni" : options.cni_configurations;
  return paths;
}

std::string ContainerdConfiguration(const ContainerdOptions& options, const HostFacts& host) {
  ContainerdPaths paths = PathsOf(options);
  auto truth = [](bool value) { return value ? "true" : "false"; };
  std::string snapshotter = host.overlay ? "overlayfs" : "native";
  std::string cri = "plugins.\"io.containerd.grpc.v1.cri\"";
  std::ostringstream out;
  out << "# Written by homeostat at each start.\n"
      << "version = 2\n"
      << "root = \"" << paths.root << "\"\n"
      << "state = \"" << paths.run << "/state\"\n"
      << "oom_score = " << (host.may_lower_oom_score ? -999 : 0) << "\n"
      << "disabled_plugins = [\"io.containerd.snapshotter.v1.aufs\", \"io.containerd.snapshotter.v1.btrfs\", "
      << "\"io.containerd.snapshotter.v1.devmapper\", \"io.containerd.snapshotter.v1.zfs\", "
      << "\"io.containerd.internal.v1.opt\", \"io.containerd.internal.v1.tracing\", "
      << "\"io.containerd.tracing.processor.v1.otlp\"]\n\n"
      << "[grpc]\n  address = \"" << paths.socket << "\"\n\n"
      << "[debug]\n  level = \"warn\"\n\n"
      << "[" << cri << "]\n"
      << "  sandbox_image = \"" << options.sandbox_image << "\"\n"
      // Without the right to lower the score a container that asks for it would not start at all.
      << "  restrict_oom_score_adj = " << truth(!host.may_lower_oom_score) << "\n"
      << "  tolerate_missing_hugetlb_controller = true\n"
      << "  disable_tcp_service = true\n"
      << "  stream_server_address = \"127.0.0.1\"\n"
      << "  stream_server_port = \"0\"\n"
      << "  device_ownership_from_security_context = true\n\n"
      << "[" << cri << ".containerd]\n"
      << "  snapshotter = \"" << snapshotter << "\"\n"
      << "  default_runtime_name = \"runc\"\n\n"
      << "[" << cri << ".containerd.runtimes.runc]\n"
      << "  runtime_type = \"io.containerd.runc.v2\"\n\n"
      << "[" << cri << ".containerd.runtimes.runc.options]\n"
      << "  SystemdCgroup = " << truth(host.systemd_cgroups) << "\n\n"
      << "[" << cri << ".cni]\n"
      << "  bin_dir = \"" << options.cni_binaries << "\"\n"
      << "  conf_dir = \"" << paths.cni_configurations << "\"\n"
      << "  max_conf_num = 1\n\n"
      << "[" << cri << ".registry]\n"
      << "  config_path = \"" << options.directory << "/registries\"\n";
  return out.str();
}

Task<Result<cri::RuntimeVersion>> WaitForCri(Runtime& runtime, cri::Cri& cri, Duration limit) {
  MonotonicTime end = runtime.Now() + limit;
  for (;;) {
    auto call = cri.Version();
    Result<cri::RuntimeVersion> version = co_await std::move(call);
    if (version || runtime.Now() >= end) co_return version;
    co_await Sleep(runtime, kPoll);
  }
}

Task<Result<std::string>> StartContainerd(Runtime& runtime, ContainerdOptions options) {
  ContainerdPaths paths = PathsOf(options);
  MonotonicTime end = runtime.Now() + kStartLimit;
  for (;;) {
    std::move_only_function<Result<Started>()> work = [options] { return EnsureProcess(options); };
    auto ensure = RunOffLoop<Result<Started>>(runtime, std::move(work));
    CO_TRY_ASSIGN(Started started, co_await std::move(ensure));
    if (started.pid != 0) break;
    if (runtime.Now() >= end) co_return Fail(NodeError("an earlier containerd does not stop"));
    co_await Sleep(runtime, kPoll);
  }
  auto cri = cri::MakeGrpcCri(runtime, paths.socket);
  while (runtime.Now() < end) {
    auto call = cri->Version();
    Result<cri::RuntimeVersion> version = co_await std::move(call);
    if (version) co_return paths.socket;
    pid_t pid = ReadPid(paths.pid_file);
    if (!IsProcess(pid, paths.config)) co_return Fail(NodeError("containerd ended at its start: " + LastLines(paths.log)));
    co_await Sleep(runtime, kPoll);
  }
  co_return Fail(NodeError("containerd does not answer; see " + paths.log));
}

Task<Result<void>> StopContainerd(Runtime& runtime, ContainerdOptions options) {
  ContainerdPaths paths = PathsOf(options);
  MonotonicTime end = runtime.Now() + kStopLimit;
  int signal = SIGTERM;
  for (;;) {
    pid_t pid = ReadPid(paths.pid_file);
    if (StopProcess(pid, paths.config, std::exchange(signal, 0))) break;
    if (runtime.Now() >= end) signal = SIGKILL;
    if (runtime.Now() >= end + kStopLimit) co_return Fail(NodeError("containerd does not stop"));
    co_await Sleep(runtime, kPoll);
  }
  unlink(paths.pid_file.c_str());
  co_return Done();
}

namespace {

// Runs containerd's command line client; answers with what it printed.
Task<Result<std::string>> Ctr(Runtime& runtime, std::string socket, std::vector<std::string> arguments) {
  SubprocessOptions options;
  options.arguments = {"ctr", "--address", socket, "-n", "k8s.io"};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  auto run = RunCommand(runtime, std::move(options));
  CO_TRY_ASSIGN(CommandOutput output, co_await std::move(run));
  if (output.exit_code == 0) co_return std::move(output.output);
  std::string shown = output.errors.substr(0, 1000);
  while (shown.ends_with('\n')) shown.pop_back();
  co_return Fail(NodeError("ctr failed with exit code " + std::to_string(output.exit_code) + ": " + shown));
}

// The names in lines such as "unpacking docker.io/local/web:1 (sha256:…)...done".
std::vector<std::string> ImportedNames(const std::string& output) {
  std::vector<std::string> names;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("unpacking ")) continue;
    size_t end = line.find(" (", 10);
    if (end != std::string::npos) names.push_back(line.substr(10, end - 10));
  }
  return names;
}

// Imports and pins. Answers with the names of the images.
Task<Result<std::vector<std::string>>> ImportFile(Runtime& runtime, std::string socket, std::string path) {
  std::vector<std::string> arguments = {"images", "import", path};
  auto import = Ctr(runtime, socket, std::move(arguments));
  CO_TRY_ASSIGN(std::string output, co_await std::move(import));
  std::vector<std::string> names = ImportedNames(output);
  if (names.empty()) co_return Fail(NodeError("no image with a name is in it"));
  for (const std::string& name : names) {
    std::vector<std::string> label = {"images", "label", name, "io.cri-containerd.pinned=pinned"};
    auto pin = Ctr(runtime, socket, std::move(label));
    CO_TRY(co_await std::move(pin));
  }
  co_return names;
}

// One tar that was imported: its identity and what was in it.
struct ImportRecord {
  std::string identity;
  std::vector<std::string> names;
};

std::map<std::string, ImportRecord> ReadRecords(const std::string& path) {
  std::map<std::string, ImportRecord> records;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream parts(line);
    std::string file, name;
    ImportRecord record;
    if (!std::getline(parts, file, '\t') || !std::getline(parts, record.identity, '\t')) continue;
    while (std::getline(parts, name, '\t')) record.names.push_back(name);
    records[file] = record;
  }
  return records;
}

Result<void> WriteRecords(const std::string& path, const std::map<std::string, ImportRecord>& records) {
  std::string text;
  for (const auto& [file, record] : records) {
    text += file + "\t" + record.identity;
    for (const std::string& name : record.names) text += "\t" + name;
    text += "\n";
  }
  return ReplaceFile(path, text, 0600);
}

std::string IdentityOf(const std::string& path) {
  struct stat about;
  if (stat(path.c_str(), &about) != 0) return "";
  return std::to_string(about.st_size) + "." + std::to_string(about.st_mtim.tv_sec) + "." +
         std::to_string(about.st_mtim.tv_nsec);
}

bool IsImageTar(const std::string& name) {
  return name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz") || name.ends_with(".tar.zst");
}

bool AllPresent(const std::vector<std::string>& names, const std::set<std::string>& present) {
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return present.contains(name); });
}

}  // namespace

Task<Result<std::vector<std::string>>> ImportImages(Runtime& runtime, cri::Cri& cri, ImportOptions options) {
  auto list = cri.ListImages();
  CO_TRY_ASSIGN(std::vector<cri::Image> images, co_await std::move(list));
  std::set<std::string> present;
  for (const cri::Image& image : images) present.insert(image.repo_tags.begin(), image.repo_tags.end());
  std::vector<std::string> failures;
  CO_TRY_ASSIGN(std::vector<std::string> files, ListFolder(options.folder));
  std::map<std::string, ImportRecord> records = ReadRecords(options.record);
  for (const std::string& file : files) {
    if (!IsImageTar(file)) continue;
    std::string path = options.folder + "/" + file;
    std::string identity = IdentityOf(path);
    auto known = records.find(file);
    if (known != records.end() && known->second.identity == identity && AllPresent(known->second.names, present)) continue;
    auto import = ImportFile(runtime, options.socket, path);
    Result<std::vector<std::string>> names = co_await std::move(import);
    if (!names) {
      failures.push_back(path + ": " + names.error().message());
      continue;
    }
    records[file] = {identity, *names};
    CO_TRY(WriteRecords(options.record, records));
  }
  co_return failures;
}

Task<Result<void>> ImportImage(Runtime& runtime, cri::Cri& cri, std::string socket, std::string name, std::string archive,
                               std::string work_folder) {
  cri::ImageSpec spec{.image = name};
  auto ask = cri.ImageStatus(std::move(spec));
  CO_TRY_ASSIGN(std::optional<cri::Image> found, co_await std::move(ask));
  if (found) co_return Done();
  std::string path = work_folder + "/import.tar";
  CO_TRY(MakeDirectories(work_folder, 0700));
  CO_TRY(ReplaceFile(path, archive, 0600));
  auto import = ImportFile(runtime, socket, path);
  Result<std::vector<std::string>> names = co_await std::move(import);
  unlink(path.c_str());
  if (!names) co_return Fail(names.error().WithContext("can't import " + name));
  co_return Done();
}

}  // namespace homeostat::node
