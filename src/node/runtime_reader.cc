#include "node/runtime_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/files.h"
#include "node/log_stream.h"

namespace homeostat::node {

namespace {

constexpr size_t kLongestMessage = 4096, kLongestLogMessage = 2048;
constexpr int64_t kLogLines = 80;

std::string Annotation(const RuntimeContainer& container, std::string_view key) {
  auto found = container.status.annotations.find(std::string(key));
  return found == container.status.annotations.end() ? "" : found->second;
}

// The file is the container's to write: it may have become anything.
std::string ReadMessageFile(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about;
  if (!file || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return "";
  std::string text(kLongestMessage, '\0');
  off_t begin = std::max<off_t>(0, about.st_size - static_cast<off_t>(kLongestMessage));
  ssize_t got = pread(file.get(), text.data(), text.size(), begin);
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return text;
}

}  // namespace

std::string ReadTerminationMessage(const RuntimeContainer& container) {
  std::string path = Annotation(container, kMessageFileAnnotation);
  std::string message = path.empty() ? "" : ReadMessageFile(path);
  bool from_log = Annotation(container, kMessagePolicyAnnotation) == core::kTerminationMessagePolicyFallbackToLogsOnError;
  if (!message.empty() || !from_log || container.status.exit_code == 0) return message;
  return LastLogText(container.status.log_path, kLogLines, kLongestLogMessage);
}

Task<Result<RuntimeContainer>> RuntimeReader::ReadContainerStatus(cri::Container item) {
  auto known = exited_.find(item.id);
  if (known != exited_.end()) co_return known->second;
  auto ask = cri_.GetContainerStatus(item.id);
  CO_TRY_ASSIGN(cri::ContainerStatus status, co_await std::move(ask));
  status.sandbox_id = item.sandbox_id;
  std::optional<RuntimeContainer> container = ReadContainer(std::move(status));
  if (!container) co_return RuntimeContainer{};
  if (container->exited()) {
    RuntimeContainer copy = *container;
    std::move_only_function<std::string()> work = [copy] { return ReadTerminationMessage(copy); };
    auto read = RunOffLoop<std::string>(runtime_, std::move(work));
    std::string message = co_await std::move(read);
    // The runtime's own words are kept where the container left none: why it could not be run, for example.
    if (!message.empty()) container->status.message = std::move(message);
    exited_[item.id] = *container;
  }
  co_return std::move(*container);
}

Task<Result<RuntimePod>> RuntimeReader::Read(std::string uid) {
  RuntimePod pod;
  pod.uid = uid;
  cri::Filter filter{.labels = {{std::string(kPodUidLabel), uid}}};
  auto list_sandboxes = cri_.ListPodSandbox(filter);
  CO_TRY_ASSIGN(std::vector<cri::Sandbox> sandboxes, co_await std::move(list_sandboxes));
  for (const cri::Sandbox& item : sandboxes) {
    auto ask = cri_.PodSandboxStatus(item.id);
    Result<cri::SandboxStatus> status = co_await std::move(ask);
    if (!status && status.error().IsNotFound()) continue;
    if (!status) co_return Fail(status.error());
    pod.name = status->metadata.name;
    pod.ns = status->metadata.ns;
    pod.sandboxes.push_back(std::move(*status));
  }
  auto list_containers = cri_.ListContainers(filter);
  CO_TRY_ASSIGN(std::vector<cri::Container> containers, co_await std::move(list_containers));
  std::erase_if(exited_, [&](const auto& entry) {
    return std::none_of(containers.begin(), containers.end(), [&](const cri::Container& c) { return c.id == entry.first; });
  });
  for (const cri::Container& item : containers) {
    auto read = ReadContainerStatus(item);
    Result<RuntimeContainer> container = co_await std::move(read);
    if (!container && container.error().IsNotFound()) continue;
    if (!container) co_return Fail(container.error());
    if (!container->name.empty()) pod.containers.push_back(std::move(*container));
  }
  pod.Sort();
  co_return pod;
}

Task<Result<std::map<std::string, std::string>>> SummarizePods(cri::Cri& cri, std::string owner) {
  std::map<std::string, std::string> summary;
  cri::Filter ours{.labels = {{std::string(kOwnerLabel), owner}}};
  auto list_sandboxes = cri.ListPodSandbox(ours);
  CO_TRY_ASSIGN(std::vector<cri::Sandbox> sandboxes, co_await std::move(list_sandboxes));
  auto list_containers = cri.ListContainers(ours);
  CO_TRY_ASSIGN(std::vector<cri::Container> containers, co_await std::move(list_containers));
  std::sort(sandboxes.begin(), sandboxes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  std::sort(containers.begin(), containers.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const cri::Sandbox& item : sandboxes) {
    auto uid = item.labels.find(std::string(kPodUidLabel));
    if (uid != item.labels.end()) summary[uid->second] += item.id + (item.state == cri::SandboxState::kReady ? "+" : "-");
  }
  for (const cri::Container& item : containers) {
    auto uid = item.labels.find(std::string(kPodUidLabel));
    if (uid != item.labels.end()) summary[uid->second] += item.id + std::to_string(static_cast<int>(item.state));
  }
  co_return summary;
}

}  // namespace homeostat::node
