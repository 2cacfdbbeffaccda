// Probes and hooks of containers.
#include <array>

#include "kinds/core/containers.h"

namespace homeostat::kinds {
namespace {

enum class Probe : uint8_t { kLiveness, kReadiness, kStartup };

void CheckHttpGet(const Value& action, const FieldPath& path, FieldErrors& errors) {
  RequireText(action, "path", path, errors);
  CheckPortNumberOrName(action.Get("port"), path.Child("port"), errors);
  CheckOneOf(action.Get("scheme").AsString(), {"HTTP", "HTTPS"}, path.Child("scheme"), errors);
  for (const Value& header : action.Get("httpHeaders").items()) {
    std::string_view name = header.Get("name").AsString();
    AddInvalid(errors, path.Child("httpHeaders"), name, object::IsHTTPHeaderName(name));
  }
}

void CheckSleep(const Value& action, const Value& grace_period, const FieldPath& path, FieldErrors& errors) {
  int64_t seconds = action.Get("seconds").AsInt();
  if (!grace_period || (seconds >= 0 && seconds <= grace_period.AsInt())) return;
  errors.Invalid(path, seconds,
                 "must be non-negative and less than terminationGracePeriodSeconds (" + std::to_string(grace_period.AsInt()) + ")");
}

void CheckAction(std::string_view kind, const Value& action, const Value& grace_period, const FieldPath& path, FieldErrors& errors) {
  if (kind == "exec") {
    if (action.Get("command").empty()) errors.Required(path.Child("command"));
  } else if (kind == "httpGet") {
    CheckHttpGet(action, path, errors);
  } else if (kind == "sleep") {
    CheckSleep(action, grace_period, path, errors);
  } else {
    CheckPortNumberOrName(action.Get("port"), path.Child("port"), errors);
  }
}

// Exactly one way to do it.
void CheckHandler(const Value& handler, const Value& grace_period, const FieldPath& path, FieldErrors& errors) {
  bool found = false;
  for (std::string_view kind : {"exec", "httpGet", "tcpSocket", "grpc", "sleep"}) {
    Value action = handler.Get(kind);
    if (!action) continue;
    if (found) {
      errors.Forbidden(path.Child(kind), "may not specify more than 1 handler type");
    } else {
      CheckAction(kind, action, grace_period, path.Child(kind), errors);
    }
    found = true;
  }
  if (!found) errors.Required(path, "must specify a handler type");
}

void CheckProbe(const Value& probe, Probe kind, const Value& grace_period, const FieldPath& path, FieldErrors& errors) {
  if (!probe) return;
  CheckHandler(probe, grace_period, path, errors);
  for (std::string_view field : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"}) {
    CheckNonNegative(probe.Get(field).AsInt(), path.Child(field), errors);
  }
  Value own_period = probe.Get("terminationGracePeriodSeconds");
  if (own_period && own_period.AsInt() <= 0) {
    errors.Invalid(path.Child("terminationGracePeriodSeconds"), own_period, "must be greater than 0");
  }
  if (kind == Probe::kReadiness) {
    if (own_period) errors.Invalid(path.Child("terminationGracePeriodSeconds"), own_period, "must not be set for readinessProbes");
  } else if (int64_t successes = probe.Get("successThreshold").AsInt(); successes != 1) {
    errors.Invalid(path.Child("successThreshold"), successes, "must be 1");
  }
}

}  // namespace

void CheckLifecycle(const Value& lifecycle, const Value& pod_spec, const FieldPath& path, FieldErrors& errors) {
  if (!lifecycle) return;
  Value grace_period = pod_spec.Get("terminationGracePeriodSeconds");
  for (std::string_view hook : {"postStart", "preStop"}) {
    if (Value handler = lifecycle.Get(hook)) CheckHandler(handler, grace_period, path.Child(hook), errors);
  }
}

void CheckProbes(const Value& container, const Value& pod_spec, const FieldPath& path, FieldErrors& errors) {
  Value grace_period = pod_spec.Get("terminationGracePeriodSeconds");
  CheckProbe(container.Get("livenessProbe"), Probe::kLiveness, grace_period, path.Child("livenessProbe"), errors);
  CheckProbe(container.Get("readinessProbe"), Probe::kReadiness, grace_period, path.Child("readinessProbe"), errors);
  CheckProbe(container.Get("startupProbe"), Probe::kStartup, grace_period, path.Child("startupProbe"), errors);
}

}  // namespace homeostat::kinds
