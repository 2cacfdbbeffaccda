#include "kinds/core/containers.h"

#include <set>
#include <string>

#include "kinds/core/env.h"
#include "kinds/core/mounts.h"
#include "kinds/core/resource_checks.h"
#include "kinds/core/security.h"

namespace homeostat::kinds {
namespace {

constexpr size_t kMaxRestartRules = 20, kMaxExitCodes = 255;

void CheckPorts(const Value& ports, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < ports.size(); ++i) {
    Value port = ports.At(i);
    FieldPath at = path.Index(i);
    if (std::string_view name = port.Get("name").AsString(); !name.empty()) {
      Messages messages = object::IsValidPortName(name);
      AddInvalid(errors, at.Child("name"), name, messages);
      if (messages.empty() && !names.insert(name).second) errors.Duplicate(at.Child("name"), name);
    }
    int64_t number = port.Get("containerPort").AsInt(), host = port.Get("hostPort").AsInt();
    if (number == 0) {
      errors.Required(at.Child("containerPort"));
    } else {
      AddInvalid(errors, at.Child("containerPort"), number, object::IsValidPortNum(number));
    }
    if (host != 0) AddInvalid(errors, at.Child("hostPort"), host, object::IsValidPortNum(host));
    RequireOneOf(port.Get("protocol").AsString(), {"SCTP", "TCP", "UDP"}, at.Child("protocol"), errors);
  }
}

void CheckResizePolicy(const Value& policies, const Value& pod_spec, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> resources;
  for (size_t i = 0; i < policies.size(); ++i) {
    std::string_view resource = policies.At(i).Get("resourceName").AsString(), restart = policies.At(i).Get("restartPolicy").AsString();
    if (!resources.insert(resource).second) errors.Duplicate(path.Index(i), resource);
    RequireOneOf(resource, {"cpu", "memory"}, path, errors);
    RequireOneOf(restart, {"NotRequired", "RestartContainer"}, path, errors);
    if (pod_spec.Get("restartPolicy").AsString() == "Never" && restart != "NotRequired") {
      errors.Invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
    }
  }
}

void CheckCommon(const Value& container, const ContainerContext& context, const FieldPath& path, FieldErrors& errors) {
  std::string_view name = container.Get("name").AsString();
  if (name.empty()) errors.Required(path.Child("name")); else CheckDns1123Label(name, path.Child("name"), errors);
  RequireText(container, "image", path, errors);
  RequireOneOf(container.Get("terminationMessagePolicy").AsString(), {"File", "FallbackToLogsOnError"},
               path.Child("terminationMessagePolicy"), errors);
  CheckPorts(container.Get("ports"), path.Child("ports"), errors);
  CheckEnv(container.Get("env"), path.Child("env"), errors);
  CheckEnvFrom(container.Get("envFrom"), path.Child("envFrom"), errors);
  CheckVolumeMounts(container, context.volumes, path.Child("volumeMounts"), errors);
  CheckVolumeDevices(container, context.volumes, path.Child("volumeDevices"), errors);
  RequireOneOf(container.Get("imagePullPolicy").AsString(), {"Always", "IfNotPresent", "Never"}, path.Child("imagePullPolicy"), errors);
  CheckResourceRequirements(container.Get("resources"), ResourceLevel::kContainer, context.claims, path.Child("resources"), context.rules, errors);
  CheckResizePolicy(container.Get("resizePolicy"), context.pod_spec, path.Child("resizePolicy"), errors);
  CheckSecurityContext(container.Get("securityContext"), context.host_users, path.Child("securityContext"), errors);
}

// When a container of its own policy is started again, and on which exit codes.
void CheckRestartPolicy(const Value& container, const FieldPath& path, FieldErrors& errors) {
  Value policy = container.Get("restartPolicy"), rules = container.Get("restartPolicyRules");
  if (policy) {
    CheckOneOf(policy.AsString(), {"Always", "Never", "OnFailure"}, path.Child("restartPolicy"), errors);
  } else {
    if (rules.empty()) return;
    errors.Required(path.Child("restartPolicy"), "must specify restartPolicy when restart rules are used");
  }
  if (rules.size() > kMaxRestartRules) errors.TooMany(path.Child("restartPolicyRules"), rules.size(), kMaxRestartRules);
  for (size_t i = 0; i < rules.size(); ++i) {
    FieldPath at = path.Child("restartPolicyRules").Index(i);
    CheckOneOf(rules.At(i).Get("action").AsString(), {"Restart", "RestartAllContainers"}, at.Child("action"), errors);
    Value codes = rules.At(i).Get("exitCodes");
    if (!codes) {
      errors.Required(at.Child("exitCodes"), "must be specified");
      continue;
    }
    CheckOneOf(codes.Get("operator").AsString(), {"In", "NotIn"}, at.Child("exitCodes", "operator"), errors);
    size_t count = codes.Get("values").size();
    if (count > kMaxExitCodes) errors.TooMany(at.Child("exitCodes", "values"), count, kMaxExitCodes);
  }
}

// A port of the host can be used once.
class HostPorts {
 public:
  void Add(const Value& container, const FieldPath& path, FieldErrors& errors) {
    Value ports = container.Get("ports");
    for (size_t i = 0; i < ports.size(); ++i) {
      int64_t port = ports.At(i).Get("hostPort").AsInt();
      if (port == 0) continue;
      std::string use = std::string(ports.At(i).Get("protocol").AsString()) + "/" + std::string(ports.At(i).Get("hostIP").AsString()) +
                        "/" + std::to_string(port);
      if (!used_.insert(use).second) errors.Duplicate(path.Child("ports").Index(i).Child("hostPort"), use);
    }
  }

 private:
  std::set<std::string> used_;
};

void RefuseHooks(const Value& container, const FieldPath& path, FieldErrors& errors) {
  for (std::string_view field : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
    if (container.Get(field)) errors.Forbidden(path.Child(field), "may not be set for init containers without restartPolicy=Always");
  }
}

std::set<std::string_view> NamesOf(const Value& containers) {
  std::set<std::string_view> names;
  for (const Value& container : containers.items()) names.insert(container.Get("name").AsString());
  return names;
}

// What a container that was added for debugging can't have.
void CheckEphemeralFields(const Value& container, const FieldPath& path, FieldErrors& errors) {
  static constexpr std::string_view kReason = "cannot be set for an Ephemeral Container";
  for (std::string_view field : {"ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe",
                                 "readinessProbe", "startupProbe", "lifecycle"}) {
    Value value = container.Get(field);
    FieldPath at = path.Child(field);
    bool given = value && !(field == "resources" && value.empty());
    if (given || (errors.empty_fields() != nullptr && errors.empty_fields()->HasWithin(at.String()))) errors.Forbidden(at, kReason);
  }
  Value mounts = container.Get("volumeMounts");
  for (size_t i = 0; i < mounts.size(); ++i) {
    for (std::string_view field : {"subPath", "subPathExpr"}) {
      if (!mounts.At(i).Get(field).AsString().empty()) errors.Forbidden(path.Child("volumeMounts").Index(i).Child(field), kReason);
    }
  }
}

}  // namespace

void CheckImagePadding(const Value& container, const FieldPath& path, FieldErrors& errors) {
  std::string_view image = container.Get("image").AsString();
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  if (image.empty() || (kSpace.find(image.front()) == kSpace.npos && kSpace.find(image.back()) == kSpace.npos)) return;
  errors.Invalid(path.Child("image"), image, "must not have leading or trailing whitespace");
}

void CheckContainers(const ContainerContext& context, const FieldPath& spec_path, FieldErrors& errors) {
  FieldPath path = spec_path.Child("containers");
  Value containers = context.pod_spec.Get("containers");
  if (containers.empty()) return errors.Required(path);
  std::set<std::string_view> names;
  for (size_t i = 0; i < containers.size(); ++i) {
    Value container = containers.At(i);
    FieldPath at = path.Index(i);
    CheckCommon(container, context, at, errors);
    if (!names.insert(container.Get("name").AsString()).second) errors.Duplicate(at.Child("name"), container.Get("name").AsString());
    CheckLifecycle(container.Get("lifecycle"), context.pod_spec, at.Child("lifecycle"), errors);
    CheckProbes(container, context.pod_spec, at, errors);
    CheckRestartPolicy(container, at, errors);
  }
  HostPorts host_ports;
  for (size_t i = 0; i < containers.size(); ++i) host_ports.Add(containers.At(i), path.Index(i), errors);
}

void CheckInitContainers(const ContainerContext& context, const FieldPath& spec_path, FieldErrors& errors) {
  FieldPath path = spec_path.Child("initContainers");
  Value containers = context.pod_spec.Get("initContainers");
  std::set<std::string_view> names = NamesOf(context.pod_spec.Get("containers"));
  for (size_t i = 0; i < containers.size(); ++i) {
    Value container = containers.At(i);
    FieldPath at = path.Index(i);
    std::string_view name = container.Get("name").AsString();
    CheckCommon(container, context, at, errors);
    if (container.Get("restartPolicy")) {
      CheckRestartPolicy(container, at, errors);
    } else if (!container.Get("restartPolicyRules").empty()) {
      errors.Required(at.Child("restartPolicy"), "must specify restartPolicy when restart rules are used");
    }
    if (names.contains(name)) {
      errors.Duplicate(at.Child("name"), name);
    } else if (!name.empty()) {
      names.insert(name);
    }
    // They run one after the other, so each has the ports for itself; upstream counts that one as the first.
    HostPorts().Add(container, path.Index(0), errors);
    bool sidecar = IsSidecar(container);
    if (sidecar) {
      CheckLifecycle(container.Get("lifecycle"), context.pod_spec, at.Child("lifecycle"), errors);
      CheckProbes(container, context.pod_spec, at, errors);
    } else {
      RefuseHooks(container, at, errors);
    }
    if (sidecar || context.rules.allow_restart_container_resize) continue;
    Value policies = container.Get("resizePolicy");
    for (size_t j = 0; j < policies.size(); ++j) {
      Value restart = policies.At(j).Get("restartPolicy");
      if (restart.AsString() != "RestartContainer") continue;
      errors.Invalid(at.Child("resizePolicy").Index(j).Child("restartPolicy"), restart,
                     "must not be set to 'RestartContainer' for non-sidecar initContainers");
    }
  }
}

void CheckEphemeralContainers(const ContainerContext& context, const FieldPath& spec_path, FieldErrors& errors) {
  Value containers = context.pod_spec.Get("ephemeralContainers");
  std::set<std::string_view> others = NamesOf(context.pod_spec.Get("containers"));
  others.merge(NamesOf(context.pod_spec.Get("initContainers")));
  std::set<std::string_view> names = others;
  for (size_t i = 0; i < containers.size(); ++i) {
    Value container = containers.At(i);
    FieldPath at = spec_path.Child("ephemeralContainers").Index(i);
    CheckCommon(container, context, at, errors);
    CheckImagePadding(container, at, errors);
    if (!names.insert(container.Get("name").AsString()).second) errors.Duplicate(at.Child("name"), container.Get("name").AsString());
    std::string_view target = container.Get("targetContainerName").AsString();
    if (!target.empty() && !others.contains(target)) errors.NotFound(at.Child("targetContainerName"), target);
    CheckEphemeralFields(container, at, errors);
  }
}

}  // namespace homeostat::kinds
