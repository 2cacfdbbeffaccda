#include "node/cri_config.h"

#include "node/internal/test_pods.h"
#include "node/resources.h"

namespace homeostat::node {
namespace {

std::string Join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : " ") + part;
  return out;
}

std::string Shown(const cri::DnsConfig& dns) { return Join(dns.servers) + " | " + Join(dns.searches) + " | " + Join(dns.options); }

TEST(ParseResolvConf, ReadsTheThreeKeywords) {
  EXPECT_EQ(Shown(ParseResolvConf("# c\nnameserver 1.1.1.1\nsearch a. b\nnameserver 2.2.2.2 x\nsearch c d.\noptions ndots:2 rotate\n")),
            "1.1.1.1 2.2.2.2 | c d | ndots:2 rotate");
}

TEST(PodDns, FollowsThePolicy) {
  DnsSettings settings{.cluster_servers = {"10.96.0.10"}, .node = {{"1.1.1.1"}, {"lan"}, {"rotate"}}};
  struct Case {
    const char *spec, *shown;
  };
  for (const Case& c : {
           Case{"{'dnsPolicy': 'ClusterFirst'}", "10.96.0.10 | default.svc.cluster.local svc.cluster.local cluster.local lan | ndots:5"},
           Case{"{'dnsPolicy': 'ClusterFirst', 'hostNetwork': true}", "1.1.1.1 | lan | rotate"},
           Case{"{'dnsPolicy': 'ClusterFirstWithHostNet', 'hostNetwork': true}",
                "10.96.0.10 | default.svc.cluster.local svc.cluster.local cluster.local lan | ndots:5"},
           Case{"{'dnsPolicy': 'Default'}", "1.1.1.1 | lan | rotate"},
           Case{"{'dnsPolicy': 'None', 'dnsConfig': {'nameservers': ['9.9.9.9'], 'searches': ['x'], 'options': [{'name': 'a'}, {'name': 'ndots', 'value': '1'}]}}",
                "9.9.9.9 | x | a ndots:1"},
           Case{"{'dnsPolicy': 'ClusterFirst', 'dnsConfig': {'options': [{'name': 'ndots', 'value': '2'}]}}",
                "10.96.0.10 | default.svc.cluster.local svc.cluster.local cluster.local lan | ndots:2"}}) {
    object::DocumentPtr pod = PodWith(c.spec);
    EXPECT_EQ(Shown(PodDns(core::Pod(pod->root()), settings)), c.shown) << c.spec;
  }
  settings.cluster_servers.clear();
  object::DocumentPtr pod = PodWith("{'dnsPolicy': 'ClusterFirst'}");
  bool fell_back = false;
  EXPECT_EQ(Shown(PodDns(core::Pod(pod->root()), settings, &fell_back)), "1.1.1.1 | lan | rotate");
  EXPECT_TRUE(fell_back);
}

TEST(Resources, BecomeSharesQuotasAndScores) {
  EXPECT_EQ(CpuShares(0), 2);
  EXPECT_EQ(CpuShares(100), 102);
  EXPECT_EQ(CpuShares(1'000'000), 262144);
  EXPECT_EQ(CpuQuota(0), 0);
  EXPECT_EQ(CpuQuota(1), 1000);
  EXPECT_EQ(CpuQuota(500), 50000);
  object::DocumentPtr pod = PodWith(
      "{'containers': [{'name': 'a', 'resources': {'requests': {'cpu': '250m', 'memory': '256Mi'}, 'limits': {'cpu': '500m'}}},"
      "{'name': 'b', 'resources': {'limits': {'cpu': '1', 'memory': '64Mi'}}}]}");
  core::Pod view(pod->root());
  cri::LinuxResources a = ContainerResources(view, view.spec().containers()[0], int64_t{1} << 30);
  EXPECT_EQ(a.cpu_shares, 256);
  EXPECT_EQ(a.cpu_quota, 50000);
  EXPECT_EQ(a.memory_limit, 0);
  EXPECT_EQ(a.oom_score_adj, 750);
  cri::LinuxResources b = ContainerResources(view, view.spec().containers()[1], int64_t{1} << 30);
  EXPECT_EQ(b.cpu_shares, 1024) << "a limit without a request is the request";
  EXPECT_EQ(b.memory_limit, 64 << 20);
  EXPECT_EQ(b.oom_score_adj, 999);
  EXPECT_EQ(PodResources(view).cpu_quota, 150000);
  EXPECT_EQ(PodResources(view).memory_limit, 0) << "one container may use all there is";
  EXPECT_EQ(PodCgroup(view, false), "/kubepods/burstable/podu1");
  EXPECT_EQ(PodCgroup(view, true), "kubepods-burstable-podu1.slice");
}

class ContainerConfigTest : public testing::Test {
 protected:
  Result<cri::ContainerConfig> Make(const std::string& container, const std::string& context = "{}") {
    pod_ = PodWith("{'securityContext': " + context + ", 'containers': [" + container + "]}");
    input_.pod = core::Pod(pod_->root());
    input_.spec = {ContainerKind::kRegular, 0, input_.pod.spec().containers()[0], {}};
    input_.seccomp_folder = "/profiles";
    return MakeContainerConfig(input_);
  }
  object::DocumentPtr pod_;
  ContainerInput input_;
};

TEST_F(ContainerConfigTest, CommandsSeeTheEnvironment) {
  input_.environment = {{"WHO", "you"}};
  input_.restart_count = 2;
  Result<cri::ContainerConfig> config = Make("{'name': 'a', 'image': 'i', 'command': ['echo', '$(WHO)'], 'args': ['$$(WHO)', '$(X)']}");
  ASSERT_TRUE(config);
  EXPECT_EQ(Join(config->command), "echo you");
  EXPECT_EQ(Join(config->args), "$(WHO) $(X)");
  EXPECT_EQ(config->log_path, "a/2.log");
  EXPECT_EQ(config->annotations["io.kubernetes.container.restartCount"], "2");
  EXPECT_EQ(config->labels["io.kubernetes.pod.uid"], "u1");
}

TEST_F(ContainerConfigTest, TheContainersOwnContextWins) {
  Result<cri::ContainerConfig> config =
      Make("{'name': 'a', 'securityContext': {'runAsUser': 5, 'capabilities': {'drop': ['ALL'], 'add': ['NET_ADMIN']},"
           "'allowPrivilegeEscalation': false, 'readOnlyRootFilesystem': true, 'seccompProfile': {'type': 'Localhost', 'localhostProfile': 'p.json'}}}",
           "{'runAsUser': 1, 'runAsGroup': 2, 'fsGroup': 3, 'supplementalGroups': [4]}");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->security.run_as_user, 5);
  EXPECT_EQ(config->security.run_as_group, 2);
  EXPECT_EQ(config->security.supplemental_groups, (std::vector<int64_t>{3, 4}));
  EXPECT_TRUE(config->security.no_new_privs);
  EXPECT_TRUE(config->security.readonly_rootfs);
  EXPECT_EQ(config->security.seccomp->localhost_ref, "/profiles/p.json");
  EXPECT_EQ(Join(config->security.drop_capabilities), "ALL");
}

TEST_F(ContainerConfigTest, AnEmptyLocalhostProfileIsRefused) {
  EXPECT_FALSE(Make("{'name': 'a', 'securityContext': {'seccompProfile': {'type': 'Localhost'}}}"));
}

struct UserCase {
  std::optional<int64_t> uid;
  std::string username;
  std::string error;
};

TEST_F(ContainerConfigTest, NonRootMustBeProven) {
  for (const UserCase& c : {UserCase{1000, "", ""}, UserCase{0, "", "image will run as root"},
                            UserCase{std::nullopt, "", "image will run as root"},
                            UserCase{4294967296, "", "image will run as root"}, UserCase{-1, "", "image will run as root"},
                            UserCase{std::nullopt, "app", "non-numeric user (app)"},
                            UserCase{std::nullopt, "00", "non-numeric user (00)"}}) {
    input_.image = cri::Image{.uid = c.uid, .username = c.username};
    Result<cri::ContainerConfig> config = Make("{'name': 'a', 'securityContext': {'runAsNonRoot': true}}");
    EXPECT_EQ(config.has_value(), c.error.empty()) << c.username;
    if (!config) {
      EXPECT_NE(config.error().message().find(c.error), std::string::npos) << config.error().message();
    }
  }
  EXPECT_FALSE(Make("{'name': 'a', 'securityContext': {'runAsNonRoot': true, 'runAsUser': 0}}"));
  EXPECT_FALSE(Make("{'name': 'a'}", "{'runAsNonRoot': true}"));
  EXPECT_TRUE(Make("{'name': 'a', 'securityContext': {'runAsNonRoot': false}}", "{'runAsNonRoot': true}"));
}

TEST(SandboxConfig, HasPortsNamespacesAndLabels) {
  object::DocumentPtr pod = PodWith(
      "{'hostPID': true, 'securityContext': {'sysctls': [{'name': 'net/core/somaxconn', 'value': '1'}]}, 'containers': [{'name': 'a',"
      "'ports': [{'containerPort': 80, 'hostPort': 8080, 'protocol': 'UDP'}, {'containerPort': 81}], 'securityContext': {'privileged': true}}]}");
  Result<cri::SandboxConfig> config = MakeSandboxConfig({.pod = core::Pod(pod->root()), .attempt = 3});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->hostname, "web");
  EXPECT_EQ(config->metadata.attempt, 3u);
  EXPECT_TRUE(config->privileged);
  EXPECT_EQ(config->namespaces.pid, cri::NamespaceMode::kNode);
  ASSERT_EQ(config->ports.size(), 1u);
  EXPECT_EQ(config->ports[0].host_port, 8080);
  EXPECT_EQ(config->ports[0].protocol, cri::Protocol::kUdp);
  EXPECT_EQ(config->sysctls["net.core.somaxconn"], "1");
  EXPECT_EQ(config->labels["io.kubernetes.pod.name"], "web");
}

TEST(SandboxConfig, RefusesWhatTheNodeCannotDo) {
  object::DocumentPtr pod = PodWith("{'hostUsers': false}");
  EXPECT_FALSE(MakeSandboxConfig({.pod = core::Pod(pod->root())}));
}

}  // namespace
}  // namespace homeostat::node
