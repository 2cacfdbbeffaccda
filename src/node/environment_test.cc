#include "node/environment.h"

#include "node/internal/test_pods.h"

namespace homeostat::node {
namespace {

TEST(Expand, FollowsTheDocumentedSyntax) {
  Environment variables = {{"A", "1"}, {"B", "$(A)"}, {"EMPTY", ""}};
  struct Case {
    std::string_view text, expanded;
  };
  for (const Case& c : {Case{"$(A)", "1"}, Case{"x$(A)y", "x1y"}, Case{"$$(A)", "$(A)"}, Case{"$$$(A)", "$1"},
                        Case{"$(B)", "$(A)"}, Case{"$(NONE)", "$(NONE)"}, Case{"$(EMPTY)", ""}, Case{"$A", "$A"},
                        Case{"$(A", "$(A"}, Case{"$", "$"}, Case{"$()", "$()"}, Case{"$$", "$"}, Case{"a$$$$b", "a$$b"},
                        Case{"$(A)$(A)", "11"}, Case{"$(A$(A)", "$(A$(A)"}}) {
    EXPECT_EQ(Expand(c.text, variables), c.expanded) << c.text;
  }
}

class EnvironmentTest : public testing::Test {
 protected:
  Result<Environment> Make(const std::string& container) {
    pod_ = FromJson<core::Pod>("{'metadata': {'name': 'web', 'namespace': 'default', 'uid': 'u1', 'labels': {'app': 'w'}},"
                               "'spec': {'serviceAccountName': 'sa', 'containers': [" + container + "]}}");
    core::Pod pod(pod_->root());
    std::vector<core::Service> services;
    for (const object::DocumentPtr& service : services_) {
      if (core::Service view(service->root()); ServiceIsVisible(view, pod)) services.push_back(view);
    }
    return MakeEnvironment(pod, pod.spec().containers()[0], references_, around_, services);
  }
  static std::string Shown(const Result<Environment>& environment) {
    if (!environment) return "error: " + environment.error().message();
    std::string out;
    for (const auto& [name, value] : *environment) out += name + "=" + value + " ";
    return out;
  }

  object::DocumentPtr pod_;
  PodReferences references_;
  PodSurroundings around_{.node_name = "n1", .pod_ips = {"10.0.0.9", "fd00::9"}, .host_ips = {"192.168.0.1"},
                          .allocatable = {{"cpu", 3500}, {"memory", 1 << 30}}};
  std::vector<object::DocumentPtr> services_;
};

TEST_F(EnvironmentTest, ValuesSeeWhatStandsBeforeThem) {
  EXPECT_EQ(Shown(Make("{'name': 'a', 'env': [{'name': 'X', 'value': '$(Y)'}, {'name': 'Y', 'value': '1'}, {'name': 'Z', 'value': '$(Y)2'}]}")),
            "X=$(Y) Y=1 Z=12 ");
}

TEST_F(EnvironmentTest, LabelsBySubscript) {
  ASSERT_TRUE(Make("{'name': 'a'}"));
  core::Pod pod(pod_->root());
  EXPECT_EQ(*FieldValue(pod, "metadata.labels['app']", around_, false), "w");
  EXPECT_EQ(*FieldValue(pod, "metadata.labels['none']", around_, false), "");
  EXPECT_EQ(*FieldValue(pod, "metadata.labels", around_, true), "app=\"w\"");
  EXPECT_FALSE(FieldValue(pod, "metadata.labels", around_, false));
  EXPECT_FALSE(FieldValue(pod, "spec.containers", around_, true));
}

TEST_F(EnvironmentTest, FieldsOfThePodAndResourcesOfTheContainer) {
  EXPECT_EQ(Shown(Make("{'name': 'a', 'resources': {'requests': {'cpu': '250m', 'memory': '64Mi'}}, 'env': ["
                       "{'name': 'B', 'valueFrom': {'fieldRef': {'fieldPath': 'status.podIPs'}}},"
                       "{'name': 'C', 'valueFrom': {'fieldRef': {'fieldPath': 'spec.nodeName'}}},"
                       "{'name': 'D', 'valueFrom': {'resourceFieldRef': {'resource': 'requests.cpu'}}},"
                       "{'name': 'E', 'valueFrom': {'resourceFieldRef': {'resource': 'requests.cpu', 'divisor': '1m'}}},"
                       "{'name': 'F', 'valueFrom': {'resourceFieldRef': {'resource': 'requests.memory', 'divisor': '1Mi'}}},"
                       "{'name': 'G', 'valueFrom': {'resourceFieldRef': {'resource': 'limits.cpu'}}}]}")),
            "B=10.0.0.9,fd00::9 C=n1 D=1 E=250 F=64 G=4 ");
}

TEST_F(EnvironmentTest, ConfigMapsAndSecrets) {
  references_.config_maps["c"] = FromJson<core::ConfigMap>("{'data': {'k': 'v', 'l': 'w'}}");
  references_.secrets["s"] = FromJson<core::Secret>("{'data': {'p': 'aGk='}}");
  EXPECT_EQ(Shown(Make("{'name': 'a', 'envFrom': [{'prefix': 'P_', 'configMapRef': {'name': 'c'}}, {'secretRef': {'name': 's'}},"
                       "{'configMapRef': {'name': 'none', 'optional': true}}],"
                       "'env': [{'name': 'p', 'value': 'over'},"
                       "{'name': 'K', 'valueFrom': {'configMapKeyRef': {'name': 'c', 'key': 'k'}}},"
                       "{'name': 'S', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'p'}}},"
                       "{'name': 'O', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'q', 'optional': true}}}]}")),
            "P_k=v P_l=w p=over K=v S=hi ");
}

TEST_F(EnvironmentTest, SaysWhatIsMissing) {
  references_.config_maps["c"] = FromJson<core::ConfigMap>("{'data': {}}");
  EXPECT_EQ(Shown(Make("{'name': 'a', 'envFrom': [{'configMapRef': {'name': 'x'}}]}")), "error: configmap \"x\" not found");
  EXPECT_EQ(Shown(Make("{'name': 'a', 'env': [{'name': 'A', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'k'}}}]}")),
            "error: secret \"s\" not found");
  EXPECT_EQ(Shown(Make("{'name': 'a', 'env': [{'name': 'A', 'valueFrom': {'configMapKeyRef': {'name': 'c', 'key': 'k'}}}]}")),
            "error: couldn't find key k in ConfigMap default/c");
}

TEST_F(EnvironmentTest, ServicesOfTheNamespaceAndTheApiServer) {
  services_.push_back(FromJson<core::Service>(
      "{'metadata': {'name': 'my-db', 'namespace': 'default'}, 'spec': {'clusterIP': '10.96.0.7',"
      "'ports': [{'name': 'sql', 'port': 5432, 'protocol': 'TCP'}]}}"));
  services_.push_back(FromJson<core::Service>(
      "{'metadata': {'name': 'other', 'namespace': 'elsewhere'}, 'spec': {'clusterIP': '10.96.0.8', 'ports': [{'port': 1}]}}"));
  services_.push_back(FromJson<core::Service>(
      "{'metadata': {'name': 'headless', 'namespace': 'default'}, 'spec': {'clusterIP': 'None', 'ports': [{'port': 1}]}}"));
  EXPECT_EQ(Shown(Make("{'name': 'a', 'env': [{'name': 'DB', 'value': '$(MY_DB_SERVICE_HOST)'}]}")),
            "DB=10.96.0.7 MY_DB_SERVICE_HOST=10.96.0.7 MY_DB_SERVICE_PORT=5432 MY_DB_SERVICE_PORT_SQL=5432 "
            "MY_DB_PORT=tcp://10.96.0.7:5432 MY_DB_PORT_5432_TCP=tcp://10.96.0.7:5432 MY_DB_PORT_5432_TCP_PROTO=tcp "
            "MY_DB_PORT_5432_TCP_PORT=5432 MY_DB_PORT_5432_TCP_ADDR=10.96.0.7 ");
}

TEST(HostsFile, NamesThePodWithItsDomain) {
  object::DocumentPtr pod = PodWith("{'subdomain': 'sub', 'hostname': 'h', 'hostAliases': [{'ip': '1.2.3.4', 'hostnames': ['x', 'y']}]}");
  std::string hosts = HostsFile(core::Pod(pod->root()), {.pod_ips = {"10.0.0.9"}});
  EXPECT_TRUE(hosts.ends_with("10.0.0.9\th.sub.default.svc.cluster.local\th\n\n# Entries added by HostAliases.\n1.2.3.4\tx\ty\n"));
}

TEST(HostnameOf, IsCutWhereAHostnameMustEnd) {
  std::string name(62, 'a');
  object::DocumentPtr pod = FromJson<core::Pod>("{'metadata': {'name': '" + name + "-x'}}");
  EXPECT_EQ(HostnameOf(core::Pod(pod->root()), "cluster.local").name, name);
}

}  // namespace
}  // namespace homeostat::node
