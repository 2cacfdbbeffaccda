// The container runtime for real: our own containerd in a folder of its own. Needs root, containerd, the CNI plugins and
// busybox; is passed over without them.
#include "node/containerd.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "homeostat/base/files.h"
#include "network/pod_network.h"
#include "node/agent.h"
#include "node/cgroups.h"
#include "node/cri_config.h"
#include "node/files.h"
#include "node/image_archive.h"
#include "node/internal/agent_defaults.h"
#include "node/log_rotation.h"
#include "node/log_stream.h"
#include "node/pause_image.h"
#include "node/probe.h"
#include "node/process.h"
#include "node/runtime_pod.h"

namespace homeostat::node {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImage = "docker.io/local/node-test:1";

TEST(ContainerdConfiguration, FollowsTheHost) {
  ContainerdOptions options{.directory = "/data/node"};
  std::string text = ContainerdConfiguration(options, {.systemd_cgroups = true, .may_lower_oom_score = true, .overlay = true});
  EXPECT_NE(text.find("SystemdCgroup = true"), std::string::npos);
  EXPECT_NE(text.find("restrict_oom_score_adj = false"), std::string::npos);
  EXPECT_NE(text.find("oom_score = -999"), std::string::npos);
  EXPECT_NE(text.find("stream_server_address = \"127.0.0.1\""), std::string::npos);
  text = ContainerdConfiguration(options, {.systemd_cgroups = false, .may_lower_oom_score = false, .overlay = false});
  EXPECT_NE(text.find("snapshotter = \"native\""), std::string::npos);
  EXPECT_NE(text.find("restrict_oom_score_adj = true"), std::string::npos);
  EXPECT_LT(PathsOf({.directory = "/" + std::string(300, 'x')}).socket.size(), 100u) << "paths of sockets are short";
}

std::string Missing() {
  if (geteuid() != 0) return "root";
  for (const char* program : {"containerd", "runc", "ctr", "nft", "busybox"}) {
    if (FindProgram(program).empty()) return program;
  }
  return PathExists("/usr/lib/cni/bridge") ? "" : "the CNI plugins";
}

// Runs one task to its end on a loop of its own.
class Loop {
 public:
  template <class T>
  T Run(Task<T> task) {
    std::optional<T> result;
    TaskGroup group(*runtime);
    auto body = [](RealRuntime* loop, Task<T> inner, std::optional<T>* out) -> Task<void> {
      out->emplace(co_await std::move(inner));
      loop->Stop();
    };
    group.Spawn(body(runtime.get(), std::move(task), &result));
    runtime->Run();
    return std::move(*result);
  }
  std::unique_ptr<RealRuntime> runtime = RealRuntime::Make();
};

class ContainerdTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string missing = Missing(); !missing.empty()) GTEST_SKIP() << "needs " << missing;
    folder_ = fs::temp_directory_path() / ("homeostat-node-test-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    agent_.directory = folder_;
    agent_.network.bridge = "hsnodetest0";
    agent_.network.name = "homeostat-node-test";
    agent_.network.pod_cidrs = {"10.199.7.0/24"};
    agent_.network.address_directory = folder_ + "/addresses";
    containerd_.directory = folder_ + "/containerd";
    containerd_.sandbox_image = kPauseImage;
    Start();
  }
  void TearDown() override {
    if (folder_.empty()) return;
    cri_.reset();
    Result<void> removed = loop_.Run(RemoveNode(*loop_.runtime, agent_));
    EXPECT_TRUE(removed) << removed.error().message();
    fs::remove_all(folder_);
    EXPECT_FALSE(PathExists("/sys/class/net/hsnodetest0"));
    EXPECT_TRUE(RemovePodCgroup(DetectCgroups(false), "/homeostat-node-test"));
  }

  void Start() {
    Result<std::string> socket = loop_.Run(StartContainerd(*loop_.runtime, containerd_));
    ASSERT_TRUE(socket) << socket.error().message();
    socket_ = *socket;
    cri_ = cri::MakeGrpcCri(*loop_.runtime, socket_);
  }
  pid_t Pid() {
    std::ifstream in(PathsOf(containerd_).pid_file);
    pid_t pid = 0;
    in >> pid;
    return pid;
  }
  void Prepare() {
    Result<std::string> network = network::CniConfiguration(agent_.network);
    ASSERT_TRUE(network);
    ASSERT_TRUE(ReplaceFile(PathsOf(containerd_).cni_configurations + "/10-test.conflist", *network, 0644));
    Result<void> pause = loop_.Run(ImportImage(*loop_.runtime, *cri_, socket_, std::string(kPauseImage), PauseImageArchive(), folder_ + "/work"));
    ASSERT_TRUE(pause) << pause.error().message();
    fs::create_directories(folder_ + "/images");
    Result<std::string> busybox = ReadFile(FindProgram("busybox"));
    ASSERT_TRUE(busybox);
    using Type = ImageFile::Type;
    ImageDescription image{.names = {kImage}, .entrypoint = {"/bin/busybox", "sh", "-c"}, .architecture = BuildArchitecture()};
    std::ofstream(folder_ + "/images/test.tar", std::ios::binary)
        << MakeImageArchive(image, {{Type::kDirectory, "bin", 0755, ""}, {Type::kFile, "bin/busybox", 0755, *busybox},
                                    {Type::kSymlink, "bin/sh", 0777, "busybox"}, {Type::kSymlink, "bin/sleep", 0777, "busybox"},
                                    {Type::kSymlink, "bin/cat", 0777, "busybox"}, {Type::kDirectory, "tmp", 01777, ""}});
    std::ofstream(folder_ + "/images/broken.tar") << "this is no image";
    auto failures = loop_.Run(ImportImages(*loop_.runtime, *cri_, {socket_, folder_ + "/images", folder_ + "/imported"}));
    ASSERT_TRUE(failures) << failures.error().message();
    ASSERT_EQ(failures->size(), 1u) << "the broken one is told, the other imported";
    EXPECT_NE((*failures)[0].find("broken.tar"), std::string::npos);
    WaitForNetwork();
  }
  void WaitForNetwork() {
    for (int i = 0; i < 100; ++i) {
      auto conditions = loop_.Run(cri_->Status());
      ASSERT_TRUE(conditions);
      bool ready = std::all_of(conditions->begin(), conditions->end(), [](const auto& c) { return c.status; });
      if (ready) return;
      auto pause = [](Runtime* runtime) -> Task<Result<void>> {
        auto wait = Sleep(*runtime, std::chrono::milliseconds(50));
        co_await std::move(wait);
        co_return Done();
      };
      ASSERT_TRUE(loop_.Run(pause(loop_.runtime.get())));
    }
    FAIL() << "the network is not ready";
  }
  cri::SandboxConfig Sandbox() {
    cri::SandboxConfig config;
    config.metadata = {"web", "node-test-uid", "default", 0};
    config.hostname = "web";
    config.log_directory = folder_ + "/logs";
    config.cgroup_parent = "/homeostat-node-test";
    config.seccomp = cri::SecurityProfile{};
    config.labels = {{std::string(kOwnerLabel), internal::OwnerMark(agent_)}};
    fs::create_directories(config.log_directory + "/c");
    return config;
  }
  std::string RunContainer(const std::string& sandbox, const std::string& script) {
    cri::ContainerConfig config;
    config.metadata = {"c", attempt_};
    config.image.image = kImage;
    config.args = {script};
    config.env = {{"GREETING", "hello"}};
    config.labels = {{std::string(kOwnerLabel), internal::OwnerMark(agent_)}};
    config.log_path = "c/" + std::to_string(attempt_++) + ".log";
    config.resources = {.cpu_period = 100000, .cpu_quota = 50000, .cpu_shares = 256, .memory_limit = 32 << 20};
    Result<std::string> id = loop_.Run(cri_->CreateContainer(sandbox, config, Sandbox()));
    EXPECT_TRUE(id) << id.error().message();
    if (!id) return "";
    Result<void> started = loop_.Run(cri_->StartContainer(*id));
    EXPECT_TRUE(started) << started.error().message();
    return *id;
  }
  std::string ReadLog(uint32_t attempt) {
    auto reader = loop_.Run(OpenLog(*loop_.runtime, folder_ + "/logs/c/" + std::to_string(attempt) + ".log", {}, [] { return false; }));
    if (!reader) return reader.error().message();
    std::string text;
    for (;;) {
      Result<Bytes> piece = loop_.Run((*reader)->Read());
      if (!piece || piece->empty()) return text;
      text += piece->view();
    }
  }

  Loop loop_;
  std::string folder_, socket_;
  AgentOptions agent_;
  ContainerdOptions containerd_;
  std::unique_ptr<cri::Cri> cri_;
  uint32_t attempt_ = 0;
};

TEST_F(ContainerdTest, RunsAPodFromItsSandboxToItsEnd) {
  Prepare();
  Result<std::string> sandbox = loop_.Run(cri_->RunPodSandbox(Sandbox()));
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  Result<cri::SandboxStatus> status = loop_.Run(cri_->PodSandboxStatus(*sandbox));
  ASSERT_TRUE(status);
  ASSERT_EQ(status->ips.size(), 1u);
  EXPECT_TRUE(status->ips[0].starts_with("10.199.7."));

  std::string id = RunContainer(*sandbox, "echo $GREETING; trap 'echo bye; exit 3' TERM; while true; do sleep 0.1; done");
  Result<cri::ContainerStatus> running = loop_.Run(cri_->GetContainerStatus(id));
  ASSERT_TRUE(running);
  EXPECT_EQ(running->state, cri::ContainerState::kRunning);

  Result<cri::ExecResult> exec = loop_.Run(cri_->ExecSync(id, {"sh", "-c", "cat /etc/hostname; exit 4"}, 5));
  ASSERT_TRUE(exec) << exec.error().message();
  EXPECT_EQ(exec->out, "web\n");
  EXPECT_EQ(exec->exit_code, 4);
  Result<CheckResult> late = loop_.Run(RunCheck(*loop_.runtime, *cri_, id, ExecCheck{{"sleep", "9"}}, std::chrono::seconds(1)));
  ASSERT_TRUE(late) << late.error().message();
  EXPECT_EQ(late->output, "command timed out: \"sleep 9\" timed out after 1s");

  Result<void> rotated = loop_.Run(RotateLog(*loop_.runtime, *cri_, id, folder_ + "/logs/c/0.log", {.bytes = 1}));
  EXPECT_TRUE(rotated) << rotated.error().message();
  Result<void> stopped = loop_.Run(cri_->StopContainer(id, 5));
  ASSERT_TRUE(stopped) << stopped.error().message();
  Result<cri::ContainerStatus> ended = loop_.Run(cri_->GetContainerStatus(id));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->state, cri::ContainerState::kExited);
  EXPECT_EQ(ended->exit_code, 3);
  EXPECT_EQ(ReadLog(0), "bye\n") << "what came before was rotated away";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ + "/logs/c"), fs::directory_iterator()), 2);

  Result<cri::ContainerStatus> none = loop_.Run(cri_->GetContainerStatus("nosuch"));
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().IsNotFound());
}

TEST_F(ContainerdTest, OutlivesItsStarterAndIsAdopted) {
  Prepare();
  Result<std::string> sandbox = loop_.Run(cri_->RunPodSandbox(Sandbox()));
  ASSERT_TRUE(sandbox) << sandbox.error().message();
  std::string id = RunContainer(*sandbox, "while true; do sleep 1; done");
  pid_t first = Pid();
  Start();
  EXPECT_EQ(Pid(), first) << "the same configuration: adopted";
  auto failures = loop_.Run(ImportImages(*loop_.runtime, *cri_, {socket_, folder_ + "/images", folder_ + "/imported"}));
  ASSERT_TRUE(failures);

  containerd_.cni_binaries = "/usr/lib/cni/";
  Start();
  EXPECT_NE(Pid(), first) << "another configuration: started anew";
  Result<cri::ContainerStatus> still = loop_.Run(cri_->GetContainerStatus(id));
  ASSERT_TRUE(still) << still.error().message();
  EXPECT_EQ(still->state, cri::ContainerState::kRunning) << "containers don't notice";
  containerd_.cni_binaries = "/usr/lib/cni";
}

TEST_F(ContainerdTest, AFolderThatWasRemovedAndMadeAgainStartsAnew) {
  pid_t first = Pid();
  cri_.reset();
  fs::remove_all(containerd_.directory);
  Start();
  EXPECT_NE(Pid(), first);
  EXPECT_FALSE(IsProcess(first, PathsOf(containerd_).config)) << "nothing is left behind";
  auto images = loop_.Run(cri_->ListImages());
  ASSERT_TRUE(images);
  EXPECT_TRUE(images->empty());
}

}  // namespace
}  // namespace homeostat::node
