#include "admission/admission_metrics.h"

#include <algorithm>
#include <string>

namespace homeostat::admission {
namespace {

constexpr int kMostCode = 600;  // what a webhook says beyond it counts as this, so that the series stay few

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
std::string_view Text(bool value) { return value ? "true" : "false"; }
std::string_view NameOf(Step step) { return step == Step::kAdmit ? "admit" : "validate"; }

std::vector<double> PluginBounds() { return {0.005, 0.025, 0.1, 0.5, 1.0, 2.5}; }
std::vector<double> WebhookBounds() { return {0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25}; }
std::vector<double> ConditionBounds() { return {0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25}; }
std::vector<double> PolicyBounds() { return {0.0000005, 0.001, 0.01, 0.1, 1.0}; }

}  // namespace

std::string_view ErrorTypeOf(std::string_view fault) {
  if (fault.empty()) return "no_error";
  if (fault.starts_with("compilation")) return "compile_error";
  if (fault.starts_with("validation failed due to running out of cost budget")) return "out_of_budget";
  return "invalid_error";
}

AdmissionMetrics::AdmissionMetrics(MetricsRegistry& registry)
    : steps_(registry.Histograms("apiserver_admission_step_admission_duration_seconds", "Time that admission took, by step.",
                                 {"operation", "rejected", "type"}, PluginBounds())),
      plugins_(registry.Histograms("apiserver_admission_controller_admission_duration_seconds", "Time that a plugin of admission took.",
                                   {"name", "operation", "rejected", "type"}, PluginBounds())),
      webhooks_(registry.Histograms("apiserver_admission_webhook_admission_duration_seconds", "Time that a webhook of admission took.",
                                    {"name", "operation", "rejected", "type"}, WebhookBounds())),
      webhook_requests_(registry.Counters("apiserver_admission_webhook_request_total", "Calls of webhooks of admission, by the code they ended with.",
                                          {"code", "name", "operation", "rejected", "type"})),
      webhook_rejections_(registry.Counters("apiserver_admission_webhook_rejection_count",
                                            "Requests refused by webhooks of admission, or since one could not be called.",
                                            {"error_type", "name", "operation", "rejection_code", "type"})),
      webhook_fail_opens_(registry.Counters("apiserver_admission_webhook_fail_open_count",
                                            "Calls of webhooks that failed and were passed over.", {"name", "type"})),
      conditions_(registry.Histograms("apiserver_admission_match_condition_evaluation_seconds", "Time that match conditions took.",
                                      {"kind", "name", "operation", "type"}, ConditionBounds())),
      condition_faults_(registry.Counters("apiserver_admission_match_condition_evaluation_errors_total",
                                          "Match conditions that could not be evaluated.", {"kind", "name", "operation", "type"})),
      condition_exclusions_(registry.Counters("apiserver_admission_match_condition_exclusions_total",
                                              "Requests that match conditions kept away.", {"kind", "name", "operation", "type"})),
      validating_checks_(registry.Counters("apiserver_validating_admission_policy_check_total", "Decisions of validating policies, by what came of them.",
                                           {"enforcement_action", "error_type", "policy", "policy_binding"})),
      validating_seconds_(registry.Histograms("apiserver_validating_admission_policy_check_duration_seconds",
                                              "Time that validating policies took.",
                                              {"enforcement_action", "error_type", "policy", "policy_binding"}, PolicyBounds())),
      mutating_checks_(registry.Counters("apiserver_mutating_admission_policy_check_total", "Mutations of mutating policies.",
                                         {"error_type", "policy", "policy_binding"})),
      mutating_seconds_(registry.Histograms("apiserver_mutating_admission_policy_check_duration_seconds",
                                            "Time that mutations of policies took.", {"error_type", "policy", "policy_binding"}, PolicyBounds())) {}

Histogram& AdmissionMetrics::OfStep(Step step, Operation operation, bool rejected) {
  return steps_.With({OperationName(operation), Text(rejected), NameOf(step)});
}

Histogram& AdmissionMetrics::OfPlugin(std::string_view plugin, Step step, Operation operation, bool rejected) {
  return plugins_.With({plugin, OperationName(operation), Text(rejected), NameOf(step)});
}

void AdmissionMetrics::WebhookCalled(const WebhookCounts& call) {
  std::string_view type = call.mutates ? "admit" : "validating", operation = OperationName(call.operation);
  std::string code = std::to_string(std::min(call.code, kMostCode));
  webhook_requests_.With({code, call.name, operation, Text(call.rejected), type}).Add();
  webhooks_.With({call.name, operation, Text(call.rejected), type}).Observe(Seconds(call.took));
  if (call.rejected) {
    std::string_view error = call.failed ? "calling_webhook_error" : call.code == 0 ? "apiserver_internal_error" : "no_error";
    webhook_rejections_.With({error, call.name, operation, code, type}).Add();
  } else if (call.failed) {
    webhook_fail_opens_.With({call.name, type}).Add();
  }
}

void AdmissionMetrics::ConditionsEvaluated(const Conditions& of, size_t faults, Duration took) {
  std::string_view operation = OperationName(of.operation);
  conditions_.With({of.kind, of.name, operation, of.type}).Observe(Seconds(took));
  if (faults > 0) condition_faults_.With({of.kind, of.name, operation, of.type}).Add(static_cast<double>(faults));
}

void AdmissionMetrics::ConditionsExcluded(const Conditions& of) {
  condition_exclusions_.With({of.kind, of.name, OperationName(of.operation), of.type}).Add();
}

void AdmissionMetrics::ValidatingPolicyDecided(std::string_view policy, std::string_view binding, std::string_view error_type,
                                               std::string_view action, Duration took) {
  validating_checks_.With({action, error_type, policy, binding}).Add();
  validating_seconds_.With({action, error_type, policy, binding}).Observe(Seconds(took));
}

void AdmissionMetrics::MutatingPolicyApplied(std::string_view policy, std::string_view binding, std::string_view error_type, Duration took) {
  mutating_checks_.With({error_type, policy, binding}).Add();
  mutating_seconds_.With({error_type, policy, binding}).Observe(Seconds(took));
}

}  // namespace homeostat::admission
