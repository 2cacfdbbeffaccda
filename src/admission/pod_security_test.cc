#include "admission/pod_security.h"

#include "admission/fixture_test.h"

namespace homeostat::admission {
namespace {

using PodSecurityTest = PluginTest;
constexpr SecurityLevel kBaseline = SecurityLevel::kBaseline, kRestricted = SecurityLevel::kRestricted;

struct CheckCase {
  SecurityLevel level;
  int64_t minor;
  std::string_view pod, details;
};

// What the restricted level asks of every pod.
constexpr std::string_view kSafe =
    "securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: [{name: c, securityContext: "
    "{allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]";

std::string SafeBut(std::string_view more) { return "{spec: {" + std::string(kSafe) + ", " + std::string(more) + "}}"; }

TEST_F(PodSecurityTest, Checks) {
  std::string nfs = SafeBut("volumes: [{name: v, nfs: {server: s, path: /}}, {name: w, hostPath: {path: /}}, {name: x, emptyDir: {}}]");
  std::string root = SafeBut("hostUsers: false, initContainers: [{name: i, securityContext: {runAsUser: 0, runAsNonRoot: false, "
                             "allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]");
  std::string safe = SafeBut("hostUsers: true");
  constexpr std::string_view kPlain = "{spec: {containers: [{name: c}, {name: d}]}}";
  const CheckCase cases[] = {
      {kBaseline, kLatestVersion, kPlain, ""},
      {kRestricted, kLatestVersion, safe, ""},
      {kRestricted, kLatestVersion, kPlain,
       "allowPrivilegeEscalation != false (containers \"c\", \"d\" must set securityContext.allowPrivilegeEscalation=false), unrestricted "
       "capabilities (containers \"c\", \"d\" must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or containers "
       "\"c\", \"d\" must set securityContext.runAsNonRoot=true), seccompProfile (pod or containers \"c\", \"d\" must set "
       "securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"},
      {kRestricted, 7, kPlain, "runAsNonRoot != true (pod or containers \"c\", \"d\" must set securityContext.runAsNonRoot=true)"},
      {kBaseline, 20, "{spec: {hostNetwork: true, hostIPC: true, containers: [{name: c, ports: [{hostPort: 90, containerPort: 1}, {hostPort: 8, containerPort: 2}]}]}}",
       "host namespaces (hostNetwork=true, hostIPC=true), hostPort (container \"c\" uses hostPorts 8, 90)"},
      {kBaseline, 20, "{spec: {containers: [{name: c, securityContext: {privileged: true, procMount: Unmasked, capabilities: {add: [NET_ADMIN, CHOWN, BPF]}}}]}}",
       "non-default capabilities (container \"c\" must not include \"BPF\", \"NET_ADMIN\" in securityContext.capabilities.add), privileged (container "
       "\"c\" must not set securityContext.privileged=true), procMount (container \"c\" must not set securityContext.procMount to \"Unmasked\")"},
      {kBaseline, 35, "{spec: {hostUsers: false, containers: [{name: c, securityContext: {procMount: Unmasked}}]}}", ""},
      {kBaseline, 30, "{spec: {securityContext: {seLinuxOptions: {type: container_engine_t, user: u, role: r}}, containers: [{name: c}]}}",
       "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type \"container_engine_t\"; user may not be set; role may not be set)"},
      {kBaseline, 31, "{spec: {securityContext: {seLinuxOptions: {type: container_engine_t}}}}", ""},
      {kBaseline, 26, "{spec: {securityContext: {sysctls: [{name: net.ipv4.ip_local_reserved_ports}, {name: kernel.shm_rmid_forced}, {name: net.x}]}}}",
       "forbidden sysctls (net.ipv4.ip_local_reserved_ports, net.x)"},
      {kBaseline, 32, "{spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_rmem}, {name: net.ipv4.tcp_fin_timeout}]}}}", ""},
      {kBaseline, 18, "{metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: unconfined}}, spec: {}}",
       "seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod=\"unconfined\")"},
      {kBaseline, 19, "{spec: {securityContext: {seccompProfile: {type: Unconfined}}, ephemeralContainers: [{name: e, securityContext: {seccompProfile: {type: Unconfined}}}]}}",
       "seccompProfile (pod and container \"e\" must not set securityContext.seccompProfile.type to \"Unconfined\")"},
      {kBaseline, 34, "{spec: {containers: [{name: c, livenessProbe: {httpGet: {host: h, port: 1}}, lifecycle: {preStop: {tcpSocket: {host: g, port: 1}}}}]}}",
       "probe or lifecycle host (container \"c\" uses probe or lifecycle hosts \"g\", \"h\")"},
      {kBaseline, 33, "{spec: {containers: [{name: c, livenessProbe: {httpGet: {host: h, port: 1}}}]}}", ""},
      {kBaseline, 0, "{spec: {containers: [{name: c, securityContext: {windowsOptions: {hostProcess: true}}}], securityContext: {windowsOptions: {hostProcess: true}}}}",
       "hostProcess (pod and container \"c\" must not set securityContext.windowsOptions.hostProcess=true)"},
      {kBaseline, 0, "{metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/c: unconfined}}, spec: {containers: [{name: c, securityContext: {appArmorProfile: {type: Unconfined}}}]}}",
       "forbidden AppArmor profiles (container \"c\" and annotation must not set AppArmor profile type to \"Unconfined\", "
       "\"container.apparmor.security.beta.kubernetes.io/c=\"unconfined\"\")"},
      {kRestricted, 24, nfs, "restricted volume types (volumes \"v\", \"w\" use restricted volume types \"hostPath\", \"nfs\")"},
      {kBaseline, 24, nfs, "hostPath volumes (volume \"w\")"},
      {kRestricted, 34, root, "runAsNonRoot != true (container \"i\" must not set securityContext.runAsNonRoot=false), runAsUser=0 (container \"i\" must not set runAsUser=0)"},
      {kRestricted, 35, root, ""},
      {kRestricted, 25, "{spec: {os: {name: windows}, securityContext: {runAsNonRoot: true}, containers: [{name: c}]}}", ""},
  };
  for (const CheckCase& test : cases) {
    object::DocumentPtr pod = Load(test.pod);
    auto violations = EvaluatePod({test.level, test.minor}, pod->root().Get("metadata"), pod->root().Get("spec"));
    EXPECT_EQ(DetailsOf(violations), test.details) << test.minor << " " << test.pod;
  }
}

struct LabelCase {
  std::string_view labels, enforce, audit, warn, errors;
};

TEST_F(PodSecurityTest, Labels) {
  const LabelCase cases[] = {
      {"{}", "privileged:latest", "privileged:latest", "privileged:latest", ""},
      {"{enforce: baseline, enforce-version: v1.20}", "baseline:v1.20", "privileged:latest", "baseline:v1.20", ""},
      {"{enforce: restricted, warn: privileged}", "restricted:latest", "privileged:latest", "privileged:latest", ""},
      {"{enforce: baseline, warn-version: v1.3, audit: restricted}", "baseline:latest", "restricted:latest", "baseline:v1.3", ""},
      {"{enforce: strict, audit: x, warn: z, warn-version: v1.03}", "restricted:latest", "privileged:latest", "privileged:latest",
       "enforce=strict;audit=x;warn=z;warn-version=v1.03;"},
      {"{audit-version: \"1.3\", enforce-version: v2.1}", "privileged:latest", "privileged:latest", "privileged:latest", "enforce-version=v2.1;audit-version=1.3;"},
  };
  for (const LabelCase& test : cases) {
    auto document = object::ParseYamlDocument(test.labels);
    ASSERT_TRUE(document);
    object::Arena arena;
    object::ObjectBuilder labels(arena);
    for (const object::Member& label : (*document)->root().members()) {
      labels.SetCopyName("pod-security.kubernetes.io/" + std::string(label.name()), label.value);
    }
    schema::FieldErrors errors;
    SecurityPolicy policy = PolicyOf(labels.Build(), {}, errors);
    EXPECT_EQ(policy.enforce.ToText(), test.enforce) << test.labels;
    EXPECT_EQ(policy.audit.ToText(), test.audit) << test.labels;
    EXPECT_EQ(policy.warn.ToText(), test.warn) << test.labels;
    std::string found;
    for (const StatusCause& cause : errors.causes()) {
      size_t slash = cause.field.find('/'), quote = cause.message.find('"');
      found += cause.field.substr(slash + 1, cause.field.size() - slash - 2) + "=" +
               cause.message.substr(quote + 1, cause.message.find('"', quote + 1) - quote - 1) + ";";
    }
    EXPECT_EQ(found, test.errors) << test.labels;
  }
}

constexpr std::string_view kNamespace =
    "{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {pod-security.kubernetes.io/enforce: baseline, pod-security.kubernetes.io/warn: restricted}}}";

TEST_F(PodSecurityTest, RefusesPodsAndWarnsOfWhatMakesThem) {
  Have(kNamespace);
  auto plugin = MakePodSecurity(Parts());
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: hp}, spec: {volumes: [{name: v, hostPath: {path: /}}], containers: [{name: c}]}}"}).error,
            "pods \"hp\" is forbidden: violates PodSecurity \"baseline:latest\": hostPath volumes (volume \"v\")");
  Outcome warned = Run(*plugin, {"{metadata: {name: p}, spec: {containers: [{name: c}]}}"});
  EXPECT_EQ(warned.error, "");
  ASSERT_EQ(warned.warnings.size(), 1u);
  EXPECT_TRUE(warned.warnings[0].starts_with("would violate PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false (container \"c\""));
  Outcome deployment = Run(*plugin, {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {template: {spec: {hostPID: true, containers: [{name: c}]}}}}"});
  EXPECT_EQ(deployment.error, "");
  ASSERT_EQ(deployment.warnings.size(), 1u);
  EXPECT_TRUE(deployment.warnings[0].starts_with("would violate PodSecurity \"restricted:latest\": host namespaces (hostPID=true), allow"));
  // What changes nothing that matters is not looked at again.
  constexpr std::string_view kOld = "{metadata: {name: p}, spec: {hostPID: true, containers: [{name: c, image: x}]}}";
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: p, labels: {a: b}}, spec: {hostPID: true, containers: [{name: c, image: x}]}}", kOld, "", Operation::kUpdate}).error, "");
  EXPECT_NE(Run(*plugin, {"{metadata: {name: p}, spec: {hostPID: true, containers: [{name: c, image: z}]}}", kOld, "", Operation::kUpdate}).error, "");
  EXPECT_EQ(Run(*plugin, {kOld, kOld, "status", Operation::kUpdate}).error, "");
}

TEST_F(PodSecurityTest, StricterNamespacesTellOfThePodsTheyHave) {
  constexpr std::string_view kFree = "{apiVersion: v1, kind: Namespace, metadata: {name: default}}";
  auto plugin = MakePodSecurity(Parts());
  Have("{metadata: {name: b, namespace: default}, spec: {hostPID: true}}");
  Have("{metadata: {name: a, namespace: default}, spec: {hostPID: true}}");
  Have("{metadata: {name: c, namespace: default}, spec: {volumes: [{name: v, hostPath: {path: /}}]}}");
  Have("{metadata: {name: fine, namespace: default}, spec: {}}");
  Outcome outcome = Run(*plugin, {kNamespace, kFree, "", Operation::kUpdate});
  EXPECT_EQ(outcome.warnings, (Texts{"existing pods in namespace \"default\" violate the new PodSecurity enforce level \"baseline:latest\"",
                                     "a (and 1 other pod): host namespaces", "c: hostPath volumes"}));
  EXPECT_TRUE(Run(*plugin, {kFree, kNamespace, "", Operation::kUpdate}).warnings.empty());
  constexpr std::string_view kBad = "{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {pod-security.kubernetes.io/enforce: x}}}";
  EXPECT_EQ(Run(*plugin, {kBad}).error,
            "Namespace \"default\" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"x\": must be one of privileged, "
            "baseline, restricted");
  EXPECT_EQ(Run(*plugin, {kBad, kBad, "", Operation::kUpdate}).error, "");
}

constexpr std::string_view kConfiguration = R"(
apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: baseline, enforce-version: v1.30, warn: restricted}
exemptions: {usernames: [system:operator], runtimeClasses: [sandbox], namespaces: [default]}
)";

TEST_F(PodSecurityTest, ConfigurationGivesDefaultsAndExemptions) {
  auto document = object::ParseYamlDocument(kConfiguration);
  ASSERT_TRUE(document);
  auto options = ReadPodSecurityOptions((*document)->root());
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->defaults.enforce.ToText(), "baseline:v1.30");
  EXPECT_EQ(options->defaults.warn.ToText(), "restricted:latest");
  EXPECT_EQ(options->defaults.audit.ToText(), "privileged:latest");
  EXPECT_TRUE(options->users.contains("system:operator"));

  PluginParts parts = Parts();
  parts.pod_security = *options;
  auto exempting = MakePodSecurity(parts);
  constexpr std::string_view kBad = "{metadata: {name: hp}, spec: {hostPID: true, containers: [{name: c}]}}";
  Have("{apiVersion: v1, kind: Namespace, metadata: {name: default}}");
  EXPECT_EQ(Run(*exempting, {kBad}).error, "");
  EXPECT_EQ(Run(*exempting, {"{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {pod-security.kubernetes.io/enforce: restricted}}}"}).warnings,
            (Texts{"namespace \"default\" is exempt from Pod Security, and the policy (enforce=restricted:v1.30) will be ignored"}));

  parts.pod_security.namespaces.clear();
  auto plugin = MakePodSecurity(parts);
  EXPECT_EQ(Run(*plugin, {kBad}).error, "pods \"hp\" is forbidden: violates PodSecurity \"baseline:v1.30\": host namespaces (hostPID=true)");
  EXPECT_EQ(Run(*plugin, {"{metadata: {name: hp}, spec: {runtimeClassName: sandbox, hostPID: true, containers: [{name: c}]}}"}).error, "");
}

TEST_F(PodSecurityTest, ConfigurationsThatCantBeMeantAreRefused) {
  struct {
    std::string_view text, error;
  } const cases[] = {
      {"{apiVersion: v1, kind: PodSecurityConfiguration}", "PodSecurity: expected a PodSecurityConfiguration of pod-security.admission.config.k8s.io/v1"},
      {"{more: {}}", "PodSecurity: unknown field \"more\""},
      {"{exemptions: {users: []}}", "PodSecurity: unknown field \"exemptions.users\""},
      {"{defaults: {enforce: strict}}",
       "PodSecurity: defaults.enforce: Invalid value: \"strict\": must be one of privileged, baseline, restricted"},
      {"{exemptions: {namespaces: [a, a]}}", "PodSecurity: exemptions.namespaces[1]: Duplicate value: \"a\""},
  };
  for (const auto& test : cases) {
    std::string text(test.text);
    if (!text.contains("kind")) text.insert(1, "apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, ");
    auto document = object::ParseYamlDocument(text);
    ASSERT_TRUE(document) << text;
    auto options = ReadPodSecurityOptions((*document)->root());
    ASSERT_FALSE(options) << text;
    EXPECT_EQ(options.error().message(), test.error);
  }
}

}  // namespace
}  // namespace homeostat::admission
